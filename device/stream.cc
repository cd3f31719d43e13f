#include "vellum/device/stream.h"

#include <atomic>
#include <utility>

#include "vellum/device/error.h"

namespace vellum {
namespace {

// A thread that never leaves the default streams never touches more than `guarded`.
struct CurrentStreams {
  static constexpr int kIndices = 16;  // devices of one type whose current stream can be other than the default
  bool guarded = false;
  Device device;
  StreamHandle handles[kMaxDeviceTypes][kIndices] = {};
};

constinit thread_local CurrentStreams tls_streams;

constinit std::atomic<void (*)(const Stream&)> destroy_hook = nullptr;

StreamHandle& slot(Device device) {
  if (device.index >= CurrentStreams::kIndices)
    throw_error<DeviceError>("StreamGuard: device index ", int{device.index}, " is beyond ",
                             CurrentStreams::kIndices - 1);
  return tls_streams.handles[device.type.id][device.index];
}

}  // namespace

Stream current_stream(Device device) {
  if (!tls_streams.guarded) return {device, 0};
  return {device, slot(device)};
}

Device current_device() { return tls_streams.device; }

void Stream::synchronize() const {
  const DeviceApi& api = device_api(device.type);
  if (api.stream_synchronize) throw_if_error(api.stream_synchronize(device.index, handle), "Stream::synchronize");
}

StreamGuard::StreamGuard(const Stream& stream) : saved_(current_stream(stream.device)) {
  slot(stream.device) = stream.handle;
  tls_streams.guarded = true;
}
StreamGuard::~StreamGuard() { slot(saved_.device) = saved_.handle; }

DeviceGuard::DeviceGuard(Device device) : saved_(current_device()) {
  device_api(device.type);  // throws when there is no such backend
  tls_streams.device = device;
}
DeviceGuard::~DeviceGuard() { tls_streams.device = saved_; }

Event::Event(Device device) : device_(device) {
  const DeviceApi& api = device_api(device.type);
  if (!api.event_create) return;
  throw_if_error(api.event_create(device.index, &handle_), "Event");
  owned_ = true;
}

Event::~Event() {
  if (owned_) (void)device_api(device_.type).event_destroy(device_.index, handle_);
}

Event::Event(Event&& other) noexcept
    : device_(other.device_), handle_(other.handle_), owned_(std::exchange(other.owned_, false)) {}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(handle_, other.handle_);
  std::swap(owned_, other.owned_);
  return *this;
}

void Event::record(const Stream& stream) {
  if (stream.device != device_)
    throw_error<DeviceError>("Event::record: the event is on ", device_, ", the stream on ", stream.device);
  if (owned_)
    throw_if_error(device_api(device_.type).event_record(device_.index, handle_, stream.handle), "Event::record");
}

bool Event::query() const {
  if (!owned_) return true;
  const Status status = device_api(device_.type).event_query(device_.index, handle_);
  if (status.code == StatusCode::kNotReady) return false;
  throw_if_error(status, "Event::query");
  return true;
}

void Event::synchronize() const {
  if (owned_) throw_if_error(device_api(device_.type).event_synchronize(device_.index, handle_), "Event::synchronize");
}

void Event::block(const Stream& stream) const {
  if (!owned_) return;
  const DeviceApi& api = device_api(stream.device.type);
  if (stream.device.type != device_.type || !api.stream_wait_event) return synchronize();
  throw_if_error(api.stream_wait_event(stream.device.index, stream.handle, handle_), "Event::block");
}

Stream create_stream(Device device) {
  const DeviceApi& api = device_api(device.type);
  Stream stream{device, 0};
  if (api.stream_create) throw_if_error(api.stream_create(device.index, &stream.handle), "create_stream");
  return stream;
}

void set_stream_destroy_hook(void (*hook)(const Stream&)) { destroy_hook.store(hook); }

void destroy_stream(const Stream& stream) {
  const DeviceApi& api = device_api(stream.device.type);
  if (!api.stream_destroy || stream.handle == 0) return;
  if (const auto hook = destroy_hook.load()) hook(stream);
  throw_if_error(api.stream_destroy(stream.device.index, stream.handle), "destroy_stream");
}

void synchronize(Device device) {
  const DeviceApi& api = device_api(device.type);
  if (api.synchronize) throw_if_error(api.synchronize(device.index), "synchronize");
}

}  // namespace vellum
