#ifndef VELLUM_BACKENDS_META_META_BACKEND_H_
#define VELLUM_BACKENDS_META_META_BACKEND_H_

#include "vellum/tensor/backend.h"

namespace vellum {

// The device that has no memory and computes nothing: its tensors have a shape, a dtype and strides, so that a model's
// shapes can be checked without a byte. Depend on //backends/meta:register to have it.
//
// It is also the smallest backend there is, and the one to copy for a new device:
//
//   1. meta_backend.{h,cc}  the descriptor: a name, the device's functions, and a table of kernels that may be empty.
//                           What the table lacks is composed from other operators or computed on the host.
//   2. register.cc          one static initializer, in a target of its own with alwayslink.
//   3. a conformance file under tests/conformance.
//
// Nothing else in the repository names a backend, so a new one can live in another workspace.
const Backend& meta_backend();

}  // namespace vellum

#endif  // VELLUM_BACKENDS_META_META_BACKEND_H_
