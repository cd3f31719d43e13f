#ifndef VELLUM_BACKENDS_CPU_KERNELS_ONEDNN_PRODUCT_H_
#define VELLUM_BACKENDS_CPU_KERNELS_ONEDNN_PRODUCT_H_

#include <cstddef>

#include "vellum/backends/cpu/kernels/gemm.h"
#include "vellum/device/status.h"
#include "vellum/tensor/dtype.h"

namespace vellum::cpu {

// A matrix product that oneDNN has prepared for one geometry, with the memory objects that it runs on. Made once for
// each geometry and thread and kept in a bounded cache of that thread: building one costs microseconds, running it with
// ready memory objects a quarter of one.
class OneDnnProduct;

// The product for this geometry (pointers are ignored but for whether there is a bias), or null where oneDNN or this
// machine does not offer it: neither stride of an operand is 1, or no hardware for the dtype. float32 or bfloat16.
// Valid on this thread until the next call.
OneDnnProduct* find_onednn_product(DType dtype, const Gemm& geometry) noexcept;

// Bytes.
size_t onednn_scratch(const OneDnnProduct& product) noexcept;

Status run_onednn_product(OneDnnProduct& product, const Gemm& operands, void* scratch) noexcept;

}  // namespace vellum::cpu

#endif  // VELLUM_BACKENDS_CPU_KERNELS_ONEDNN_PRODUCT_H_
