#ifndef VELLUM_TESTS_ALLOCATOR_FAKE_UPSTREAM_H_
#define VELLUM_TESTS_ALLOCATOR_FAKE_UPSTREAM_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>

#include "vellum/allocator/allocator.h"

namespace vellum::testing {

// Host memory with a limit, counted apart from the strategy under test. Blocks are aligned to 64 bytes and to no more,
// so that stricter alignment must be the strategy's work. A block given back is overwritten whole. Whatever is wrong
// with a call is counted in `faults`.
class FakeUpstream final : public Allocator {
 public:
  struct Counts {
    int64_t live_bytes = 0;
    int64_t peak_bytes = 0;
    int64_t live_blocks = 0;
    int64_t calls = 0;  // successful ones
    int64_t failures = 0;
    int64_t faults = 0;
    size_t last_bytes = 0;
  };

  // `counts` outlives this.
  explicit FakeUpstream(Counts* counts, int64_t limit = std::numeric_limits<int64_t>::max())
      : counts_(counts), limit_(limit) {}
  ~FakeUpstream() override { counts_->faults += static_cast<int64_t>(live_.size()); }

  std::string_view name() const override { return "fake"; }

  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override {
    std::lock_guard lock(mutex_);
    if (alignment > 64 || bytes == 0) ++counts_->faults;
    if (counts_->live_bytes + static_cast<int64_t>(bytes) > limit_) {
      ++counts_->failures;
      return {StatusCode::kOutOfMemory, "fake upstream: limit reached"};
    }
    auto* base = static_cast<char*>(std::aligned_alloc(4096, (bytes + 64 + 4095) / 4096 * 4096));
    *out = {base + 64, bytes, nullptr};
    live_[out->data] = {bytes, stream.handle};
    counts_->last_bytes = bytes;
    counts_->live_bytes += static_cast<int64_t>(bytes);
    counts_->peak_bytes = std::max(counts_->peak_bytes, counts_->live_bytes);
    ++counts_->live_blocks;
    ++counts_->calls;
    return ok_status();
  }

  void deallocate(const Block& block, const Stream& stream) noexcept override {
    std::lock_guard lock(mutex_);
    const auto found = live_.find(block.data);
    if (found == live_.end() || found->second.bytes != block.bytes || found->second.stream != stream.handle) {
      ++counts_->faults;
      return;
    }
    live_.erase(found);
    counts_->live_bytes -= static_cast<int64_t>(block.bytes);
    --counts_->live_blocks;
    std::memset(block.data, 0xDD, block.bytes);
    std::free(static_cast<char*>(block.data) - 64);
  }

  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}

 private:
  struct Live {
    size_t bytes;
    StreamHandle stream;
  };

  Counts* const counts_;
  const int64_t limit_;
  std::mutex mutex_;
  std::map<void*, Live> live_;
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_ALLOCATOR_FAKE_UPSTREAM_H_
