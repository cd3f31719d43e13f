#ifndef VELLUM_TESTS_DEVICE_FAKE_DEVICE_H_
#define VELLUM_TESTS_DEVICE_FAKE_DEVICE_H_

#include <string>
#include <vector>

#include "vellum/device/device.h"
#include "vellum/device/device_api.h"

namespace vellum::testing {

// What a fake device was asked to do, in order, such as "record 7 on 1".
inline std::vector<std::string>& fake_log() {
  static std::vector<std::string> log;
  return log;
}
// What the next calls answer.
inline Status& fake_answer() {
  static Status answer;
  return answer;
}

inline Status fake_call(std::string what) {
  fake_log().push_back(std::move(what));
  return fake_answer();
}

// A device with streams numbered from 1 and events numbered from 7.
inline const DeviceApi& fake_device_api() {
  static const DeviceApi api{
      .device_count = []() noexcept { return 3; },
      .stream_create =
          [](int, StreamHandle* out) noexcept {
            *out = 1;
            return fake_call("create stream");
          },
      .stream_destroy = [](int, StreamHandle s) noexcept { return fake_call("destroy stream " + std::to_string(s)); },
      .stream_synchronize = [](int, StreamHandle s) noexcept { return fake_call("finish " + std::to_string(s)); },
      .stream_wait_event =
          [](int, StreamHandle s, EventHandle e) noexcept {
            return fake_call(std::to_string(s) + " waits for " + std::to_string(e));
          },
      .event_create =
          [](int, EventHandle* out) noexcept {
            *out = 7;
            return fake_call("create event");
          },
      .event_destroy = [](int, EventHandle e) noexcept { return fake_call("destroy event " + std::to_string(e)); },
      .event_record =
          [](int, EventHandle e, StreamHandle s) noexcept {
            return fake_call("record " + std::to_string(e) + " on " + std::to_string(s));
          },
      .event_query = [](int, EventHandle e) noexcept { return fake_call("query " + std::to_string(e)); },
      .event_synchronize = [](int, EventHandle e) noexcept { return fake_call("await " + std::to_string(e)); },
      .synchronize = [](int d) noexcept { return fake_call("finish device " + std::to_string(d)); },
  };
  return api;
}

// A device that works at once, as the CPU does: no streams, no events.
inline const DeviceApi& immediate_device_api() {
  static const DeviceApi api{.device_count = []() noexcept { return 1; }, .host_accessible = true};
  return api;
}

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_DEVICE_FAKE_DEVICE_H_
