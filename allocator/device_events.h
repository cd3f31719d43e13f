#ifndef VELLUM_ALLOCATOR_DEVICE_EVENTS_H_
#define VELLUM_ALLOCATOR_DEVICE_EVENTS_H_

#include "vellum/allocator/allocator.h"
#include "vellum/device/device.h"
#include "vellum/device/device_api.h"

namespace vellum::internal {

// The events of a device as strategies see them.
class DeviceEvents final : public EventSource {
 public:
  // Throws DeviceError when no backend is registered for `device`.
  explicit DeviceEvents(Device device) : device_(device), api_(device_api(device.type)) {}

  // Whether the device has events. One that works at once needs none, and then nothing below may be called.
  bool available() const {
    return api_.event_create && api_.event_destroy && api_.event_record && api_.event_query && api_.event_synchronize &&
           api_.stream_wait_event;
  }

  Status create(EventHandle* out) noexcept override { return api_.event_create(device_.index, out); }
  Status destroy(EventHandle event) noexcept override { return api_.event_destroy(device_.index, event); }
  Status record(EventHandle event, const Stream& stream) noexcept override {
    return api_.event_record(device_.index, event, stream.handle);
  }
  Status query(EventHandle event) noexcept override { return api_.event_query(device_.index, event); }
  Status synchronize(EventHandle event) noexcept override { return api_.event_synchronize(device_.index, event); }
  Status wait(const Stream& stream, EventHandle event) noexcept override {
    return api_.stream_wait_event(device_.index, stream.handle, event);
  }

 private:
  const Device device_;
  const DeviceApi& api_;
};

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_DEVICE_EVENTS_H_
