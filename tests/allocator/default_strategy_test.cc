// Built with another --//allocator:strategy, this is run with VELLUM_EXPECTED_STRATEGY set to that.

#include "vellum/allocator/default_strategy.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"
#include "vellum/allocator/direct.h"
#include "vellum/allocator/memory.h"
#include "vellum/allocator/strategy.h"
#include "vellum/device/device_api.h"
#include "vellum/device/error.h"

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

TEST(DefaultStrategy, OptionsThatTheEnvironmentsOwnStrategyDoesNotReadAreAnError) {
  const Device device(register_device("optioned", api));
  setenv("VELLUM_CACHING_OPTIONS", "memory_limit:64MiB", 1);
  unsetenv("VELLUM_ALLOCATOR");
  EXPECT_NO_THROW(make_strategy("direct", device));  // the program's choice
  setenv("VELLUM_ALLOCATOR", "arena", 1);
  EXPECT_EQ(make_default_allocator(device)->stats().limit, 64 << 20);
  setenv("VELLUM_ALLOCATOR", "direct", 1);
  EXPECT_NO_THROW(DirectAllocator upstream(device));
  try {
    make_default_allocator(device);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const InvalidArgumentError& error) {
    EXPECT_STREQ(
        error.what(),
        "VELLUM_ALLOCATOR: VELLUM_CACHING_OPTIONS is set, but VELLUM_ALLOCATOR=direct caches nothing; unset one "
        "of them");
  }
  unsetenv("VELLUM_CACHING_OPTIONS");
  EXPECT_EQ(make_default_allocator(device)->name(), "direct");
  unsetenv("VELLUM_ALLOCATOR");
}

}  // namespace
}  // namespace vellum
