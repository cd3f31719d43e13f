#include "vellum/tests/conformance/cases.h"

#include <cstdlib>

#include "vellum/device/device.h"
#include "vellum/device/device_api.h"
#include "vellum/device/error.h"
#include "vellum/tensor/generator.h"
#include "vellum/tests/conformance/conformance.h"

namespace vellum::conformance {

std::vector<std::string> operator_names(bool (*wanted)(const OpDef&)) {
  std::vector<std::string> names;
  for (const OpSlot* slot : all_operators())
    if (!wanted || wanted(slot->def())) names.emplace_back(slot->def().name);
  return names;
}

void require_device() {
  try {
    check_exists(Device(target().device));
  } catch (const DeviceError& error) {
    if (std::getenv("VELLUM_REQUIRE_DEVICE")) FAIL() << error.what();
    GTEST_SKIP() << error.what();
  }
}

std::vector<Sample> OperatorTest::samples() const {
  if (const SampleFunction samples = find_samples(GetParam())) return samples(device());
  ADD_FAILURE() << "operator '" << GetParam() << "' has no samples; add some to tests/conformance/samples/"
                << slot().family() << ".cc, or to a file that registers them beside your own operator";
  return {};
}

Device OperatorTest::device() const { return Device(target().device); }
bool OperatorTest::shape_only() const { return device_api(device().type).shape_only; }

std::optional<DTypes> dtypes_of(const OpDef& op, const Operands& operands, const Sample& sample) {
  const OpCall call{op, operands.inputs(), sample.attrs.get()};
  try {
    return op.dtypes ? op.dtypes(call) : dtype_rules::promote(call);
  } catch (const DTypeError&) {
    return {};
  }
}

std::vector<Tensor> call_sample(OpSlot& slot, Operands& operands, const Sample& sample) {
  if (slot.def().draws) default_generator(operands.tensors[0].device()).set_state(kRandomState);
  if (!slot.def().overwrites) return call_all(slot, operands.inputs(), sample.attrs.get());
  call_in_place(slot, operands.tensors[0], operands.inputs(), sample.attrs.get());
  return {operands.tensors[0]};
}

}  // namespace vellum::conformance
