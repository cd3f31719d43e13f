#ifndef VELLUM_ALLOCATOR_REQUEST_H_
#define VELLUM_ALLOCATOR_REQUEST_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "vellum/allocator/allocator.h"

namespace vellum::internal {

inline constexpr size_t kMaxRequestBytes = size_t{1} << 46;  // with any alignment added, far from overflow

// Checks what every strategy must refuse before it changes anything.
inline Status check_request(size_t bytes, size_t alignment) {
  if (!std::has_single_bit(alignment))
    return {StatusCode::kInvalidArgument, "the alignment must be a power of two, such as kDefaultAlignment"};
  if (bytes > kMaxRequestBytes || alignment > kMaxRequestBytes)
    return {StatusCode::kOutOfMemory, "the request is larger than any address space"};
  return ok_status();
}

inline void increase(MemoryStat& stat, int64_t bytes) {
  stat.current += bytes;
  stat.allocated += bytes;
  stat.peak = std::max(stat.peak, stat.current);
}

inline void decrease(MemoryStat& stat, int64_t bytes) {
  stat.current -= bytes;
  stat.freed += bytes;
}

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_REQUEST_H_
