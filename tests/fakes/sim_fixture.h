#ifndef VELLUM_TESTS_FAKES_SIM_FIXTURE_H_
#define VELLUM_TESTS_FAKES_SIM_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "vellum/device/device_api.h"
#include "vellum/device/stream.h"
#include "vellum/tests/fakes/sim.h"

namespace vellum::sim {

// The device by its functions, with queues that the test drives and a log of work of the test's own.
class SimTest : public ::testing::Test {
 protected:
  ~SimTest() override { reset(device_); }

  static constexpr size_t kBytes = 64;

  void* allocate(size_t bytes = kBytes) {
    void* data = nullptr;
    EXPECT_TRUE(api_.allocate(0, bytes, 64, &data).ok());
    return data;
  }
  Status copy(void* dst, const void* src, CopyKind kind, const Stream& stream, size_t bytes = kBytes) {
    return api_.copy(0, dst, src, bytes, kind, stream.handle);
  }
  Status fill(void* dst, int byte, const Stream& stream) { return api_.memset(0, dst, byte, kBytes, stream.handle); }
  // The first byte of device memory, or of host memory.
  static int first_byte(const void* data) {
    const void* const host = reach(data, 1);
    return *static_cast<const unsigned char*>(host ? host : data);
  }
  void log(const Stream& stream, const std::string& what) {
    enqueue(stream, "log", [this, what] {
      log_.push_back(what);
      return ok_status();
    });
  }
  void enqueue_fault(const Stream& stream) {
    enqueue(stream, "division", [] { return Status{StatusCode::kDeviceError, "by zero"}; });
  }

  const Device device_{"sim"};
  const DeviceApi& api_ = device_api(device_.type);
  const ModeScope mode_{Mode::kManual};
  const Stream a_ = create_stream(device_), b_ = create_stream(device_);
  std::vector<std::string> log_;
};

}  // namespace vellum::sim

#endif  // VELLUM_TESTS_FAKES_SIM_FIXTURE_H_
