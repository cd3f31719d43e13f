#ifndef VELLUM_TESTS_BACKENDS_CUDA_REQUIRE_GPU_H_
#define VELLUM_TESTS_BACKENDS_CUDA_REQUIRE_GPU_H_

#include <cstdlib>

#include "gtest/gtest.h"
#include "vellum/device/device.h"
#include "vellum/device/error.h"

namespace vellum::testing {

// Skips every test of a suite, saying why, where there is no GPU. They fail instead where the environment variable
// VELLUM_REQUIRE_DEVICE is set, so that a machine with one cannot pass by skipping.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      check_exists(Device("cuda"));
    } catch (const DeviceError& error) {
      if (std::getenv("VELLUM_REQUIRE_DEVICE")) FAIL() << error.what();
      GTEST_SKIP() << error.what();
    }
  }
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_BACKENDS_CUDA_REQUIRE_GPU_H_
