#include "vellum/backends/meta/meta_backend.h"

namespace vellum {
namespace {

// The functions below are those that every device must have. They are called from any thread, do not throw, and report
// through the Status. Streams, events, pinned memory and extendable segments are optional; a null entry says that the
// device works at once, or does not offer it.

int device_count() noexcept { return 1; }

// A real device gives `bytes` bytes at the alignment asked for, or kOutOfMemory; the allocator strategies call it for
// large blocks and share these out.
Status allocate(int /*device*/, size_t /*bytes*/, size_t /*alignment*/, void** out) noexcept {
  *out = nullptr;
  return ok_status();
}

Status deallocate(int /*device*/, void* /*data*/, size_t /*bytes*/) noexcept { return ok_status(); }

// There is nothing to copy or set. A real device enqueues the work on `stream`.
Status copy(int /*device*/, void* /*dst*/, const void* /*src*/, size_t /*bytes*/, CopyKind /*kind*/,
            StreamHandle /*stream*/) noexcept {
  return ok_status();
}

Status set_bytes(int /*device*/, void* /*dst*/, int /*byte*/, size_t /*bytes*/, StreamHandle /*stream*/) noexcept {
  return ok_status();
}

Status synchronize(int /*device*/) noexcept { return ok_status(); }

constexpr DeviceApi kDeviceApi{
    .device_count = device_count,
    .allocate = allocate,
    .deallocate = deallocate,
    .copy = copy,
    .memset = set_bytes,
    .synchronize = synchronize,
    .shape_only = true,  // a real device leaves this false, and sets host_accessible where the host can read its memory
};

}  // namespace

const Backend& meta_backend() {
  // `.kernels` is where a real backend puts its span of KernelEntry.
  static constexpr Backend kBackend{.name = "meta", .device = &kDeviceApi, .kernels = {}};
  return kBackend;
}

}  // namespace vellum
