#ifndef VELLUM_ALLOCATOR_CACHING_OPTIONS_H_
#define VELLUM_ALLOCATOR_CACHING_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vellum {

struct CachingOptions {
  static constexpr size_t kUnlimited = SIZE_MAX;

  // The host may touch the memory. Where the device works at once, AddressSanitizer then reports uses of freed blocks
  // and of rounding tails.
  bool host_accessible = true;
  // Bytes of free blocks that a thread keeps to itself; beyond, half of them go to the shared heap.
  size_t thread_cache_bytes = size_t{4} << 20;
  // Where upstream offers pages (Allocator::pages), one range of addresses for each stream and pool is backed by memory
  // as needed, so that neighbours always merge and what is held follows what is needed. Else, segments of fixed sizes.
  bool extendable_segments = true;
  // Bytes. Blocks of at least this size are not split and serve only requests that leave less than 20 MiB of them
  // unused. More than 20 MiB. Without effect on extendable segments, whose pieces always merge again.
  size_t max_split_size = kUnlimited;
  // Bytes that may be held from upstream.
  size_t memory_limit = kUnlimited;
  // A fraction of memory_limit, which it needs: before more than that is held, cached memory that has not been used
  // for longest goes back to upstream. 0: never.
  double garbage_collection_threshold = 0;
};

// Throws InvalidArgumentError for values out of range and for options that need another.
void check_options(const CachingOptions& options);

// Reads "key:value,key:value" over `defaults`. Keys are the names of the options above but host_accessible; sizes are
// bytes or have a unit (512KiB, 64MiB, 2GiB), switches are true or false. Throws InvalidArgumentError that names the
// key and what it takes.
CachingOptions parse_caching_options(std::string_view text, CachingOptions defaults = {});

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_CACHING_OPTIONS_H_
