#ifndef VELLUM_ALLOCATOR_POISON_H_
#define VELLUM_ALLOCATOR_POISON_H_

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define VELLUM_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VELLUM_POISON 1
#endif
#endif

#ifdef VELLUM_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace vellum::internal {

// Marks host memory as not to be touched, or usable again. Does nothing without AddressSanitizer.
inline void poison([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef VELLUM_POISON
  __asan_poison_memory_region(data, bytes);
#endif
}

inline void unpoison([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#ifdef VELLUM_POISON
  __asan_unpoison_memory_region(data, bytes);
#endif
}

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_POISON_H_
