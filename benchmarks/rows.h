#ifndef VELLUM_BENCHMARKS_ROWS_H_
#define VELLUM_BENCHMARKS_ROWS_H_

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "vellum/benchmarks/work.h"

// The work that is compared, written once for both libraries: operators are found in the namespace of their operands.
// Where the libraries differ, `L` translates; see VellumLibrary and TorchLibrary.

namespace vellum::benchmarks {

template <typename L>
class Rows {
 public:
  static std::vector<Row> all() {
    Rows rows;
    rows.overhead();
    for (const int64_t n : {int64_t{4} << 10, int64_t{64} << 10, int64_t{1} << 20, int64_t{16} << 20}) {
      rows.pointwise(n);
      rows.reductions(n);
      rows.shapes(n);
    }
    for (int64_t n = 64; n <= 2048; n *= 2) rows.products(n);
    rows.networks();
    rows.memory();
    return std::move(rows.rows_);
  }

 private:
  using T = typename L::Tensor;
  using Shape = std::vector<int64_t>;
  using Optimizer = typename L::Optimizer;

  // What an element of float32 takes, in bytes, and one of int64.
  static constexpr double kFloat = 4, kIndex = 8;

  // --- Work. `f` returns a tensor, which is the result.

  template <typename F>
  static std::function<void(int64_t)> repeated(F f) {
    return [f](int64_t times) mutable {
      for (int64_t i = 0; i < times; ++i) keep(f());
    };
  }

  static std::function<void(int64_t)> without_graph(std::function<void(int64_t)> repeat) {
    return [repeat](int64_t times) {
      typename L::NoGradGuard no_grad;
      repeat(times);
    };
  }

  template <typename F>
  static Work recorded(F f) {
    return {.repeat = repeated(f), .check = [f]() mutable { return std::vector<Digest>{digest(L::values(f()))}; }};
  }

  template <typename F>
  static Work unrecorded(F f) {
    Work work = recorded(f);
    work.repeat = without_graph(std::move(work.repeat));
    return work;
  }

  // With nothing in the result that could be compared.
  template <typename F>
  static Work opaque(F f) {
    return {.repeat = without_graph(repeated(f)), .check = [] { return std::vector<Digest>(); }};
  }

  // --- Inputs.

  static T floats(const Shape& shape, uint32_t seed = 1) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return L::tensor(uniform(count, seed), shape);
  }

  static int64_t side(int64_t n) { return static_cast<int64_t>(std::llround(std::sqrt(n))); }

  static std::string named(const std::string& name, int64_t n) {
    return name + "/" + (n < 1 << 20 ? std::to_string(n >> 10) + "K" : std::to_string(n >> 20) + "M");
  }

  // --- One row each.

  void append(Row row) { rows_.push_back(std::move(row)); }

  template <typename F>
  void unary(const std::string& name, int64_t n, F f) {
    const auto prepare = [=] { return unrecorded([f, x = floats({n})] { return f(x); }); };
    append({.name = named(name, n), .bytes_read = kFloat * n, .bytes_written = kFloat * n, .prepare = prepare});
  }

  template <typename F>
  void binary(const std::string& name, int64_t n, F f) {
    const auto prepare = [=] { return unrecorded([f, a = floats({n}, 1), b = floats({n}, 2)] { return f(a, b); }); };
    append({.name = named(name, n), .bytes_read = 2 * kFloat * n, .bytes_written = kFloat * n, .prepare = prepare});
  }

  // `f` of a matrix [rows, n / rows]; `written` in bytes.
  template <typename F>
  void matrix(const std::string& name, int64_t n, int64_t rows, double written, F f) {
    const auto prepare = [=] { return unrecorded([f, x = floats({rows, n / rows})] { return f(x); }); };
    append({.name = named(name, n), .bytes_read = kFloat * n, .bytes_written = written, .prepare = prepare});
  }

  // --- The families. An operator is one line. No member may have its name, or it would be found first.

  void pointwise(int64_t n) {
    binary("pointwise/add", n, [](const auto& a, const auto& b) { return add(a, b); });
    binary("pointwise/mul", n, [](const auto& a, const auto& b) { return mul(a, b); });
    unary("pointwise/exp", n, [](const auto& x) { return exp(x); });
    unary("pointwise/tanh", n, [](const auto& x) { return tanh(x); });
    unary("pointwise/gelu", n, [](const auto& x) { return gelu(x); });
    unary("pointwise/sigmoid", n, [](const auto& x) { return sigmoid(x); });
  }

  void reductions(int64_t n) {
    const int64_t s = side(n);
    matrix("reduce/sum_all", n, s, 0, [](const auto& x) { return sum(x); });
    matrix("reduce/sum_dim0", n, s, kFloat * s, [](const auto& x) { return sum(x, {0}); });
    matrix("reduce/sum_dim1", n, s, kFloat * s, [](const auto& x) { return sum(x, {1}); });
    matrix("reduce/softmax", n, n / 1024, kFloat * n, [](const auto& x) { return softmax(x, 1); });
    append(
        {.name = named("reduce/layer_norm", n), .bytes_read = kFloat * n, .bytes_written = kFloat * n, .prepare = [=] {
           return unrecorded([x = floats({n / 1024, 1024}), w = floats({1024}, 2), b = floats({1024}, 3)] {
             return layer_norm(x, {1024}, w, b, 1e-5);
           });
         }});
    matrix("order/sort", n, 1, (kFloat + kIndex) * n, [](const auto& x) { return std::get<0>(sort(x, 1, false)); });
    matrix("order/topk", n, 1, 64 * (kFloat + kIndex), [](const auto& x) { return std::get<0>(topk(x, 64, 1)); });
  }

  void shapes(int64_t n) {
    const int64_t s = side(n);
    matrix("shape/transpose_copy", n, s, kFloat * n, [](const auto& x) { return x.transpose(0, 1).contiguous(); });
    const auto prepare_cat = [=](int64_t dim, const Shape& half) {
      return unrecorded([dim, parts = std::vector<T>{floats(half, 1), floats(half, 2)}] { return cat(parts, dim); });
    };
    append({.name = named("shape/cat_dim0", n), .bytes_read = kFloat * n, .bytes_written = kFloat * n, .prepare = [=] {
              return prepare_cat(0, {s / 2, s});
            }});
    append({.name = named("shape/cat_dim1", n), .bytes_read = kFloat * n, .bytes_written = kFloat * n, .prepare = [=] {
              return prepare_cat(1, {s, s / 2});
            }});
    append({.name = named("shape/gather", n),
            .bytes_read = (kFloat + kIndex) * n,
            .bytes_written = kFloat * n,
            .prepare = [=] {
              return unrecorded(
                  [x = floats({s, s}), index = L::tensor(indices(n, s, 2), {s, s})] { return gather(x, 1, index); });
            }});
  }

  void products(int64_t n) {
    const auto add_product = [&](const std::string& dtype, double bytes, double flops, auto make) {
      append({.name = "matmul/" + dtype + "/" + std::to_string(n),
              .bytes_read = 2 * bytes * n * n,
              .bytes_written = bytes * n * n,
              .flops = flops * n * n * n,
              .prepare = [=] { return unrecorded([a = make(1), b = make(2)] { return matmul(a, b); }); }});
    };
    add_product("float32", kFloat, 2, [n](uint32_t seed) { return floats({n, n}, seed); });
    add_product("complex64", 2 * kFloat, 8, [n](uint32_t seed) {
      return L::complex_tensor(uniform(2 * n * n, seed), {n, n});
    });
  }

  // --- What a call costs beyond its arithmetic: operands of one element, a tiny network, memory at its steady state.

  void overhead() {
    constexpr int64_t kLarge = int64_t{16} << 20;
    constexpr int64_t kChain = 1000;
    const auto one = [] { return floats({1}); };
    append({.name = "overhead/allocate_free", .prepare = [] {
              return opaque([] {
                L::allocate_and_free(256);
                return 0;
              });
            }});
    append({.name = "overhead/empty", .prepare = [] { return opaque([] { return L::empty({1}); }); }});
    append({.name = "overhead/view", .prepare = [] {
              return unrecorded([x = floats({4, 4})] { return x.view({16}); });
            }});
    append({.name = "overhead/add_no_grad",
            .prepare = [=] { return unrecorded([a = one(), b = one()] { return a + b; }); }});
    append({.name = "overhead/add_recording",
            .prepare = [=] { return recorded([a = one().requires_grad_(), b = one()] { return a + b; }); }});
    append({.name = "overhead/mul_chain_per_operator", .parts = kChain, .prepare = [=] {
              return recorded([x = one().requires_grad_(), w = L::tensor(std::vector<float>{1}, {1})] {
                T y = x;
                for (int64_t i = 0; i < kChain; ++i) y = y * w;
                y.backward();
                T gradient = x.grad();
                L::clear_grad(x);
                return gradient;
              });
            }});
    append({.name = "overhead/mlp_step_16_16_16_10", .tolerance = 1e-3, .prepare = [] {
              return training({16, 16, 16, 10}, 8, Optimizer::kSGD);
            }});
    append(
        {.name = "overhead/add_16M_fresh",
         .bytes_read = 2 * kFloat * kLarge,
         .bytes_written = kFloat * kLarge,
         .prepare = [] { return unrecorded([a = floats({kLarge}, 1), b = floats({kLarge}, 2)] { return a + b; }); }});
    append({.name = "overhead/add_16M_existing",
            .bytes_read = 2 * kFloat * kLarge,
            .bytes_written = kFloat * kLarge,
            .prepare = [] {
              return unrecorded([a = floats({kLarge}, 1), b = floats({kLarge}, 2),
                                 out = floats({kLarge}, 3)]() mutable { return add_out(out, a, b); });
            }});
  }

  // --- Training steps: forward, backward, update.

  // A multilayer perceptron with ReLU between the layers, cross-entropy and one fixed batch.
  class Training {
   public:
    Training(const Shape& widths, int64_t batch, Optimizer optimizer)
        : model_(widths, optimizer),
          input_(floats({batch, widths.front()}, 1)),
          target_(L::tensor(indices(batch, widths.back(), 2), {batch})) {
      uint32_t seed = 3;
      for (const T& parameter : model_.parameters()) {
        std::vector<float> values = uniform(parameter.numel(), seed++);
        for (float& v : values) v /= std::sqrt(static_cast<float>(widths.front()));
        L::assign(parameter, values);
      }
    }

    T step() {
      model_.clear_grads();
      T loss = model_.loss(input_, target_);
      loss.backward();
      model_.update();
      return loss;
    }

    // The loss, then the gradient and the change of each parameter by one step.
    std::vector<Digest> check() {
      std::vector<std::vector<float>> before;
      for (const T& parameter : model_.parameters()) before.push_back(L::values(parameter));
      std::vector<Digest> digests{digest(L::values(step()))};
      for (size_t i = 0; i < before.size(); ++i) {
        const T parameter = model_.parameters()[i];
        std::vector<float> change = L::values(parameter);
        for (size_t k = 0; k < change.size(); ++k) change[k] -= before[i][k];
        digests.push_back(digest(L::values(parameter.grad())));
        digests.push_back(digest(change));
      }
      return digests;
    }

   private:
    typename L::Model model_;
    T input_, target_;
  };

  static Work training(const Shape& widths, int64_t batch, Optimizer optimizer) {
    const auto state = std::make_shared<Training>(widths, batch, optimizer);
    return {.repeat =
                [state](int64_t times) {
                  for (int64_t i = 0; i < times; ++i) keep(state->step());
                },
            .check = [state] { return state->check(); }};
  }

  // Products of the forward pass, of the gradients of weights and, but for the first layer, of inputs.
  static double training_flops(const Shape& widths, int64_t batch) {
    double products = 0;
    for (size_t i = 0; i + 1 < widths.size(); ++i) products += (i == 0 ? 2. : 3.) * widths[i] * widths[i + 1];
    return 2 * products * batch;
  }

  void networks() {
    const Shape widths{784, 512, 512, 10};
    const auto add_step = [&](const std::string& name, Optimizer optimizer) {
      append({.name = name, .flops = training_flops(widths, 128), .tolerance = 1e-3, .prepare = [=] {
                return training(widths, 128, optimizer);
              }});
    };
    add_step("mlp/step_sgd", Optimizer::kSGD);
    add_step("mlp/step_adamw", Optimizer::kAdamW);
  }

  // --- What is measured in bytes.

  void memory() {
    const Shape widths{784, 512, 512, 10};
    append({.name = "memory/mlp_step_sgd", .tolerance = 1e-3, .prepare = [=] {
              return training(widths, 128, Optimizer::kSGD);
            }});
    append({.name = "memory/mlp_step_adamw", .tolerance = 1e-3, .prepare = [=] {
              return training(widths, 128, Optimizer::kAdamW);
            }});
    // Every relu keeps its output and nothing else is kept: w and b are not trained.
    append({.name = "memory/relu_chain_1M", .prepare = [] {
              constexpr int64_t n = 1 << 20;
              return recorded([x = floats({n}, 1).requires_grad_(), w = floats({n}, 2), b = floats({n}, 3)] {
                T y = x;
                for (int i = 0; i < 16; ++i) y = relu(y * w + b);
                sum(y).backward();
                T gradient = x.grad();
                L::clear_grad(x);
                return gradient;
              });
            }});
  }

  std::vector<Row> rows_;
};

}  // namespace vellum::benchmarks

#endif  // VELLUM_BENCHMARKS_ROWS_H_
