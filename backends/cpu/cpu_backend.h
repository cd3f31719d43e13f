#ifndef VELLUM_BACKENDS_CPU_CPU_BACKEND_H_
#define VELLUM_BACKENDS_CPU_CPU_BACKEND_H_

#include "vellum/tensor/backend.h"

namespace vellum {

// The CPU: device functions, and kernels for the best instruction set that this machine offers. Depend on
// //backends/cpu:register to have it linked and registered.
const Backend& cpu_backend();

}  // namespace vellum

#endif  // VELLUM_BACKENDS_CPU_CPU_BACKEND_H_
