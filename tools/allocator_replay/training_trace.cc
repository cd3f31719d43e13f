#include "vellum/tools/allocator_replay/training_trace.h"

#include <ostream>
#include <random>
#include <vector>

#include "absl/strings/str_format.h"
#include "vellum/device/error.h"

namespace vellum::allocator_replay {
namespace {

constexpr int kMost = 100000;
constexpr uint64_t kFloat = 4;  // bytes

struct Allocated {
  uint64_t pointer = 0, bytes = 0;
};

class Writer {
 public:
  Writer(std::ostream& out, uint64_t seed) : out_(out), random_(seed) {
    out_ << "Thread,Time,Action,Pointer,Size,Stream\n";
  }

  Allocated allocate(uint64_t bytes) {
    const Allocated block{next_pointer_, bytes};
    next_pointer_ += (bytes + 255) / 256 * 256;
    row("allocate", block);
    return block;
  }

  void free(const Allocated& block) { row("free", block); }

  void free(std::vector<Allocated>& blocks) {
    for (; !blocks.empty(); blocks.pop_back()) free(blocks.back());
  }

  // From low to high - 1. Not a distribution of the standard library, whose values differ between machines.
  uint64_t uniform(uint64_t low, uint64_t high) { return low + random_() % (high - low); }

 private:
  void row(const char* action, const Allocated& block) {
    time_ += uniform(1, 40);
    out_ << absl::StreamFormat("0,%02d:%02d:%02d.%06d,%s,0x%x,%d,0x0\n", time_ / 3600000000 % 24, time_ / 60000000 % 60,
                               time_ / 1000000 % 60, time_ % 1000000, action, block.pointer, block.bytes);
  }

  std::ostream& out_;
  std::mt19937_64 random_;
  uint64_t next_pointer_ = 0x7f0000000000;
  uint64_t time_ = 0;  // microseconds
};

class Training {
 public:
  Training(std::ostream& out, const TrainingTraceOptions& options) : options_(options), writer_(out, options.seed) {
    for (int i = 0; i < options.layers; ++i) widths_.push_back(64 * writer_.uniform(1, 17));
    widths_.push_back(10);
    for (int i = 0; i < options.layers; ++i) {
      parameters_.push_back(writer_.allocate(weight_bytes(i)));
      parameters_.push_back(writer_.allocate(widths_[next(i)] * kFloat));
    }
  }

  void step() {
    const uint64_t batch = writer_.uniform(8, 129);
    Allocated input = writer_.allocate(batch * widths_[0] * kFloat);
    forward(batch);
    std::vector<Allocated> gradients = backward(batch);
    writer_.free(input);
    update(gradients);
  }

  void end() {
    writer_.free(states_);
    writer_.free(parameters_);
  }

 private:
  static size_t next(int layer) { return static_cast<size_t>(layer) + 1; }
  uint64_t weight_bytes(int layer) const { return widths_[static_cast<size_t>(layer)] * widths_[next(layer)] * kFloat; }

  void forward(uint64_t batch) {
    for (int i = 0; i < options_.layers; ++i) {
      const Allocated workspace = writer_.allocate(writer_.uniform(64, 1 << 16));
      activations_.push_back(writer_.allocate(batch * widths_[next(i)] * kFloat));
      writer_.free(workspace);
      activations_.push_back(writer_.allocate(batch * widths_[next(i)] * kFloat));
    }
  }

  std::vector<Allocated> backward(uint64_t batch) {
    std::vector<Allocated> gradients;
    Allocated flowing = writer_.allocate(batch * widths_.back() * kFloat);
    for (int i = options_.layers - 1; i >= 0; --i) {
      gradients.push_back(writer_.allocate(weight_bytes(i)));
      gradients.push_back(writer_.allocate(widths_[next(i)] * kFloat));
      const Allocated following = writer_.allocate(batch * widths_[static_cast<size_t>(i)] * kFloat);
      for (int k = 0; k < 2; ++k) {
        writer_.free(activations_.back());
        activations_.pop_back();
      }
      writer_.free(flowing);
      flowing = following;
    }
    writer_.free(flowing);
    return gradients;
  }

  void update(std::vector<Allocated>& gradients) {
    const bool first = states_.empty();
    for (const Allocated& gradient : gradients) {
      if (first)
        for (int k = 0; k < 2; ++k) states_.push_back(writer_.allocate(gradient.bytes));
      writer_.free(writer_.allocate(gradient.bytes));
    }
    writer_.free(gradients);
  }

  const TrainingTraceOptions& options_;
  Writer writer_;
  std::vector<uint64_t> widths_;
  std::vector<Allocated> parameters_, activations_, states_;
};

}  // namespace

void write_training_trace(std::ostream& out, const TrainingTraceOptions& options) {
  for (const int count : {options.layers, options.steps})
    if (count < 1 || count > kMost)
      throw_error<InvalidArgumentError>("a training trace has from 1 to ", kMost, " layers and steps, not ", count);
  Training training(out, options);
  for (int i = 0; i < options.steps; ++i) training.step();
  training.end();
}

}  // namespace vellum::allocator_replay
