#ifndef VELLUM_TENSOR_OPS_INDEXING_H_
#define VELLUM_TENSOR_OPS_INDEXING_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "vellum/tensor/ops/attributes.h"
#include "vellum/tensor/tensor.h"

// Operators that pick, write and rearrange elements. Indices are int64; one outside [0, size) is an
// InvalidArgumentError. What writes returns a changed copy of `self`; methods with a trailing underscore change it.

namespace vellum {

// --- Joining and splitting.
Tensor cat(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor cat(std::initializer_list<Tensor> tensors, int64_t dim = 0);
Tensor stack(std::span<const Tensor> tensors, int64_t dim = 0);
Tensor stack(std::initializer_list<Tensor> tensors, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, int64_t split_size, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& sizes, int64_t dim = 0);

// --- Whole slices; index [n] (or a scalar for n = 1).
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
Tensor index_select_backward(const Tensor& grad, const Tensor& index, const IndexSelectBackwardAttrs& attrs);
// weight [V, D], index [...] of integers: [..., D]. The row `padding_idx` gets no gradient. Gradients are dense.
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx = {});
// self[index] += alpha * source along dim, where source has a slice for each entry; entries may repeat.
Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1);
Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);

// --- Single elements.
// out[i][j] = x[index[i][j]][j] for dim 0 and so on; index has x's rank.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
Tensor gather_backward(const Tensor& grad, const Tensor& index, int64_t dim, const Dims& shape);
// out[index[i][j]][j] = source[i][j] for dim 0 and so on; source is as large as the index or larger.
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value);
// The same with what is there: reduce is "add" (scatter_add) or "multiply", which has no gradient.
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce);
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
// gather with broadcasting beside `dim`; without dim both are flattened.
Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim = {});
// The elements where the mask is true, in row-major order: rank 1. Waits for the device, since it counts first.
Tensor masked_select(const Tensor& x, const Tensor& mask);
// int64 [count, rank]: where x is not zero, in row-major order. Waits for the device.
Tensor nonzero(const Tensor& x);
// int64 [..., num_classes] with a 1 at each index; negative: one more than the largest.
Tensor one_hot(const Tensor& index, int64_t num_classes = -1);
Tensor as_strided_backward(const Tensor& grad, const AsStridedBackwardAttrs& geometry);

// --- Rearranging.
// Elements above (tril) or below (triu) the given diagonal of the last two dimensions become zero.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);
// Two numbers a dimension, before and after, from the last dimension on; negative ones cut. `value` is for kConstant.
Tensor pad(const Tensor& x, const std::vector<int64_t>& pad, PadMode mode = PadMode::kConstant,
           const Scalar& value = 0);

// --- Forms that write into `out`, of the result's shape or without elements; see ops.h.
Tensor& cat_out(Tensor& out, std::span<const Tensor> tensors, int64_t dim = 0);
Tensor& stack_out(Tensor& out, std::span<const Tensor> tensors, int64_t dim = 0);
Tensor& index_select_out(Tensor& out, const Tensor& x, int64_t dim, const Tensor& index);
Tensor& gather_out(Tensor& out, const Tensor& x, int64_t dim, const Tensor& index);
Tensor& scatter_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Tensor& scatter_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                    std::string_view reduce);
Tensor& scatter_add_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Tensor& index_add_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                      const Scalar& alpha = 1);
Tensor& index_copy_out(Tensor& out, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source);
Tensor& take_along_dim_out(Tensor& out, const Tensor& x, const Tensor& index, std::optional<int64_t> dim = {});
Tensor& masked_select_out(Tensor& out, const Tensor& x, const Tensor& mask);
Tensor& nonzero_out(Tensor& out, const Tensor& x);
Tensor& tril_out(Tensor& out, const Tensor& x, int64_t diagonal = 0);
Tensor& triu_out(Tensor& out, const Tensor& x, int64_t diagonal = 0);

}  // namespace vellum

#endif  // VELLUM_TENSOR_OPS_INDEXING_H_
