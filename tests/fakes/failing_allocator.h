#ifndef VELLUM_TESTS_FAKES_FAILING_ALLOCATOR_H_
#define VELLUM_TESTS_FAKES_FAILING_ALLOCATOR_H_

#include <memory>
#include <string_view>

#include "vellum/allocator/allocator.h"
#include "vellum/allocator/strategy.h"

namespace vellum::fakes {

// Allocations that a FailingAllocator lets pass before it fails all further ones; negative: none fails.
inline int allocations_left = -1;

// The CPU's caching strategy, until it is told to fail.
class FailingAllocator final : public Allocator {
 public:
  FailingAllocator() : upstream_(make_strategy("caching", Device(kCPU))) {}

  std::string_view name() const override { return "failing"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override {
    if (allocations_left == 0) return {StatusCode::kOutOfMemory, "the test wants this allocation to fail"};
    if (allocations_left > 0) --allocations_left;
    return upstream_->allocate(bytes, alignment, stream, out);
  }
  void deallocate(const Block& block, const Stream& stream) noexcept override { upstream_->deallocate(block, stream); }
  MemoryStats stats() const override { return upstream_->stats(); }
  void reset_peak_stats() noexcept override { upstream_->reset_peak_stats(); }

 private:
  std::unique_ptr<Allocator> upstream_;
};

}  // namespace vellum::fakes

#endif  // VELLUM_TESTS_FAKES_FAILING_ALLOCATOR_H_
