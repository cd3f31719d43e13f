#include "vellum/tests/conformance/conformance.h"

vellum::conformance::Target vellum::conformance::target() { return {.device = "toy", .expected_failures = {}}; }
