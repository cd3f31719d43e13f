// Advanced indexing, padding, repetition and einsum; the expected values are NumPy's.

#include <gtest/gtest.h>

#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum {
namespace {

using Values = std::vector<int64_t>;

Tensor list(const Values& values) { return tensor(values); }
Values values(const Tensor& t) { return t.to_vector<int64_t>(); }

// [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
class Index : public ::testing::Test {
 protected:
  const Tensor m = arange(12).view({3, 4});
  const Tensor cube = arange(24).view({2, 3, 4});
};

struct Case {
  const char* what;
  Tensor result;
  Dims shape;
  Values values;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(c.result.shape(), c.shape) << c.what;
    EXPECT_EQ(values(c.result), c.values) << c.what;
  }
}

TEST_F(Index, PicksByTensorsOfIntegers) {
  check({{"m[[2, 0]]", m.index({list({2, 0})}), {2, 4}, {8, 9, 10, 11, 0, 1, 2, 3}},
         {"m[:, [-1, 0]]", m.index({Slice{}, list({-1, 0})}), {3, 2}, {3, 0, 7, 4, 11, 8}},
         {"m[[0, 2], [1, 3]]", m.index({list({0, 2}), list({1, 3})}), {2}, {1, 11}},
         {"m[[[0], [2]], [1, 3]]", m.index({list({0, 2}).view({2, 1}), list({1, 3})}), {2, 2}, {1, 3, 9, 11}},
         {"cube[:, [0, 2], [1, 3]]", cube.index({Slice{}, list({0, 2}), list({1, 3})}), {2, 2}, {1, 11, 13, 23}},
         {"cube[[0, 1], :, [1, 3]]", cube.index({list({0, 1}), Slice{}, list({1, 3})}), {2, 3}, {1, 5, 9, 15, 19, 23}},
         {"cube[..., [3]]", cube.index({kEllipsis, list({3})}), {2, 3, 1}, {3, 7, 11, 15, 19, 23}},
         {"m[None, [1]]", m.index({kNone, list({1})}), {1, 1, 4}, {4, 5, 6, 7}},
         {"m[1, [0, 0]]", m.index({1, list({0, 0})}), {2}, {4, 4}},
         {"m[tensor(1)]", m.index({scalar_tensor(1)}), {4}, {4, 5, 6, 7}},
         {"m.t()[[3], [2]]", m.t().index({list({3}), list({2})}), {1}, {11}}});
}

TEST_F(Index, PicksByMasks) {
  check({{"m[m > 8]", m.index({m > 8}), {3}, {9, 10, 11}},
         {"m[[true, false, true]]", m.index({tensor({true, false, true})}), {2, 4}, {0, 1, 2, 3, 8, 9, 10, 11}},
         {"m[:, mask]", m.index({Slice{}, tensor({false, true, false, true})}), {3, 2}, {1, 3, 5, 7, 9, 11}},
         {"m[no row]", m.index({tensor({false, false, false})}), {0, 4}, {}},
         {"m[true]", m.index({scalar_tensor(true)}), {1, 3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
         {"masked_select", masked_select(m, m < 2), {2}, {0, 1}},
         {"nonzero", nonzero(m < 2), {2, 2}, {0, 0, 0, 1}},
         {"take_along_dim", take_along_dim(m, list({3, 0, 1}).view({3, 1}), 1), {3, 1}, {3, 4, 9}}});
}

TEST_F(Index, WritesWhereItPoints) {
  Tensor a = m.clone();
  a.index_put_({list({2, 0}), list({1, 1})}, list({-1, -2}));
  EXPECT_EQ(values(a), Values({0, -2, 2, 3, 4, 5, 6, 7, 8, -1, 10, 11}));
  a = m.clone();
  a.index_put_({a > 3}, scalar_tensor(0));
  EXPECT_EQ(values(a), Values({0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0}));
  a = zeros({3}, kInt64);
  a.index_put_({list({1, 1, 2})}, list({1, 10, 100}), true);
  EXPECT_EQ(values(a), Values({0, 11, 100}));
  a = m.clone();
  a.t().index_put_({list({0, 3}), list({2, 0})}, scalar_tensor(-5));  // strided: the columns of a
  EXPECT_EQ(values(a), Values({0, 1, 2, -5, 4, 5, 6, 7, -5, 9, 10, 11}));
  a = cube.clone();
  a.index_put_({list({1}), Slice{}, list({0})}, list({7, 8, 9}));
  EXPECT_EQ(values(a.select(0, 1).select(1, 0)), Values({7, 8, 9}));
  a = m.clone();
  a.index_put_({1, Slice{1, 3}}, list({50, 60}));
  EXPECT_EQ(values(a[1]), Values({4, 50, 60, 7}));
}

TEST_F(Index, RefusesWhatDoesNotFitAndChangesNothing) {
  Tensor a = m.clone();
  EXPECT_THROW(m.index({list({3})}), Error);
  EXPECT_THROW(m.index({list({0}), list({-5})}), Error);
  EXPECT_THROW(m.index({tensor({true, false})}), IndexError);
  EXPECT_THROW(m.index({tensor({0.5f})}), DTypeError);
  EXPECT_THROW(m.index({list({0, 1}), list({0, 1, 2})}), ShapeError);
  EXPECT_THROW(m.index({0, 0, list({0})}), IndexError);
  EXPECT_THROW(a.index_put_({list({0, 1})}, zeros({3, 4}, kInt64)), ShapeError);
  EXPECT_THROW(a.index_put_({list({9})}, scalar_tensor(1)), Error);
  EXPECT_THROW(a.index_add_(0, list({0}), zeros({1, 4})), DTypeError);
  EXPECT_EQ(values(a), values(m));
  EXPECT_EQ(a.version(), 0u);
}

TEST_F(Index, RearrangesElements) {
  check({{"repeat", list({1, 2}).repeat({2, 2}), {2, 4}, {1, 2, 1, 2, 1, 2, 1, 2}},
         {"repeat nothing", list({1, 2}).repeat({0}), {0}, {}},
         {"flip both", m.flip({0, 1}), {3, 4}, {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
         {"roll rows", m.roll({1}, {0}), {3, 4}, {8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7}},
         {"roll back, flat", list({1, 2, 3}).roll({-1}), {3}, {2, 3, 1}},
         {"tril", tril(m, 0), {3, 4}, {0, 0, 0, 0, 4, 5, 0, 0, 8, 9, 10, 0}},
         {"triu", triu(m, 1), {3, 4}, {0, 1, 2, 3, 0, 0, 6, 7, 0, 0, 0, 11}},
         {"diagonal", m.diagonal(1), {3}, {1, 6, 11}},
         {"one_hot", one_hot(list({1, 0}), 3), {2, 3}, {0, 1, 0, 1, 0, 0}},
         {"pad", pad(list({1, 2}), {1, 2}, PadMode::kConstant, 9), {5}, {9, 1, 2, 9, 9}},
         {"pad that cuts", pad(m, {-1, -2, 0, -2}), {1, 1}, {1}},
         {"reflect", pad(list({1, 2, 3}), {2, 1}, PadMode::kReflect), {6}, {3, 2, 1, 2, 3, 2}},
         {"replicate", pad(list({1, 2, 3}), {1, 2}, PadMode::kReplicate), {6}, {1, 1, 2, 3, 3, 3}},
         {"replicate that cuts", pad(list({1, 2, 3}), {-1, 1}, PadMode::kReplicate), {3}, {2, 3, 3}},
         {"circular", pad(list({1, 2, 3}), {1, 1}, PadMode::kCircular), {5}, {3, 1, 2, 3, 1}},
         {"circular that cuts", pad(list({1, 2, 3}), {-1, 1}, PadMode::kCircular), {3}, {2, 3, 2}},
         {"eye", eye(2, 3, kInt64), {2, 3}, {1, 0, 0, 0, 1, 0}},
         {"arange by -2", arange(5, 0, -2), {3}, {5, 3, 1}}});
  EXPECT_EQ(arange(0, 1, 0.25).to_vector<float>(), std::vector<float>({0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(linspace(0, 1, 5).to_vector<float>(), std::vector<float>({0, 0.25, 0.5, 0.75, 1}));
  EXPECT_THROW(arange(0, 5, 0), InvalidArgumentError);
  EXPECT_THROW(arange(0, 5, -1), InvalidArgumentError);
  EXPECT_THROW(pad(list({1}), {2, 0}, PadMode::kReflect), ShapeError);
}

TEST_F(Index, WritesIntoOut) {
  const Tensor at = list({2, 0}), rows = list({0, 1, 2, 0}).view({1, 4}), source = full({1, 4}, 50);
  const std::vector<Tensor> both{m, m};
  const auto written = [](auto write) {
    Tensor out = zeros({0}, kInt64);
    write(out);
    return out;
  };
  const std::pair<Tensor, Tensor> pairs[] = {
      {written([&](Tensor& out) { cat_out(out, both, 1); }), cat(both, 1)},
      {written([&](Tensor& out) { index_select_out(out, m, 0, at); }), index_select(m, 0, at)},
      {written([&](Tensor& out) { gather_out(out, m, 0, rows); }), gather(m, 0, rows)},
      {written([&](Tensor& out) { scatter_out(out, m, 0, rows, source); }), scatter(m, 0, rows, source)},
      {written([&](Tensor& out) { scatter_add_out(out, m, 0, rows, source); }), scatter_add(m, 0, rows, source)},
      {written([&](Tensor& out) { index_add_out(out, m, 0, list({1}), source); }), index_add(m, 0, list({1}), source)},
      {written([&](Tensor& out) { index_copy_out(out, m, 0, list({1}), source); }),
       index_copy(m, 0, list({1}), source)},
      {written([&](Tensor& out) { tril_out(out, m); }), tril(m)},
      {written([&](Tensor& out) { triu_out(out, m, 1); }), triu(m, 1)},
      {written([&](Tensor& out) { bmm_out(out, cube, cube.transpose(1, 2)); }), bmm(cube, cube.transpose(1, 2))}};
  for (const auto& [out, expected] : pairs) {
    EXPECT_EQ(out.shape(), expected.shape());
    EXPECT_EQ(values(out), values(expected));
  }
  EXPECT_EQ(values(pairs[4].second), Values({50, 1, 2, 53, 4, 55, 6, 7, 8, 9, 60, 11}));
}

TEST_F(Index, ContractsByLabels) {
  const Tensor v = list({1, 2, 3});
  const Tensor square = arange(9).view({3, 3});
  check(
      {{"matmul", einsum("ij,jk->ik", {square, m}), {3, 4}, values(matmul(square, m))},
       {"transpose", einsum("ij->ji", {m}), {4, 3}, values(m.t())},
       {"trace", einsum("ii", {square}), {}, {12}},
       {"diagonal", einsum("ii->i", {square}), {3}, {0, 4, 8}},
       {"sum", einsum("ij->", {m}), {}, {66}},
       {"outer", einsum("i,j->ij", {v, v}), {3, 3}, {1, 2, 3, 2, 4, 6, 3, 6, 9}},
       {"implicit output", einsum("ji,j", {square, v}), {3}, {24, 30, 36}},
       {"batches by an ellipsis", einsum("...ij,j->...i", {cube, list({1, 0, 0, 1})}), {2, 3}, {3, 11, 19, 27, 35, 43}},
       {"three operands", einsum("i,ij,j->", {v, square, v}), {}, {192}},
       {"a label that only one operand sums", einsum("ij,k->k", {m, v}), {3}, {66, 132, 198}}});
  EXPECT_THROW(einsum("ij,jk", {m}), InvalidArgumentError);
  EXPECT_THROW(einsum("i", {m}), InvalidArgumentError);
  EXPECT_THROW(einsum("ij->k", {m}), InvalidArgumentError);
  EXPECT_THROW(einsum("ij->ii", {m}), InvalidArgumentError);
  EXPECT_THROW(einsum("i.j", {m}), InvalidArgumentError);
  EXPECT_THROW(einsum("ii", {m}), InvalidArgumentError);
  EXPECT_THROW(einsum("ij,ij->", {m, square}), ShapeError);
}

TEST_F(Index, GradientsGoBackToWhatWasPicked) {
  Tensor x = zeros({3, 2}, kFloat64).requires_grad_();
  x.index({list({2, 0, 2})}).sum().backward();
  EXPECT_EQ(values(x.grad()), Values({1, 1, 0, 0, 2, 2}));
  x.set_grad({});
  Tensor y = x * 2;
  y.index_put_({list({1})}, zeros({2}, kFloat64));
  y.sum().backward();
  EXPECT_EQ(values(x.grad()), Values({2, 2, 0, 0, 2, 2}));
  Tensor weight = zeros({3, 2}, kFloat64).requires_grad_();
  embedding(weight, list({0, 2, 2}), 0).sum().backward();
  EXPECT_EQ(values(weight.grad()), Values({0, 0, 0, 0, 2, 2}));
}

}  // namespace
}  // namespace vellum
