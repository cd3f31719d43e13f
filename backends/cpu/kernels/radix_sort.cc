#include <utility>

#include "vellum/backends/cpu/kernels/sort_items.h"

namespace vellum::cpu {
namespace {

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

template <typename Item>
int digit(Item item, int pass) {
  return static_cast<int>(item.key() >> (pass * kDigitBits) & (kDigits - 1));
}

// One pass moves every item behind those of smaller digits, in the order in which they come.
template <typename Item>
void distribute(const Item* from, Item* to, int64_t n, int pass, const int64_t* counts) {
  int64_t next[kDigits];
  int64_t total = 0;
  for (int d = 0; d < kDigits; ++d) {
    next[d] = total;
    total += counts[d];
  }
  for (int64_t i = 0; i < n; ++i) to[next[digit(from[i], pass)]++] = from[i];
}

template <typename Item>
Item* sort_by_digits(Item* items, Item* spare, int64_t n) {
  constexpr int kPasses = Item::kKeyBits / kDigitBits;
  int64_t counts[kPasses][kDigits] = {};
  for (int64_t i = 0; i < n; ++i)
    for (int pass = 0; pass < kPasses; ++pass) ++counts[pass][digit(items[i], pass)];
  for (int pass = 0; pass < kPasses; ++pass) {
    if (counts[pass][digit(items[0], pass)] == n) continue;  // all alike
    distribute(items, spare, n, pass, counts[pass]);
    std::swap(items, spare);
  }
  return items;
}

}  // namespace

PackedItem* radix_sort(PackedItem* items, PackedItem* spare, int64_t n) { return sort_by_digits(items, spare, n); }
WideItem* radix_sort(WideItem* items, WideItem* spare, int64_t n) { return sort_by_digits(items, spare, n); }

}  // namespace vellum::cpu
