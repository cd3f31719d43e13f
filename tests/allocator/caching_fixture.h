#ifndef VELLUM_TESTS_ALLOCATOR_CACHING_FIXTURE_H_
#define VELLUM_TESTS_ALLOCATOR_CACHING_FIXTURE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "gtest/gtest.h"
#include "vellum/allocator/caching.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace vellum::testing {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;

// A caching allocator over a fake upstream, which must have everything back at the end.
class CachingTest : public ::testing::Test {
 protected:
  CachingTest() { create({}); }
  ~CachingTest() override {
    caching_.reset();
    EXPECT_EQ(upstream_.live_blocks, 0);
    EXPECT_EQ(upstream_.faults, 0);
  }

  void create(CachingOptions options, int64_t limit = std::numeric_limits<int64_t>::max()) {
    caching_.reset();
    upstream_ = {};
    caching_.emplace(std::make_unique<FakeUpstream>(&upstream_, limit), options);
  }

  Block allocate(size_t bytes, size_t alignment = kDefaultAlignment, StreamHandle stream = 0) {
    Block block;
    const Status status = caching_->allocate(bytes, alignment, Stream{{}, stream}, &block);
    EXPECT_TRUE(status.ok()) << status.message;
    return block;
  }
  void free(const Block& block, StreamHandle stream = 0) { caching_->deallocate(block, Stream{{}, stream}); }
  MemoryStats stats() const { return caching_->stats(); }

  FakeUpstream::Counts upstream_;
  std::optional<CachingAllocator> caching_;
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_ALLOCATOR_CACHING_FIXTURE_H_
