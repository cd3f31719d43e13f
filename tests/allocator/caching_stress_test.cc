#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/caching_fixture.h"

namespace vellum::testing {
namespace {

// A block filled with words of its own, which shows when another block overlaps it or its memory was handed out twice.
struct Marked {
  Block block;
  uint64_t mark = 0;

  // The first, the last and every 61st word between them.
  template <typename F>
  void for_each_word(F f) const {
    auto* words = static_cast<uint64_t*>(block.data);
    const size_t count = block.bytes / sizeof(uint64_t);
    for (size_t i = 0; i < count; i += 61) f(words[i], mark + i);
    f(words[count - 1], mark + count - 1);
  }
  void write() const {
    for_each_word([](uint64_t& word, uint64_t value) { word = value; });
  }
  bool intact() const {
    bool ok = true;
    for_each_word([&](uint64_t& word, uint64_t value) { ok &= word == value; });
    return ok;
  }
};

class CachingStress : public CachingTest {
 protected:
  Marked make(std::mt19937& random) {
    const int log = std::uniform_int_distribution<int>(3, random() % 16 == 0 ? 22 : 14)(random);
    const size_t bytes = std::uniform_int_distribution<size_t>(size_t{1} << log, size_t{2} << log)(random);
    Marked marked{allocate(bytes, size_t{64} << (random() % 8 == 0 ? random() % 7 : 0)), random()};
    marked.write();
    return marked;
  }
  void drop(const Marked& marked) {
    EXPECT_TRUE(marked.intact()) << marked.block.bytes;
    free(marked.block);
  }
  void expect_all_returned() {
    const MemoryStats s = stats();
    EXPECT_EQ(s.active.current, 0);
    EXPECT_EQ(s.requested.current, 0);
    EXPECT_EQ(s.allocations, s.frees);
    caching_->empty_cache();
    EXPECT_EQ(stats().reserved.current, 0);
    EXPECT_EQ(stats().split.current, 0);
  }
};

TEST_F(CachingStress, BlocksOfOneThreadNeverOverlap) {
  std::mt19937 random(3);
  std::vector<Marked> blocks;
  for (int i = 0; i < 30000; ++i) {
    if (random() % 2 == 0 && blocks.size() < 400) {
      blocks.push_back(make(random));
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      drop(blocks.back());
      blocks.pop_back();
    }
  }
  for (const Marked& marked : blocks) drop(marked);
  expect_all_returned();
}

struct IgnoredSnapshot final : SegmentVisitor {
  void segment(const SegmentInfo& segment) override { EXPECT_GT(segment.bytes, 0u); }
  void block(const BlockInfo& block) override { EXPECT_GT(block.bytes, 0u); }
};

// Threads pass blocks to each other through shared places, so that about every second free is on a foreign thread.
TEST_F(CachingStress, BlocksOfManyThreadsNeverOverlap) {
  create({.thread_cache_bytes = 256 * kKiB});
  std::array<std::atomic<Marked*>, 64> places{};
  const auto work = [&](int seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 2000; ++i) {
      std::unique_ptr<Marked> marked(new Marked(make(random)));
      marked.reset(places[random() % places.size()].exchange(marked.release()));
      if (marked) drop(*marked);
      if (i % 1000 == 500) caching_->empty_cache();
      if (i % 500 == 250) {
        EXPECT_GE(stats().reserved.current, 0);
        IgnoredSnapshot snapshot;
        caching_->visit_segments(snapshot);
      }
    }
  };
  for (int generation = 0; generation < 3; ++generation) {  // later threads take over the caches of ended ones
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) threads.emplace_back(work, generation * 8 + t);
    for (std::thread& thread : threads) thread.join();
  }
  for (auto& place : places)
    if (std::unique_ptr<Marked> marked(place.load()); marked) drop(*marked);
  expect_all_returned();
}

// Memory of a device whose events are complete when they are asked for the third time.
class SlowEvents final : public Allocator, public EventSource {
 public:
  explicit SlowEvents(FakeUpstream::Counts* counts) : memory_(counts) {}
  std::string_view name() const override { return "slow events"; }
  Status allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept override {
    return memory_.allocate(bytes, alignment, stream, out);
  }
  void deallocate(const Block& block, const Stream& stream) noexcept override { memory_.deallocate(block, stream); }
  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}
  EventSource* events() noexcept override { return this; }

  Status create(EventHandle* out) noexcept override {
    const int event = ++last_;
    *out = static_cast<EventHandle>(event);
    return {event < static_cast<int>(asked_.size()) ? StatusCode::kOk : StatusCode::kOutOfMemory, nullptr};
  }
  Status destroy(EventHandle) noexcept override { return ok_status(); }
  Status record(EventHandle event, const Stream&) noexcept override {
    asked_[event] = 0;
    return ok_status();
  }
  Status query(EventHandle event) noexcept override {
    return {++asked_[event] < 3 ? StatusCode::kNotReady : StatusCode::kOk, nullptr};
  }
  Status synchronize(EventHandle event) noexcept override {
    asked_[event] = 3;
    return ok_status();
  }
  Status wait(const Stream&, EventHandle) noexcept override { return ok_status(); }

 private:
  FakeUpstream memory_;
  std::atomic<int> last_{0};
  std::array<std::atomic<int>, 100000> asked_{};
};

TEST(CachingStreamsStress, ThreadsShareStreams) {
  FakeUpstream::Counts counts;
  {
    CachingAllocator caching(std::make_unique<SlowEvents>(&counts), {.thread_cache_bytes = 64 * kKiB});
    std::array<std::atomic<Block*>, 32> places{};
    const auto work = [&](unsigned seed) {
      std::mt19937 random(seed);
      for (int i = 0; i < 500; ++i) {
        const Stream stream{{}, random() % 3}, other{{}, random() % 3};
        auto block = std::make_unique<Block>();
        ASSERT_TRUE(caching.allocate(size_t{64} << random() % 16, 64, stream, &*block).ok());
        static_cast<char*>(block->data)[block->bytes - 1] = 1;
        if (random() % 2 == 0) caching.record_stream(*block, other);
        block.reset(places[random() % places.size()].exchange(block.release()));
        if (block) caching.deallocate(*block, stream);
        if (i % 200 == 100) caching.empty_cache();
      }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 8; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
    for (auto& place : places)
      if (std::unique_ptr<Block> block(place.load()); block) caching.deallocate(*block, {});
    EXPECT_EQ(caching.check_invariants(), "");
    EXPECT_EQ(caching.stats().requested.current, 0);
  }
  EXPECT_EQ(counts.live_blocks, 0);
  EXPECT_EQ(counts.faults, 0);
}

}  // namespace
}  // namespace vellum::testing
