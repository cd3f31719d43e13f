// One side of //benchmarks:allocator: the same requests to this library's allocator or, with `--malloc`, to malloc and
// free of whichever library is loaded before the C library. See worker.h for the commands that it takes.

#include <sched.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "vellum/allocator/memory.h"
#include "vellum/autograd/autograd.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/benchmarks/worker.h"
#include "vellum/device/stream.h"
#include "vellum/nn/activation.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/nn/sequential.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::benchmarks {
namespace {

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB, kPage = 4096;

struct Malloc {
  struct Block {
    void* data = nullptr;
  };
  static void allocate(size_t bytes, Block* out) { out->data = std::malloc(bytes); }
  static void deallocate(const Block& block) { std::free(block.data); }
};

struct Vellum {
  using Block = vellum::Block;
  static void allocate(size_t bytes, Block* out) {
    static Allocator& source = allocator(Device(kCPU));
    if (!source.allocate(bytes, kDefaultAlignment, {}, out).ok()) std::abort();
  }
  static void deallocate(const Block& block) {
    static Allocator& source = allocator(Device(kCPU));
    source.deallocate(block, {});
  }
};

// What a trace asks for: at each step the block in `slot` is freed and one of `bytes` takes its place.
struct Request {
  size_t slot;
  size_t bytes;
};

// Sizes are uniform in their logarithm, so that each doubling comes up as often as any other.
std::vector<Request> random_trace(int64_t steps, int64_t slots, size_t least, size_t most, uint32_t seed) {
  const std::vector<float> draws = uniform(steps, seed);
  const std::vector<int64_t> places = indices(steps, slots, seed + 1);
  std::vector<Request> trace;
  for (int64_t i = 0; i < steps; ++i) {
    const double octaves = std::log2(static_cast<double>(most) / static_cast<double>(least));
    const double bytes = static_cast<double>(least) * std::exp2(octaves * (static_cast<double>(draws[i]) + 1) / 2);
    trace.push_back({static_cast<size_t>(places[i]), static_cast<size_t>(bytes)});
  }
  return trace;
}

// Writes what a program would have to wait for: the first byte, or one in each page.
enum class Touch { kFirst, kPages };

void touch(void* data, size_t bytes, Touch how) {
  auto* byte = static_cast<volatile char*>(data);
  if (how == Touch::kFirst)
    byte[0] = 1;
  else
    for (size_t i = 0; i < bytes; i += kPage) byte[i] = 1;
}

template <typename Memory>
void free_all(const std::vector<typename Memory::Block>& blocks) {
  for (const auto& block : blocks)
    if (block.data) Memory::deallocate(block);
}

template <typename Memory>
class Slots {
 public:
  explicit Slots(size_t count) : blocks_(count) {}
  ~Slots() { free_all<Memory>(blocks_); }
  void replace(const Request& request, Touch how) {
    auto& block = blocks_[request.slot];
    if (block.data) Memory::deallocate(block);
    Memory::allocate(request.bytes, &block);
    touch(block.data, request.bytes, how);
  }

 private:
  std::vector<typename Memory::Block> blocks_;
};

constexpr int64_t kHeld = 256;  // blocks that a thread has at a time

// Blocks on their way from one thread to another: kHeld at a time and some ahead, so that handing them over costs
// little beside what is measured. Each call waits for the other thread only while nothing is there, or no room.
template <typename Memory>
class Mailbox {
 public:
  using Blocks = std::vector<typename Memory::Block>;
  Mailbox() {
    for (int i = 0; i < kSlots / 2; ++i) {
      Blocks none(kHeld);
      send(none);
    }
  }
  ~Mailbox() {
    for (const Slot& slot : slots_) free_all<Memory>(slot.blocks);
  }
  void send(Blocks& blocks) { swap_when(false, slots_[sent_++ % kSlots], blocks); }
  void receive(Blocks& blocks) { swap_when(true, slots_[received_++ % kSlots], blocks); }

 private:
  struct alignas(64) Slot {
    Blocks blocks;
    std::atomic<bool> full{false};
  };
  static constexpr uint32_t kSlots = 4;

  static void swap_when(bool full, Slot& slot, Blocks& blocks) {
    while (slot.full.load(std::memory_order_acquire) != full) std::this_thread::yield();
    slot.blocks.swap(blocks);
    slot.full.store(!full, std::memory_order_release);
  }

  Slot slots_[kSlots];
  alignas(64) uint32_t sent_ = 0;
  alignas(64) uint32_t received_ = 0;
};

// What a thread does with its blocks before it leaves them to the other: it replaces each once, in order, so that every
// block is freed on the other thread; or `passes` * kHeld times a random one, so that about one in `passes` is. The
// latter, with sizes from 16 B to 1 KiB and 100 passes, is what Larson and Krishnan measured ("Memory allocation for
// long-running server applications", ISMM 1998).
struct Turn {
  bool in_order;
  int64_t passes = 1;
};

template <typename Memory>
void take_turns(const std::vector<Request>& trace, Turn turn, int64_t turns, Mailbox<Memory>* from,
                Mailbox<Memory>* to) {
  typename Mailbox<Memory>::Blocks blocks(kHeld);
  auto request = trace.begin();
  const auto replace = [&](size_t i) {
    if (blocks[i].data) Memory::deallocate(blocks[i]);
    Memory::allocate(request->bytes, &blocks[i]);
    touch(blocks[i].data, 1, Touch::kFirst);
    if (++request == trace.end()) request = trace.begin();
  };
  for (int64_t t = 0; t < turns; ++t) {
    for (int64_t i = 0; i < turn.passes * kHeld; ++i) replace(turn.in_order ? i : request->slot);
    to->send(blocks);
    from->receive(blocks);
  }
  free_all<Memory>(blocks);
}

// Of those that the process may use: two threads that yield to each other could share one for long.
void stay_on_core(int index) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed) && index-- == 0) CPU_SET(core, &one);
  if (CPU_COUNT(&one) > 0) sched_setaffinity(0, sizeof(one), &one);
}

template <typename Memory>
Row allocate_free(const std::string& name, size_t bytes) {
  return {.name = "cached/" + name, .prepare = [bytes] {
            return Work{.repeat =
                            [bytes](int64_t times) {
                              for (int64_t i = 0; i < times; ++i) {
                                typename Memory::Block block;
                                Memory::allocate(bytes, &block);
                                keep(block.data);
                                Memory::deallocate(block);
                              }
                            },
                        .check = {}};
          }};
}

template <typename Memory>
Row trace(const std::string& name, int64_t steps, int64_t slots, size_t least, size_t most, Touch how) {
  return {.name = "trace/" + name, .parts = steps, .prepare = [=] {
            auto requests = std::make_shared<std::vector<Request>>(random_trace(steps, slots, least, most, 7));
            auto held = std::make_shared<Slots<Memory>>(slots);
            return Work{.repeat =
                            [=](int64_t times) {
                              for (int64_t i = 0; i < times; ++i)
                                for (const Request& request : *requests) held->replace(request, how);
                            },
                        .check = {}};
          }};
}

template <typename Memory>
Row threads(const std::string& name, Turn turn, int count) {
  const int64_t turns_of_row = 400 / turn.passes;
  return {.name = name + "/" + std::to_string(count), .parts = turns_of_row * turn.passes * kHeld, .prepare = [=] {
            auto requests = std::make_shared<std::vector<Request>>(random_trace(4096, kHeld, 16, kKiB, 9));
            return Work{.repeat =
                            [=](int64_t times) {
                              Mailbox<Memory> boxes[2];
                              const int64_t turns = times * turns_of_row;
                              std::vector<std::jthread> running;
                              for (int i = 0; i < count; ++i)
                                running.emplace_back([&, i] {
                                  stay_on_core(i);
                                  take_turns(*requests, turn, turns, &boxes[i], &boxes[count - 1 - i]);
                                });
                            },
                        .check = {}};
          }};
}

// Each of two threads allocates and frees as much as the one alone does: with perfect scaling the rows take the same.
template <typename Memory>
void add_threads(const std::string& name, Turn turn, std::vector<Row>* rows) {
  for (const int count : {1, 2}) rows->push_back(threads<Memory>("threads/" + name, turn, count));
}

template <typename Memory>
std::vector<Row> allocator_rows() {
  std::vector<Row> rows = {allocate_free<Memory>("64B", 64),
                           allocate_free<Memory>("1KiB", kKiB),
                           allocate_free<Memory>("16KiB", 16 * kKiB),
                           allocate_free<Memory>("256KiB", 256 * kKiB),
                           allocate_free<Memory>("1MiB", kMiB),
                           trace<Memory>("16B..64KiB", 16384, 2048, 16, 64 * kKiB, Touch::kFirst),
                           trace<Memory>("64KiB..1MiB", 4096, 256, 64 * kKiB, kMiB, Touch::kFirst),
                           trace<Memory>("1MiB..16MiB", 1024, 32, kMiB, 16 * kMiB, Touch::kFirst),
                           trace<Memory>("1MiB..16MiB,pages", 128, 32, kMiB, 16 * kMiB, Touch::kPages)};
  add_threads<Memory>("100th", {.in_order = false, .passes = 100}, &rows);
  add_threads<Memory>("4th", {.in_order = false, .passes = 4}, &rows);
  add_threads<Memory>("every", {.in_order = true}, &rows);
  return rows;
}

// A training step of a small network, with what else the caller does after each.
Row step(const std::string& name, void (*after)()) {
  return {.name = "step/" + name, .prepare = [after] {
            auto model = std::make_shared<nn::Sequential>();
            model->push_back(nn::Linear(784, 512));
            model->push_back(nn::ReLU());
            model->push_back(nn::Linear(512, 10));
            auto optimizer = std::make_shared<optim::SGD>(model->parameters(), optim::SGDOptions{.lr = 1e-3});
            const Tensor x = zeros({128, 784}), y = zeros({128}, kInt64);
            return Work{.repeat =
                            [=](int64_t times) {
                              for (int64_t i = 0; i < times; ++i) {
                                optimizer->zero_grad();
                                nn::functional::cross_entropy((*model)(x), y).backward();
                                optimizer->step();
                                after();
                              }
                            },
                        .check = {}};
          }};
}

std::vector<Row> vellum_rows() {
  std::vector<Row> rows = allocator_rows<Vellum>();
  rows.push_back(step("plain", [] {}));
  rows.push_back(step("empty_cache", [] { empty_cache(); }));
  return rows;
}

}  // namespace
}  // namespace vellum::benchmarks

int main(int argc, char** argv) {
  using namespace vellum::benchmarks;  // NOLINT
  const bool of_malloc = argc > 1 && std::strcmp(argv[1], "--malloc") == 0;
  return serve({.version = of_malloc ? "malloc" : "vellum",
                .rows = of_malloc ? allocator_rows<Malloc>() : vellum_rows(),
                .set_num_threads = vellum::set_num_threads,
                .count_memory = [] {},
                .peak_memory = [] { return vellum::max_memory_reserved(); },
                .release_memory = [] { vellum::empty_cache(); }},
               argc - of_malloc, argv + of_malloc);
}
