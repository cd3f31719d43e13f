#include "vellum/tests/fakes/sim_device.h"

#include <cstring>
#include <vector>

#include "vellum/tests/fakes/sim_state.h"

namespace vellum::sim {
namespace {

// What every function of the device begins with: the lock, the fault that it has to report, and progress elsewhere.
class Call {
 public:
  explicit Call(int device) : lock_(state().mutex) {
    state().queues.churn();
    status_ = state().queues.fault(device);
  }
  bool ok() const { return status_.ok(); }
  Status status() const { return status_; }
  Memory& memory() const { return state().memory; }
  Queues& queues() const { return state().queues; }

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  Status status_;
};

constexpr Status kUnmapped{StatusCode::kDeviceError, "it uses memory that is not mapped, or no longer"};
constexpr Status kNotPageLocked{StatusCode::kDeviceError, "it uses page-locked memory that was freed"};
constexpr Status kNoEvent{StatusCode::kInvalidArgument, "sim: there is no such event"};

Status allocate(int device, size_t bytes, size_t alignment, void** out) noexcept {
  const Call call(device);
  return call.ok() ? call.memory().allocate(device, bytes, alignment, out) : call.status();
}

// What frees works on a device that has failed, too.
Status deallocate(int device, void* data, size_t) noexcept {
  const Call call(device);
  const Status waited = call.ok() ? call.queues().finish_device(device) : call.status();
  const Status freed = call.memory().deallocate(device, data);
  return waited.ok() ? freed : waited;
}

Status host_allocate(int device, size_t bytes, void** out) noexcept {
  const Call call(device);
  return call.ok() ? call.memory().host_allocate(bytes, out) : call.status();
}

Status host_deallocate(int device, void* data, size_t) noexcept {
  const Call call(device);
  Status waited = ok_status();
  for (int each = 0; each < kDevices; ++each)
    if (const Status status = call.queues().finish_device(each); !status.ok()) waited = status;
  const Status freed = call.memory().host_deallocate(data);
  return waited.ok() ? freed : waited;
}

// The work of a copy once it runs. A host address is used as it is.
struct Copy {
  int device;
  void* dst;
  const void* src;
  size_t bytes;
  CopyKind kind;
  bool is_page_locked;

  Status operator()() const {
    const Memory& memory = state().memory;
    const bool to_device = kind != CopyKind::kDeviceToHost, from_device = kind != CopyKind::kHostToDevice;
    void* const to = to_device ? memory.resolve(device, dst, bytes) : dst;
    const void* const from = from_device ? memory.resolve(device, src, bytes) : src;
    if (!to || !from) return kUnmapped;
    if (is_page_locked && !memory.is_page_locked(to_device ? src : dst, bytes)) return kNotPageLocked;
    std::memmove(to, from, bytes);
    return ok_status();
  }
};

// Whether the addresses are on the sides that `kind` says.
bool fits(const Memory& memory, int device, const void* dst, const void* src, size_t bytes, CopyKind kind) {
  const bool to_device = kind != CopyKind::kDeviceToHost, from_device = kind != CopyKind::kHostToDevice;
  const auto is_there = [&](const void* data, bool on_device) {
    return on_device ? memory.resolve(device, data, bytes) != nullptr : !memory.is_device_address(data);
  };
  return is_there(dst, to_device) && is_there(src, from_device);
}

Status copy(int device, void* dst, const void* src, size_t bytes, CopyKind kind, StreamHandle stream) noexcept {
  const Call call(device);
  if (!call.ok()) return call.status();
  if (bytes == 0) return ok_status();
  if (!fits(call.memory(), device, dst, src, bytes, kind))
    return {StatusCode::kInvalidArgument, "sim: the kind of the copy does not fit its addresses"};
  const void* const host = kind == CopyKind::kDeviceToHost ? dst : src;
  Copy work{device, dst, src, bytes, kind, false};
  work.is_page_locked = kind != CopyKind::kDeviceToDevice && call.memory().is_page_locked(host, bytes);
  if (kind != CopyKind::kHostToDevice || work.is_page_locked)
    return call.queues().enqueue(device, stream, {.what = "copy", .run = work});
  const char* const first = static_cast<const char*>(src);
  return call.queues().enqueue(
      device, stream, {.what = "copy", .run = [work, staged = std::vector<char>(first, first + bytes)]() mutable {
                         work.src = staged.data();
                         return work();
                       }});
}

Status set_bytes(int device, void* dst, int byte, size_t bytes, StreamHandle stream) noexcept {
  const Call call(device);
  if (!call.ok()) return call.status();
  if (bytes == 0) return ok_status();
  if (!call.memory().resolve(device, dst, bytes))
    return {StatusCode::kInvalidArgument, "sim: memset: not memory of this device"};
  return call.queues().enqueue(device, stream, {.what = "memset", .run = [device, dst, byte, bytes] {
                                                  void* const to = state().memory.resolve(device, dst, bytes);
                                                  if (!to) return kUnmapped;
                                                  std::memset(to, byte, bytes);
                                                  return ok_status();
                                                }});
}

Status stream_create(int device, StreamHandle* out) noexcept {
  const Call call(device);
  return call.ok() ? call.queues().create_stream(device, out) : call.status();
}

Status stream_destroy(int device, StreamHandle stream) noexcept {
  return Call(device).queues().destroy_stream(device, stream);
}

Status stream_synchronize(int device, StreamHandle stream) noexcept {
  const Call call(device);
  return call.ok() ? call.queues().finish_stream(device, stream) : call.status();
}

Status stream_wait_event(int device, StreamHandle stream, EventHandle event) noexcept {
  const Call call(device);
  if (!call.ok()) return call.status();
  const PointRef* const latest = call.queues().event(-1, event);
  if (!latest) return kNoEvent;
  return call.queues().enqueue(device, stream, {.what = "wait for event", .waits_for = *latest});
}

Status event_create(int device, EventHandle* out) noexcept {
  const Call call(device);
  if (call.ok()) *out = call.queues().create_event(device);
  return call.status();
}

Status event_destroy(int device, EventHandle event) noexcept {
  const Call call(device);
  if (!call.queues().event(device, event)) return kNoEvent;
  call.queues().destroy_event(event);
  return ok_status();
}

Status event_record(int device, EventHandle event, StreamHandle stream) noexcept {
  const Call call(device);
  if (!call.ok()) return call.status();
  PointRef* const latest = call.queues().event(device, event);
  return latest ? call.queues().mark(device, stream, "event", latest) : kNoEvent;
}

Status event_query(int device, EventHandle event) noexcept {
  const Call call(device);
  if (!call.ok()) return call.status();
  const PointRef* const latest = call.queues().event(device, event);
  if (!latest) return kNoEvent;
  return (*latest)->reached ? ok_status() : Status{StatusCode::kNotReady, nullptr};
}

Status event_synchronize(int device, EventHandle event) noexcept {
  const Call call(device);
  if (!call.ok()) return call.status();
  const PointRef* const latest = call.queues().event(device, event);
  return latest ? call.queues().finish(*latest) : kNoEvent;
}

Status synchronize(int device) noexcept {
  const Call call(device);
  return call.ok() ? call.queues().finish_device(device) : call.status();
}

Status memory_info(int device, size_t* free, size_t* total) noexcept {
  const Call call(device);
  *total = call.memory().limit(device);
  *free = *total - std::min(*total, call.memory().used(device));
  return call.status();
}

Status reserve(int device, size_t bytes, void** out) noexcept {
  const Call call(device);
  return call.ok() ? call.memory().reserve(device, bytes, out) : call.status();
}
Status map(int device, void* data, size_t bytes) noexcept {
  const Call call(device);
  return call.ok() ? call.memory().map(device, data, bytes) : call.status();
}
Status unmap(int device, void* data, size_t bytes) noexcept { return Call(device).memory().unmap(device, data, bytes); }
Status release(int device, void* data, size_t bytes) noexcept {
  return Call(device).memory().release(device, data, bytes);
}

constexpr DeviceApi kApi{
    .device_count = []() noexcept { return kDevices; },
    .allocate = allocate,
    .deallocate = deallocate,
    .host_allocate = host_allocate,
    .host_deallocate = host_deallocate,
    .copy = copy,
    .memset = set_bytes,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_synchronize = stream_synchronize,
    .stream_wait_event = stream_wait_event,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .synchronize = synchronize,
    .memory_info = memory_info,
    .granularity = kGranularity,
    .reserve = reserve,
    .map = map,
    .unmap = unmap,
    .release = release,
};

}  // namespace

const DeviceApi& device_functions() { return kApi; }

}  // namespace vellum::sim
