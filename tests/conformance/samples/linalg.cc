#include "vellum/tests/conformance/sample.h"

namespace vellum::conformance {
namespace {

std::vector<Sample> matmul_samples(Device) {
  return {{.operands = {{{3, 4}}, {{4, 5}}}},
          {.operands = {{{4, 4}}, {{4, 4}}}},
          {.operands = {{{1, 7}}, {{7, 1}}}},
          {.operands = {{{2, 3, 4}}, {{2, 4, 2}}}},
          {.operands = {{{2, 2, 3, 2}}, {{2, 2, 2, 3}}}},
          {.operands = {{{33, 67}}, {{67, 35}}}, .gradients = false},
          {.operands = {{{0, 4}}, {{4, 5}}}},
          {.operands = {{{3, 0}}, {{0, 5}}}}};
}

std::vector<Sample> linear_samples(Device) {
  const Operand none{.shape = {}, .defined = false};
  return {{.operands = {{{3, 4}}, {{5, 4}}, {{5}}}},
          {.operands = {{{3, 4}}, {{5, 4}}, none}},
          {.operands = {{{2, 3, 4}}, {{5, 4}}, {{5}}}},
          {.operands = {{{4}}, {{5, 4}}, {{5}}}},
          {.operands = {{{17, 67}}, {{33, 67}}, {{33}}}, .gradients = false},
          {.operands = {{{0, 4}}, {{5, 4}}, {{5}}}}};
}

const RegisterSamples kRegistered{{"matmul", matmul_samples}, {"linear", linear_samples}};

}  // namespace
}  // namespace vellum::conformance
