#include "vellum/allocator/arena.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/arena_scope.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using ::testing::FieldsAre;

constexpr size_t kChunk = 4096;

// An arena over an upstream that must have everything back at the end.
class Arena : public ::testing::Test {
 protected:
  Arena() : arena_(std::in_place, std::make_unique<testing::FakeUpstream>(&upstream_), ArenaOptions{kChunk}) {}
  ~Arena() override {
    arena_.reset();
    EXPECT_EQ(upstream_.live_blocks, 0);
    EXPECT_EQ(upstream_.faults, 0);
  }

  Block allocate(size_t bytes, size_t alignment = kDefaultAlignment, StreamHandle stream = 0) {
    Block block;
    const Status status = arena_->allocate(bytes, alignment, Stream{{}, stream}, &block);
    EXPECT_TRUE(status.ok()) << status.message;
    return block;
  }
  void free(const Block& block, StreamHandle stream = 0) { arena_->deallocate(block, Stream{{}, stream}); }

  testing::FakeUpstream::Counts upstream_;
  std::optional<ArenaAllocator> arena_;
};

TEST_F(Arena, OutsideAScopeIsItsUpstream) {
  const Block block = allocate(100);
  EXPECT_EQ(upstream_.live_bytes, 100);
  EXPECT_EQ(arena_->active_bytes(block), 100);
  free(block);
  EXPECT_EQ(upstream_.live_bytes, 0);
}

TEST_F(Arena, AScopeFillsAChunkFromFrontToBack) {
  std::vector<Block> blocks;
  {
    ArenaScope scope;
    for (size_t bytes : {100, 1, 64}) blocks.push_back(allocate(bytes));
    EXPECT_EQ(upstream_.calls, 1);
    EXPECT_EQ(upstream_.live_bytes, kChunk);
    const auto* start = static_cast<const char*>(blocks[0].data);
    EXPECT_EQ(static_cast<const char*>(blocks[1].data) - start, 128);
    EXPECT_EQ(static_cast<const char*>(blocks[2].data) - start, 192);
    for (const Block& block : blocks) free(block);
    EXPECT_EQ(upstream_.live_blocks, 1);  // until the scope ends
  }
  EXPECT_EQ(upstream_.live_blocks, 0);
}

TEST_F(Arena, BlocksThatOutliveTheScopeKeepTheirChunk) {
  Block kept;
  {
    ArenaScope scope;
    free(allocate(100));
    kept = allocate(200);
  }
  std::memset(kept.data, 0x5A, kept.bytes);
  EXPECT_EQ(upstream_.live_bytes, kChunk);
  const Block after = allocate(50);
  EXPECT_EQ(upstream_.live_bytes, kChunk + 50);
  EXPECT_EQ(static_cast<const char*>(kept.data)[199], 0x5A);
  free(kept);
  EXPECT_EQ(upstream_.live_bytes, 50);
  free(after);
}

TEST_F(Arena, AFullChunkGoesBackWithItsLastBlock) {
  ArenaScope scope;
  std::vector<Block> blocks;
  for (int k = 0; k < 6; ++k) blocks.push_back(allocate(1024));  // 4 fit into 4096, less what alignment may take
  EXPECT_EQ(upstream_.live_blocks, 2);
  for (const Block& block : blocks) free(block);
  EXPECT_EQ(upstream_.live_blocks, 1);
}

TEST_F(Arena, LargeRequestsGoToUpstream) {
  ArenaScope scope;
  const Block block = allocate(kChunk / 2);
  EXPECT_EQ(upstream_.last_bytes, kChunk / 2);
  free(block);
  EXPECT_EQ(upstream_.live_blocks, 0);
}

TEST_F(Arena, PiecesAreAlignedAsAsked) {
  ArenaScope scope;
  const Block small = allocate(8), aligned = allocate(100, 1024);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned.data) % 1024, 0);
  Block none;
  EXPECT_EQ(arena_->allocate(8, 3, {}, &none).code, StatusCode::kInvalidArgument);
  free(small);
  free(aligned);
}

TEST_F(Arena, EachStreamHasAChunkOfItsOwn) {
  ArenaScope scope;
  const Block a = allocate(100), b = allocate(100, kDefaultAlignment, 7), c = allocate(100);
  EXPECT_EQ(upstream_.live_blocks, 2);
  EXPECT_EQ(static_cast<const char*>(c.data) - static_cast<const char*>(a.data), 128);
  free(a);
  free(b, 7);
  free(c);
}

TEST_F(Arena, AScopeIsOfItsThreadAndDevice) {
  ArenaScope other(Device(kCPU, 1));
  const Block block = allocate(100);
  EXPECT_EQ(upstream_.last_bytes, 100);
  ArenaScope scope;
  std::thread([&] { free(allocate(80)); }).join();
  EXPECT_EQ(upstream_.last_bytes, 80);
  free(block);
}

TEST_F(Arena, ScopesNest) {
  ArenaScope outer;
  const Block a = allocate(100);
  Block b;
  {
    ArenaScope inner;
    b = allocate(100);
  }
  EXPECT_EQ(upstream_.live_blocks, 2);
  free(b);
  EXPECT_EQ(upstream_.live_blocks, 1);
  const Block c = allocate(100);
  EXPECT_EQ(static_cast<const char*>(c.data) - static_cast<const char*>(a.data), 128);
  free(a);
  free(c);
}

TEST_F(Arena, CountsPiecesAndNotChunks) {
  const Block outside = allocate(1000);
  {
    ArenaScope scope;
    free(allocate(8));  // upstream, which counts nothing, hands out the chunk
    const int64_t before = arena_->allocated_on_this_thread();
    const Block a = allocate(100), b = allocate(30);
    EXPECT_EQ(arena_->stats().active.current, 1000 + 128 + 64);
    EXPECT_EQ(arena_->stats().requested.current, 1130);
    EXPECT_EQ(arena_->active_bytes(a), 128);
    EXPECT_EQ(arena_->active_bytes(outside), 1000);
    EXPECT_EQ(arena_->allocated_on_this_thread() - before, 128 + 64);
    free(a);
    free(b);
    EXPECT_EQ(arena_->stats().active.current, 1000);
    EXPECT_EQ(arena_->stats().active.peak, 1192);
    arena_->reset_peak_stats();
    EXPECT_EQ(arena_->stats().active.peak, 1000);
  }
  free(outside);
  const MemoryStats stats = arena_->stats();
  EXPECT_EQ(stats.active.freed, stats.active.allocated);
  EXPECT_EQ(stats.allocations, 4);
  EXPECT_EQ(stats.frees, 4);
}

TEST_F(Arena, WithoutRoomForAChunkUpstreamServes) {
  arena_.emplace(std::make_unique<testing::FakeUpstream>(&upstream_, kChunk - 1), ArenaOptions{kChunk});
  ArenaScope scope;
  const Block block = allocate(100);
  EXPECT_EQ(upstream_.live_bytes, 100);
  free(block);
}

TEST_F(Arena, PiecesMayBeFreedOnAnyThread) {
  std::vector<std::vector<Block>> handed(4);
  for (std::vector<Block>& blocks : handed) {
    ArenaScope scope;
    for (int k = 0; k < 200; ++k) blocks.push_back(allocate(64 + static_cast<size_t>(k)));
  }
  std::vector<std::thread> threads;
  for (std::vector<Block>& blocks : handed)
    threads.emplace_back([&] {
      ArenaScope scope;
      for (const Block& block : blocks) {
        const Block mine = allocate(block.bytes);
        std::memset(mine.data, 1, mine.bytes);
        std::memset(block.data, 2, block.bytes);
        free(block);
        free(mine);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena_->stats().active.current, 0);
}

// Each block is filled with a number of its own, which must still be there when it is freed.
TEST_F(Arena, NoBlockIsEverPartOfAnother) {
  struct Filled {
    Block block;
    unsigned char number;
  };
  std::mt19937 random(3);
  std::vector<Filled> live;
  std::vector<std::unique_ptr<ArenaScope>> scopes;
  for (int k = 0; k < 20000; ++k) {
    const size_t choice = random() % 100;
    if (choice < 2 && scopes.size() < 3) scopes.push_back(std::make_unique<ArenaScope>());
    if (choice >= 98 && !scopes.empty()) scopes.pop_back();
    if (choice % 2 == 0 || live.empty()) {
      live.push_back({allocate(1 + random() % 1500), static_cast<unsigned char>(k)});
      std::memset(live.back().block.data, live.back().number, live.back().block.bytes);
      continue;
    }
    std::swap(live[random() % live.size()], live.back());
    const Filled& last = live.back();
    for (size_t i = 0; i < last.block.bytes; ++i)
      ASSERT_EQ(static_cast<const unsigned char*>(last.block.data)[i], last.number);
    free(last.block);
    live.pop_back();
  }
  while (!scopes.empty()) scopes.pop_back();
  for (const Filled& filled : live) free(filled.block);
  EXPECT_EQ(arena_->stats().active.current, 0);
}

// An upstream with one segment for each block, that notes the uses of other streams.
class Segmented final : public Allocator {
 public:
  explicit Segmented(std::vector<StreamHandle>* recorded) : recorded_(recorded) {}
  std::string_view name() const override { return "segmented"; }
  Status allocate(size_t bytes, size_t, const Stream&, Block* out) noexcept override {
    *out = {std::aligned_alloc(64, (bytes + 63) / 64 * 64), bytes, nullptr};
    blocks_.push_back(*out);
    allocated_ += static_cast<int64_t>(bytes);
    return ok_status();
  }
  void deallocate(const Block& block, const Stream& stream) noexcept override {
    freed_on = stream.handle;
    std::erase_if(blocks_, [&](const Block& b) { return b.data == block.data; });
    std::free(block.data);
  }
  void record_stream(const Block& block, const Stream& stream) noexcept override {
    recorded_->push_back(stream.handle);
    recorded_block = block.data;
  }
  MemoryStats stats() const override { return {.active = {.allocated = allocated_}}; }
  void reset_peak_stats() noexcept override {}
  void visit_segments(SegmentVisitor& visitor) const override {
    for (const Block& block : blocks_) {
      visitor.segment({block.data, block.bytes + 10, {}});
      visitor.block({block.data, block.bytes, block.bytes, BlockInfo::State::kActive});
    }
  }
  const void* recorded_block = nullptr;
  StreamHandle freed_on = 99;

 private:
  std::vector<StreamHandle>* recorded_;
  std::vector<Block> blocks_;
  int64_t allocated_ = 0;
};

TEST(ArenaOverAnother, AThreadIsGivenPiecesAndNotTheirChunkToo) {
  std::vector<StreamHandle> recorded;
  ArenaAllocator arena(std::make_unique<Segmented>(&recorded), {.chunk_bytes = kChunk});
  const int64_t before = arena.allocated_on_this_thread();
  Block outside, piece;
  ASSERT_TRUE(arena.allocate(1000, kDefaultAlignment, {}, &outside).ok());
  {
    ArenaScope scope;
    ASSERT_TRUE(arena.allocate(100, kDefaultAlignment, {}, &piece).ok());
  }
  EXPECT_EQ(arena.allocated_on_this_thread() - before, 1000 + 128);
  arena.deallocate(outside, {});
  arena.deallocate(piece, {});
}

TEST(ArenaOverAnother, UsesOnOtherStreamsAreTheChunks) {
  std::vector<StreamHandle> recorded;
  auto owned = std::make_unique<Segmented>(&recorded);
  const Segmented& upstream = *owned;
  ArenaAllocator arena(std::move(owned), {.chunk_bytes = kChunk});
  Block first, second;
  {
    ArenaScope scope;
    ASSERT_TRUE(arena.allocate(100, kDefaultAlignment, {}, &first).ok());
    ASSERT_TRUE(arena.allocate(100, kDefaultAlignment, {}, &second).ok());
    arena.record_stream(second, Stream{{}, 5});
    arena.record_stream(second, Stream{});  // its own
    EXPECT_EQ(upstream.recorded_block, first.data);
    arena.deallocate(second, Stream{{}, 6});
    arena.deallocate(first, Stream{});
  }
  EXPECT_THAT(recorded, ElementsAre(5, 6));
}

TEST(ArenaOverAnother, AChunkOfAStreamThatHasEndedGoesBackOnTheDefaultStream) {
  std::vector<StreamHandle> recorded;
  auto owned = std::make_unique<Segmented>(&recorded);
  const Segmented& upstream = *owned;
  ArenaAllocator arena(std::move(owned), {.chunk_bytes = kChunk});
  Block block;
  {
    ArenaScope scope;
    ASSERT_TRUE(arena.allocate(100, kDefaultAlignment, Stream{{}, 7}, &block).ok());
  }
  arena.release_stream(Stream{{}, 7});
  arena.deallocate(block, Stream{{}, 7});
  EXPECT_EQ(upstream.freed_on, 0);
  EXPECT_THAT(recorded, ElementsAre());  // nothing may be recorded there any more
}

TEST(ArenaOverAnother, AChunkServesNoLaterStreamOfTheSameHandle) {
  std::vector<StreamHandle> recorded;
  auto owned = std::make_unique<Segmented>(&recorded);
  const Segmented& upstream = *owned;
  ArenaAllocator arena(std::move(owned), {.chunk_bytes = kChunk});
  const Stream stream{{}, 7};
  std::vector<Block> blocks(4);
  ArenaScope scope;
  ASSERT_TRUE(arena.allocate(100, kDefaultAlignment, stream, &blocks[0]).ok());
  arena.release_stream(stream);
  for (size_t k = 1; k < blocks.size(); ++k)
    ASSERT_TRUE(arena.allocate(100, kDefaultAlignment, stream, &blocks[k]).ok());
  for (const Block& later : {blocks[1], blocks[2], blocks[3]})
    EXPECT_GE(static_cast<size_t>(std::abs(static_cast<char*>(later.data) - static_cast<char*>(blocks[0].data))),
              kChunk);
  EXPECT_EQ(static_cast<char*>(blocks[3].data) - static_cast<char*>(blocks[2].data), 128);  // of one chunk again
  arena.record_stream(blocks[0], stream);                                                   // the later stream
  EXPECT_THAT(recorded, ElementsAre(7));
  arena.deallocate(blocks[0], stream);
  EXPECT_EQ(upstream.freed_on, 0);
  for (const Block& later : {blocks[1], blocks[2], blocks[3]}) arena.deallocate(later, stream);
}

class ListBlocks final : public SegmentVisitor {
 public:
  void segment(const SegmentInfo& segment) override { segments.push_back(segment.bytes); }
  void block(const BlockInfo& block) override { blocks.push_back(block); }
  std::vector<size_t> segments;
  std::vector<BlockInfo> blocks;
};

TEST(ArenaOverAnother, SegmentsShowPiecesAndGaps) {
  using State = BlockInfo::State;
  std::vector<StreamHandle> recorded;
  ArenaAllocator arena(std::make_unique<Segmented>(&recorded), {.chunk_bytes = kChunk});
  Block outside, a, b, c;
  ASSERT_TRUE(arena.allocate(70, kDefaultAlignment, {}, &outside).ok());
  ArenaScope scope;
  for (Block* block : {&a, &b, &c}) ASSERT_TRUE(arena.allocate(100, kDefaultAlignment, {}, block).ok());
  arena.deallocate(b, {});
  ListBlocks list;
  arena.visit_segments(list);
  EXPECT_THAT(list.segments, ElementsAre(80, kChunk + 10));
  EXPECT_THAT(list.blocks,
              ElementsAre(FieldsAre(outside.data, 70, 70, State::kActive), FieldsAre(a.data, 128, 100, State::kActive),
                          FieldsAre(b.data, 128, 0, State::kCached), FieldsAre(c.data, 128, 100, State::kActive),
                          FieldsAre(static_cast<const char*>(c.data) + 128, kChunk - 384, 0, State::kCached)));
  for (const Block& block : {outside, a, c}) arena.deallocate(block, {});
}

using ArenaDeathTest = Arena;

TEST_F(ArenaDeathTest, APieceThatIsFreedTwiceIsFatal) {
  ArenaScope scope;
  const Block block = allocate(100);
  free(block);
  EXPECT_DEATH(free(block), "freed twice");
}

}  // namespace
}  // namespace vellum
