#ifndef VELLUM_ALLOCATOR_SIZE_CLASSES_H_
#define VELLUM_ALLOCATOR_SIZE_CLASSES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace vellum::internal {

// Block sizes that the caching strategy hands out. Up to 512 bytes they go in steps of 64; then each doubling has 8
// classes up to 1 MiB, so that at most one eighth is added to a request. Larger requests round to kLargeStep.
inline constexpr size_t kClassStep = 64;
inline constexpr size_t kStepClasses = 8;
inline constexpr size_t kClassesPerDoubling = 8;
inline constexpr size_t kMaxClassBytes = size_t{1} << 20;
inline constexpr size_t kLargeStep = size_t{64} << 10;
inline constexpr size_t kNumClasses = 96;

// The smallest class of at least `bytes`, which is from 1 to kMaxClassBytes.
constexpr uint32_t size_class(size_t bytes) {
  const size_t last = bytes - 1;
  if (last < kStepClasses * kClassStep) return static_cast<uint32_t>(last / kClassStep);
  const uint32_t log = static_cast<uint32_t>(std::bit_width(last)) - 1;  // at least 9
  return static_cast<uint32_t>(kStepClasses + (log - 9) * kClassesPerDoubling) + ((last >> (log - 3)) & 7);
}

constexpr size_t class_bytes(uint32_t index) {
  if (index < kStepClasses) return (index + 1) * kClassStep;
  const uint32_t log = 9 + (index - kStepClasses) / kClassesPerDoubling;
  return (kClassesPerDoubling + 1 + (index - kStepClasses) % kClassesPerDoubling) << (log - 3);
}

static_assert(size_class(kMaxClassBytes) == kNumClasses - 1);
static_assert(class_bytes(kNumClasses - 1) == kMaxClassBytes);

constexpr size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

// What a block for `bytes` occupies. `bytes` is at least 1.
constexpr size_t rounded_bytes(size_t bytes) {
  return bytes <= kMaxClassBytes ? class_bytes(size_class(bytes)) : round_up(bytes, kLargeStep);
}

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_SIZE_CLASSES_H_
