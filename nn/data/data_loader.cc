#include "vellum/nn/data/data_loader.h"

#include <numeric>
#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::data::internal {

void check_options(const DataLoaderOptions& options) {
  if (options.batch_size <= 0)
    throw_error<InvalidArgumentError>("DataLoader: batch_size must be positive, it is ", options.batch_size);
}

Tensor epoch_order(const DataLoaderOptions& options, int64_t samples, uint64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  if (options.shuffle) {
    // Fisher-Yates. Each epoch has a range of counters to itself; of 64-bit draws a remainder is as good as even.
    Generator draws(options.seed);
    draws.set_state({options.seed, epoch << 40});
    for (size_t i = order.size(); i > 1; --i) {
      const RandomState at = draws.reserve(4);
      const auto lanes = philox(at.seed, at.offset / 4);
      std::swap(order[i - 1], order[(uint64_t{lanes[0]} << 32 | lanes[1]) % i]);
    }
  }
  return tensor(order, TensorOptions(kInt64, Device(kCPU)));
}

}  // namespace vellum::data::internal
