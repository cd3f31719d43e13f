#include <array>

#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/sort_items.h"
#include "vellum/tensor/ops/attributes.h"

namespace vellum::cpu {
namespace {

// Items that are kept while a line is read: when there are as many, all but the best k go.
int64_t candidates(int64_t k, int64_t n) { return std::min(n, std::max(2 * k, k + 1024)); }

// One line: element k is x[k * step].
template <typename T>
struct Line {
  const T* x;
  int64_t step, n;
  bool largest;

  BitsOf<T> key(int64_t k) const {
    const BitsOf<T> key = key_of(x[k * step]);
    return largest ? static_cast<BitsOf<T>>(~key) : key;
  }
};

// Adds those of elements [at, at + count) whose keys are smaller than `last`; returns how many.
template <typename T, typename Item>
int64_t add_smaller(const Line<T>& line, int64_t at, int64_t count, BitsOf<T> last, Item* to) {
  constexpr int64_t kRun = 256;  // elements that are looked at together: most runs hold no candidate
  BitsOf<T> keys[kRun];
  Item* const start = to;
  for (const int64_t end = at + count; at < end; at += kRun) {
    const int64_t run = std::min(kRun, end - at);
    BitsOf<T> found = 0;
    for (int64_t i = 0; i < run; ++i) {
      keys[i] = line.key(at + i);
      found |= keys[i] < last;
    }
    for (int64_t i = 0; found && i < run; ++i)
      if (keys[i] < last) *to++ = Item::make(keys[i], at + i);
  }
  return to - start;
}

// Finds the first k > 0 items of a line, in any order but for the last of them, which is at
// best[k - 1]. `best` has room for candidates(k, n).
template <typename T, typename Item>
void select_first(const Line<T>& line, int64_t k, Item* best) {
  const int64_t room = candidates(k, line.n);
  int64_t count = room;
  for (int64_t i = 0; i < room; ++i) best[i] = Item::make(line.key(i), i);
  std::nth_element(best, best + (k - 1), best + count);
  for (int64_t at = room; at < line.n;) {
    count = k;
    // Equal keys at later places come later.
    const auto last = static_cast<BitsOf<T>>(best[k - 1].key());
    while (at < line.n && count < room) {
      const int64_t run = std::min(line.n - at, std::min<int64_t>(room - count, 256));
      count += add_smaller(line, at, run, last, best + count);
      at += run;
    }
    std::nth_element(best, best + (k - 1), best + count);
  }
}

// The items up to `last`, in the order of their places.
template <typename T, typename Item>
void collect_until(const Line<T>& line, Item last, Item* to) {
  for (int64_t i = 0; i < line.n; ++i)
    if (const Item item = Item::make(line.key(i), i); !(last < item)) *to++ = item;
}

// The k selected items in the order that was asked for.
template <typename T, typename Item>
const Item* arrange(const Line<T>& line, int64_t k, bool sorted, Item* best, Item* spare) {
  if (k < kRadixLength) {
    if (sorted)
      std::sort(best, best + k);
    else
      std::sort(best, best + k, [](Item a, Item b) { return a.place() < b.place(); });
    return best;
  }
  collect_until(line, best[k - 1], best);
  return sorted ? radix_sort(best, spare, k) : best;
}

int64_t items_needed(const TopKAttrs& a, int64_t n) {
  return candidates(a.k, n) + (a.sorted && a.k >= kRadixLength ? a.k : 0);
}

template <typename T>
size_t topk_workspace(const KernelContext& context) noexcept {
  const auto& a = context.attributes<TopKAttrs>();
  const Lines lines(context.inputs[0], a.dim.dim);
  const size_t bytes = is_wide<T>(lines.split.n) ? sizeof(WideItem) : sizeof(PackedItem);
  return static_cast<size_t>(lines.slots * items_needed(a, lines.split.n)) * bytes;
}

template <typename T, typename Item>
void select_lines(const KernelContext& context, const Lines& lines) {
  const auto& a = context.attributes<TopKAttrs>();
  const int64_t n = lines.split.n, step = lines.split.inner, needed = items_needed(a, n);
  lines.for_each([&](int64_t slot, int64_t outer, int64_t inner) {
    const Line<T> line{context.inputs[0].as<const T>() + outer * n * step + inner, step, n, a.largest};
    Item* const best = static_cast<Item*>(context.workspace) + slot * needed;
    select_first(line, a.k, best);
    const Item* items = arrange(line, a.k, a.sorted, best, best + candidates(a.k, n));
    T* values = context.outputs[0].as<T>() + outer * a.k * step + inner;
    int64_t* indices = context.outputs[1].as<int64_t>() + outer * a.k * step + inner;
    for (int64_t i = 0; i < a.k; ++i)
      write_item(items[i], line.x, step, a.largest, values + i * step, indices + i * step);
  });
}

template <typename T>
Status run_topk(const KernelContext& context) noexcept {
  const auto& a = context.attributes<TopKAttrs>();
  const Lines lines(context.inputs[0], a.dim.dim);
  if (context.inputs[0].numel == 0 || a.k == 0) return ok_status();
  if (is_wide<T>(lines.split.n))
    select_lines<T, WideItem>(context, lines);
  else
    select_lines<T, PackedItem>(context, lines);
  return ok_status();
}

template <typename... Ts>
constexpr auto topk_entries_of() {
  return std::array{KernelEntry{"topk", dtype_of<Ts>, run_topk<Ts>, nullptr, topk_workspace<Ts>, true}...};
}

constexpr auto kEntries =
    topk_entries_of<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float, double>();

}  // namespace

std::span<const KernelEntry> topk_kernels() { return kEntries; }

}  // namespace vellum::cpu
