#include "vellum/device/error.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

// Complex tensors seen as pairs of real numbers, and the other way round: views without a copy.

namespace vellum {
namespace {

DTypes real_of_complex(const OpCall& call) {
  const DType t = call.input(0).dtype();
  if (!is_complex(t)) throw_error<DTypeError>(call.op.name, ": takes complex tensors, this one is ", t);
  return {t, to_real(t)};
}

template <int kPart>
void infer_part(Inference& call) {
  const Tensor& x = call.input(0);
  Dims stride = x.strides();
  for (int64_t& s : stride) s *= 2;
  call.add_view(x.shape(), stride, x.storage_offset() * 2 + kPart);
}

template <int kPart>
std::vector<RefTensor> part_reference(const RefCall& call) {
  RefTensor out{call.inputs[0].shape, to_real(call.inputs[0].dtype), call.inputs[0].values};
  for (auto& z : out.values) z = kPart == 0 ? z.real() : z.imag();
  return {out};
}

constexpr OpDef kReal{.name = "real",
                      .kind = OpKind::kView,
                      .dtypes = real_of_complex,
                      .domain = kComplexDTypes,
                      .infer = infer_part<0>,
                      .vjp = [](Vjp& v) { v.grad() = v.cotangent(); },  // the engine makes it complex
                      .reference = {.tensors = part_reference<0>}};
constexpr OpDef kImag{.name = "imag",
                      .kind = OpKind::kView,
                      .dtypes = real_of_complex,
                      .domain = kComplexDTypes,
                      .infer = infer_part<1>,
                      .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), Scalar(complex64(0, 1))); },
                      .reference = {.tensors = part_reference<1>}};
OpSlot real_slot{kReal, "complex"}, imag_slot{kImag, "complex"};

constexpr OpDef kViewAsReal{.name = "view_as_real",
                            .kind = OpKind::kView,
                            .dtypes = real_of_complex,
                            .domain = kComplexDTypes,
                            .infer =
                                [](Inference& call) {
                                  const Tensor& x = call.input(0);
                                  Dims shape = x.shape(), stride = x.strides();
                                  for (int64_t& s : stride) s *= 2;
                                  shape.push_back(2);
                                  stride.push_back(1);
                                  call.add_view(shape, stride, x.storage_offset() * 2);
                                },
                            .vjp = [](Vjp& v) { v.grad() = v.cotangent().contiguous().view_as_complex(); },
                            .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
                              Dims shape = call.inputs[0].shape;
                              shape.push_back(2);
                              RefTensor out{shape, to_real(call.inputs[0].dtype), {}};
                              for (const auto& z : call.inputs[0].values)
                                out.values.insert(out.values.end(), {z.real(), z.imag()});
                              return {out};
                            }}};
OpSlot view_as_real_slot{kViewAsReal, "complex"};

void infer_view_as_complex(Inference& call) {
  const Tensor& x = call.input(0);
  Dims shape = x.shape(), stride = x.strides();
  bool paired = shape.size() > 0 && shape.back() == 2 && stride.back() == 1 && x.storage_offset() % 2 == 0;
  for (int i = 0; i + 1 < stride.size(); ++i) {
    paired &= stride[i] % 2 == 0 || shape[i] <= 1;
    stride[i] /= 2;
  }
  if (!paired)
    throw_error<ShapeError>("view_as_complex: shape ", x.shape(), ", strides ", x.strides(), ", offset ",
                            x.storage_offset(),
                            " are not pairs of neighbours; the last size must be 2; call contiguous()");
  shape.erase(shape.size() - 1);
  stride.erase(stride.size() - 1);
  call.add_view(shape, stride, x.storage_offset() / 2);
}

constexpr OpDef kViewAsComplex{.name = "view_as_complex",
                               .kind = OpKind::kView,
                               .dtypes = [](const OpCall& call) -> DTypes {
                                 const DType t = call.input(0).dtype();
                                 if (t != kFloat32 && t != kFloat64)
                                   throw_error<DTypeError>("view_as_complex: takes float32 or float64, this tensor is ",
                                                           t);
                                 return {t, to_complex(t)};
                               },
                               .domain = DTypeSet(kFloat32) | DTypeSet(kFloat64),
                               .infer = infer_view_as_complex,
                               .vjp = [](Vjp& v) { v.grad() = v.cotangent().view_as_real(); },
                               .reference = {.tensors = [](const RefCall& call) -> std::vector<RefTensor> {
                                 const RefTensor& x = call.inputs[0];
                                 Dims shape = x.shape;
                                 shape.erase(shape.size() - 1);
                                 RefTensor out = reference::zeros(shape, to_complex(x.dtype));
                                 for (size_t i = 0; i < out.values.size(); ++i)
                                   out.values[i] = {x.values[2 * i].real(), x.values[2 * i + 1].real()};
                                 return {out};
                               }}};
OpSlot view_as_complex_slot{kViewAsComplex, "complex"};

}  // namespace

Tensor Tensor::real() const { return is_complex() ? call(real_slot, {this}) : *this; }
Tensor Tensor::imag() const { return call(imag_slot, {this}); }
Tensor Tensor::view_as_real() const { return call(view_as_real_slot, {this}); }
Tensor Tensor::view_as_complex() const { return call(view_as_complex_slot, {this}); }

}  // namespace vellum
