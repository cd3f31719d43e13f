#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

// Operators that return several views of one tensor.

namespace vellum {
namespace {

// --- split: several views

void split_vjp(Vjp& v) {
  std::vector<Tensor> parts;
  for (int i = 0; i < v.outputs(); ++i) parts.push_back(v.cotangent_or_zeros(i));
  v.grad() = cat(parts, v.attributes<SplitAttrs>().dim);
}

std::vector<RefTensor> split_reference(const RefCall& call) {
  const auto& a = call.attributes<SplitAttrs>();
  const RefTensor& x = call.inputs[0];
  const reference::Split3 whole(x.shape, a.dim);
  std::vector<RefTensor> parts;
  int64_t start = 0;
  for (const int64_t n : a.sizes) {
    Dims shape = x.shape;
    shape[a.dim] = n;
    RefTensor part = reference::zeros(shape, x.dtype);
    for (int64_t o = 0; o < whole.outer; ++o)
      for (int64_t i = 0; i < n * whole.inner; ++i)
        part.values[o * n * whole.inner + i] = x.values[(o * whole.n + start) * whole.inner + i];
    start += n;
    parts.push_back(part);
  }
  return parts;
}

constexpr OpDef kSplit{.name = "split",
                       .kind = OpKind::kView,
                       .outputs = kVariadic,
                       .dtypes = dtype_rules::same,
                       .infer =
                           [](Inference& call) {
                             const auto& a = call.attributes<SplitAttrs>();
                             const Tensor& x = call.input(0);
                             int64_t start = 0;
                             for (const int64_t n : a.sizes) {
                               Dims shape = x.shape();
                               shape[a.dim] = n;
                               call.add_view(shape, x.strides(), x.storage_offset() + start * x.strides()[a.dim]);
                               start += n;
                             }
                           },
                       .attrs = attrs_type<SplitAttrs>,
                       .vjp = split_vjp,
                       .reference = {.tensors = split_reference}};
OpSlot split_slot{kSplit, "shape"};

// --- unbind: a view of each slice

void infer_unbind(Inference& call) {
  const int dim = call.attributes<DimAttrs>().dim;
  const Tensor& x = call.input(0);
  Dims shape = x.shape(), stride = x.strides();
  shape.erase(dim);
  stride.erase(dim);
  for (int64_t i = 0; i < x.size(dim); ++i) call.add_view(shape, stride, x.storage_offset() + i * x.strides()[dim]);
}

std::vector<RefTensor> unbind_reference(const RefCall& call) {
  const int dim = call.attributes<DimAttrs>().dim;
  const RefTensor& x = call.inputs[0];
  const reference::Split3 s(x.shape, dim);
  Dims shape = x.shape;
  shape.erase(dim);
  std::vector<RefTensor> slices;
  for (int64_t k = 0; k < s.n; ++k) {
    RefTensor slice = reference::zeros(shape, x.dtype);
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t i = 0; i < s.inner; ++i) slice.values[o * s.inner + i] = x.values[(o * s.n + k) * s.inner + i];
    slices.push_back(slice);
  }
  return slices;
}

void unbind_vjp(Vjp& v) {
  std::vector<Tensor> slices;
  for (int i = 0; i < v.outputs(); ++i) slices.push_back(v.cotangent_or_zeros(i));
  v.grad() = stack(slices, v.attributes<DimAttrs>().dim);
}

constexpr OpDef kUnbind{.name = "unbind",
                        .kind = OpKind::kView,
                        .outputs = kVariadic,
                        .dtypes = dtype_rules::same,
                        .infer = infer_unbind,
                        .attrs = attrs_type<DimAttrs>,
                        .vjp = unbind_vjp,
                        .reference = {.tensors = unbind_reference}};
OpSlot unbind_slot{kUnbind, "shape"};

}  // namespace

std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t dim) {
  if (x.dim() == 0) throw_error<ShapeError>("split: a tensor of rank 0 cannot be split");
  const SplitAttrs attrs{wrap_dim("split", dim, x.dim()), sizes};
  int64_t total = 0;
  for (const int64_t n : sizes) {
    if (n < 0) throw_error<ShapeError>("split: size ", n, " is negative");
    total += n;
  }
  if (total != x.size(attrs.dim))
    throw_error<ShapeError>("split: the sizes add up to ", total, ", dimension ", attrs.dim, " of shape ", x.shape(),
                            " has ", x.size(attrs.dim));
  const Tensor* inputs[] = {&x};
  return call_all(split_slot, inputs, &attrs);
}

std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim) {
  if (split_size < 1) throw_error<InvalidArgumentError>("split: the split size must be 1 or more, it is ", split_size);
  if (x.dim() == 0) throw_error<ShapeError>("split: a tensor of rank 0 cannot be split");
  const int64_t n = x.size(wrap_dim("split", dim, x.dim()));
  std::vector<int64_t> sizes(static_cast<size_t>(std::max<int64_t>((n + split_size - 1) / split_size, 1)), split_size);
  sizes.back() = n - split_size * static_cast<int64_t>(sizes.size() - 1);
  return split(x, sizes, dim);
}

std::vector<Tensor> Tensor::split(int64_t split_size, int64_t dim) const {
  return vellum::split(*this, split_size, dim);
}
std::vector<Tensor> Tensor::split(const std::vector<int64_t>& sizes, int64_t dim) const {
  return vellum::split(*this, sizes, dim);
}

std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t dim) const {
  if (chunks < 1) throw_error<InvalidArgumentError>("chunk: the number of chunks must be 1 or more, it is ", chunks);
  if (this->dim() == 0) throw_error<ShapeError>("chunk: a tensor of rank 0 cannot be split");
  const int d = wrap_dim("chunk", dim, this->dim());
  const int64_t each = (size(d) + chunks - 1) / chunks;
  if (each == 0) return split(std::vector<int64_t>(static_cast<size_t>(chunks), 0), d);
  return split(each, d);
}

std::vector<Tensor> Tensor::unbind(int64_t dim) const {
  if (this->dim() == 0) throw_error<ShapeError>("unbind: a tensor of rank 0 has no slices");
  const DimAttrs attrs{wrap_dim("unbind", dim, this->dim()), false};
  const Tensor* inputs[] = {this};
  return call_all(unbind_slot, inputs, &attrs);
}

}  // namespace vellum
