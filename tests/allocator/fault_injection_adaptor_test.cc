#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/allocator/adaptors/fault_injection.h"
#include "vellum/tests/allocator/adaptors_fixture.h"

namespace vellum {
namespace {

using ::testing::ElementsAre;
using testing::Over;

// Which of 8 allocations fail.
std::vector<int> failing(const InjectedFaults& faults, size_t first_bytes = 1) {
  Over<FaultInjectionAdaptor> over;
  over.allocate(99);  // does not count: the faults come later
  over.adaptor.inject(faults);
  std::vector<int> failed;
  for (int k = 0; k < 8; ++k)
    if (over.refused(first_bytes + static_cast<size_t>(k)) == StatusCode::kOutOfMemory) failed.push_back(k);
  EXPECT_EQ(over.adaptor.allocations(), 8);
  EXPECT_EQ(over.adaptor.failures(), static_cast<int64_t>(failed.size()));
  EXPECT_EQ(over.calls.size(), 9 - failed.size());
  return failed;
}

TEST(FaultInjection, FailsWhatItIsToldTo) {
  EXPECT_THAT(failing({}), ElementsAre());
  EXPECT_THAT(failing({.at = 0}), ElementsAre(0));
  EXPECT_THAT(failing({.at = 3}), ElementsAre(3));
  EXPECT_THAT(failing({.from = 5}), ElementsAre(5, 6, 7));
  EXPECT_THAT(failing({.every = 3}), ElementsAre(2, 5));
  EXPECT_THAT(failing({.at = 0, .every = 4}), ElementsAre(0, 3, 7));
  EXPECT_THAT(failing({.if_bytes = [](size_t bytes) { return bytes > 16; }}, 12), ElementsAre(5, 6, 7));
}

}  // namespace
}  // namespace vellum
