#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

std::vector<Sample> complex_samples(Device) {
  return {{.operands = {{{3, 4}}}}, {.operands = {{{}}}}, {.operands = {{{0}}}}, {.operands = {{{2, 3, 5}}}}};
}

std::vector<Sample> view_as_complex_samples(Device) {
  return {{.operands = {{{3, 2}}}, .contiguous_only = true},
          {.operands = {{{2}}}, .contiguous_only = true},
          {.operands = {{{0, 2}}}, .contiguous_only = true}};
}

const RegisterSamples kRegistered{
    {"real", complex_samples},
    {"imag", complex_samples},
    {"view_as_real", complex_samples},
    {"view_as_complex", view_as_complex_samples},
};

}  // namespace
}  // namespace vellum::conformance
