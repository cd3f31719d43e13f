#ifndef VELLUM_ALLOCATOR_ADAPTORS_LIMIT_H_
#define VELLUM_ALLOCATOR_ADAPTORS_LIMIT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "vellum/allocator/adaptors/adaptor.h"

namespace vellum {

// A hard bound on the bytes that live blocks occupy (`active`): what would exceed it is refused with kOutOfMemory, and
// nothing has changed. What the strategy caches beyond that does not count. Thread-safe.
//
//   LimitAdaptor limit(make_default_allocator(device), size_t{512} << 20);  // half a GiB
//
// What a block will occupy is known only once the strategy has made it, so the strategy may briefly hold a block
// that is then refused.
class LimitAdaptor final : public Adaptor {
 public:
  // Throws InvalidArgumentError when `upstream` is null.
  LimitAdaptor(std::unique_ptr<Allocator> upstream, size_t limit);

  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override;
  void deallocate(const Block& block, const Stream& stream) noexcept override;

  PageSource* pages() noexcept override { return nullptr; }
  // Upstream's, with this limit where it is the smaller one: what is thrown for want of memory names it.
  MemoryStats stats() const override;

  size_t limit() const { return limit_; }
  size_t active() const { return active_.load(std::memory_order_relaxed); }  // bytes, never above the limit
  int64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

 private:
  bool take(size_t bytes) noexcept;
  Status refuse() noexcept;

  const size_t limit_;
  std::atomic<size_t> active_{0};
  std::atomic<int64_t> refusals_{0};
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ADAPTORS_LIMIT_H_
