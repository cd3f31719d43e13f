#include "vellum/tests/fakes/fake_backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

#include "vellum/device/device_api.h"

namespace vellum::testing {
namespace {

// Each block is one piece of memory that is mapped twice: where the device's pointers point no access is allowed, and
// the functions below reach it elsewhere.
struct Block {
  size_t bytes;  // whole pages
  char* within_reach;
};

struct Memory {
  std::mutex mutex;
  std::map<char*, Block> blocks;
};

Memory& memory() {
  static Memory& instance = *new Memory;
  return instance;
}

// Where the bytes of a device pointer can be reached; null when it is none.
char* reach(const void* pointer) {
  char* address = static_cast<char*>(const_cast<void*>(pointer));
  std::lock_guard lock(memory().mutex);
  auto after = memory().blocks.upper_bound(address);
  if (after == memory().blocks.begin()) return nullptr;
  const auto& [start, block] = *--after;
  return address < start + block.bytes ? block.within_reach + (address - start) : nullptr;
}

int device_count() noexcept { return 2; }

Status allocate(int, size_t bytes, size_t, void** out) noexcept {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t rounded = (bytes + page - 1) / page * page;
  const Status full{StatusCode::kOutOfMemory, "the fake device has no more memory"};
  const int file = memfd_create("fake device", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(rounded)) != 0) return full;
  void* data = mmap(nullptr, rounded, PROT_NONE, MAP_SHARED, file, 0);
  void* within_reach = mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (data == MAP_FAILED || within_reach == MAP_FAILED) return full;
  std::lock_guard lock(memory().mutex);
  memory().blocks[static_cast<char*>(data)] = {rounded, static_cast<char*>(within_reach)};
  *out = data;
  return ok_status();
}

Status deallocate(int, void* data, size_t) noexcept {
  std::lock_guard lock(memory().mutex);
  const auto found = memory().blocks.find(static_cast<char*>(data));
  if (found == memory().blocks.end()) return {StatusCode::kInvalidArgument, "not a block of the fake device"};
  munmap(data, found->second.bytes);
  munmap(found->second.within_reach, found->second.bytes);
  memory().blocks.erase(found);
  return ok_status();
}

Status copy(int, void* dst, const void* src, size_t bytes, CopyKind kind, StreamHandle) noexcept {
  if (bytes == 0) return ok_status();
  char* const to = reach(dst);
  const char* const from = reach(src);
  const bool to_device = kind != CopyKind::kDeviceToHost, from_device = kind != CopyKind::kHostToDevice;
  if ((to != nullptr) != to_device || (from != nullptr) != from_device)
    return {StatusCode::kInvalidArgument, "the kind of the copy does not fit its addresses"};
  std::memmove(to ? to : dst, from ? from : src, bytes);
  return ok_status();
}

Status set_bytes(int, void* dst, int byte, size_t bytes, StreamHandle) noexcept {
  if (bytes == 0) return ok_status();
  char* const to = reach(dst);
  if (!to) return {StatusCode::kInvalidArgument, "not memory of the fake device"};
  std::memset(to, byte, bytes);
  return ok_status();
}

constexpr DeviceApi kApi{.device_count = device_count,
                         .allocate = allocate,
                         .deallocate = deallocate,
                         .copy = copy,
                         .memset = set_bytes,
                         .synchronize = [](int) noexcept { return ok_status(); }};

}  // namespace

const Backend& fake_backend() {
  static const Backend backend{.name = "fake", .device = &kApi};
  return backend;
}

}  // namespace vellum::testing
