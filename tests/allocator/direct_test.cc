#include "vellum/allocator/direct.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/device/error.h"

namespace vellum {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// What the device was last asked, and how it shall answer.
struct Calls {
  int device = -1;
  size_t bytes = 0, alignment = 0;
  size_t freed_bytes = 0;
  void* freed = nullptr;
  int live = 0;
  Status answer;
  bool no_memory = false;
} calls;

Status fake_allocate(int device, size_t bytes, size_t alignment, void** out) noexcept {
  calls.device = device;
  calls.bytes = bytes;
  calls.alignment = alignment;
  if (!calls.answer.ok()) return calls.answer;
  *out = calls.no_memory ? nullptr : std::aligned_alloc(alignment, bytes);
  ++calls.live;
  return ok_status();
}

Status fake_deallocate(int, void* data, size_t bytes) noexcept {
  calls.freed = data;
  calls.freed_bytes = bytes;
  --calls.live;
  std::free(data);
  return ok_status();
}

Status shapes_allocate(int, size_t, size_t, void** out) noexcept {
  *out = nullptr;
  return ok_status();
}

const DeviceApi fake_api{
    .device_count = []() noexcept { return 2; }, .allocate = fake_allocate, .deallocate = fake_deallocate};
const DeviceApi shapes_api{
    .device_count = []() noexcept { return 1; }, .allocate = shapes_allocate, .shape_only = true};

class DirectTest : public ::testing::Test {
 protected:
  DirectTest() { calls = {}; }
  Device fake_{register_device("fake", fake_api), 1};
  Device shapes_{register_device("shapes", shapes_api)};
  Block block_;
};

TEST_F(DirectTest, AsksTheDeviceAndCountsWhatABlockOccupies) {
  DirectAllocator direct(fake_);
  ASSERT_TRUE(direct.allocate(100, 64, {}, &block_).ok());
  EXPECT_EQ(calls.device, 1);
  EXPECT_EQ(calls.bytes, 128u);
  EXPECT_EQ(calls.alignment, 64u);
  EXPECT_EQ(block_.bytes, 100u);
  const MemoryStats held = direct.stats();
  EXPECT_EQ(held.requested.current, 100);
  EXPECT_EQ(held.active.current, 128);
  EXPECT_EQ(held.reserved.current, 128);
  EXPECT_EQ(held.upstream_allocations, 1);

  direct.deallocate(block_, {});
  EXPECT_EQ(calls.freed, block_.data);
  EXPECT_EQ(calls.freed_bytes, 128u);
  const MemoryStats after = direct.stats();
  EXPECT_EQ(after.active.current, 0);
  EXPECT_EQ(after.active.peak, 128);
  EXPECT_EQ(after.active.freed, 128);
  EXPECT_EQ(after.frees, 1);
  direct.reset_peak_stats();
  EXPECT_EQ(direct.stats().active.peak, 0);
}

TEST_F(DirectTest, LargeBlocksAreWholeHugePages) {
  struct Row {
    size_t requested, alignment, asked_bytes, asked_alignment;
  };
  const Row table[] = {{2 * kMiB - 1, 64, 2 * kMiB, 64},         {2 * kMiB, 64, 2 * kMiB, 2 * kMiB},
                       {2 * kMiB + 1, 64, 4 * kMiB, 2 * kMiB},   {100, 4096, 4096, 4096},
                       {4 * kMiB, 4 * kMiB, 4 * kMiB, 4 * kMiB}, {100, 1, 128, 64}};
  DirectAllocator direct(fake_);
  for (const Row& row : table) {
    ASSERT_TRUE(direct.allocate(row.requested, row.alignment, {}, &block_).ok());
    EXPECT_EQ(calls.bytes, row.asked_bytes);
    EXPECT_EQ(calls.alignment, row.asked_alignment);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block_.data) % row.asked_alignment, 0u);
    EXPECT_EQ(direct.stats().active.current, static_cast<int64_t>(row.asked_bytes));
    direct.deallocate(block_, {});
    EXPECT_EQ(calls.freed_bytes, row.asked_bytes);
  }
  EXPECT_EQ(calls.live, 0);
}

TEST_F(DirectTest, AFailureOfTheDeviceCountsNothing) {
  DirectAllocator direct(fake_);
  calls.answer = {StatusCode::kOutOfMemory, "full"};
  block_.data = this;
  EXPECT_EQ(direct.allocate(100, 64, {}, &block_).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(block_.data, this);
  EXPECT_EQ(direct.stats().allocations, 0);
  EXPECT_EQ(direct.stats().active.allocated, 0);
}

TEST_F(DirectTest, ADeviceThatGivesNothingIsAnError) {
  DirectAllocator direct(fake_);
  calls.no_memory = true;
  EXPECT_EQ(direct.allocate(100, 64, {}, &block_).code, StatusCode::kDeviceError);
}

TEST_F(DirectTest, RefusesBadRequestsBeforeTheDeviceIsAsked) {
  DirectAllocator direct(fake_);
  EXPECT_EQ(direct.allocate(64, 0, {}, &block_).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(direct.allocate(64, 48, {}, &block_).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(direct.allocate(~size_t{0}, 64, {}, &block_).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(calls.device, -1);
}

TEST_F(DirectTest, ZeroBytesDoNotReachTheDevice) {
  DirectAllocator direct(fake_);
  ASSERT_TRUE(direct.allocate(0, 64, {}, &block_).ok());
  EXPECT_EQ(block_.data, nullptr);
  direct.deallocate(block_, {});
  EXPECT_EQ(calls.device, -1);
  EXPECT_EQ(direct.stats().allocations, 1);
  EXPECT_EQ(direct.stats().frees, 1);
  EXPECT_EQ(direct.stats().active.allocated, 0);
}

TEST_F(DirectTest, ShapeOnlyBlocksAreCountedButHaveNoData) {
  DirectAllocator direct(shapes_);
  ASSERT_TRUE(direct.allocate(3 * kMiB, 64, {}, &block_).ok());
  EXPECT_EQ(block_.data, nullptr);
  EXPECT_EQ(block_.bytes, 3 * kMiB);
  EXPECT_EQ(direct.stats().active.current, static_cast<int64_t>(4 * kMiB));
  direct.deallocate(block_, {});
  EXPECT_EQ(direct.stats().active.current, 0);
}

class Snapshot final : public SegmentVisitor {
 public:
  void segment(const SegmentInfo& segment) override { segments.push_back(segment); }
  void block(const BlockInfo& block) override { blocks.push_back(block); }
  std::vector<SegmentInfo> segments;
  std::vector<BlockInfo> blocks;
};

TEST_F(DirectTest, ASnapshotTellsTheLiveBlocks) {
  DirectAllocator direct(fake_);
  Block other;
  ASSERT_TRUE(direct.allocate(100, 64, {fake_, 3}, &block_).ok());
  ASSERT_TRUE(direct.allocate(200, 64, {}, &other).ok());
  direct.deallocate(other, {});
  Snapshot snapshot;
  direct.visit_segments(snapshot);
  ASSERT_EQ(snapshot.segments.size(), 1u);
  EXPECT_EQ(snapshot.segments[0].data, block_.data);
  EXPECT_EQ(snapshot.segments[0].bytes, 128u);
  EXPECT_EQ(snapshot.segments[0].stream.handle, 3u);
  ASSERT_EQ(snapshot.blocks.size(), 1u);
  EXPECT_EQ(snapshot.blocks[0].requested, 100u);
  EXPECT_EQ(snapshot.blocks[0].state, BlockInfo::State::kActive);
  EXPECT_EQ(direct.active_bytes(block_), 128u);
  direct.deallocate(block_, {});
}

// What the device was asked through the sources, one letter a call.
std::string asked;

const DeviceApi rich_api{
    .device_count = []() noexcept { return 1; },
    .stream_wait_event =
        [](int, StreamHandle stream, EventHandle event) noexcept {
          asked += stream == 5 && event == 9 ? "w" : "?";
          return ok_status();
        },
    .event_create =
        [](int, EventHandle* out) noexcept {
          *out = 9;
          asked += "c";
          return ok_status();
        },
    .event_destroy =
        [](int, EventHandle) noexcept {
          asked += "d";
          return ok_status();
        },
    .event_record =
        [](int, EventHandle event, StreamHandle stream) noexcept {
          asked += stream == 5 && event == 9 ? "r" : "?";
          return ok_status();
        },
    .event_query =
        [](int, EventHandle) noexcept {
          asked += "q";
          return Status{StatusCode::kNotReady, nullptr};
        },
    .event_synchronize =
        [](int, EventHandle) noexcept {
          asked += "s";
          return ok_status();
        },
    .granularity = 4096,
    .reserve =
        [](int, size_t, void** out) noexcept {
          *out = nullptr;
          asked += "R";
          return ok_status();
        },
    .map =
        [](int, void*, size_t) noexcept {
          asked += "M";
          return ok_status();
        },
    .unmap =
        [](int, void*, size_t) noexcept {
          asked += "U";
          return ok_status();
        },
    .release =
        [](int, void*, size_t) noexcept {
          asked += "L";
          return ok_status();
        },
};

TEST_F(DirectTest, OffersThePagesAndEventsOfItsDevice) {
  const Device rich(register_device("rich", rich_api));
  DirectAllocator direct(rich);
  EventSource* events = direct.events();
  ASSERT_NE(events, nullptr);
  EventHandle event = 0;
  const Stream stream{rich, 5};
  EXPECT_TRUE(events->create(&event).ok());
  EXPECT_TRUE(events->record(event, stream).ok());
  EXPECT_EQ(events->query(event).code, StatusCode::kNotReady);
  EXPECT_TRUE(events->wait(stream, event).ok());
  EXPECT_TRUE(events->synchronize(event).ok());
  EXPECT_TRUE(events->destroy(event).ok());
  PageSource* pages = direct.pages();
  ASSERT_NE(pages, nullptr);
  EXPECT_EQ(pages->granularity(), 4096u);
  void* data = nullptr;
  EXPECT_TRUE(pages->reserve(4096, &data).ok());
  EXPECT_TRUE(pages->map(data, 4096).ok());
  EXPECT_TRUE(pages->unmap(data, 4096).ok());
  EXPECT_TRUE(pages->release(data, 4096).ok());
  EXPECT_EQ(asked, "crqwsdRMUL");
}

TEST_F(DirectTest, OffersNeitherWhereTheDeviceHasNone) {
  DirectAllocator direct(fake_);
  EXPECT_EQ(direct.pages(), nullptr);
  EXPECT_EQ(direct.events(), nullptr);
}

TEST_F(DirectTest, NeedsABackend) { EXPECT_THROW(DirectAllocator(Device(device_type("nobody"))), DeviceError); }

}  // namespace
}  // namespace vellum
