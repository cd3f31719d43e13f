#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

const Bindings kBindings{
    {"complex", [](Args& a) { return complex(a.tensor(0, "real"), a.tensor(1, "imag")); }},
    {"polar", [](Args& a) { return polar(a.tensor(0, "abs"), a.tensor(1, "angle")); }},
    {"angle", unary(angle)},
    {"conj", unary(conj)},
    {"conj_physical", unary(conj)},
    {"real", method([](const Tensor& x) { return x.real(); })},
    {"imag", method([](const Tensor& x) { return x.imag(); })},
    {"view_as_real", method([](const Tensor& x) { return x.view_as_real(); })},
    {"view_as_complex", method([](const Tensor& x) { return x.view_as_complex(); })},
};

}  // namespace
}  // namespace vellum::replay
