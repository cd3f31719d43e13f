#ifndef VELLUM_DEVICE_STATUS_H_
#define VELLUM_DEVICE_STATUS_H_

#include <cstdint>

namespace vellum {

enum class StatusCode : uint8_t {
  kOk,
  kOutOfMemory,
  kInvalidArgument,
  kUnsupported,  // the device or kernel does not offer this
  kNotReady,     // an event or stream has not finished yet
  kDeviceError,  // asynchronous fault; sticky until the device is reset
};

// What everything below the dispatcher returns instead of throwing. Two words, trivially copyable; the message has
// static storage duration and may be null. The public API converts a failed Status into an exception once.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::kOk;
  const char* message = nullptr;

  bool ok() const { return code == StatusCode::kOk; }
};

constexpr Status ok_status() { return {}; }

}  // namespace vellum

#endif  // VELLUM_DEVICE_STATUS_H_
