#include "vellum/tools/replay/compare.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "vellum/device/error.h"
#include "vellum/tensor/reference_helpers.h"

namespace vellum::replay {
namespace {

bool is_close(double actual, double expected, Tolerance t) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (actual == expected) return true;
  return std::isfinite(actual) && std::isfinite(expected) &&
         std::abs(actual - expected) <= t.absolute + t.relative * std::abs(expected);
}

template <typename T>
bool agrees(T actual, T expected, Tolerance t) {
  if constexpr (std::is_integral_v<T>)
    return actual == expected;
  else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
    return is_close(actual.real(), expected.real(), t) && is_close(actual.imag(), expected.imag(), t);
  else if constexpr (std::is_same_v<T, double>)
    return is_close(actual, expected, t);
  else
    return is_close(static_cast<float>(actual), static_cast<float>(expected), t);
}

template <typename T>
std::string shown(T value) {
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  if constexpr (std::is_same_v<T, bool>)
    out << (value ? "true" : "false");
  else if constexpr (std::is_integral_v<T>)
    out << static_cast<int64_t>(value);
  else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, complex128>)
    out << value;
  else if constexpr (std::is_same_v<T, complex64>)
    out.precision(9), out << value;
  else
    out.precision(9), out << static_cast<float>(value);
  return out.str();
}

Dims position_of(int64_t flat, const Dims& shape) {
  Dims position = shape;
  for (int d = shape.size() - 1; d >= 0; --d) {
    position[d] = flat % shape[d];
    flat /= shape[d];
  }
  return position;
}

// Reads through the strides, so that no kernel under test takes part.
template <typename T>
std::string first_difference(const Tensor& actual, const Tensor& expected, Tolerance t) {
  const Dims shape = expected.shape(), own = actual.strides(), theirs = expected.strides();
  const T* got = static_cast<const T*>(actual.impl().data);
  const T* wanted = static_cast<const T*>(expected.impl().data);
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const T a = got[reference::strided_index(i, shape, own)], e = wanted[reference::strided_index(i, shape, theirs)];
    if (!agrees(a, e, t)) return str_cat("element ", position_of(i, shape), " is ", shown(a), ", expected ", shown(e));
  }
  return {};
}

}  // namespace

Tolerance tolerance(DType dtype) {
  switch (to_real(dtype)) {
    case kFloat16:
      return {1e-3, 1e-5};
    case kBFloat16:
      return {1.6e-2, 1e-5};
    case kFloat32:
      return {1.3e-6, 1e-5};
    case kFloat64:
      return {1e-7, 1e-7};
    default:
      return {0, 0};
  }
}

std::string difference(const Tensor& actual, const Tensor& expected, const Tolerance* wider) {
  if (!actual.defined()) return "undefined";
  if (actual.dtype() != expected.dtype()) return str_cat("dtype ", actual.dtype(), ", expected ", expected.dtype());
  if (actual.shape() != expected.shape()) return str_cat("shape ", actual.shape(), ", expected ", expected.shape());
  const Tensor host = actual.detach().cpu();
  const Tolerance t = wider ? *wider : tolerance(expected.dtype());
  return visit_dtype(expected.dtype(), [&](auto tag) { return first_difference<decltype(tag)>(host, expected, t); });
}

}  // namespace vellum::replay
