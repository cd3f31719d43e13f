#include "vellum/allocator/memory.h"

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/device_api.h"
#include "vellum/device/error.h"
#include "vellum/device/stream.h"
#include "vellum/tests/allocator/fake_upstream.h"

namespace vellum {
namespace {

Status host_allocate(int, size_t bytes, size_t alignment, void** out) noexcept {
  *out = std::aligned_alloc(alignment, bytes);
  return ok_status();
}
Status host_deallocate(int, void* data, size_t) noexcept {
  std::free(data);
  return ok_status();
}
Status no_allocate(int, size_t, size_t, void** out) noexcept {
  *out = nullptr;
  return ok_status();
}

const DeviceApi host_api{.device_count = []() noexcept { return 9; },
                         .allocate = host_allocate,
                         .deallocate = host_deallocate,
                         .host_accessible = true};
const DeviceApi shapes_api{.device_count = []() noexcept { return 1; }, .allocate = no_allocate, .shape_only = true};

// The tests below set the variable where they need it.
[[maybe_unused]] const bool has_no_environment = unsetenv("VELLUM_ALLOCATOR") == 0;

// Each test takes a device of its own, because an allocator once made stays.
Device host(int index) { return {register_device("host", host_api), index}; }

template <typename E, typename F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Memory, CountsWhatAThreadWasGivenByAllAllocators) {
  Block cached, direct;
  set_allocator(host(6), make_strategy("direct", host(6)));
  const int64_t before = allocated_on_this_thread();
  ASSERT_TRUE(allocator(host(8)).allocate(1000, kDefaultAlignment, {host(8)}, &cached).ok());
  ASSERT_TRUE(allocator(host(6)).allocate(1000, kDefaultAlignment, {host(6)}, &direct).ok());
  EXPECT_EQ(allocated_on_this_thread() - before, 1024 + 1024);
  allocator(host(6)).deallocate(direct, {host(6)});
  set_allocator(host(6), make_strategy("direct", host(6)));
  EXPECT_EQ(allocated_on_this_thread() - before, 1024 + 1024);
  allocator(host(8)).deallocate(cached, {host(8)});
}

TEST(Memory, BytesAreWrittenForPeople) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(-(int64_t{3} << 30)), "-3.00 GiB");
}

TEST(Memory, TheDefaultIsCachingOverTheDevice) {
  const Device device = host(0);
  EXPECT_EQ(allocator(device).name(), "caching");
  EXPECT_EQ(&allocator(device), &allocator(device));
  EXPECT_NE(&allocator(device), &allocator(host(1)));
  Block block;
  ASSERT_TRUE(allocator(device).allocate(1000, kDefaultAlignment, {device}, &block).ok());
  EXPECT_EQ(memory_allocated(device), 1024);
  EXPECT_EQ(memory_reserved(device), 2 << 20);
  allocator(device).deallocate(block, {device});
  EXPECT_EQ(memory_allocated(device), 0);
  EXPECT_EQ(max_memory_allocated(device), 1024);
  empty_cache(device);
  EXPECT_EQ(memory_reserved(device), 0);
  EXPECT_EQ(max_memory_reserved(device), 2 << 20);
  reset_peak_memory_stats(device);
  EXPECT_EQ(max_memory_allocated(device), 0);
  EXPECT_EQ(memory_stats(device).allocations, 1);
}

TEST(Memory, OneAllocatorIsMadeHoweverManyThreadsAskAtOnce) {
  std::vector<Allocator*> seen(8);
  std::vector<std::thread> threads;
  for (Allocator*& mine : seen) threads.emplace_back([&mine] { mine = &allocator(host(2)); });
  for (std::thread& thread : threads) thread.join();
  for (Allocator* one : seen) EXPECT_EQ(one, seen[0]);
}

TEST(Memory, TheEnvironmentChoosesTheStrategy) {
  setenv("VELLUM_ALLOCATOR", "direct", 1);
  EXPECT_EQ(allocator(host(3)).name(), "direct");
  setenv("VELLUM_ALLOCATOR", "chaching", 1);
  EXPECT_EQ(message_of<InvalidArgumentError>([] { allocator(host(4)); }),
            "VELLUM_ALLOCATOR: no allocator strategy 'chaching' is linked; choose one of: arena, caching, direct; or "
            "depend on "
            "//allocator:register_chaching");
  unsetenv("VELLUM_ALLOCATOR");
  EXPECT_EQ(allocator(host(4)).name(), "caching");
}

TEST(Memory, AShapeOnlyDeviceIsAlwaysServedDirectly) {
  const Device device(register_device("shapes", shapes_api));
  setenv("VELLUM_ALLOCATOR", "caching", 1);
  EXPECT_EQ(allocator(device).name(), "direct");
  unsetenv("VELLUM_ALLOCATOR");
}

TEST(Memory, AnUnknownDeviceIsAnError) {
  EXPECT_THROW(allocator(Device(device_type("nobody"))), DeviceError);
  EXPECT_EQ(message_of<DeviceError>([] { allocator(host(9)); }),
            "device host:9 does not exist: there are 9 of its type; use one from 0 to 8");
}

TEST(Memory, AnAllocatorIsSetUnlessMemoryIsInUse) {
  static testing::FakeUpstream::Counts counts;
  const Device device = host(5);
  Block block;
  Allocator& first = allocator(device);
  ASSERT_TRUE(first.allocate(100, kDefaultAlignment, {device}, &block).ok());
  EXPECT_EQ(
      message_of<InvalidArgumentError>(
          [&] { set_allocator(device, std::make_unique<testing::FakeUpstream>(&counts)); }),
      "set_allocator: host:5 has 128 bytes in use from the 'caching' allocator; choose the allocator before making "
      "tensors");
  first.deallocate(block, {device});
  set_allocator(device, std::make_unique<testing::FakeUpstream>(&counts));
  EXPECT_EQ(allocator(device).name(), "fake");
  EXPECT_EQ(first.stats().reserved.current, 0);  // the old one lives on, emptied
}

// Notes the streams it is told to release.
class Noting final : public Allocator {
 public:
  explicit Noting(std::vector<StreamHandle>* released) : released_(released) {}
  std::string_view name() const override { return "noting"; }
  Status allocate(size_t, size_t, const Stream&, Block*) noexcept override { return {StatusCode::kOutOfMemory}; }
  void deallocate(const Block&, const Stream&) noexcept override {}
  MemoryStats stats() const override { return {}; }
  void reset_peak_stats() noexcept override {}
  void release_stream(const Stream& stream) noexcept override { released_->push_back(stream.handle); }

 private:
  std::vector<StreamHandle>* const released_;
};

std::vector<StreamHandle> released;
const DeviceApi streams_api{.device_count = []() noexcept { return 2; },
                            .stream_destroy =
                                [](int, StreamHandle stream) noexcept {
                                  released.push_back(stream + 100);
                                  return ok_status();
                                }};

TEST(Memory, AllocatorsHearOfAStreamBeforeItIsDestroyed) {
  const DeviceType type = register_device("streams", streams_api);
  set_allocator(Device(type, 0), std::make_unique<Noting>(&released));
  destroy_stream({Device(type, 0), 5});
  destroy_stream({Device(type, 1), 6});  // another device's
  destroy_stream({Device(type, 0), 0});  // the default one is never destroyed
  EXPECT_EQ(released, (std::vector<StreamHandle>{5, 105, 106}));
}

TEST(Memory, AListenerHearsOfStreamsThatAnyThreadDestroys) {
  const DeviceType type = register_device("streams of listeners", streams_api);
  const Device device(type, 0);
  released.clear();
  {
    const StreamEndListener outer([](const Stream& stream) { released.push_back(stream.handle + 10); });
    {
      const StreamEndListener inner([](const Stream& stream) { released.push_back(stream.handle + 20); });
      std::thread([&] { destroy_stream({device, 5}); }).join();
    }
    destroy_stream({device, 6});
  }
  destroy_stream({device, 7});
  EXPECT_EQ(released, (std::vector<StreamHandle>{15, 25, 105, 16, 106, 107}));
}

TEST(Memory, SetAllocatorRefusesNull) {
  EXPECT_EQ(message_of<InvalidArgumentError>([] { set_allocator(host(6), nullptr); }),
            "set_allocator: the allocator for host:6 is null");
}

TEST(Memory, TheSummaryIsAnAlignedTable) {
  const Device device = host(7);
  Block block;
  ASSERT_TRUE(allocator(device).allocate(3 << 20, kDefaultAlignment, {device}, &block).ok());
  EXPECT_EQ(memory_summary(device),
            "Memory of host:7, 'caching' allocator\n"
            "                  current           peak      allocated          freed\n"
            "requested        3.00 MiB       3.00 MiB       3.00 MiB            0 B\n"
            "active           3.00 MiB       3.00 MiB       3.00 MiB            0 B\n"
            "reserved        20.00 MiB      20.00 MiB      20.00 MiB            0 B\n"
            "split           17.00 MiB      17.00 MiB      17.00 MiB            0 B\n"
            "blocks                  1                             1              0\n"
            "segments                1                             1              0\n"
            "largest free block 17.00 MiB, cached 17.00 MiB\n");
  allocator(device).deallocate(block, {device});
}

TEST(Strategies, AreFoundByName) {
  EXPECT_EQ(strategy_names(), (std::vector<std::string>{"arena", "caching", "direct"}));
  EXPECT_EQ(make_strategy("direct", host(0))->name(), "direct");
  EXPECT_THROW(register_strategy("direct", [](Device) { return std::unique_ptr<Allocator>(); }), InvalidArgumentError);
}

}  // namespace
}  // namespace vellum
