#ifndef VELLUM_MEMORY_PREDICT_H_
#define VELLUM_MEMORY_PREDICT_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "vellum/allocator/strategy.h"
#include "vellum/device/device.h"

namespace vellum {

// What a function needed of a device's memory, in bytes, from an empty pool on. See MemoryStats.
struct MemoryPeaks {
  Device device;
  std::string strategy;
  int64_t requested = 0;      // asked for by live blocks
  int64_t active = 0;         // occupied by them, after rounding
  int64_t reserved = 0;       // held from the device, in use and cached: what must fit
  int64_t fragmentation = 0;  // free between live blocks, in segments that are partly in use
  int64_t allocations = 0;    // how many
  // What ran when `active` and `reserved` got to their peaks, from the outside in: "encoder.0 > MulBackward > mul".
  // Only a prediction tells.
  std::string active_at, reserved_at;
};

struct PredictOptions {
  Device device;         // whose memory is told of; that of others is left out
  std::string strategy;  // as registered; empty: that of the device's allocator
  // Makes the strategy in the place of the registry's, for those who gave set_allocator one with options. Its argument
  // stands for the device.
  StrategyFactory make_strategy = nullptr;
  int64_t budget = 0;  // bytes that the device has; 0: as many as are asked for, up to the 16 TiB of a dry run
};

// Predicts what `fn` needs by a dry run on this thread: shapes and dtypes are inferred, kernels planned, outputs and
// workspaces allocated, the graph recorded and walked as in a run, with the kernels, instruction set and number of
// threads of this program, by the same strategy, made anew, over memory that does not exist. Only what would compute or
// copy values is left out. Where shapes do not depend on values and one thread allocates, the result is exact: what
// measure_peak() finds.
//
// Within `fn`,
//  - factories, tensors from host data, data loaders and random numbers work; the generators are put back afterwards;
//  - reading values of a tensor that it made (item, data, to_vector, printing, narrow that starts there), and operators
//    whose shapes depend on values (nonzero, masked_select, masks as indices) throw InvalidArgumentError;
//  - numbers that operators are given have their values, and so have those of scalar_tensor() until they are changed;
//  - page-locked memory is as in a run: it does not count;
//  - tensors from outside may be operands, and their values may be read. They do not count, and nothing may change them
//    (writes in place, out=, gradients that would arrive in .grad): InvalidArgumentError or AutogradError. Nor may what
//    shares their memory be changed or made to require gradients: clone() where a run would detach(). So build the
//    model within `fn`;
//  - tensors belong to this thread. Those that `fn` leaves behind have no memory and must not be used: that is an
//    InvalidArgumentError, too. Whatever else `fn` changes in the program is not undone.
//
// Throws what `fn` throws, OutOfMemoryError when the budget does not suffice even after cached memory was given back,
// and InvalidArgumentError for a strategy that is not linked.
MemoryPeaks predict_peak(const std::function<void()>& fn, const PredictOptions& options = {});

// Runs `fn` on this thread with real memory from an empty pool of the same kind, which serves nobody else, and tells
// what it needed. Tensors may outlive it: then the pool stays. `budget` is not looked at. Throws InvalidArgumentError
// within predict_peak().
MemoryPeaks measure_peak(const std::function<void()>& fn, const PredictOptions& options = {});

// A table for people to read, with a column for each: peaks_table({{"predicted", a}, {"measured", b}}).
std::string peaks_table(std::span<const std::pair<std::string, MemoryPeaks>> columns);
inline std::string peaks_table(std::initializer_list<std::pair<std::string, MemoryPeaks>> columns) {
  return peaks_table(std::span(columns.begin(), columns.size()));
}

// One try of largest_batch.
struct BatchTrial {
  int64_t batch = 0;
  bool fits = false;
  MemoryPeaks peaks;  // where it fits
};

struct LargestBatchOptions {
  PredictOptions predict;                           // its budget is not looked at
  int64_t at_most = int64_t{1} << 20;               // no larger ones are tried
  std::function<void(const BatchTrial&)> on_trial;  // told of each, as a progress report
};

// The largest batch for which a dry run of fn(batch) succeeds on a device with `budget` bytes; 0 where 1 is too large.
// Doubles from 1 on and then halves the interval, so it takes for granted that what fits for one batch fits for every
// smaller one. Throws as predict_peak does, but for OutOfMemoryError, and InvalidArgumentError for a budget or an
// at_most that is not positive.
int64_t largest_batch(const std::function<void(int64_t batch)>& fn, int64_t budget,
                      const LargestBatchOptions& options = {});

}  // namespace vellum

#endif  // VELLUM_MEMORY_PREDICT_H_
