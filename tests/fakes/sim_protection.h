#ifndef VELLUM_TESTS_FAKES_SIM_PROTECTION_H_
#define VELLUM_TESTS_FAKES_SIM_PROTECTION_H_

namespace vellum::sim {

// From now on a segmentation fault at a device address is explained on standard error before it takes its course.
void report_accesses();

}  // namespace vellum::sim

#endif  // VELLUM_TESTS_FAKES_SIM_PROTECTION_H_
