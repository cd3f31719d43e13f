#ifndef VELLUM_ALLOCATOR_LIFETIME_PACKING_H_
#define VELLUM_ALLOCATOR_LIFETIME_PACKING_H_

#include <cstddef>
#include <span>
#include <vector>

namespace vellum::internal {

// A block of a step that is repeated for ever, and when it is alive: at the ticks from `begin` up to, without it,
// `end`. Where end <= begin it lives on into the next step, until `end` there; begin == end is always.
struct Lifetime {
  size_t bytes = 0;
  size_t begin = 0;
  size_t end = 0;

  bool alive(size_t tick) const { return begin < end ? begin <= tick && tick < end : tick >= begin || tick < end; }
};

// Neither is empty, so one is alive where the other begins.
inline bool overlap(const Lifetime& a, const Lifetime& b) { return a.alive(b.begin) || b.alive(a.begin); }

struct Packing {
  std::vector<size_t> offsets;  // of each block, in bytes
  size_t bytes = 0;             // of the whole
};

// The most bytes that are alive at once: no packing is smaller.
size_t max_live_bytes(std::span<const Lifetime> blocks);

// Places blocks so that no two overlap in both time and space. Best fit, the decreasing ones first: by size, by size
// times lifetime, and by begin; the smallest packing is returned. Takes time in the square of the number of blocks.
Packing pack(std::span<const Lifetime> blocks);

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_LIFETIME_PACKING_H_
