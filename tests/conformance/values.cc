#include "vellum/tests/conformance/values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum::conformance {
namespace {

template <typename T>
T converted(Complex z) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
    return T(z);
  else if constexpr (std::is_same_v<T, bool>)
    return z != 0.0;
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<int64_t>(z.real()));
  else if constexpr (std::is_same_v<T, double>)
    return z.real();
  else
    return T(static_cast<float>(z.real()));
}

template <typename T>
Complex widened(T value) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
    return Complex(value);
  else if constexpr (std::is_integral_v<T>)
    return Complex(static_cast<double>(value));
  else
    return Complex(
        static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value)));
}

double real_value(Values values, std::mt19937_64& bits) {
  const double magnitude = 0.25 + 1.75 * static_cast<double>(bits() >> 11) * 0x1p-53;
  const bool negative = bits() & 1;
  return negative && values != Values::kPositive ? -magnitude : magnitude;
}

double integer_value(Values values, DType dtype, std::mt19937_64& bits) {
  if (dtype == kBool) return values == Values::kAny ? static_cast<double>(bits() & 1) : 1;
  double v = static_cast<double>(bits() % 9) - 4;
  if (values != Values::kAny && v == 0) v = 3;
  return values == Values::kPositive || dtype == kUInt8 ? std::abs(v) : v;
}

// Stretches the first dimension to its size by a stride of 0.
RefTensor repeat_first(const RefTensor& t) {
  RefTensor out = t;
  if (t.shape.empty() || t.shape[0] == 0) return out;
  const size_t row = t.values.size() / static_cast<size_t>(t.shape[0]);
  for (size_t i = row; i < out.values.size(); ++i) out.values[i] = out.values[i % row];
  return out;
}

Tensor transposed(const RefTensor& t, Device device) {
  RefTensor turned = t;
  std::reverse(turned.shape.begin(), turned.shape.end());
  Dims strides = contiguous_strides(turned.shape), order = t.shape;
  std::reverse(strides.begin(), strides.end());
  for (size_t i = 0; i < t.values.size(); ++i)
    turned.values[static_cast<size_t>(reference::strided_index(static_cast<int64_t>(i), t.shape, strides))] =
        t.values[i];
  for (int d = 0; d < order.size(); ++d) order[d] = order.size() - 1 - d;
  return to_tensor(turned, device).permute(order);
}

Tensor sliced(const RefTensor& t, Device device) {
  Dims wide = t.shape;
  for (int64_t& n : wide) n = 2 * n + 1;
  Dims strides = contiguous_strides(wide);
  const int64_t first = std::accumulate(strides.begin(), strides.end(), int64_t{0});
  for (int64_t& s : strides) s *= 2;
  RefTensor around = reference::zeros(wide, t.dtype);
  const double between = is_integral(t.dtype) ? 1 : std::numeric_limits<double>::quiet_NaN();
  std::fill(around.values.begin(), around.values.end(), Complex(between));
  for (size_t i = 0; i < t.values.size(); ++i)
    around.values[static_cast<size_t>(first + reference::strided_index(static_cast<int64_t>(i), t.shape, strides))] =
        t.values[i];
  Tensor result = to_tensor(around, device);
  for (int d = 0; d < wide.size(); ++d) result = result.slice(d, 1, {}, 2);
  return result;
}

}  // namespace

Complex rounded(Complex value, DType dtype) {
  if (dtype == kComplex64) {  // GCC 12 folds complex<double>(complex<float>(z)) to z
    const volatile float re = static_cast<float>(value.real()), im = static_cast<float>(value.imag());
    return {re, im};
  }
  return visit_dtype(dtype, [value](auto tag) { return widened(converted<decltype(tag)>(value)); });
}

RefTensor cast(const RefTensor& t, DType dtype) {
  RefTensor out = t;
  out.dtype = dtype;
  for (Complex& z : out.values) z = rounded(z, dtype);
  return out;
}

RefTensor make_values(const Operand& operand, DType dtype, uint64_t seed) {
  if (operand.dtype != DType::kUndefined) dtype = operand.dtype;
  std::mt19937_64 bits(seed);
  RefTensor out = reference::zeros(operand.shape, dtype);
  for (size_t i = 0; i < out.values.size(); ++i) {
    Complex& z = out.values[i];
    if (operand.values == Values::kFixed)
      z = operand.fixed[i % operand.fixed.size()];
    else if (operand.values == Values::kIndex)
      z = static_cast<double>(bits() % static_cast<uint64_t>(operand.bound));
    else if (operand.values == Values::kDistinct)
      z = static_cast<double>(i) * (is_integral(dtype) ? 1 : 0.25);
    else if (is_integral(dtype))
      z = integer_value(operand.values, dtype, bits);
    else if (!is_complex(dtype))
      z = real_value(operand.values, bits);
    else
      z = {real_value(operand.values, bits), real_value(operand.values, bits)};
  }
  if (operand.values == Values::kDistinct) std::shuffle(out.values.begin(), out.values.end(), bits);
  return cast(out, dtype);
}

Tensor to_tensor(const RefTensor& values, Device device) {
  const Tensor host = empty(values.shape, {values.dtype, Device(kCPU)});
  visit_dtype(values.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* data = static_cast<T*>(host.impl().data);
    for (size_t i = 0; i < values.values.size(); ++i) data[i] = converted<T>(values.values[i]);
  });
  return host.to(device);
}

RefTensor read(const Tensor& tensor) {
  const Tensor host = tensor.detach().cpu();
  RefTensor out = reference::zeros(host.shape(), host.dtype());
  const Dims strides = host.strides();
  visit_dtype(host.dtype(), [&](auto tag) {
    const auto* data = static_cast<const decltype(tag)*>(host.impl().data);
    for (size_t i = 0; i < out.values.size(); ++i)
      out.values[i] = widened(data[reference::strided_index(static_cast<int64_t>(i), out.shape, strides)]);
  });
  return out;
}

Tensor arrange(const RefTensor& values, Layout layout, Device device) {
  if (values.shape.empty()) return to_tensor(values, device);
  if (layout == Layout::kTransposed) return transposed(values, device);
  if (layout == Layout::kSliced) return sliced(values, device);
  if (layout != Layout::kExpanded || values.shape[0] < 2) return to_tensor(values, device);
  RefTensor row = values;
  row.shape[0] = 1;
  row.values.resize(row.values.size() / static_cast<size_t>(values.shape[0]));
  return to_tensor(row, device).expand(values.shape);
}

void Operands::point() {
  pointers.clear();
  for (const Tensor& t : tensors) pointers.push_back(&t);
}

std::optional<Operands> make_operands(const Sample& sample, DType dtype, Layout layout, Device device, uint64_t seed) {
  if (sample.contiguous_only && layout != Layout::kContiguous) return {};
  std::vector<Operand> operands = sample.operands;
  if (layout == Layout::kAliased) {
    if (operands.size() < 2 || !operands[1].defined || operands[0].shape != operands[1].shape ||
        operands[0].dtype != operands[1].dtype)
      return {};
    operands[0].values = std::max(operands[0].values, operands[1].values);
  }
  Operands out;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].defined) {
      out.values.push_back({{}, dtype, {}});
      out.tensors.emplace_back();
    } else if (layout == Layout::kAliased && i == 1) {
      out.values.push_back(out.values[0]);
      out.tensors.push_back(out.tensors[0]);
    } else {
      RefTensor values = make_values(operands[i], dtype, seed * 64 + i);
      const bool expands = layout == Layout::kExpanded && operands[i].values != Values::kFixed;
      if (expands) values = repeat_first(values);
      out.tensors.push_back(
          arrange(values, expands || layout != Layout::kExpanded ? layout : Layout::kContiguous, device));
      out.values.push_back(std::move(values));
    }
  }
  out.point();
  return out;
}

bool is_close(Complex actual, Complex expected, Tolerance tolerance) {
  const auto close = [tolerance](double a, double e) {
    if (std::isnan(e)) return std::isnan(a);
    if (a == e) return true;
    return std::isfinite(a) && std::abs(a - e) <= tolerance.absolute + tolerance.relative * std::abs(e);
  };
  return close(actual.real(), expected.real()) && close(actual.imag(), expected.imag());
}

std::string difference(const Tensor& actual, const RefTensor& expected, Tolerance tolerance) {
  if (actual.dtype() != expected.dtype) return str_cat("dtype ", actual.dtype(), ", expected ", expected.dtype);
  if (actual.shape() != expected.shape) return str_cat("shape ", actual.shape(), ", expected ", expected.shape);
  if (device_api(actual.device().type).shape_only) return {};
  const RefTensor values = read(actual);
  for (size_t i = 0; i < expected.values.size(); ++i)
    if (!is_close(values.values[i], expected.values[i], tolerance))
      return str_cat("element ", i, " of ", expected.shape, " is ", values.values[i], ", expected ",
                     expected.values[i]);
  return {};
}

}  // namespace vellum::conformance
