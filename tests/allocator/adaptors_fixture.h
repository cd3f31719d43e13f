#ifndef VELLUM_TESTS_ALLOCATOR_ADAPTORS_FIXTURE_H_
#define VELLUM_TESTS_ALLOCATOR_ADAPTORS_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/allocator/allocator.h"

namespace vellum::testing {

class NoPages final : public PageSource {
 public:
  size_t granularity() const noexcept override { return 4096; }
  Status reserve(size_t, void**) noexcept override { return ok_status(); }
  Status map(void*, size_t) noexcept override { return ok_status(); }
  Status unmap(void*, size_t) noexcept override { return ok_status(); }
  Status release(void*, size_t) noexcept override { return ok_status(); }
};
class NoEvents final : public EventSource {
 public:
  Status create(EventHandle*) noexcept override { return ok_status(); }
  Status destroy(EventHandle) noexcept override { return ok_status(); }
  Status record(EventHandle, const Stream&) noexcept override { return ok_status(); }
  Status query(EventHandle) noexcept override { return ok_status(); }
  Status synchronize(EventHandle) noexcept override { return ok_status(); }
  Status wait(const Stream&, EventHandle) noexcept override { return ok_status(); }
};

// Notes each call that reaches it. Its blocks occupy twice their bytes.
class Noting final : public Allocator {
 public:
  explicit Noting(std::vector<std::string>* calls) : calls_(calls) {}

  std::string_view name() const override { return "noting"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override {
    note("allocate", bytes, alignment, stream.handle);
    *out = {memory_, bytes, this};
    return ok_status();
  }
  void deallocate(const Block& block, const Stream& stream) noexcept override {
    note("deallocate", block.bytes, block.handle == this, stream.handle);
  }
  void record_stream(const Block& block, const Stream& stream) noexcept override {
    note("record_stream", block.bytes, block.handle == this, stream.handle);
  }
  void release_stream(const Stream& stream) noexcept override { note("release_stream", stream.handle); }
  void empty_cache() noexcept override { note("empty_cache"); }
  MemoryStats stats() const override { return {.allocations = 7}; }  // no limit
  void reset_peak_stats() noexcept override { note("reset_peak_stats"); }
  int64_t allocated_on_this_thread() noexcept override { return 11; }
  size_t active_bytes(const Block& block) const noexcept override { return 2 * block.bytes; }
  void visit_segments(SegmentVisitor& visitor) const override { visitor.segment({memory_, 13, {}}); }
  uint64_t add_pressure_callback(PressureCallback callback) override { return callback(1) ? 17 : 0; }
  void remove_pressure_callback(uint64_t number) noexcept override { note("remove_pressure_callback", number); }
  void observe_segments(SegmentObserver* observer, const Allocator& source) noexcept override {
    observer->segment_changed(source, SegmentChange::kMapped, memory_, 19);
  }
  PageSource* pages() noexcept override { return &pages_; }
  EventSource* events() noexcept override { return &events_; }

  NoPages pages_;
  NoEvents events_;

 private:
  template <typename... Args>
  void note(const char* call, const Args&... args) {
    std::string line = call;
    ((line += " " + std::to_string(args)), ...);
    calls_->push_back(line);
  }

  std::vector<std::string>* calls_;
  char memory_[64];
};

// An adaptor over Noting and what a test says of blocks.
template <typename A>
class Over {
 public:
  template <typename... Args>
  explicit Over(Args&&... args) : adaptor(std::make_unique<Noting>(&calls), std::forward<Args>(args)...) {}

  Block allocate(size_t bytes, StreamHandle stream = 0) {
    Block block;
    EXPECT_TRUE(adaptor.allocate(bytes, kDefaultAlignment, Stream{{}, stream}, &block).ok());
    return block;
  }
  StatusCode refused(size_t bytes) {
    Block block;
    return adaptor.allocate(bytes, kDefaultAlignment, {}, &block).code;
  }
  void free(const Block& block) { adaptor.deallocate(block, {}); }

  std::vector<std::string> calls;
  A adaptor;
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_ALLOCATOR_ADAPTORS_FIXTURE_H_
