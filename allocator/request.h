#ifndef VELLUM_ALLOCATOR_REQUEST_H_
#define VELLUM_ALLOCATOR_REQUEST_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

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

// What a strategy answers that cannot note a block.
inline constexpr Status kNoRecords{StatusCode::kOutOfMemory, "no host memory is left for the allocator's records"};

// `strategy` is the name of its class.
[[noreturn, gnu::cold, gnu::noinline]] inline void die_of_double_free(const char* strategy, const Block& block) {
  std::fprintf(stderr, "vellum: %s::deallocate: block %p of %zu bytes is not in use (freed twice?)\n", strategy,
               block.data, block.bytes);
  std::abort();
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

template <typename... Stat>
void reset_peaks(Stat&... stats) {
  ((stats.peak = stats.current), ...);
}

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_REQUEST_H_
