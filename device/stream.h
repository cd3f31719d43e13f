#ifndef VELLUM_DEVICE_STREAM_H_
#define VELLUM_DEVICE_STREAM_H_

#include "vellum/device/device.h"
#include "vellum/device/device_api.h"
#include "vellum/device/thread_state.h"

namespace vellum {

// A queue of work on one device: a value handle that owns nothing. Handle 0 is the device's default stream.
struct Stream {
  Device device;
  StreamHandle handle = 0;

  // Blocks the host until all work enqueued so far has finished. Throws DeviceError on an asynchronous fault.
  void synchronize() const;
  friend constexpr bool operator==(const Stream&, const Stream&) = default;
};

// This thread's current stream on a device; the default stream unless a StreamGuard is in force.
Stream current_stream(Device device);

// The device that factories use when none is named: CPU unless a DeviceGuard is in force on this thread.
Device current_device();

// A point in a stream. Owns its backend event; movable. On a device that works at once it is complete when recorded.
class Event {
 public:
  explicit Event(Device device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  void record(const Stream& stream);
  bool query() const;                      // whether the work before the recorded point has finished
  void synchronize() const;                // blocks the host
  void block(const Stream& stream) const;  // later work on `stream` waits; the host does not

 private:
  Device device_;
  EventHandle handle_ = 0;
  bool owned_ = false;
};

// Makes `stream` this thread's current stream of its device for a scope.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream saved_;
};

// Makes `device` this thread's current device for a scope.
class DeviceGuard {
 public:
  explicit DeviceGuard(Device device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device saved_;
};

// Creates and destroys a stream of its own on `device`. Returns the default stream on a device that has only one.
// Destroying does not wait: the stream's work and the memory that it uses come to an end in their own time.
Stream create_stream(Device device);
void destroy_stream(const Stream& stream);

// `hook` is called with each stream just before it is destroyed. There is one hook: allocator/ has it.
void set_stream_destroy_hook(void (*hook)(const Stream&));

// Waits for all work on `device`. Asynchronous faults surface here.
void synchronize(Device device);

}  // namespace vellum

#endif  // VELLUM_DEVICE_STREAM_H_
