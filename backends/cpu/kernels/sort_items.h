#ifndef VELLUM_BACKENDS_CPU_KERNELS_SORT_ITEMS_H_
#define VELLUM_BACKENDS_CPU_KERNELS_SORT_ITEMS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "vellum/backends/cpu/kernels/dim_split.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/kernel.h"

// Elements with their places, as numbers that order as the elements do; equal elements order by place. So any sort of
// them is stable.

namespace vellum::cpu {

// --- Keys: unsigned numbers that order as the values do. NaN comes last, zeros of both signs are one.

template <typename T>
using BitsOf = std::conditional_t<
    sizeof(T) == 1, uint8_t,
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <typename T>
inline constexpr bool kIsFloat = !std::is_integral_v<T>;

// The bits of infinity, without a sign.
template <typename T>
constexpr BitsOf<T> infinity_bits() {
  if constexpr (std::is_same_v<T, float16>)
    return 0x7c00;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return 0x7f80;
  else if constexpr (std::is_same_v<T, float>)
    return 0x7f800000;
  else
    return static_cast<BitsOf<T>>(0x7ff0000000000000);
}

template <typename T>
inline BitsOf<T> key_of(T value) {
  using Bits = BitsOf<T>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  const Bits bits = std::bit_cast<Bits>(value);
  if constexpr (kIsFloat<T>) {
    const Bits size = bits & static_cast<Bits>(~kSign);
    const Bits mirrored = static_cast<Bits>(bits & kSign ? ~bits : bits | kSign);
    return size == 0 ? kSign : size > infinity_bits<T>() ? static_cast<Bits>(~Bits{0}) : mirrored;
  } else {
    return std::is_signed_v<T> ? static_cast<Bits>(bits ^ kSign) : bits;
  }
}

// The value of a key, from its source where the key does not tell.
template <typename T>
inline T value_of(BitsOf<T> key, const T& source) {
  using Bits = BitsOf<T>;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  if constexpr (kIsFloat<T>) {
    if (key == kSign || key == static_cast<Bits>(~Bits{0})) return source;
    return std::bit_cast<T>(static_cast<Bits>(key & kSign ? key ^ kSign : ~key));
  } else {
    return std::bit_cast<T>(std::is_signed_v<T> ? static_cast<Bits>(key ^ kSign) : key);
  }
}

// --- Items.

// A key of up to 32 bits above a place.
struct PackedItem {
  uint64_t bits;

  static constexpr int kKeyBits = 32;
  static PackedItem make(uint64_t key, int64_t place) { return {key << 32 | static_cast<uint64_t>(place)}; }
  uint64_t key() const { return bits >> 32; }
  int64_t place() const { return static_cast<int64_t>(bits & 0xffffffff); }
  friend bool operator<(PackedItem a, PackedItem b) { return a.bits < b.bits; }
};
inline constexpr int64_t kMaxPackedLength = (int64_t{1} << 32) - 1;  // so that counts of places fit 32 bits, too

struct WideItem {
  uint64_t bits;
  int64_t at;

  static constexpr int kKeyBits = 64;
  static WideItem make(uint64_t key, int64_t place) { return {key, place}; }
  uint64_t key() const { return bits; }
  int64_t place() const { return at; }
  friend bool operator<(WideItem a, WideItem b) { return a.bits != b.bits ? a.bits < b.bits : a.at < b.at; }
};

template <typename T, typename Item>
inline Item item_of(T value, int64_t place, bool descending) {
  const BitsOf<T> key = key_of(value);
  return Item::make(descending ? static_cast<BitsOf<T>>(~key) : key, place);
}

// Takes an item apart. `x` is the line that it comes from, `step` from one element to the next.
template <typename T, typename Item>
inline void write_item(Item item, const T* x, int64_t step, bool descending, T* value, int64_t* index) {
  const auto key = static_cast<BitsOf<T>>(item.key());
  *value = value_of(descending ? static_cast<BitsOf<T>>(~key) : key, x[item.place() * step]);
  *index = item.place();
}

// Whether an item needs more than 64 bits.
template <typename T>
inline bool is_wide(int64_t n) {
  return sizeof(T) == 8 || n > kMaxPackedLength;
}

// --- Sorting.

inline constexpr int64_t kRadixLength = 1024;  // from which distribution beats comparison

// Sorts n items that are in the order of their places, by their keys. Either array may hold the result, which is
// returned; both have n items.
PackedItem* radix_sort(PackedItem* items, PackedItem* spare, int64_t n);
WideItem* radix_sort(WideItem* items, WideItem* spare, int64_t n);

// Sorts n items; kRadixLength or more of them must be in the order of their places and need a spare array.
template <typename Item>
Item* sort_items(Item* items, Item* spare, int64_t n) {
  if (n >= kRadixLength) return radix_sort(items, spare, n);
  std::sort(items, items + n);
  return items;
}

// --- Lines of a tensor that are worked on one by one, each slot with its own piece of the workspace.

struct Lines {
  DimSplit split;
  int64_t count, slots;

  Lines(const TensorArg& x, int dim) : split(x.sizes, x.rank, dim), count(split.outer * split.inner) {
    constexpr int64_t kGrain = 4096;  // elements that are not worth a second thread
    const int64_t pieces = std::max<int64_t>(1, x.numel / kGrain);
    slots = std::max<int64_t>(1, std::min<int64_t>({get_num_threads(), count, pieces}));
  }

  // Calls body(slot, outer, inner) for each line.
  template <typename F>
  void for_each(const F& body) const {
    parallel_for(0, slots, 1, [&](int64_t first, int64_t last) {
      for (int64_t slot = first; slot < last; ++slot)
        for (int64_t i = count * slot / slots; i < count * (slot + 1) / slots; ++i)
          body(slot, i / split.inner, i % split.inner);
    });
  }
};

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_SORT_ITEMS_H_
