#ifndef VELLUM_TESTS_FAKES_CPU_FAULTS_H_
#define VELLUM_TESTS_FAKES_CPU_FAULTS_H_

#include <memory>
#include <utility>

#include "vellum/allocator/adaptors/fault_injection.h"
#include "vellum/allocator/memory.h"

namespace vellum::fakes {

// Around what serves the CPU in this test, from the first call on, which must come before any tensor.
inline FaultInjectionAdaptor& cpu_faults() {
  static FaultInjectionAdaptor& faults = [&]() -> FaultInjectionAdaptor& {
    auto adaptor = std::make_unique<FaultInjectionAdaptor>(make_default_allocator(Device(kCPU)));
    FaultInjectionAdaptor& made = *adaptor;
    set_allocator(Device(kCPU), std::move(adaptor));
    return made;
  }();
  return faults;
}

}  // namespace vellum::fakes

#endif  // VELLUM_TESTS_FAKES_CPU_FAULTS_H_
