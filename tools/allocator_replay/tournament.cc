#include "vellum/tools/allocator_replay/tournament.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "vellum/allocator/strategy.h"
#include "vellum/tools/allocator_replay/counted_device.h"

namespace vellum::allocator_replay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPage = 4096;                      // bytes
constexpr size_t kProgressEvery = size_t{1} << 18;  // operations

uint32_t nanoseconds(Clock::duration duration) {
  const int64_t count = std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
  return static_cast<uint32_t>(std::clamp<int64_t>(count, 0, std::numeric_limits<uint32_t>::max()));
}

void touch_pages(void* data, size_t bytes) {
  auto* bytes_of_it = static_cast<volatile char*>(data);
  for (size_t i = 0; i < bytes; i += kPage) bytes_of_it[i] = 1;
}

class Run {
 public:
  Run(const Trace& trace, const std::string& strategy, const Options& options)
      : trace_(trace), options_(options), allocator_(make_strategy(strategy, counted_device())) {
    outcome_.strategy = strategy;
    blocks_.resize(trace.allocations);
    allocate_times_.reserve(trace.allocations);
    free_times_.reserve(trace.frees);
  }

  Outcome run() {
    for (size_t i = 0; i < trace_.operations.size(); ++i) {
      if (options_.progress && i % kProgressEvery == 0)
        options_.progress(outcome_.strategy, i, trace_.operations.size());
      const Operation& operation = trace_.operations[i];
      operation.frees ? free(operation) : allocate(operation);
    }
    take_figures();
    for (const std::optional<Block>& block : blocks_)
      if (block) allocator_->deallocate(*block, stream(0));
    allocator_.reset();
    outcome_.lost_bytes = device_use().bytes;
    return std::move(outcome_);
  }

 private:
  static Stream stream(uint32_t handle) { return {counted_device(), handle}; }

  void allocate(const Operation& operation) {
    Block block;
    const Clock::time_point begin = Clock::now();
    const Status status = allocator_->allocate(operation.bytes, kDefaultAlignment, stream(operation.stream), &block);
    if (status.ok() && options_.touch) touch_pages(block.data, block.bytes);
    const Clock::time_point end = Clock::now();
    allocate_times_.push_back(nanoseconds(end - begin));
    if (status.ok())
      blocks_[operation.allocation] = block;
    else
      ++outcome_.failures;
  }

  void free(const Operation& operation) {
    std::optional<Block>& block = blocks_[operation.allocation];
    if (!block) return;
    const Clock::time_point begin = Clock::now();
    allocator_->deallocate(*block, stream(operation.stream));
    free_times_.push_back(nanoseconds(Clock::now() - begin));
    block.reset();
  }

  void take_figures() {
    const DeviceUse use = device_use();
    outcome_.reserved_peak = use.peak_bytes;
    outcome_.upstream_allocations = use.allocations;
    outcome_.upstream_frees = use.frees;
    for (const std::vector<uint32_t>* times : {&allocate_times_, &free_times_})
      for (const uint32_t time : *times) outcome_.total_ns += time;
    outcome_.allocate = {percentile(allocate_times_, 0.5), percentile(allocate_times_, 0.99)};
    outcome_.free = {percentile(free_times_, 0.5), percentile(free_times_, 0.99)};
  }

  const Trace& trace_;
  const Options& options_;
  std::unique_ptr<Allocator> allocator_;
  std::vector<std::optional<Block>> blocks_;  // by allocation
  std::vector<uint32_t> allocate_times_, free_times_;
  Outcome outcome_;
};

}  // namespace

Outcome replay(const Trace& trace, const std::string& strategy, const Options& options) {
  restart_counting(options.memory_limit);
  return Run(trace, strategy, options).run();
}

int64_t percentile(std::vector<uint32_t> values, double p) {
  if (values.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(p * static_cast<double>(values.size())));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::clamp<size_t>(rank, 1, values.size()) - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

int64_t clock_cost() {
  std::vector<uint32_t> costs;
  for (int i = 0; i < 1001; ++i) {
    const Clock::time_point begin = Clock::now();
    costs.push_back(nanoseconds(Clock::now() - begin));
  }
  return percentile(std::move(costs), 0.5);
}

}  // namespace vellum::allocator_replay
