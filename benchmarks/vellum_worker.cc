// The side of this library in vs_libtorch: see worker.h for the commands that it takes.

#include <memory>
#include <vector>

#include "vellum/allocator/memory.h"
#include "vellum/autograd/autograd.h"
#include "vellum/backends/cpu/parallel.h"
#include "vellum/benchmarks/rows.h"
#include "vellum/benchmarks/worker.h"
#include "vellum/device/stream.h"
#include "vellum/nn/activation.h"
#include "vellum/nn/functional.h"
#include "vellum/nn/linear.h"
#include "vellum/nn/optim/adamw.h"
#include "vellum/nn/optim/sgd.h"
#include "vellum/nn/sequential.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::benchmarks {
namespace {

struct VellumLibrary {
  using Tensor = vellum::Tensor;
  using NoGradGuard = vellum::NoGradGuard;
  enum class Optimizer { kSGD, kAdamW };

  template <typename V>
  static Tensor tensor(const std::vector<V>& values, const std::vector<int64_t>& shape) {
    return vellum::tensor(std::span<const V>(values), Dims(shape));
  }
  // From pairs of real and imaginary parts.
  static Tensor complex_tensor(const std::vector<float>& values, std::vector<int64_t> shape) {
    shape.push_back(2);
    return tensor(values, shape).view_as_complex().clone();
  }
  static std::vector<float> values(const Tensor& x) {
    return (x.is_complex() ? x.view_as_real() : x).to_vector<float>();
  }

  static void allocate_and_free(size_t bytes) {
    static Allocator& source = allocator(Device(kCPU));
    const Stream stream = current_stream(Device(kCPU));
    Block block;
    keep(source.allocate(bytes, kDefaultAlignment, stream, &block));
    keep(block.data);
    source.deallocate(block, stream);
  }
  static Tensor empty(const Dims& shape) { return vellum::empty(shape); }
  static void clear_grad(Tensor x) { x.set_grad({}); }
  static void assign(Tensor parameter, const std::vector<float>& values) {
    NoGradGuard no_grad;
    parameter.copy_(tensor(values, {static_cast<int64_t>(values.size())}).view(parameter.shape()));
  }

  class Model {
   public:
    Model(const std::vector<int64_t>& widths, Optimizer optimizer) {
      for (size_t i = 0; i + 1 < widths.size(); ++i) {
        if (i > 0) layers_.push_back(nn::ReLU());
        layers_.push_back(nn::Linear(widths[i], widths[i + 1]));
      }
      if (optimizer == Optimizer::kSGD)
        optimizer_ = std::make_unique<optim::SGD>(layers_.parameters(), optim::SGDOptions{.lr = 1e-3});
      else
        optimizer_ = std::make_unique<optim::AdamW>(layers_.parameters(), optim::AdamWOptions{.lr = 1e-3});
    }

    const std::vector<Tensor>& parameters() const { return optimizer_->parameters(); }
    Tensor loss(const Tensor& input, const Tensor& target) {
      return nn::functional::cross_entropy(layers_(input), target);
    }
    void clear_grads() { optimizer_->zero_grad(); }
    void update() { optimizer_->step(); }

   private:
    nn::Sequential layers_;
    std::unique_ptr<optim::Optimizer> optimizer_;
  };
};

}  // namespace
}  // namespace vellum::benchmarks

int main(int argc, char** argv) {
  using vellum::benchmarks::Rows;
  return vellum::benchmarks::serve({.version = "vellum",
                                    .rows = Rows<vellum::benchmarks::VellumLibrary>::all(),
                                    .set_num_threads = vellum::set_num_threads,
                                    .count_memory = [] {},
                                    .peak_memory = [] { return vellum::max_memory_reserved(); },
                                    .release_memory = [] { vellum::empty_cache(); }},
                                   argc, argv);
}
