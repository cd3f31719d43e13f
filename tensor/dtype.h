#ifndef VELLUM_TENSOR_DTYPE_H_
#define VELLUM_TENSOR_DTYPE_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "vellum/tensor/half.h"

namespace vellum {

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

// Element types. The order is that of promotion within a category.
enum class DType : uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kUndefined,
};

inline constexpr int kDTypeCount = 12;

// The names that users write: zeros({2, 3}, kFloat64).
inline constexpr DType kBool = DType::kBool;
inline constexpr DType kUInt8 = DType::kUInt8;
inline constexpr DType kInt8 = DType::kInt8;
inline constexpr DType kInt16 = DType::kInt16;
inline constexpr DType kInt32 = DType::kInt32;
inline constexpr DType kInt64 = DType::kInt64;
inline constexpr DType kFloat16 = DType::kFloat16;
inline constexpr DType kBFloat16 = DType::kBFloat16;
inline constexpr DType kFloat32 = DType::kFloat32;
inline constexpr DType kFloat64 = DType::kFloat64;
inline constexpr DType kComplex64 = DType::kComplex64;
inline constexpr DType kComplex128 = DType::kComplex128;

inline constexpr uint8_t kDTypeSizes[kDTypeCount + 1] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 0};

constexpr size_t dtype_size(DType t) { return kDTypeSizes[static_cast<int>(t)]; }  // bytes
constexpr bool is_complex(DType t) { return t == kComplex64 || t == kComplex128; }
constexpr bool is_floating(DType t) { return t >= kFloat16 && t <= kFloat64; }
constexpr bool is_integral(DType t) { return t <= kInt64; }  // bool included
// The dtypes that can require a gradient.
constexpr bool is_differentiable(DType t) { return t >= kFloat16 && t <= kComplex128; }

// complex64 -> float32 and so on; others are themselves.
constexpr DType to_real(DType t) { return t == kComplex64 ? kFloat32 : t == kComplex128 ? kFloat64 : t; }
// float32 -> complex64, float64 -> complex128; float16, bfloat16 and integers go to complex64.
constexpr DType to_complex(DType t) { return is_complex(t) ? t : t == kFloat64 ? kComplex128 : kComplex64; }

std::string_view dtype_name(DType t);  // "float32"
std::ostream& operator<<(std::ostream& out, DType t);

// PyTorch's promotion of two element types: the smallest that holds both categories (float16 + bfloat16 = float32,
// uint8 + int8 = int16, int64 + float16 = float16, float64 + complex64 = complex128).
DType promote_types(DType a, DType b);

// A set of dtypes as a bit mask.
struct DTypeSet {
  uint16_t bits = 0;

  constexpr DTypeSet() = default;
  constexpr DTypeSet(DType t) : bits(static_cast<uint16_t>(1u << static_cast<int>(t))) {}
  constexpr explicit DTypeSet(uint16_t b) : bits(b) {}
  constexpr bool contains(DType t) const { return bits >> static_cast<int>(t) & 1; }
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) { return DTypeSet(uint16_t(a.bits | b.bits)); }
  friend constexpr bool operator==(DTypeSet, DTypeSet) = default;
};

inline constexpr DTypeSet kAllDTypes{uint16_t{0x0fff}};
inline constexpr DTypeSet kIntegralDTypes{uint16_t{0x003f}};  // bool included
inline constexpr DTypeSet kFloatingDTypes{uint16_t{0x03c0}};
inline constexpr DTypeSet kComplexDTypes{uint16_t{0x0c00}};
inline constexpr DTypeSet kDifferentiableDTypes = kFloatingDTypes | kComplexDTypes;
inline constexpr DTypeSet kRealDTypes = kIntegralDTypes | kFloatingDTypes;

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = kBool;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = kUInt8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = kInt8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = kInt16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = kInt64;
};
template <>
struct DTypeOf<float16> {
  static constexpr DType value = kFloat16;
};
template <>
struct DTypeOf<bfloat16> {
  static constexpr DType value = kBFloat16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = kFloat64;
};
template <>
struct DTypeOf<complex64> {
  static constexpr DType value = kComplex64;
};
template <>
struct DTypeOf<complex128> {
  static constexpr DType value = kComplex128;
};

template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// Calls f with a value of the C++ type of `t`: visit_dtype(t, [&](auto tag) { using T = decltype(tag); ... }).
template <typename F>
decltype(auto) visit_dtype(DType t, F&& f) {
  switch (t) {
    case DType::kBool:
      return f(bool{});
    case DType::kUInt8:
      return f(uint8_t{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kFloat16:
      return f(float16{});
    case DType::kBFloat16:
      return f(bfloat16{});
    case DType::kFloat64:
      return f(double{});
    case DType::kComplex64:
      return f(complex64{});
    case DType::kComplex128:
      return f(complex128{});
    default:
      return f(float{});
  }
}

}  // namespace vellum

#endif  // VELLUM_TENSOR_DTYPE_H_
