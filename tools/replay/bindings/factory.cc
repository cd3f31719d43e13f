#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

TensorOptions options(Args& a) { return {a.dtype(kKeywordOnly, "dtype", DType::kUndefined), a.device()}; }

// arange(end), arange(start, end) and arange(start, end, step).
Results count(Args& a) {
  const bool starts = a.source().args.size() > 1 || a.source().kwargs.contains("end");
  if (!starts) return arange(a.scalar(0, "end"), options(a));
  return arange(a.scalar(0, "start", 0), a.scalar(1, "end"), a.scalar(2, "step", 1), options(a));
}

Results identity(Args& a) {
  std::optional<int64_t> columns;
  if (a.has(1, "m")) columns = a.integer(1, "m");
  return eye(a.integer(0, "n"), columns, options(a));
}

// OP_like(input, dtype), new_OP(input, size, dtype) and OP(size, dtype).
Function like(Tensor (*f)(const Tensor&, const TensorOptions&)) {
  return [f](Args& a) { return f(a.tensor(0, "input"), options(a)); };
}
TensorOptions options_like(Args& a) {
  const DType own = a.tensor(0, "input").dtype();
  return {a.dtype(kKeywordOnly, "dtype", own), a.device()};
}
Function new_of(Tensor (*f)(const Dims&, const TensorOptions&)) {
  return [f](Args& a) { return f(a.shape(1, "size"), options_like(a)); };
}
Function of_size(Tensor (*f)(const Dims&, const TensorOptions&)) {
  return [f](Args& a) { return f(a.shape(0, "size"), options(a)); };
}

const Bindings kBindings{
    {"arange", count},
    {"linspace",
     [](Args& a) { return linspace(a.scalar(0, "start"), a.scalar(1, "end"), a.integer(2, "steps"), options(a)); }},
    {"eye", identity},
    {"zeros", of_size(zeros)},
    {"ones", of_size(ones)},
    {"zeros_like", like(zeros_like)},
    {"ones_like", like(ones_like)},
    {"new_zeros", new_of(zeros)},
    {"new_ones", new_of(ones)},
    {"full", [](Args& a) { return full(a.dims(0, "size"), a.scalar(1, "fill_value"), options(a)); }},
    {"full_like", [](Args& a) { return full_like(a.tensor(0, "input"), a.scalar(1, "fill_value"), options(a)); }},
    {"new_full", [](Args& a) { return full(a.dims(1, "size"), a.scalar(2, "fill_value"), options_like(a)); }},
};

}  // namespace
}  // namespace vellum::replay
