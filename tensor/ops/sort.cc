#include <algorithm>
#include <numeric>

#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/ops/reduce_helpers.h"

namespace vellum {
namespace {

using internal::call_pair;
using internal::call_pair_into;
using internal::for_lines;

int64_t length_of(const Dims& shape, int dim) { return shape.empty() ? 1 : shape[dim]; }

// Whether a goes before b. NaN counts as larger than every number.
bool precedes(double a, double b, bool descending) {
  if (descending) std::swap(a, b);
  return a < b || (b != b && a == a);
}

// The order of a line's elements; equal ones keep theirs.
std::vector<int64_t> order_of(int64_t n, bool descending, const auto& value) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return precedes(value(a), value(b), descending); });
  return order;
}

// Values and indices are those of `pick(order)` for each line.
template <typename Pick>
std::vector<RefTensor> ordered_reference(const RefTensor& x, int dim, int64_t count, bool descending, Pick pick) {
  Dims shape = x.shape;
  if (!shape.empty()) shape[dim] = count;
  RefTensor values = reference::zeros(shape, x.dtype), indices = reference::zeros(shape, kInt64);
  std::vector<std::vector<int64_t>> orders;
  std::vector<std::vector<size_t>> places;
  for_lines(x.shape, dim, [&](auto at, size_t) {
    orders.push_back(
        pick(order_of(length_of(x.shape, dim), descending, [&](int64_t k) { return x.values[at(k)].real(); })));
    places.emplace_back();
    for (const int64_t k : orders.back()) places.back().push_back(at(k));
  });
  for_lines(shape, dim, [&](auto at, size_t line) {
    for (int64_t k = 0; k < count; ++k) {
      values.values[at(k)] = x.values[places[line][static_cast<size_t>(k)]];
      indices.values[at(k)] = static_cast<double>(orders[line][static_cast<size_t>(k)]);
    }
  });
  return {values, indices};
}

void gathered_vjp(Vjp& v) {
  const int dim = v.attributes<DimAttrs>().dim;
  const Dims shape = v.input_shape();
  v.grad() = shape.empty() ? v.cotangent(0) : gather_backward(v.cotangent(0), v.output(1), dim, shape);
}

constexpr OpDef kSort{.name = "sort",
                      .kind = OpKind::kGeneral,
                      .outputs = 2,
                      .dtypes = dtype_rules::same,
                      .domain = kRealDTypes,
                      .infer =
                          [](Inference& call) {
                            call.add_output(call.input(0).shape());
                            call.add_output(call.input(0).shape(), kInt64);
                          },
                      .attrs = attrs_type<SortAttrs>,
                      .saves = {saves_output(1)},
                      .vjp = gathered_vjp,
                      .non_differentiable_outputs = 0b10,
                      .reference = {.tensors = [](const RefCall& call) {
                        const auto& a = call.attributes<SortAttrs>();
                        const RefTensor& x = call.inputs[0];
                        return ordered_reference(x, a.dim.dim, length_of(x.shape, a.dim.dim), a.descending,
                                                 [](std::vector<int64_t> order) { return order; });
                      }}};
OpSlot sort_slot{kSort, "sort"};

void infer_topk(Inference& call) {
  const auto& a = call.attributes<TopKAttrs>();
  Dims shape = call.input(0).shape();
  if (const int64_t n = length_of(shape, a.dim.dim); a.k < (shape.empty() ? 1 : 0) || a.k > n)
    throw_error<IndexError>("topk: selected index k = ", a.k, " is out of range; dimension ", a.dim.dim, " of shape ",
                            shape, " has ", n, " elements");
  if (!shape.empty()) shape[a.dim.dim] = a.k;
  call.add_output(shape);
  call.add_output(shape, kInt64);
}

constexpr OpDef kTopK{.name = "topk",
                      .kind = OpKind::kGeneral,
                      .outputs = 2,
                      .dtypes = dtype_rules::same,
                      .domain = kRealDTypes,
                      .infer = infer_topk,
                      .attrs = attrs_type<TopKAttrs>,
                      .saves = {saves_output(1)},
                      .vjp = gathered_vjp,
                      .non_differentiable_outputs = 0b10,
                      .reference = {.tensors = [](const RefCall& call) {
                        const auto& a = call.attributes<TopKAttrs>();
                        return ordered_reference(call.inputs[0], a.dim.dim, a.k, a.largest,
                                                 [&a](std::vector<int64_t> order) {
                                                   order.resize(static_cast<size_t>(a.k));
                                                   if (!a.sorted) std::sort(order.begin(), order.end());
                                                   return order;
                                                 });
                      }}};
OpSlot topk_slot{kTopK, "sort"};

SortAttrs sort_attrs(const Tensor& x, int64_t dim, bool descending) {
  return {{wrap_dim("sort", dim, x.dim())}, descending};
}

TopKAttrs topk_attrs(const Tensor& x, int64_t k, int64_t dim, bool largest, bool sorted) {
  if (x.dim() == 0 && k == 0) k = 1;  // a scalar stays one, as in PyTorch
  return {{wrap_dim("topk", dim, x.dim())}, k, largest, sorted};
}

}  // namespace

std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t dim, bool descending) {
  return call_pair(sort_slot, x, sort_attrs(x, dim, descending));
}
Tensor argsort(const Tensor& x, int64_t dim, bool descending) { return sort(x.detach(), dim, descending).second; }
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool sorted) {
  return call_pair(topk_slot, x, topk_attrs(x, k, dim, largest, sorted));
}
std::pair<Tensor&, Tensor&> sort_out(Tensor& values, Tensor& indices, const Tensor& x, int64_t dim, bool descending) {
  return call_pair_into(sort_slot, values, indices, x, sort_attrs(x, dim, descending));
}
std::pair<Tensor&, Tensor&> topk_out(Tensor& values, Tensor& indices, const Tensor& x, int64_t k, int64_t dim,
                                     bool largest, bool sorted) {
  return call_pair_into(topk_slot, values, indices, x, topk_attrs(x, k, dim, largest, sorted));
}

std::pair<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) const {
  return vellum::sort(*this, dim, descending);
}
Tensor Tensor::argsort(int64_t dim, bool descending) const { return vellum::argsort(*this, dim, descending); }
std::pair<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const {
  return vellum::topk(*this, k, dim, largest, sorted);
}

}  // namespace vellum
