#include <array>

#include "vellum/backends/cpu/kernels/families.h"
#include "vellum/backends/cpu/kernels/sort_items.h"
#include "vellum/tensor/ops/attributes.h"

namespace vellum::cpu {
namespace {

// Places fit the indices' memory: there is the spare array, where lines are contiguous and items packed.
template <typename Item>
bool lends_output(const Lines& lines) {
  return sizeof(Item) == sizeof(int64_t) && lines.split.inner == 1;
}

// --- sort

template <typename Item>
size_t sort_items_needed(const Lines& lines) {
  const bool radix = lines.split.n >= kRadixLength;
  return static_cast<size_t>(lines.slots * lines.split.n * (radix && !lends_output<Item>(lines) ? 2 : 1));
}

template <typename T>
size_t sort_workspace(const KernelContext& context) noexcept {
  const Lines lines(context.inputs[0], context.attributes<SortAttrs>().dim.dim);
  return is_wide<T>(lines.split.n) ? sort_items_needed<WideItem>(lines) * sizeof(WideItem)
                                   : sort_items_needed<PackedItem>(lines) * sizeof(PackedItem);
}

template <typename T, typename Item>
void sort_lines(const KernelContext& context, const Lines& lines) {
  const bool descending = context.attributes<SortAttrs>().descending;
  const int64_t n = lines.split.n, step = lines.split.inner;
  const bool lends = lends_output<Item>(lines);
  const int64_t share = static_cast<int64_t>(context.workspace_bytes / sizeof(Item)) / lines.slots;
  lines.for_each([&](int64_t slot, int64_t outer, int64_t inner) {
    const int64_t start = outer * n * step + inner;
    const T* x = context.inputs[0].as<const T>() + start;
    T* values = context.outputs[0].as<T>() + start;
    int64_t* indices = context.outputs[1].as<int64_t>() + start;
    Item* items = static_cast<Item*>(context.workspace) + slot * share;
    Item* spare = lends ? reinterpret_cast<Item*>(indices) : items + n;
    for (int64_t i = 0; i < n; ++i) items[i] = item_of<T, Item>(x[i * step], i, descending);
    const Item* sorted = sort_items(items, spare, n);
    for (int64_t i = 0; i < n; ++i) write_item(sorted[i], x, step, descending, values + i * step, indices + i * step);
  });
}

template <typename T>
Status run_sort(const KernelContext& context) noexcept {
  const Lines lines(context.inputs[0], context.attributes<SortAttrs>().dim.dim);
  if (context.inputs[0].numel == 0) return ok_status();
  if (is_wide<T>(lines.split.n))
    sort_lines<T, WideItem>(context, lines);
  else
    sort_lines<T, PackedItem>(context, lines);
  return ok_status();
}

template <typename... Ts>
constexpr auto sort_entries_of() {
  return std::array{KernelEntry{"sort", dtype_of<Ts>, run_sort<Ts>, nullptr, sort_workspace<Ts>, true}...};
}

constexpr auto kEntries =
    sort_entries_of<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16, bfloat16, float, double>();

}  // namespace

std::span<const KernelEntry> sort_kernels() { return kEntries; }

}  // namespace vellum::cpu
