#include "vellum/allocator/size_classes.h"

#include "gtest/gtest.h"

namespace vellum::internal {
namespace {

TEST(SizeClasses, RoundAsTheTableSays) {
  struct Row {
    size_t requested, occupied;
  };
  const Row table[] = {
      {1, 64},          {64, 64},          {65, 128},          {448, 448},         {449, 512},
      {512, 512},       {513, 576},        {576, 576},         {577, 640},         {1024, 1024},
      {1025, 1152},     {4096, 4096},      {4097, 4608},       {65536, 65536},     {65537, 73728},
      {917505, 983040}, {983041, 1048576}, {1048576, 1048576}, {1048577, 1114112}, {67108864, 67108864},
  };
  for (const Row& row : table) EXPECT_EQ(rounded_bytes(row.requested), row.occupied) << row.requested;
}

TEST(SizeClasses, EachClassHoldsItselfAndFollowsTheOneBefore) {
  for (uint32_t i = 0; i < kNumClasses; ++i) {
    EXPECT_EQ(size_class(class_bytes(i)), i);
    EXPECT_EQ(class_bytes(i) % kClassStep, 0u);
    if (i > 0) {
      EXPECT_LT(class_bytes(i - 1), class_bytes(i));
      EXPECT_EQ(size_class(class_bytes(i - 1) + 1), i);
    }
  }
}

TEST(SizeClasses, WasteIsAtMostAnEighthFrom512BytesOn) {
  for (size_t bytes = 512; bytes <= 2 * kMaxClassBytes; bytes += bytes < 8192 ? 1 : 61) {
    const size_t occupied = rounded_bytes(bytes);
    ASSERT_GE(occupied, bytes);
    ASSERT_LE((occupied - bytes) * 8, bytes) << bytes;
  }
}

}  // namespace
}  // namespace vellum::internal
