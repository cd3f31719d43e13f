#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

TensorOptions on_device(Args& a, DType otherwise) { return {a.dtype(kKeywordOnly, "dtype", otherwise), a.device()}; }

// arange(end), arange(start, end) and arange(start, end, step).
Results count(Args& a) {
  const bool starts = a.source().args.size() > 1 || a.source().kwargs.contains("end");
  const TensorOptions options = on_device(a, DType::kUndefined);
  if (!starts) return arange(a.scalar(0, "end"), options);
  return arange(a.scalar(0, "start", 0), a.scalar(1, "end"), a.scalar(2, "step", 1), options);
}

// OP_like(input, dtype), new_OP(input, size, dtype) and OP(size, dtype).
Function like(Tensor (*f)(const Dims&, const TensorOptions&)) {
  return [f](Args& a) {
    const Tensor input = a.tensor(0, "input");
    return f(input.shape(), on_device(a, input.dtype()));
  };
}
Function new_of(Tensor (*f)(const Dims&, const TensorOptions&)) {
  return [f](Args& a) { return f(a.shape(1, "size"), on_device(a, a.tensor(0, "input").dtype())); };
}
Function of_size(Tensor (*f)(const Dims&, const TensorOptions&)) {
  return [f](Args& a) { return f(a.shape(0, "size"), on_device(a, kFloat32)); };
}

const Bindings kBindings{
    {"arange", count},
    {"linspace",
     [](Args& a) {
       return linspace(a.scalar(0, "start"), a.scalar(1, "end"), a.integer(2, "steps"),
                       on_device(a, DType::kUndefined));
     }},
    {"eye",
     [](Args& a) {
       const int64_t rows = a.integer(0, "n");
       return eye(rows, a.integer(1, "m", rows), on_device(a, DType::kUndefined));
     }},
    {"zeros", of_size(zeros)},
    {"ones", of_size(ones)},
    {"zeros_like", like(zeros)},
    {"ones_like", like(ones)},
    {"new_zeros", new_of(zeros)},
    {"new_ones", new_of(ones)},
    {"full",
     [](Args& a) {
       const Scalar value = a.scalar(1, "fill_value");
       return full(a.dims(0, "size"), value, on_device(a, DType::kUndefined));
     }},
    {"full_like",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input");
       return full(input.shape(), a.scalar(1, "fill_value"), on_device(a, input.dtype()));
     }},
    {"new_full",
     [](Args& a) {
       return full(a.dims(1, "size"), a.scalar(2, "fill_value"), on_device(a, a.tensor(0, "input").dtype()));
     }},
};

}  // namespace
}  // namespace vellum::replay
