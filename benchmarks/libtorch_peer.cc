// LibTorch's side in vs_libtorch: see worker.h for the commands that it takes. No part of the build, for LibTorch is no
// dependency of this project: libtorch.py compiles it where there is one.

#include <torch/torch.h>

#include <atomic>
#include <memory>
#include <vector>

#include "vellum/benchmarks/rows.h"
#include "vellum/benchmarks/worker.h"

namespace vellum::benchmarks {
namespace {

struct TorchLibrary {
  using Tensor = torch::Tensor;
  using NoGradGuard = torch::NoGradGuard;
  enum class Optimizer { kSGD, kAdamW };

  template <typename V>
  static Tensor tensor(const std::vector<V>& values, const std::vector<int64_t>& shape) {
    return torch::tensor(values).view(shape);
  }
  static Tensor complex_tensor(const std::vector<float>& values, std::vector<int64_t> shape) {
    shape.push_back(2);
    return torch::view_as_complex(tensor(values, shape)).clone();
  }
  static std::vector<float> values(const Tensor& x) {
    const Tensor y = (x.is_complex() ? torch::view_as_real(x) : x).detach().to(torch::kFloat).contiguous();
    return {y.data_ptr<float>(), y.data_ptr<float>() + y.numel()};
  }

  static void allocate_and_free(size_t bytes) {
    static c10::Allocator* const source = c10::GetAllocator(c10::kCPU);
    keep(source->allocate(bytes).get());
  }
  static Tensor empty(c10::IntArrayRef shape) { return torch::empty(shape); }
  static void clear_grad(const Tensor& x) { x.mutable_grad().reset(); }
  static void assign(Tensor parameter, const std::vector<float>& values) {
    NoGradGuard no_grad;
    parameter.copy_(torch::tensor(values).view_as(parameter));
  }

  class Model {
   public:
    Model(const std::vector<int64_t>& widths, Optimizer optimizer) {
      for (size_t i = 0; i + 1 < widths.size(); ++i) {
        if (i > 0) layers_->push_back(torch::nn::ReLU());
        layers_->push_back(torch::nn::Linear(widths[i], widths[i + 1]));
      }
      parameters_ = layers_->parameters();
      if (optimizer == Optimizer::kSGD)
        optimizer_ = std::make_unique<torch::optim::SGD>(parameters_, torch::optim::SGDOptions(1e-3));
      else
        optimizer_ = std::make_unique<torch::optim::AdamW>(parameters_, torch::optim::AdamWOptions(1e-3));
    }

    const std::vector<Tensor>& parameters() const { return parameters_; }
    Tensor loss(const Tensor& input, const Tensor& target) {
      return torch::nn::functional::cross_entropy(layers_->forward(input), target);
    }
    void clear_grads() {
      for (const Tensor& parameter : parameters_) parameter.mutable_grad().reset();
    }
    void update() { optimizer_->step(); }

   private:
    torch::nn::Sequential layers_;
    std::vector<Tensor> parameters_;
    std::unique_ptr<torch::optim::Optimizer> optimizer_;
  };
};

// LibTorch's own allocator, with what is asked of it added up.
class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator* upstream) : upstream_(upstream) {}

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  c10::DataPtr allocate(size_t bytes) override { return counted(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
#else
  c10::DataPtr allocate(size_t bytes) const override { return counted(bytes); }
#endif

  int64_t peak() const { return peak_; }

 private:
  struct Piece {
    c10::DataPtr memory;
    const CountingAllocator* owner;
    int64_t bytes;
  };

  c10::DataPtr counted(size_t bytes) const {
    auto piece = std::make_unique<Piece>(Piece{upstream_->allocate(bytes), this, static_cast<int64_t>(bytes)});
    const int64_t live = live_ += piece->bytes;
    for (int64_t peak = peak_; live > peak && !peak_.compare_exchange_weak(peak, live);) continue;
    void* const data = piece->memory.get();
    const c10::Device device = piece->memory.device();
    return {data, piece.release(), free_piece, device};
  }

  static void free_piece(void* context) {
    const std::unique_ptr<Piece> piece(static_cast<Piece*>(context));
    piece->owner->live_ -= piece->bytes;
  }

  c10::Allocator* const upstream_;
  mutable std::atomic<int64_t> live_{0}, peak_{0};
};

CountingAllocator& counting_allocator() {
  static CountingAllocator allocator(c10::GetAllocator(c10::kCPU));
  return allocator;
}

}  // namespace
}  // namespace vellum::benchmarks

int main(int argc, char** argv) {
  using namespace vellum::benchmarks;
  return serve({.version = TORCH_VERSION,
                .rows = Rows<TorchLibrary>::all(),
                .set_num_threads = [](int threads) { torch::set_num_threads(threads); },
                .count_memory = [] { c10::SetAllocator(c10::kCPU, &counting_allocator(), 1); },
                .peak_memory = [] { return counting_allocator().peak(); },
                .release_memory = [] {}},
               argc, argv);
}
