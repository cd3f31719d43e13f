#ifndef VELLUM_TOOLS_ALLOCATOR_REPLAY_TOURNAMENT_H_
#define VELLUM_TOOLS_ALLOCATOR_REPLAY_TOURNAMENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "vellum/tools/allocator_replay/trace.h"

namespace vellum::allocator_replay {

struct Latency {
  int64_t p50 = 0;  // nanoseconds, with those of reading the clock once
  int64_t p99 = 0;
};

// How one strategy did.
struct Outcome {
  std::string strategy;
  int64_t reserved_peak = 0;         // bytes held from the device, by the device's count
  int64_t upstream_allocations = 0;  // calls to the device
  int64_t upstream_frees = 0;        // while the trace ran
  int64_t failures = 0;              // allocations of the trace that it could not serve
  int64_t lost_bytes = 0;            // still held when the strategy was gone; anything but 0 is a fault of it
  Latency allocate, free;
  int64_t total_ns = 0;  // in the allocator, all calls
};

struct Options {
  int64_t memory_limit = std::numeric_limits<int64_t>::max();  // bytes that the device has
  // Writes one byte to every page that it gets, within the time of the allocation: fresh memory from the system costs
  // only when it is first used.
  bool touch = false;
  std::function<void(const std::string& strategy, size_t done, size_t operations)> progress;  // may be empty
};

// Replays the calls of `trace` in their order on one thread, on a strategy of that name made over counted_device(). An
// allocation that fails is counted, and its free left out. Throws InvalidArgumentError where no such strategy is
// linked.
Outcome replay(const Trace& trace, const std::string& strategy, const Options& options);

// The p-th part of the values, 0 < p <= 1: the smallest that at least p of them do not exceed. 0 where there are none.
int64_t percentile(std::vector<uint32_t> values, double p);

// What reading the clock adds to each latency, in nanoseconds.
int64_t clock_cost();

}  // namespace vellum::allocator_replay

#endif  // VELLUM_TOOLS_ALLOCATOR_REPLAY_TOURNAMENT_H_
