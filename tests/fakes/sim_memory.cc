#include "vellum/tests/fakes/sim_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/tests/fakes/sim.h"

namespace vellum::sim {
namespace {

constexpr int kUnwritten = 0xDD;

constexpr Status kFull{StatusCode::kOutOfMemory, "sim: the device has no more memory"};

size_t rounded(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

size_t page() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

std::string innermost_operator() {
  for (const Annotation* a = thread_state().annotation; a; a = a->parent)
    if (a->kind == Annotation::Kind::kOperator) return std::string(a->text);
  return {};
}

void make_accessible(char* host, size_t bytes) {
  mprotect(host, bytes, PROT_READ | PROT_WRITE);
  std::memset(host, kUnwritten, bytes);
}

// The entry of `map` with the greatest key that is not beyond `data`.
template <typename Map>
typename Map::const_iterator not_beyond(const Map& map, const void* data) {
  const auto after = map.upper_bound(static_cast<const char*>(data));
  return after == map.begin() ? map.end() : std::prev(after);
}

}  // namespace

Memory::Memory() { std::fill(std::begin(limit_), std::end(limit_), kDefaultLimit); }

bool Memory::Region::is_mapped(size_t offset, size_t count) const {
  if (offset + count > bytes) return false;
  if (!is_reservation) return true;
  for (size_t i = offset / kGranularity; i * kGranularity < offset + std::max<size_t>(count, 1); ++i)
    if (!mapped[i]) return false;
  return true;
}

Status Memory::add_region(int device, size_t bytes, size_t alignment, Region** out) {
  alignment = std::max(alignment, page());
  const size_t mapping_bytes = 2 * bytes + alignment;
  void* mapping = mmap(nullptr, mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return kFull;
  char* data = reinterpret_cast<char*>(rounded(reinterpret_cast<size_t>(mapping), alignment));
  Region& region = regions_[data];
  region = {device, data, bytes, static_cast<char*>(mapping), mapping_bytes, false, {}, innermost_operator()};
  *out = &region;
  return ok_status();
}

void Memory::remove_region(const Region& region) {
  munmap(region.mapping, region.mapping_bytes);
  regions_.erase(region.data);
}

const Memory::Region* Memory::find(const void* data) const {
  const auto found = not_beyond(regions_, data);
  if (found == regions_.end()) return nullptr;
  const Region& region = found->second;
  return static_cast<const char*>(data) < region.data + region.bytes ? &region : nullptr;
}

Status Memory::allocate(int device, size_t bytes, size_t alignment, void** out) {
  *out = nullptr;
  const size_t whole = rounded(std::max<size_t>(bytes, 1), page());
  if (!has_room(device, whole)) return kFull;
  Region* region;
  if (const Status status = add_region(device, whole, alignment, &region); !status.ok()) return status;
  make_accessible(region->host(), whole);
  used_[device] += whole;
  *out = region->data;
  return ok_status();
}

Status Memory::deallocate(int device, void* data) {
  const Region* region = find(data);
  if (!region || region->data != data || region->is_reservation || region->device != device)
    return {StatusCode::kInvalidArgument, "sim: deallocate: not a block of this device"};
  used_[device] -= region->bytes;
  remove_region(*region);
  return ok_status();
}

Status Memory::host_allocate(size_t bytes, void** out) {
  *out = nullptr;
  const size_t whole = rounded(std::max<size_t>(bytes, 1), page());
  void* data = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return {StatusCode::kOutOfMemory, "sim: no more page-locked memory"};
  page_locked_[static_cast<char*>(data)] = whole;
  *out = data;
  return ok_status();
}

Status Memory::host_deallocate(void* data) {
  const auto found = page_locked_.find(static_cast<char*>(data));
  if (found == page_locked_.end())
    return {StatusCode::kInvalidArgument, "sim: host_deallocate: not a block of page-locked memory"};
  munmap(data, found->second);
  page_locked_.erase(found);
  return ok_status();
}

Status Memory::reserve(int device, size_t bytes, void** out) {
  *out = nullptr;
  if (bytes == 0 || bytes % kGranularity != 0)
    return {StatusCode::kInvalidArgument, "sim: reserve: the size is not a multiple of the granularity"};
  Region* region;
  if (const Status status = add_region(device, bytes, kGranularity, &region); !status.ok()) return status;
  region->is_reservation = true;
  region->mapped.assign(bytes / kGranularity, false);
  *out = region->data;
  return ok_status();
}

Memory::Region* Memory::find_reservation(int device, void* data, size_t bytes) {
  auto* region = const_cast<Region*>(find(data));
  if (!region || !region->is_reservation || region->device != device || bytes == 0) return nullptr;
  const size_t offset = static_cast<size_t>(static_cast<char*>(data) - region->data);
  const bool whole = offset % kGranularity == 0 && bytes % kGranularity == 0;
  return whole && bytes <= region->bytes - offset ? region : nullptr;
}

Status Memory::map(int device, void* data, size_t bytes) {
  Region* region = find_reservation(device, data, bytes);
  if (!region) return {StatusCode::kInvalidArgument, "sim: map: not whole granules of one reservation of this device"};
  const auto first =
      region->mapped.begin() + (static_cast<char*>(data) - region->data) / static_cast<long>(kGranularity);
  const auto last = first + static_cast<long>(bytes / kGranularity);
  if (std::find(first, last, true) != last)
    return {StatusCode::kInvalidArgument, "sim: map: some of these pages are mapped already"};
  if (!has_room(device, bytes)) return kFull;
  std::fill(first, last, true);
  make_accessible(static_cast<char*>(data) + region->bytes, bytes);
  used_[device] += bytes;
  return ok_status();
}

Status Memory::unmap(int device, void* data, size_t bytes) {
  Region* region = find_reservation(device, data, bytes);
  if (!region)
    return {StatusCode::kInvalidArgument, "sim: unmap: not whole granules of one reservation of this device"};
  const auto first =
      region->mapped.begin() + (static_cast<char*>(data) - region->data) / static_cast<long>(kGranularity);
  const auto last = first + static_cast<long>(bytes / kGranularity);
  if (std::find(first, last, false) != last)
    return {StatusCode::kInvalidArgument, "sim: unmap: some of these pages are not mapped"};
  std::fill(first, last, false);
  char* const host = static_cast<char*>(data) + region->bytes;
  madvise(host, bytes, MADV_DONTNEED);
  mprotect(host, bytes, PROT_NONE);
  used_[device] -= bytes;
  return ok_status();
}

Status Memory::release(int device, void* data, size_t bytes) {
  const Region* region = find_reservation(device, data, bytes);
  if (!region || region->data != data || region->bytes != bytes)
    return {StatusCode::kInvalidArgument, "sim: release: not a whole reservation of this device"};
  if (std::find(region->mapped.begin(), region->mapped.end(), true) != region->mapped.end())
    return {StatusCode::kInvalidArgument, "sim: release: some pages are still mapped; unmap them first"};
  remove_region(*region);
  return ok_status();
}

char* Memory::resolve(int device, const void* data, size_t bytes) const {
  const Region* region = find(data);
  if (!region || (device >= 0 && region->device != device)) return nullptr;
  const size_t offset = static_cast<size_t>(static_cast<const char*>(data) - region->data);
  return region->is_mapped(offset, bytes) ? region->host() + offset : nullptr;
}

bool Memory::is_page_locked(const void* data, size_t bytes) const {
  const auto found = not_beyond(page_locked_, data);
  return found != page_locked_.end() && static_cast<const char*>(data) + bytes <= found->first + found->second;
}

std::string Memory::describe(const void* data) const {
  const Region* region = find(data);
  if (!region) return {};
  std::string text = str_cat("byte ", static_cast<const char*>(data) - region->data, " of ", region->bytes,
                             " of sim:", region->device);
  if (region->is_reservation) return text + ", a reservation";
  if (!region->operator_name.empty()) text += str_cat(", allocated by '", region->operator_name, "'");
  return text;
}

}  // namespace vellum::sim
