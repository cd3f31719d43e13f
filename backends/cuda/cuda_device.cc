#include "vellum/backends/cuda/cuda_device.h"

#include <cuda_runtime_api.h>

#include <cstdint>

#include "vellum/backends/cuda/device_scope.h"
#include "vellum/backends/cuda/status.h"

namespace vellum::cuda {
namespace {

constexpr size_t kAlignment = 256;  // bytes; what cudaMalloc promises

// Calls a function of the runtime with `device` current.
template <typename F>
Status on_device(int device, F call) noexcept {
  const DeviceScope scope(device);
  if (!scope.status().ok()) return scope.status();
  return take_status(call());
}

// Asked once: the runtime does not notice later devices either.
struct Count {
  int devices = 0;
  cudaError_t error = cudaGetDeviceCount(&devices);
};

const Count& count() {
  static const Count instance;
  return instance;
}

int device_count() noexcept { return count().error == cudaSuccess ? count().devices : 0; }

const char* why_no_devices() noexcept {
  return status_of(count().error == cudaSuccess ? cudaErrorNoDevice : count().error).message;
}

Status allocate(int device, size_t bytes, size_t alignment, void** out) noexcept {
  *out = nullptr;
  if (alignment > kAlignment)
    return {StatusCode::kUnsupported, "blocks of a CUDA device are aligned to 256 bytes at most"};
  return on_device(device, [&] { return cudaMalloc(out, bytes); });
}

Status deallocate(int device, void* data, size_t) noexcept {
  return on_device(device, [&] { return cudaFree(data); });
}

Status host_allocate(int device, size_t bytes, void** out) noexcept {
  *out = nullptr;
  return on_device(device, [&] { return cudaHostAlloc(out, bytes, cudaHostAllocPortable); });
}

Status host_deallocate(int device, void* data, size_t) noexcept {
  return on_device(device, [&] { return cudaFreeHost(data); });
}

cudaMemcpyKind direction(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return cudaMemcpyHostToDevice;
    case CopyKind::kDeviceToHost:
      return cudaMemcpyDeviceToHost;
    default:
      return cudaMemcpyDeviceToDevice;
  }
}

Status copy(int device, void* dst, const void* src, size_t bytes, CopyKind kind, StreamHandle stream) noexcept {
  return on_device(device, [&] { return cudaMemcpyAsync(dst, src, bytes, direction(kind), stream_of(stream)); });
}

Status set_bytes(int device, void* dst, int byte, size_t bytes, StreamHandle stream) noexcept {
  return on_device(device, [&] { return cudaMemsetAsync(dst, byte, bytes, stream_of(stream)); });
}

Status stream_create(int device, StreamHandle* out) noexcept {
  cudaStream_t stream = nullptr;
  const Status status = on_device(device, [&] { return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); });
  *out = reinterpret_cast<StreamHandle>(stream);
  return status;
}

Status stream_destroy(int device, StreamHandle stream) noexcept {
  return on_device(device, [&] { return cudaStreamDestroy(stream_of(stream)); });
}

Status stream_synchronize(int device, StreamHandle stream) noexcept {
  return on_device(device, [&] { return cudaStreamSynchronize(stream_of(stream)); });
}

Status stream_wait_event(int device, StreamHandle stream, EventHandle event) noexcept {
  return on_device(device, [&] { return cudaStreamWaitEvent(stream_of(stream), event_of(event), 0); });
}

Status event_create(int device, EventHandle* out) noexcept {
  cudaEvent_t event = nullptr;
  const Status status = on_device(device, [&] { return cudaEventCreateWithFlags(&event, cudaEventDisableTiming); });
  *out = reinterpret_cast<EventHandle>(event);
  return status;
}

Status event_destroy(int device, EventHandle event) noexcept {
  return on_device(device, [&] { return cudaEventDestroy(event_of(event)); });
}

Status event_record(int device, EventHandle event, StreamHandle stream) noexcept {
  return on_device(device, [&] { return cudaEventRecord(event_of(event), stream_of(stream)); });
}

Status event_query(int device, EventHandle event) noexcept {
  return on_device(device, [&] { return cudaEventQuery(event_of(event)); });
}

Status event_synchronize(int device, EventHandle event) noexcept {
  return on_device(device, [&] { return cudaEventSynchronize(event_of(event)); });
}

Status synchronize(int device) noexcept {
  return on_device(device, [] { return cudaDeviceSynchronize(); });
}

Status memory_info(int device, size_t* free, size_t* total) noexcept {
  return on_device(device, [&] { return cudaMemGetInfo(free, total); });
}

constexpr DeviceApi kApi{
    .device_count = device_count,
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
    .why_no_devices = why_no_devices,
};

}  // namespace

const DeviceApi& cuda_device_api() { return kApi; }

}  // namespace vellum::cuda
