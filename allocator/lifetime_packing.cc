#include "vellum/allocator/lifetime_packing.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace vellum::internal {
namespace {

struct Placed {
  size_t offset;
  size_t end;
};

// The start of the smallest gap below the highest of `taken` that holds `bytes`, else that highest end. Sorts `taken`.
size_t best_fit(std::vector<Placed>& taken, size_t bytes) {
  std::sort(taken.begin(), taken.end(), [](const Placed& a, const Placed& b) { return a.offset < b.offset; });
  size_t best = SIZE_MAX, smallest_gap = SIZE_MAX, end = 0;
  for (const Placed& p : taken) {
    if (p.offset >= end + bytes && p.offset - end < smallest_gap) {
      best = end;
      smallest_gap = p.offset - end;
    }
    end = std::max(end, p.end);
  }
  return best != SIZE_MAX ? best : end;
}

Packing pack_in_order(std::span<const Lifetime> blocks, const std::vector<size_t>& order) {
  Packing packing{std::vector<size_t>(blocks.size()), 0};
  std::vector<Placed> taken;
  for (size_t done = 0; done < order.size(); ++done) {
    const Lifetime& block = blocks[order[done]];
    taken.clear();
    for (size_t i = 0; i < done; ++i)
      if (const Lifetime& other = blocks[order[i]]; overlap(block, other))
        taken.push_back({packing.offsets[order[i]], packing.offsets[order[i]] + other.bytes});
    const size_t offset = best_fit(taken, block.bytes);
    packing.offsets[order[done]] = offset;
    packing.bytes = std::max(packing.bytes, offset + block.bytes);
  }
  return packing;
}

}  // namespace

size_t max_live_bytes(std::span<const Lifetime> blocks) {
  size_t most = 0;
  for (const Lifetime& at : blocks) {
    size_t live = 0;
    for (const Lifetime& block : blocks)
      if (block.alive(at.begin)) live += block.bytes;
    most = std::max(most, live);
  }
  return most;
}

Packing pack(std::span<const Lifetime> blocks) {
  size_t ticks = 1;
  for (const Lifetime& block : blocks) ticks = std::max({ticks, block.begin + 1, block.end});
  const auto bytes = [&](size_t i) { return static_cast<double>(blocks[i].bytes); };
  const auto ticks_alive = [&](size_t i) {
    const Lifetime& block = blocks[i];
    return static_cast<double>(block.begin < block.end ? block.end - block.begin : ticks - block.begin + block.end);
  };
  const auto area = [&](size_t i) { return bytes(i) * ticks_alive(i); };
  const auto begin = [&](size_t i) { return -static_cast<double>(blocks[i].begin); };

  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Packing best;
  const size_t bound = max_live_bytes(blocks);
  const auto try_order = [&](const auto& first, const auto& second) {
    if (!best.offsets.empty() && best.bytes == bound) return;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return first(a) != first(b) ? first(a) > first(b) : second(a) > second(b);
    });
    Packing packing = pack_in_order(blocks, order);
    if (best.offsets.empty() || packing.bytes < best.bytes) best = std::move(packing);
  };
  try_order(bytes, ticks_alive);
  try_order(area, bytes);
  try_order(begin, bytes);
  return best;
}

}  // namespace vellum::internal
