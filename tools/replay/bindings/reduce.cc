#include <cmath>

#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

// OP(input, dim, keepdim), where no `dim`, or an empty one, means all.
Function over_dims(Tensor (*f)(const Tensor&, const Dims&, bool)) {
  return [f](Args& a) { return f(a.tensor(0, "input"), a.dims(1, "dim", Dims()), a.boolean(2, "keepdim", false)); };
}

// The same with the dtype that the input is converted to.
Function over_dims(Tensor (*f)(const Tensor&, const Dims&, bool, DType)) {
  return [f](Args& a) {
    return f(a.tensor(0, "input"), a.dims(1, "dim", Dims()), a.boolean(2, "keepdim", false),
             a.dtype(kKeywordOnly, "dtype", DType::kUndefined));
  };
}

// max and min: of two tensors, along a dimension with indices, or of all elements.
Function extremum(Tensor (*of_two)(const Tensor&, const Tensor&), Tensor (*of_all)(const Tensor&),
                  std::pair<Tensor, Tensor> (*along)(const Tensor&, int64_t, bool)) {
  return [=](Args& a) -> Results {
    const Tensor input = a.tensor(0, "input");
    if (a.is_tensor(1, "other")) return of_two(input, a.tensor(1, "other"));
    if (!a.has(1, "dim")) return of_all(input);
    return along(input, a.integer(1, "dim"), a.boolean(2, "keepdim", false));
  };
}

std::optional<int64_t> optional_dim(Args& a) {
  if (!a.has(1, "dim")) return {};
  return a.integer(1, "dim");
}

Function index_of_extremum(Tensor (*f)(const Tensor&, std::optional<int64_t>, bool)) {
  return [f](Args& a) {
    const std::optional<int64_t> dim = optional_dim(a);
    return f(a.tensor(0, "input"), dim, a.boolean(2, "keepdim", false));
  };
}

// The spread's divisor, dimensions and shape: OP(input, unbiased), OP(input, dim, unbiased, keepdim), and
// OP(input, dim, *, correction, keepdim).
template <typename F>
Function spread(F f) {
  return [f](Args& a) -> Results {
    const Tensor input = a.tensor(0, "input");
    const bool dims_left_out = a.source().args.size() == 2 && a.source().args[1].is_boolean();
    const Dims dims = dims_left_out ? Dims() : a.dims(1, "dim", Dims());
    const bool unbiased = a.boolean(dims_left_out ? 1 : 2, "unbiased", true);
    return f(input, dims, a.real(kKeywordOnly, "correction", unbiased ? 1 : 0), a.boolean(3, "keepdim", false));
  };
}

double order(Args& a, std::string_view name) { return a.has(1, name) ? a.real(1, name) : 2; }

Results vector_norm_of(Args& a) {
  return vector_norm(a.tensor(0, "x"), order(a, "ord"), a.dims(2, "dim", Dims()), a.boolean(3, "keepdim", false));
}

Results norm_of(Args& a) {
  const Tensor input = a.tensor(0, "input");
  const Dims dims = a.dims(2, "dim", Dims());
  const bool keepdim = a.boolean(3, "keepdim", false);
  if (a.has(1, "p") && !a.is_text(1, "p")) return norm(input, a.real(1, "p"), dims, keepdim);
  const std::string name = a.text(1, "p", "fro");
  if (name != "fro") throw Unsupported("norm " + name);
  return norm(input, name, dims, keepdim);
}

// Norms of vectors, and those of matrices that need no singular values.
Results linalg_norm(Args& a) {
  const Tensor input = a.tensor(0, "A");
  const Dims dims = a.dims(2, "dim", Dims());
  const bool keepdim = a.boolean(3, "keepdim", false);
  const bool frobenius = a.is_text(1, "ord") && a.text(1, "ord", "") == "fro";
  if (!a.has(1, "ord") || frobenius) return norm(input, 2.0, dims, keepdim);
  const bool matrix = dims.size() == 2 || (dims.empty() && input.dim() == 2);
  if (a.is_text(1, "ord")) throw Unsupported("the nuclear norm");
  const double ord = a.real(1, "ord");
  if (!matrix) return norm(input, ord, dims, keepdim);
  return dims.empty() ? matrix_norm(input, ord, {-2, -1}, keepdim) : matrix_norm(input, ord, dims, keepdim);
}

Results matrix_norm_of(Args& a) {
  const Tensor input = a.tensor(0, "A");
  const Dims dims = a.dims(2, "dim", Dims{-2, -1});
  const bool keepdim = a.boolean(3, "keepdim", false);
  if (a.has(1, "ord") && !a.is_text(1, "ord")) {
    const double ord = a.real(1, "ord");
    if (std::abs(ord) == 2) throw Unsupported("a norm of singular values");
    return matrix_norm(input, ord, dims, keepdim);
  }
  const std::string ord = a.text(1, "ord", "fro");
  if (ord != "fro") throw Unsupported("a norm of singular values");
  return matrix_norm(input, ord, dims, keepdim);
}

const Bindings kBindings{
    {"sum", over_dims(sum)},
    {"mean", over_dims(mean)},
    {"prod", over_dims(prod)},
    {"amax", over_dims(amax)},
    {"amin", over_dims(amin)},
    {"any", over_dims(any)},
    {"all", over_dims(all)},
    {"max", extremum([](const Tensor& x, const Tensor& y) { return maximum(x, y); }, max, max)},
    {"min", extremum([](const Tensor& x, const Tensor& y) { return minimum(x, y); }, min, min)},
    {"argmax", index_of_extremum(argmax)},
    {"argmin", index_of_extremum(argmin)},
    {"var", spread([](const Tensor& x, const Dims& d, double c, bool k) { return var(x, d, c, k); })},
    {"std", spread([](const Tensor& x, const Dims& d, double c, bool k) { return std(x, d, c, k); })},
    {"var_mean", spread([](const Tensor& x, const Dims& d, double c, bool k) { return var_mean(x, d, c, k); })},
    {"std_mean", spread([](const Tensor& x, const Dims& d, double c, bool k) { return std_mean(x, d, c, k); })},
    {"norm", norm_of},
    {"linalg.norm", linalg_norm},
    {"linalg.vector_norm", vector_norm_of},
    {"linalg.matrix_norm", matrix_norm_of},
    {"logsumexp", over_dims(logsumexp)},
    {"sum_to_size", [](Args& a) { return sum_to(a.tensor(0, "input"), a.shape(1, "size")); }},
    {"cumsum",
     [](Args& a) {
       return cumsum(a.tensor(0, "input"), a.integer(1, "dim"), a.dtype(kKeywordOnly, "dtype", DType::kUndefined));
     }},
    {"cumprod",
     [](Args& a) {
       return cumprod(a.tensor(0, "input"), a.integer(1, "dim"), a.dtype(kKeywordOnly, "dtype", DType::kUndefined));
     }},
    {"softmax",
     [](Args& a) {
       return softmax(a.tensor(0, "input"), a.integer(1, "dim"), a.dtype(2, "dtype", DType::kUndefined));
     }},
    {"log_softmax",
     [](Args& a) {
       return log_softmax(a.tensor(0, "input"), a.integer(1, "dim"), a.dtype(2, "dtype", DType::kUndefined));
     }},
    // The library's are always stable.
    {"sort",
     [](Args& a) {
       a.boolean(kKeywordOnly, "stable", false);
       return sort(a.tensor(0, "input"), a.integer(1, "dim", -1), a.boolean(2, "descending", false));
     }},
    {"argsort",
     [](Args& a) {
       a.boolean(kKeywordOnly, "stable", false);
       return argsort(a.tensor(0, "input"), a.integer(1, "dim", -1), a.boolean(2, "descending", false));
     }},
    {"topk",
     [](Args& a) {
       return topk(a.tensor(0, "input"), a.integer(1, "k"), a.integer(2, "dim", -1), a.boolean(3, "largest", true),
                   a.boolean(4, "sorted", true));
     }},
};

}  // namespace
}  // namespace vellum::replay
