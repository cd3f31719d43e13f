#include <cmath>
#include <functional>

#include "vellum/backends/cpu/parallel.h"
#include "vellum/tensor/ops/attributes.h"
#include "vellum/tests/backends/kernel_harness.h"

namespace vellum {
namespace {

using testing::Array;
using testing::expect_close;
using testing::KernelTest;

const DType kFloats[] = {kFloat16, kBFloat16, kFloat32, kFloat64};

DType statistics_dtype(DType t) { return t == kFloat64 ? kFloat64 : kFloat32; }

using Sum = long double;  // more precise than what it judges

// Groups of elements that share a mean, and elements that share a weight, by functions of the position.
struct Layout {
  int64_t groups, parameters;
  std::function<int64_t(int64_t)> group, parameter;
};

class NormTest : public KernelTest {
 protected:
  static double at(const Array& t, int64_t i) { return t.at(i).real(); }

  // y = (x - mean) / sqrt(variance + eps) * weight + bias.
  static void expect_normalized(const Array& x, const Array* weight, const Array* bias, const Array& y,
                                const Layout& layout, double eps, std::vector<Sum>* mean, std::vector<Sum>* variance) {
    mean->assign(static_cast<size_t>(layout.groups), 0), variance->assign(static_cast<size_t>(layout.groups), 0);
    const double count = static_cast<double>(x.numel()) / static_cast<double>(layout.groups);
    for (int64_t i = 0; i < x.numel(); ++i) (*mean)[layout.group(i)] += Sum(at(x, i)) / count;
    for (int64_t i = 0; i < x.numel(); ++i)
      (*variance)[layout.group(i)] += std::pow(Sum(at(x, i)) - (*mean)[layout.group(i)], 2) / count;
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double z = static_cast<double>((Sum(at(x, i)) - (*mean)[layout.group(i)]) /
                                           std::sqrt((*variance)[layout.group(i)] + Sum(eps)));
      const int64_t p = layout.parameter(i);
      expect_close(y, i, z * (weight ? at(*weight, p) : 1) + (bias ? at(*bias, p) : 0), 16, 4);
    }
  }

  // The fused gradient of operands g, x, mean, rstd, weight with `attrs`.
  template <typename Attrs>
  void check_backward(const char* op, DType dtype, const Dims& shape, const Dims& statistics, const Dims& parameters,
                      const Layout& layout, bool centred, Attrs attrs) {
    Array g(dtype, shape), x(dtype, shape), mean(statistics_dtype(dtype), statistics), rstd(mean.dtype(), statistics);
    Array weight(dtype, parameters), gx(dtype, shape), gw(dtype, parameters), gb(dtype, parameters);
    for (Array* t : {&g, &x, &mean, &rstd, &weight}) t->randomize(generator_);
    for (Array* t : {&gx, &gw, &gb}) t->fill(9);
    attrs.wanted = 7;
    ASSERT_TRUE(call(op, {&g, &x, &mean, &rstd, &weight}, {&gx, &gw, &gb}, {.attrs = &attrs, .compute = dtype}).ok());
    const double count = static_cast<double>(x.numel()) / static_cast<double>(layout.groups);
    std::vector<Sum> a(layout.groups), az(layout.groups), of_weight(layout.parameters), of_bias(layout.parameters);
    const auto z = [&](int64_t i) { return (Sum(at(x, i)) - at(mean, layout.group(i))) * at(rstd, layout.group(i)); };
    const auto weighted = [&](int64_t i) { return Sum(at(g, i)) * at(weight, layout.parameter(i)); };
    for (int64_t i = 0; i < x.numel(); ++i) {
      a[layout.group(i)] += weighted(i) / count, az[layout.group(i)] += weighted(i) * z(i) / count;
      of_weight[layout.parameter(i)] += at(g, i) * z(i), of_bias[layout.parameter(i)] += at(g, i);
    }
    const double magnitude = 4 * std::sqrt(static_cast<double>(x.numel()) / static_cast<double>(layout.parameters));
    for (int64_t i = 0; i < x.numel(); ++i) {
      const int64_t s = layout.group(i);
      const Sum own = centred ? a[s] + z(i) * az[s] : Sum(0);
      expect_close(gx, i, static_cast<double>(at(rstd, s) * (weighted(i) - own)), 16, 16);
    }
    for (int64_t p = 0; p < layout.parameters; ++p) {
      expect_close(gw, p, static_cast<double>(of_weight[p]), 16, magnitude);
      expect_close(gb, p, static_cast<double>(of_bias[p]), 16, magnitude);
    }
  }
};
VELLUM_ON_EACH_INSTRUCTION_SET(NormTest);

Layout rows(int64_t count, int64_t n) {
  return {count, n, [n](int64_t i) { return i / n; }, [n](int64_t i) { return i % n; }};
}

Layout channels(const Dims& shape) {
  int64_t inner = 1;
  for (int d = 2; d < shape.size(); ++d) inner *= shape[d];
  const auto channel = [n = shape[1], inner](int64_t i) { return i / inner % n; };
  return {shape[1], shape[1], channel, channel};
}

TEST_P(NormTest, LayerNormAgreesWithScalarLoops) {
  const LayerNormAttrs attrs{1, 0.01};
  for (const DType dtype : kFloats)
    for (const Dims& shape : {Dims{3, 1}, Dims{2, 5}, Dims{5, 37}, Dims{3, 1024}, Dims{2, 2500}, Dims{700, 40}}) {
      SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << ' ' << shape);
      Array x(dtype, shape), weight(dtype, {shape[1]}), bias(dtype, {shape[1]}), y(dtype, shape), plain(dtype, shape);
      Array mean(statistics_dtype(dtype), {shape[0], 1}), rstd(statistics_dtype(dtype), {shape[0], 1});
      x.randomize(generator_), weight.randomize(generator_), bias.randomize(generator_);
      ASSERT_TRUE(call("layer_norm", {&x, &weight, &bias}, {&y, &mean, &rstd}, {.attrs = &attrs}).ok());
      ASSERT_TRUE(call("layer_norm", {&x, nullptr, nullptr}, {&plain, nullptr, nullptr}, {.attrs = &attrs}).ok());
      std::vector<Sum> means, variances;
      const Layout layout = rows(shape[0], shape[1]);
      expect_normalized(x, nullptr, nullptr, plain, layout, attrs.eps, &means, &variances);
      expect_normalized(x, &weight, &bias, y, layout, attrs.eps, &means, &variances);
      for (int64_t i = 0; i < shape[0]; ++i) {
        expect_close(mean, i, static_cast<double>(means[i]), 8, 1);
        expect_close(rstd, i, static_cast<double>(1 / std::sqrt(variances[i] + Sum(attrs.eps))), 8);
      }
    }
}

TEST_P(NormTest, LayerNormBackwardAgreesWithScalarLoops) {
  for (const DType dtype : kFloats)
    for (const Dims& shape : {Dims{3, 1}, Dims{2, 5}, Dims{5, 37}, Dims{3, 1024}, Dims{2, 2500}, Dims{3000, 40}}) {
      SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << ' ' << shape);
      check_backward("layer_norm_backward", dtype, shape, {shape[0], 1}, {shape[1]}, rows(shape[0], shape[1]), true,
                     LayerNormBackwardAttrs{1});
    }
}

TEST_P(NormTest, LayerNormBackwardDoesNotDependOnTheThreads) {
  const Dims shape{3000, 40};
  Array g(kFloat32, shape), x(kFloat32, shape), mean(kFloat32, {3000, 1}), rstd(kFloat32, {3000, 1});
  for (Array* t : {&g, &x, &mean, &rstd}) t->randomize(generator_);
  const LayerNormBackwardAttrs attrs{1, kWantsWeight};
  std::vector<std::complex<double>> first;
  const int before = get_num_threads();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    Array none(kFloat32, {0}), gw(kFloat32, {40});
    ASSERT_TRUE(call("layer_norm_backward", {&g, &x, &mean, &rstd, nullptr}, {&none, &gw, &none},
                     {.attrs = &attrs, .compute = kFloat32})
                    .ok());
    std::vector<std::complex<double>> sums;
    for (int64_t i = 0; i < 40; ++i) sums.push_back(gw.at(i));
    if (threads == 1) first = sums;
    EXPECT_EQ(sums, first) << threads;
  }
  set_num_threads(before);
}

TEST_P(NormTest, BatchNormAgreesWithScalarLoops) {
  for (const DType dtype : kFloats)
    for (const bool training : {true, false})
      for (const Dims& shape : {Dims{2, 1}, Dims{9, 300}, Dims{3, 2, 5}, Dims{2, 3, 7, 7}, Dims{2, 2, 2500}}) {
        SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << ' ' << shape << " training " << training);
        const BatchNormAttrs attrs{training, 0.01};
        const Dims of_channels{shape[1]}, of_output{training ? shape[1] : 0};
        const DType wide = statistics_dtype(dtype);
        Array x(dtype, shape), weight(dtype, of_channels), bias(dtype, of_channels), y(dtype, shape);
        Array mean(wide, of_output), variance(wide, of_output);
        Array running_mean(wide, of_channels), running_var(wide, of_channels);
        for (Array* t : {&x, &weight, &bias, &running_mean}) t->randomize(generator_);
        for (int64_t c = 0; c < shape[1]; ++c) running_var.set(c, 0.5 + static_cast<double>(c % 3));
        Array *given_mean = training ? nullptr : &running_mean, *given_var = training ? nullptr : &running_var;
        ASSERT_TRUE(
            call("batch_norm", {&x, given_mean, given_var, &weight, &bias}, {&y, &mean, &variance}, {.attrs = &attrs})
                .ok());
        const Layout layout = channels(shape);
        if (training) {
          std::vector<Sum> means, variances;
          expect_normalized(x, &weight, &bias, y, layout, attrs.eps, &means, &variances);
          for (int64_t c = 0; c < shape[1]; ++c) {
            expect_close(mean, c, static_cast<double>(means[c]), 8, 1);
            expect_close(variance, c, static_cast<double>(variances[c]), 8, 1);
          }
          continue;
        }
        for (int64_t i = 0; i < x.numel(); ++i) {
          const int64_t c = layout.group(i);
          const double z = (at(x, i) - at(running_mean, c)) / std::sqrt(at(running_var, c) + attrs.eps);
          expect_close(y, i, z * at(weight, c) + at(bias, c), 16, 4);
        }
      }
}

TEST_P(NormTest, BatchNormBackwardAgreesWithScalarLoops) {
  for (const DType dtype : kFloats)
    for (const bool training : {true, false})
      for (const Dims& shape : {Dims{2, 1}, Dims{9, 300}, Dims{3, 2, 5}, Dims{2, 3, 7, 7}, Dims{2, 2, 2500}}) {
        SCOPED_TRACE(::testing::Message() << dtype_name(dtype) << ' ' << shape << " training " << training);
        check_backward("batch_norm_backward", dtype, shape, {shape[1]}, {shape[1]}, channels(shape), training,
                       BatchNormBackwardAttrs{training});
      }
}

// Far from zero, where sums of squares would lose the variance.
TEST_P(NormTest, VarianceKeepsItsPrecisionFarFromZero) {
  for (const Dims& shape : {Dims{1, 4096}, Dims{1, 1, 4096}}) {
    Array x(kFloat32, shape), y(kFloat32, shape);
    for (int64_t i = 0; i < 4096; ++i) x.set(i, 1e4 + static_cast<double>(i % 2));
    if (shape.size() == 2) {
      const LayerNormAttrs attrs{1, 0};
      ASSERT_TRUE(call("layer_norm", {&x, nullptr, nullptr}, {&y, nullptr, nullptr}, {.attrs = &attrs}).ok());
    } else {
      Array mean(kFloat32, {1}), variance(kFloat32, {1});
      const BatchNormAttrs attrs{true, 0};
      ASSERT_TRUE(
          call("batch_norm", {&x, nullptr, nullptr, nullptr, nullptr}, {&y, &mean, &variance}, {.attrs = &attrs}).ok());
      expect_close(variance, 0, 0.25, 4);
    }
    for (int64_t i = 0; i < 4096; ++i) expect_close(y, i, i % 2 ? 1 : -1, 4);
  }
}

}  // namespace
}  // namespace vellum
