#include "vellum/tensor/dtype.h"

#include <algorithm>
#include <ostream>

namespace vellum {

std::string_view dtype_name(DType t) {
  static constexpr std::string_view kNames[] = {"bool",      "uint8",      "int8",     "int16",   "int32",
                                                "int64",     "float16",    "bfloat16", "float32", "float64",
                                                "complex64", "complex128", "undefined"};
  return kNames[std::min<size_t>(static_cast<size_t>(t), kDTypeCount)];
}

std::ostream& operator<<(std::ostream& out, DType t) { return out << dtype_name(t); }

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::kUndefined) return b;
  if (b == DType::kUndefined) return a;
  if (a > b) std::swap(a, b);  // b has the higher category
  if (is_complex(b)) return a == kFloat64 ? kComplex128 : b;
  if (a == kFloat16 && b == kBFloat16) return kFloat32;
  if (a == kUInt8 && b == kInt8) return kInt16;
  return b;
}

}  // namespace vellum
