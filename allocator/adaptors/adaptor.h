#ifndef VELLUM_ALLOCATOR_ADAPTORS_ADAPTOR_H_
#define VELLUM_ALLOCATOR_ADAPTORS_ADAPTOR_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "vellum/allocator/allocator.h"

namespace vellum {

// Passes everything on to the strategy that it wraps and owns. Adaptors derive from it and override what they change;
// they can be stacked in any order, and blocks are those of the strategy. Put below a strategy, they see the segments
// that it takes; one that does nothing to pages offers none, lest the strategy take its memory past it. To put one
// around what serves a device:
//
//   auto limit = std::make_unique<LimitAdaptor>(make_default_allocator(device), size_t{1} << 30);
//   set_allocator(device, std::move(limit));
class Adaptor : public Allocator {
 public:
  // "limit(caching)".
  std::string_view name() const override { return name_; }

  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override {
    return upstream_->allocate(bytes, alignment, stream, out);
  }
  void deallocate(const Block& block, const Stream& stream) noexcept override { upstream_->deallocate(block, stream); }
  void record_stream(const Block& block, const Stream& stream) noexcept override {
    upstream_->record_stream(block, stream);
  }
  void empty_cache() noexcept override { upstream_->empty_cache(); }
  MemoryStats stats() const override { return upstream_->stats(); }
  void reset_peak_stats() noexcept override { upstream_->reset_peak_stats(); }
  int64_t allocated_on_this_thread() noexcept override { return upstream_->allocated_on_this_thread(); }
  size_t active_bytes(const Block& block) const noexcept override { return upstream_->active_bytes(block); }
  void release_stream(const Stream& stream) noexcept override { upstream_->release_stream(stream); }
  uint64_t add_pressure_callback(PressureCallback callback) override {
    return upstream_->add_pressure_callback(std::move(callback));
  }
  void remove_pressure_callback(uint64_t number) noexcept override { upstream_->remove_pressure_callback(number); }
  void visit_segments(SegmentVisitor& visitor) const override { upstream_->visit_segments(visitor); }
  void observe_segments(SegmentObserver* observer, const Allocator& source) noexcept override {
    upstream_->observe_segments(observer, source);
  }
  PageSource* pages() noexcept override { return upstream_->pages(); }
  EventSource* events() noexcept override { return upstream_->events(); }

  Allocator& upstream() const { return *upstream_; }

 protected:
  // Throws InvalidArgumentError when `upstream` is null.
  Adaptor(std::string_view adaptor, std::unique_ptr<Allocator> upstream);

 private:
  std::unique_ptr<Allocator> upstream_;
  std::string name_;
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ADAPTORS_ADAPTOR_H_
