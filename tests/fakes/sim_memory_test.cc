// The memory of the simulated accelerator.

#include "vellum/tests/fakes/sim_memory.h"

#include "vellum/device/thread_state.h"
#include "vellum/tests/fakes/sim_fixture.h"

namespace vellum::sim {
namespace {

using ::testing::HasSubstr;

class SimMemory : public SimTest {};
using SimMemoryDeathTest = SimMemory;

TEST_F(SimMemoryDeathTest, AReadByTheHostEndsTheProgramAndNamesTheBlock) {
  const AnnotationScope annotation(Annotation::Kind::kOperator, "conv2d");
  const char* const data = static_cast<const char*>(allocate());
  EXPECT_DEATH({ (void)*static_cast<const volatile char*>(data + 5); },
               "sim: host code touched device memory: byte 5 of 4096 of sim:0, allocated by 'conv2d'");
}

TEST_F(SimMemoryDeathTest, AWriteByTheHostEndsTheProgramToo) {
  char* const data = static_cast<char*>(allocate());
  EXPECT_DEATH({ *static_cast<volatile char*>(data) = 1; }, "host code touched device memory: byte 0");
}

TEST_F(SimMemoryDeathTest, TheReportNamesTheWorkThatMistookTheAddress) {
  char* const data = static_cast<char*>(allocate());
  EXPECT_DEATH(
      {
        enqueue(a_, "peek", [data] {
          *static_cast<volatile char*>(data) = 1;
          return ok_status();
        });
        run_one(a_);
      },
      "in the work 'peek'");
}

TEST_F(SimMemory, HoldsNothingOfUseBeforeItIsWritten) {
  const void* const data = allocate();
  EXPECT_EQ(first_byte(data), 0xDD);
}

TEST_F(SimMemory, IsAlignedAsAsked) {
  for (const size_t alignment : {size_t{64}, size_t{4096}, size_t{2} << 20}) {
    void* data = nullptr;
    ASSERT_TRUE(api_.allocate(0, 100, alignment, &data).ok());
    EXPECT_EQ(reinterpret_cast<size_t>(data) % alignment, 0u) << alignment;
    EXPECT_TRUE(api_.deallocate(0, data, 100).ok());
  }
}

TEST_F(SimMemory, EndsAtItsLimit) {
  size_t free_before, total, free_after;
  ASSERT_TRUE(api_.memory_info(0, &free_before, &total).ok());
  set_memory_limit(device_, total - free_before + 3 * 4096);
  void* const data = allocate(2 * 4096);
  void* more = nullptr;
  EXPECT_EQ(api_.allocate(0, 2 * 4096, 64, &more).code, StatusCode::kOutOfMemory);
  EXPECT_EQ(more, nullptr);
  ASSERT_TRUE(api_.memory_info(0, &free_after, &total).ok());
  EXPECT_EQ(free_after, 4096u);
  EXPECT_TRUE(api_.deallocate(0, data, 2 * 4096).ok());
  EXPECT_TRUE(api_.allocate(0, 2 * 4096, 64, &more).ok());
}

TEST_F(SimMemory, OfOneDeviceIsNotTheOthers) {
  void* const data = allocate();
  EXPECT_EQ(api_.memset(1, data, 0, kBytes, 0).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(api_.deallocate(1, data, kBytes).code, StatusCode::kInvalidArgument);
}

TEST_F(SimMemory, IsCopiedInTheDirectionThatTheAddressesHaveOnly) {
  void* const data = allocate();
  char host[kBytes] = {};
  EXPECT_EQ(copy(data, host, CopyKind::kDeviceToHost, a_).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(host, data, CopyKind::kHostToDevice, a_).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(data, host, CopyKind::kDeviceToDevice, a_).code, StatusCode::kInvalidArgument);
  EXPECT_EQ(copy(data, host, CopyKind::kHostToDevice, a_, 4097).code, StatusCode::kInvalidArgument)
      << "beyond the block";
  EXPECT_EQ(pending(a_), 0u);
}

TEST_F(SimMemory, IsFreedWhenTheWorkBeforeHasRun) {
  void* const data = allocate();
  char host[kBytes] = {};
  ASSERT_TRUE(fill(data, 7, a_).ok());
  ASSERT_TRUE(copy(host, data, CopyKind::kDeviceToHost, a_).ok());
  EXPECT_TRUE(api_.deallocate(0, data, kBytes).ok());
  EXPECT_EQ(host[0], 7);
  EXPECT_EQ(reach(data, 1), nullptr);
}

class SimPages : public SimTest {
 protected:
  SimPages() { EXPECT_TRUE(api_.reserve(0, 4 * kGranularity, &data_).ok()); }
  char* page(size_t i) const { return static_cast<char*>(data_) + i * kGranularity; }
  void* data_ = nullptr;
};

TEST_F(SimPages, AreMappedOneByOne) {
  EXPECT_EQ(fill(page(1), 3, a_).code, StatusCode::kInvalidArgument);
  ASSERT_TRUE(api_.map(0, page(1), 2 * kGranularity).ok());
  EXPECT_TRUE(fill(page(2) - kBytes / 2, 3, a_).ok()) << "across two pages";
  EXPECT_EQ(reach(page(2), kGranularity + 1), nullptr);
  ASSERT_TRUE(api_.map(0, page(3), kGranularity).ok());
  EXPECT_NE(reach(page(2), kGranularity + 1), nullptr);
}

TEST_F(SimPages, CountWhileMapped) {
  size_t before, mapped, after, total;
  ASSERT_TRUE(api_.memory_info(0, &before, &total).ok());
  ASSERT_TRUE(api_.map(0, page(0), 3 * kGranularity).ok());
  ASSERT_TRUE(api_.memory_info(0, &mapped, &total).ok());
  EXPECT_EQ(before - mapped, 3 * kGranularity);
  ASSERT_TRUE(api_.unmap(0, page(0), 3 * kGranularity).ok());
  ASSERT_TRUE(api_.memory_info(0, &after, &total).ok());
  EXPECT_EQ(after, before);
  set_memory_limit(device_, total - after + kGranularity);
  EXPECT_EQ(api_.map(0, page(0), 2 * kGranularity).code, StatusCode::kOutOfMemory);
}

TEST_F(SimPages, LoseTheirBytesWhenUnmapped) {
  ASSERT_TRUE(api_.map(0, page(0), kGranularity).ok());
  ASSERT_TRUE(fill(page(0), 3, a_).ok());
  run_all(device_);
  ASSERT_EQ(first_byte(page(0)), 3);
  ASSERT_TRUE(api_.unmap(0, page(0), kGranularity).ok());
  ASSERT_TRUE(api_.map(0, page(0), kGranularity).ok());
  EXPECT_EQ(first_byte(page(0)), 0xDD);
}

TEST_F(SimPages, UnmappedUnderWorkMakeItFail) {
  ASSERT_TRUE(api_.map(0, page(0), kGranularity).ok());
  ASSERT_TRUE(fill(page(0), 3, a_).ok());
  ASSERT_TRUE(api_.unmap(0, page(0), kGranularity).ok()) << "it does not wait";
  const Status status = api_.stream_synchronize(0, a_.handle);
  EXPECT_EQ(status.code, StatusCode::kDeviceError);
  EXPECT_THAT(status.message, HasSubstr("'memset' failed on stream"));
  EXPECT_THAT(status.message, HasSubstr("memory that is not mapped"));
}

TEST_F(SimPages, AreRefusedWhereTheyDoNotFit) {
  const auto invalid = StatusCode::kInvalidArgument;
  EXPECT_EQ(api_.map(0, page(0) + 4096, kGranularity).code, invalid);
  EXPECT_EQ(api_.map(0, page(0), kGranularity / 2).code, invalid);
  EXPECT_EQ(api_.map(0, page(3), 2 * kGranularity).code, invalid);
  EXPECT_EQ(api_.map(1, page(0), kGranularity).code, invalid);
  EXPECT_EQ(api_.unmap(0, page(0), kGranularity).code, invalid) << "not mapped";
  ASSERT_TRUE(api_.map(0, page(0), kGranularity).ok());
  EXPECT_EQ(api_.map(0, page(0), kGranularity).code, invalid) << "mapped already";
  EXPECT_EQ(api_.deallocate(0, page(0), kGranularity).code, invalid);
  EXPECT_EQ(api_.release(0, page(0), 4 * kGranularity).code, invalid) << "still mapped";
  ASSERT_TRUE(api_.unmap(0, page(0), kGranularity).ok());
  EXPECT_TRUE(api_.release(0, page(0), 4 * kGranularity).ok());
}

}  // namespace
}  // namespace vellum::sim
