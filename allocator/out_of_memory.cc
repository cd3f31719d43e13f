#include "vellum/allocator/out_of_memory.h"

#include "vellum/allocator/memory.h"
#include "vellum/device/error.h"

namespace vellum {

std::string out_of_memory_text(Device device, int64_t bytes, const Allocator& source) {
  const MemoryStats stats = source.stats();
  const int64_t cached = stats.reserved.current - stats.active.current;
  const int64_t fragmented = cached > 0 ? (cached - stats.largest_free) * 100 / cached : 0;
  std::string text =
      str_cat("out of memory on ", device, " ('", source.name(), "' allocator): ", format_bytes(bytes), " (", bytes,
              " bytes) requested, ", format_bytes(stats.active.current), " live, ", format_bytes(cached),
              " cached, largest free block ", format_bytes(stats.largest_free), ", fragmentation ", fragmented, "%");
  if (stats.limit >= 0) text += str_cat(", limit ", format_bytes(stats.limit));
  return text + "; free tensors, use a smaller batch or call empty_cache()";
}

}  // namespace vellum
