#include "vellum/backends/cpu/cpu_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace vellum {
namespace {

constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;  // bytes

int device_count() noexcept { return 1; }

Status allocate(int, size_t bytes, size_t alignment, void** out) noexcept {
  if (bytes > PTRDIFF_MAX - kHugePage) return {StatusCode::kOutOfMemory, "more bytes than the address space has"};
  const bool huge = bytes >= kHugePage;
  if (posix_memalign(out, huge ? std::max(alignment, kHugePage) : alignment, std::max(bytes, size_t{1})) != 0) {
    *out = nullptr;
    return {StatusCode::kOutOfMemory, "the host has no more memory"};
  }
#ifdef MADV_HUGEPAGE
  // A hint: its failure costs page faults, not correctness. The last, partial page may be shared with other blocks.
  if (huge) madvise(*out, bytes / kPage * kPage, MADV_HUGEPAGE);
#endif
  return ok_status();
}

Status deallocate(int, void* data, size_t) noexcept {
  std::free(data);
  return ok_status();
}

// Memory that stays where it is, as far as the process may lock it. Nothing copies from it asynchronously here; it is
// there so that programs that pin their batches run, and spare the pages a trip to the swap space.
Status host_allocate(int, size_t bytes, void** out) noexcept {
  *out = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*out == MAP_FAILED) {
    *out = nullptr;
    return {StatusCode::kOutOfMemory, "the host has no more memory"};
  }
  static std::atomic_flag warned = ATOMIC_FLAG_INIT;
  if (mlock(*out, bytes) != 0 && !warned.test_and_set())
    std::fprintf(stderr,
                 "vellum: pinned memory on the CPU stays unlocked, the system may swap it out: %s; raise the limit "
                 "of locked memory (ulimit -l)\n",
                 std::strerror(errno));
  return ok_status();
}

Status host_deallocate(int, void* data, size_t bytes) noexcept {
  munmap(data, bytes);
  return ok_status();
}

// Addresses without memory. The whole range asks for huge pages once; pages made usable in it keep to that.
Status reserve(int, size_t bytes, void** out) noexcept {
  constexpr Status kNone{StatusCode::kOutOfMemory, "the host has no more address space"};
  if (bytes > PTRDIFF_MAX - kHugePage) return kNone;
  void* const range = mmap(nullptr, bytes + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return kNone;
  char* const begin = static_cast<char*>(range);
  const size_t front = -reinterpret_cast<uintptr_t>(range) % kHugePage;
  if (front > 0) munmap(begin, front);
  munmap(begin + front + bytes, kHugePage - front);
  *out = begin + front;
#ifdef MADV_HUGEPAGE
  madvise(*out, bytes, MADV_HUGEPAGE);
#endif
  return ok_status();
}

Status map(int, void* data, size_t bytes) noexcept {
  if (mprotect(data, bytes, PROT_READ | PROT_WRITE) == 0) return ok_status();
  return {StatusCode::kOutOfMemory, "the host has no more memory"};
}

// The memory goes back at once; touching the range is then a fault.
Status unmap(int, void* data, size_t bytes) noexcept {
  if (madvise(data, bytes, MADV_DONTNEED) == 0 && mprotect(data, bytes, PROT_NONE) == 0) return ok_status();
  return {StatusCode::kDeviceError, "the host does not take memory back"};
}

Status release(int, void* data, size_t bytes) noexcept {
  if (munmap(data, bytes) == 0) return ok_status();
  return {StatusCode::kDeviceError, "the host does not take addresses back"};
}

Status copy(int, void* dst, const void* src, size_t bytes, CopyKind, StreamHandle) noexcept {
  if (bytes > 0) std::memmove(dst, src, bytes);
  return ok_status();
}

Status set_bytes(int, void* dst, int byte, size_t bytes, StreamHandle) noexcept {
  if (bytes > 0) std::memset(dst, byte, bytes);
  return ok_status();
}

Status synchronize(int) noexcept { return ok_status(); }

Status memory_info(int, size_t* free, size_t* total) noexcept {
  const long page = sysconf(_SC_PAGESIZE);
  const long available = sysconf(_SC_AVPHYS_PAGES);
  const long all = sysconf(_SC_PHYS_PAGES);
  if (page < 0 || available < 0 || all < 0) return {StatusCode::kUnsupported, "the system does not tell its memory"};
  *free = static_cast<size_t>(available) * static_cast<size_t>(page);
  *total = static_cast<size_t>(all) * static_cast<size_t>(page);
  return ok_status();
}

constexpr DeviceApi kApi{
    .device_count = device_count,
    .allocate = allocate,
    .deallocate = deallocate,
    .host_allocate = host_allocate,
    .host_deallocate = host_deallocate,
    .copy = copy,
    .memset = set_bytes,
    .synchronize = synchronize,
    .memory_info = memory_info,
    .granularity = kHugePage,
    .reserve = reserve,
    .map = map,
    .unmap = unmap,
    .release = release,
    .host_accessible = true,
};

}  // namespace

const DeviceApi& cpu_device_api() { return kApi; }

}  // namespace vellum
