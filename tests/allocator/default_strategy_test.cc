// Built with another --//allocator:strategy, this is run with VELLUM_EXPECTED_STRATEGY set to that.

#include "vellum/allocator/default_strategy.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "vellum/allocator/memory.h"
#include "vellum/device/device_api.h"

namespace vellum {
namespace {

const DeviceApi api{.device_count = []() noexcept { return 1; }};

TEST(DefaultStrategy, IsThatOfTheFlag) {
  const char* expected = std::getenv("VELLUM_EXPECTED_STRATEGY");
  EXPECT_EQ(default_strategy(), expected ? expected : "caching");
}

TEST(DefaultStrategy, ServesUnlessTheEnvironmentNamesAnother) {
  const Device device(register_device("host", api));
  unsetenv("VELLUM_ALLOCATOR");
  EXPECT_EQ(make_default_allocator(device)->name(), default_strategy());
  for (const std::string strategy : {"arena", "caching", "direct"}) {
    setenv("VELLUM_ALLOCATOR", strategy.c_str(), 1);
    EXPECT_EQ(make_default_allocator(device)->name(), strategy);
  }
  unsetenv("VELLUM_ALLOCATOR");
}

}  // namespace
}  // namespace vellum
