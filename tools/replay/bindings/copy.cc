#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

template <DType kTo>
Tensor converted(const Tensor& x) {
  return x.to(kTo);
}

// to(dtype), to(device, dtype) and to(other), each with (non_blocking, copy) after it. Cases know one device.
Results to(Args& a) {
  const Tensor input = a.tensor(0, "self");
  DType dtype = input.dtype();
  int next = 1;
  if (a.is_text(1, "device")) {
    if (const std::string device = a.text(1, "device", ""); device != "cpu") throw Unsupported("device " + device);
    next = 2;
  }
  if (a.is_tensor(1, "other")) {
    dtype = a.tensor(1, "other").dtype();
    next = 2;
  } else if (a.is_dtype(next, "dtype")) {
    dtype = a.dtype(next++, "dtype", dtype);
  }
  a.boolean(next, "non_blocking", false);
  const bool copy = a.boolean(next + 1, "copy", false);
  return copy && dtype == input.dtype() ? input.clone() : input.to(dtype);
}

const Bindings kBindings{
    {"to", to},
    {"bool", unary(converted<kBool>)},
    {"byte", unary(converted<kUInt8>)},
    {"char", unary(converted<kInt8>)},
    {"short", unary(converted<kInt16>)},
    {"int", unary(converted<kInt32>)},
    {"long", unary(converted<kInt64>)},
    {"half", unary(converted<kFloat16>)},
    {"bfloat16", unary(converted<kBFloat16>)},
    {"float", unary(converted<kFloat32>)},
    {"double", unary(converted<kFloat64>)},
    {"clone", method([](const Tensor& x) { return x.clone(); })},
    {"contiguous", method([](const Tensor& x) { return x.contiguous(); })},
    // The database's functions leave their operand as it was.
    {"zero_", method([](const Tensor& x) {
       Tensor written = x.clone();
       return written.zero_();
     })},
    {"fill",
     [](Args& a) {
       Tensor written = a.tensor(0, "input").clone();
       return written.fill_(a.scalar(1, "value"));
     }},
};

}  // namespace
}  // namespace vellum::replay
