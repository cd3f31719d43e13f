#ifndef VELLUM_TENSOR_SCALAR_H_
#define VELLUM_TENSOR_SCALAR_H_

#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ostream>

#include "vellum/tensor/dtype.h"

namespace vellum {

// A number with its category (bool, integer, real, complex). As an operand it takes the dtype of the tensor that it
// meets unless its category is higher, as in PyTorch.
class Scalar {
 public:
  enum class Kind : uint8_t { kBool, kInteger, kReal, kComplex };

  Scalar(bool value) : kind_(Kind::kBool), integer_(value), complex_(value) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Scalar(T value)
      : kind_(Kind::kInteger), integer_(static_cast<int64_t>(value)), complex_(static_cast<double>(value)) {}
  Scalar(float value) : Scalar(static_cast<double>(value)) {}
  Scalar(double value) : kind_(Kind::kReal), integer_(0), complex_(value) {}
  Scalar(complex64 value) : Scalar(complex128(value)) {}
  Scalar(complex128 value) : kind_(Kind::kComplex), integer_(0), complex_(value) {}

  Kind kind() const { return kind_; }
  double real() const { return complex_.real(); }
  complex128 value() const { return complex_; }

  // The dtype that it has on its own: bool, int64, float32 or complex64.
  DType dtype() const {
    switch (kind_) {
      case Kind::kBool:
        return kBool;
      case Kind::kInteger:
        return kInt64;
      case Kind::kReal:
        return kFloat32;
      default:
        return kComplex64;
    }
  }

  // The value as a T. The imaginary part is dropped for real T; for integers a real is truncated towards zero and held
  // to T's range (NaN becomes 0), an integer wraps around.
  template <typename T>
  T to() const {
    if constexpr (std::same_as<T, complex64> || std::same_as<T, complex128>)
      return T(complex_);
    else if constexpr (std::same_as<T, bool>)
      return complex_ != 0.0;
    else if constexpr (std::integral<T>)
      return kind_ <= Kind::kInteger ? static_cast<T>(integer_) : truncated<T>(complex_.real());
    else if constexpr (std::same_as<T, double>)
      return complex_.real();
    else
      return T(static_cast<float>(complex_.real()));
  }

  friend std::ostream& operator<<(std::ostream& out, const Scalar& s) {
    if (s.kind_ <= Kind::kInteger) return out << s.integer_;
    return s.kind_ == Kind::kReal ? out << s.complex_.real() : out << s.complex_;
  }

 private:
  template <typename T>
  static T truncated(double x) {
    using Limits = std::numeric_limits<T>;
    if (!(x >= static_cast<double>(Limits::lowest()))) return x != x ? T{0} : Limits::lowest();
    return x < static_cast<double>(Limits::max()) + 1 ? static_cast<T>(x) : Limits::max();
  }

  Kind kind_;
  int64_t integer_;
  complex128 complex_;
};

}  // namespace vellum

#endif  // VELLUM_TENSOR_SCALAR_H_
