#include "operators/cube.h"

#include "vellum/tensor/op_def.h"
#include "vellum/tensor/ops/ops.h"
#include "vellum/tensor/reference_helpers.h"

namespace consumer {
namespace {

using vellum::OpCall;
using vellum::Tensor;
using vellum::Vjp;

constexpr vellum::OpDef kCube{
    .name = "consumer_cube",
    .dtypes = vellum::dtype_rules::promote,
    .domain = vellum::kFloatingDTypes | vellum::kComplexDTypes,
    .saves = {vellum::saves_input(0)},
    .vjp = [](Vjp& v) { v.grad() = mul(v.cotangent(), mul(square(conj(v.input())), 3)); },
    .composite = [](const OpCall& call,
                    std::span<Tensor> outputs) { outputs[0] = mul(square(call.input(0)), call.input(0)); },
    .reference = vellum::reference::real_or_complex([](auto x) { return x * x * x; })};
vellum::OpSlot cube_slot{kCube, "consumer"};

}  // namespace

Tensor cube(const Tensor& x) { return vellum::call(cube_slot, {&x}); }

}  // namespace consumer
