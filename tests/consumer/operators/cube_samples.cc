#include "vellum/tests/conformance/sample.h"
#include "vellum/tests/conformance/samples/elementwise.h"

namespace {

using vellum::conformance::unary_samples;
using vellum::conformance::Values;

const vellum::conformance::RegisterSamples kRegistered{{"consumer_cube", unary_samples<Values::kAny>}};

}  // namespace
