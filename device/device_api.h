#ifndef VELLUM_DEVICE_DEVICE_API_H_
#define VELLUM_DEVICE_DEVICE_API_H_

#include <cstddef>
#include <cstdint>

#include "vellum/device/status.h"

namespace vellum {

inline constexpr uint32_t kDeviceApiVersion = 1;

// What a stream or event is to its backend. 0 is the device's default stream.
using StreamHandle = uint64_t;
using EventHandle = uint64_t;

enum class CopyKind : uint8_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

// The few functions that a device must offer, as a C-style table. Append-only: `struct_size` tells how much of it the
// backend knew, and entries beyond it are not read. Registration refuses a table that is shorter than the first version
// of it, longer than this library knows, or of another version. Every function is thread-safe, does not throw and
// returns a Status. `device` is the index among the devices of this type. Entries marked optional may be null.
//
// Asynchronous work is ordered by stream. A device that works at once (the CPU) has one stream and events that are
// complete when recorded; it may leave the stream and event entries null.
//
// A device that works later: docs/architecture.md, "A device that works later", says what it has to keep.
struct DeviceApi {
  uint32_t struct_size = sizeof(DeviceApi);
  uint32_t api_version = kDeviceApiVersion;

  int (*device_count)() noexcept = nullptr;

  // Device memory. `alignment` is a power of two of at least 64 bytes. The size given back is the size asked for.
  // Memory is given back after the work that was enqueued before has finished: deallocate waits for it.
  Status (*allocate)(int device, size_t bytes, size_t alignment, void** out) noexcept = nullptr;
  Status (*deallocate)(int device, void* data, size_t bytes) noexcept = nullptr;

  // Page-locked host memory that the device can copy from asynchronously. Optional. Freed as device memory is.
  Status (*host_allocate)(int device, size_t bytes, void** out) noexcept = nullptr;
  Status (*host_deallocate)(int device, void* data, size_t bytes) noexcept = nullptr;

  // Pageable host memory has been read when copy returns; page-locked memory is read when the copy runs. What comes to
  // the host is there when the stream has been synchronized.
  Status (*copy)(int device, void* dst, const void* src, size_t bytes, CopyKind kind,
                 StreamHandle stream) noexcept = nullptr;
  Status (*memset)(int device, void* dst, int byte, size_t bytes, StreamHandle stream) noexcept = nullptr;

  // Streams and events. Optional for a device that works at once. An event that was never recorded is complete; a wait
  // is for the point that was recorded last when the wait is enqueued. What a stream still holds when it is destroyed
  // runs all the same.
  Status (*stream_create)(int device, StreamHandle* out) noexcept = nullptr;
  Status (*stream_destroy)(int device, StreamHandle stream) noexcept = nullptr;
  Status (*stream_synchronize)(int device, StreamHandle stream) noexcept = nullptr;
  Status (*stream_wait_event)(int device, StreamHandle stream, EventHandle event) noexcept = nullptr;
  Status (*event_create)(int device, EventHandle* out) noexcept = nullptr;
  Status (*event_destroy)(int device, EventHandle event) noexcept = nullptr;
  Status (*event_record)(int device, EventHandle event, StreamHandle stream) noexcept = nullptr;
  Status (*event_query)(int device, EventHandle event) noexcept = nullptr;  // kNotReady while pending
  Status (*event_synchronize)(int device, EventHandle event) noexcept = nullptr;

  // Waits for all work on the device; reports asynchronous faults. Optional.
  Status (*synchronize)(int device) noexcept = nullptr;
  // Bytes. Optional.
  Status (*memory_info)(int device, size_t* free, size_t* total) noexcept = nullptr;

  // Extendable segments: reserve address space, then map and unmap pages of `granularity` bytes, a power of two, in it.
  // Optional, all or none. unmap and release do not wait for work that uses the pages.
  size_t granularity = 0;
  Status (*reserve)(int device, size_t bytes, void** out) noexcept = nullptr;
  Status (*map)(int device, void* data, size_t bytes) noexcept = nullptr;
  Status (*unmap)(int device, void* data, size_t bytes) noexcept = nullptr;
  Status (*release)(int device, void* data, size_t bytes) noexcept = nullptr;

  // Host code may read and write the memory directly (CPU, unified memory).
  bool host_accessible = false;
  // The device has no memory and computes nothing: shapes and dtypes only (meta).
  bool shape_only = false;

  // Why device_count() is 0, and what to do about it. Static storage duration. Optional.
  const char* (*why_no_devices)() noexcept = nullptr;
};

}  // namespace vellum

#endif  // VELLUM_DEVICE_DEVICE_API_H_
