// One side of //benchmarks:allocator: the same requests to this library's allocator or, with `--malloc`, to malloc and
// free of whichever library is loaded before the C library. See worker.h for the commands that it takes.

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
  static Block allocate(size_t bytes) { return {std::malloc(bytes)}; }
  static void deallocate(const Block& block) { std::free(block.data); }
};

struct Vellum {
  using Block = vellum::Block;
  static Block allocate(size_t bytes) {
    static Allocator& source = allocator(Device(kCPU));
    Block block;
    if (!source.allocate(bytes, kDefaultAlignment, {}, &block).ok()) std::abort();
    return block;
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
class Slots {
 public:
  explicit Slots(size_t count) : blocks_(count) {}
  ~Slots() {
    for (const auto& block : blocks_)
      if (block.data) Memory::deallocate(block);
  }
  void replace(const Request& request, Touch how) {
    auto& block = blocks_[request.slot];
    if (block.data) Memory::deallocate(block);
    block = Memory::allocate(request.bytes);
    touch(block.data, request.bytes, how);
  }

 private:
  std::vector<typename Memory::Block> blocks_;
};

// A ring between two threads: what one allocates, the other frees.
template <typename Memory>
class Ring {
 public:
  bool push(const typename Memory::Block& block) {
    const size_t end = end_.load(std::memory_order_relaxed);
    if (end - begin_.load(std::memory_order_acquire) == kSize) return false;
    blocks_[end % kSize] = block;
    end_.store(end + 1, std::memory_order_release);
    return true;
  }
  bool pop(typename Memory::Block* out) {
    const size_t begin = begin_.load(std::memory_order_relaxed);
    if (begin == end_.load(std::memory_order_acquire)) return false;
    *out = blocks_[begin % kSize];
    begin_.store(begin + 1, std::memory_order_release);
    return true;
  }

 private:
  static constexpr size_t kSize = 256;
  typename Memory::Block blocks_[kSize];
  alignas(64) std::atomic<size_t> begin_{0};
  alignas(64) std::atomic<size_t> end_{0};
};

// Allocates `count` blocks into `to` and frees what comes from `from`, until it has freed as many.
template <typename Memory>
void exchange(const std::vector<Request>& trace, int64_t count, Ring<Memory>* from, Ring<Memory>* to) {
  const auto n = static_cast<int64_t>(trace.size());
  int64_t sent = 0, freed = 0;
  while (sent < count || freed < count) {
    bool idle = true;
    for (int i = 0; i < 32 && sent < count; ++i, ++sent) {
      const typename Memory::Block block = Memory::allocate(trace[sent % n].bytes);
      touch(block.data, 1, Touch::kFirst);
      if (!to->push(block)) {
        Memory::deallocate(block);
        break;
      }
      idle = false;
    }
    typename Memory::Block block;
    for (int i = 0; i < 32 && freed < count && from->pop(&block); ++i, ++freed) {
      Memory::deallocate(block);
      idle = false;
    }
    if (idle) std::this_thread::yield();
  }
}

template <typename Memory>
Row allocate_free(const std::string& name, size_t bytes) {
  return {.name = "cached/" + name, .prepare = [bytes] {
            return Work{.repeat =
                            [bytes](int64_t times) {
                              for (int64_t i = 0; i < times; ++i) {
                                const auto block = Memory::allocate(bytes);
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

// Each of the threads allocates and frees as much as the one alone does: with perfect scaling the rows take the same.
template <typename Memory>
Row threads(int count) {
  constexpr int64_t kBlocks = 50000;
  return {.name = "threads/" + std::to_string(count), .parts = kBlocks, .prepare = [count] {
            auto requests = std::make_shared<std::vector<Request>>(random_trace(4096, 1, 64, 64 * kKiB, 9));
            return Work{.repeat =
                            [=](int64_t times) {
                              auto rings = std::make_unique<Ring<Memory>[]>(2);
                              const int64_t blocks = times * kBlocks;
                              if (count == 1) return exchange<Memory>(*requests, blocks, &rings[0], &rings[0]);
                              std::thread other([&] { exchange<Memory>(*requests, blocks, &rings[0], &rings[1]); });
                              exchange<Memory>(*requests, blocks, &rings[1], &rings[0]);
                              other.join();
                            },
                        .check = {}};
          }};
}

template <typename Memory>
std::vector<Row> allocator_rows() {
  return {allocate_free<Memory>("64B", 64),
          allocate_free<Memory>("1KiB", kKiB),
          allocate_free<Memory>("16KiB", 16 * kKiB),
          allocate_free<Memory>("256KiB", 256 * kKiB),
          allocate_free<Memory>("1MiB", kMiB),
          trace<Memory>("16B..64KiB", 16384, 2048, 16, 64 * kKiB, Touch::kFirst),
          trace<Memory>("64KiB..1MiB", 4096, 256, 64 * kKiB, kMiB, Touch::kFirst),
          trace<Memory>("1MiB..16MiB", 1024, 32, kMiB, 16 * kMiB, Touch::kFirst),
          trace<Memory>("1MiB..16MiB,pages", 128, 32, kMiB, 16 * kMiB, Touch::kPages),
          threads<Memory>(1),
          threads<Memory>(2)};
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
