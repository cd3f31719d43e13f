#ifndef VELLUM_ALLOCATOR_ADAPTORS_FAULT_INJECTION_H_
#define VELLUM_ALLOCATOR_ADAPTORS_FAULT_INJECTION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "vellum/allocator/adaptors/adaptor.h"

namespace vellum {

// Which allocations fail, counted from 0 since the faults were set. One that fits any of these fails.
struct InjectedFaults {
  int64_t at = -1;                             // this one
  int64_t from = -1;                           // this one and all later ones
  int64_t every = 0;                           // each n-th: with 3, those numbered 2, 5, 8, ...
  std::function<bool(size_t bytes)> if_bytes;  // those of these sizes; must not throw, nor use this allocator
};

// Makes chosen allocations fail with kOutOfMemory before the strategy sees them, so that a program can be shown to
// survive each:
//
//   faults.inject({.at = k});
//   EXPECT_THROW(step(), OutOfMemoryError);
//   faults.inject({});  // none fails any more
//
// Thread-safe; threads share one count.
class FaultInjectionAdaptor final : public Adaptor {
 public:
  // Throws InvalidArgumentError when `upstream` is null.
  explicit FaultInjectionAdaptor(std::unique_ptr<Allocator> upstream, InjectedFaults faults = {});

  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;

  PageSource* pages() noexcept override { return nullptr; }

  // Replaces the faults and begins both counts anew.
  void inject(InjectedFaults faults);
  int64_t allocations() const;  // asked for since the faults were set, the failed ones among them
  int64_t failures() const;

 private:
  bool fails(size_t bytes);

  mutable std::mutex mutex_;
  InjectedFaults faults_;
  int64_t allocations_ = 0;
  int64_t failures_ = 0;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ADAPTORS_FAULT_INJECTION_H_
