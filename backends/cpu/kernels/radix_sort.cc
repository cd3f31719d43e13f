#include <utility>

#include "vellum/backends/cpu/kernels/sort_items.h"

namespace vellum::cpu {
namespace {

// Three passes of 2048 piles, whose counts fit the first cache, or eight of 256.
template <typename Item>
constexpr int kDigitBits = Item::kKeyBits == 32 ? 11 : 8;
template <typename Item>
constexpr int kDigits = 1 << kDigitBits<Item>;
template <typename Item>
using Count = std::conditional_t<Item::kKeyBits == 32, uint32_t, uint64_t>;

template <typename Item>
int digit(Item item, int pass) {
  return static_cast<int>(item.key() >> (pass * kDigitBits<Item>)&(kDigits<Item> - 1));
}

// One pass moves every item behind those of smaller digits, in the order in which they come.
template <typename Item>
void distribute(const Item* from, Item* to, int64_t n, int pass, const Count<Item>* counts) {
  Count<Item> next[kDigits<Item>];
  Count<Item> total = 0;
  for (int d = 0; d < kDigits<Item>; ++d) {
    next[d] = total;
    total += counts[d];
  }
  for (int64_t i = 0; i < n; ++i) to[next[digit(from[i], pass)]++] = from[i];
}

template <typename Item>
Item* sort_by_digits(Item* items, Item* spare, int64_t n) {
  constexpr int kPasses = (Item::kKeyBits + kDigitBits<Item> - 1) / kDigitBits<Item>;
  Count<Item> counts[kPasses][kDigits<Item>] = {};
  for (int64_t i = 0; i < n; ++i)
    for (int pass = 0; pass < kPasses; ++pass) ++counts[pass][digit(items[i], pass)];
  for (int pass = 0; pass < kPasses; ++pass) {
    if (static_cast<int64_t>(counts[pass][digit(items[0], pass)]) == n) continue;  // all alike
    distribute(items, spare, n, pass, counts[pass]);
    std::swap(items, spare);
  }
  return items;
}

}  // namespace

PackedItem* radix_sort(PackedItem* items, PackedItem* spare, int64_t n) { return sort_by_digits(items, spare, n); }
WideItem* radix_sort(WideItem* items, WideItem* spare, int64_t n) { return sort_by_digits(items, spare, n); }

}  // namespace vellum::cpu
