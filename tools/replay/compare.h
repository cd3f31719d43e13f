#ifndef VELLUM_TOOLS_REPLAY_COMPARE_H_
#define VELLUM_TOOLS_REPLAY_COMPARE_H_

#include <string>

#include "vellum/tensor/tensor.h"

namespace vellum::replay {

// |actual - expected| <= absolute + relative * |expected|, as torch.testing.assert_close has it for a dtype; for
// complex numbers by their parts, exactly for integers.
struct Tolerance {
  double relative, absolute;
};
Tolerance tolerance(DType dtype);

// Empty when dtype, shape and values agree, else the first difference: "element [0, 2] is 3.5, expected 3.25". NaN
// equals NaN. `expected` is on the host. `wider` stands in for the dtype's tolerance, integers aside.
std::string difference(const Tensor& actual, const Tensor& expected, const Tolerance* wider = nullptr);

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_COMPARE_H_
