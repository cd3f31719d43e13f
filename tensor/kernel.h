#ifndef VELLUM_TENSOR_KERNEL_H_
#define VELLUM_TENSOR_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "vellum/device/device_api.h"
#include "vellum/device/status.h"
#include "vellum/device/stream.h"
#include "vellum/tensor/dims.h"
#include "vellum/tensor/dtype.h"

// What a backend sees of an operator call. Everything here is plain data: the core has inferred shapes and dtypes, cast
// the inputs, allocated outputs and workspace and picked the stream. A kernel computes; it does not allocate, throw or
// decide.

namespace vellum {

struct OpDef;

inline constexpr int kMaxLoopOperands = 6;

// The iteration of an elementwise operator or a reduction: operand 0 is the output, operands 1... are the inputs, all
// walked over one index space `sizes` (outermost first) by byte strides. Dimensions are coalesced and sorted, so a
// loop over contiguous tensors has one. A broadcast input has stride 0; a reduction's output has stride 0 along the
// dimensions that are reduced.
struct LoopPlan {
  int ndim;
  int operands;
  int64_t numel;    // of the index space
  bool reduction;   // some output stride is 0: the kernel initializes and accumulates
  int64_t reduced;  // elements folded into one output element (1 for elementwise)
  void* data[kMaxLoopOperands];
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxLoopOperands][kMaxRank];  // bytes
};

// One operand of a structured kernel. Sizes and strides are in elements and borrowed for the call.
struct TensorArg {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int64_t numel;
  DType dtype;
  uint8_t rank;
  bool contiguous;
  bool defined;  // false for an optional input that was left out, and for a by-product that nobody reads

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// A reserved range of the Philox sequence; see generator.h.
struct RandomState {
  uint64_t seed;
  uint64_t offset;
};

struct KernelContext {
  const OpDef* op;
  const void* attrs;     // the operator's attribute struct
  const LoopPlan* loop;  // elementwise operators and reductions; null for others
  std::span<const TensorArg> inputs;
  std::span<const TensorArg> outputs;  // by-products follow the outputs
  DType compute;                       // the dtype that inputs were cast to
  Stream stream;
  RandomState random;  // for operators that draw random numbers
  void* workspace;
  size_t workspace_bytes;
  uint64_t plan_state[8];  // plan() writes, workspace() and run() read

  template <typename Attrs>
  const Attrs& attributes() const {
    return *static_cast<const Attrs*>(attrs);
  }
};

// A backend's implementation of one operator for a set of compute dtypes.
struct KernelEntry {
  std::string_view op;
  DTypeSet dtypes;
  Status (*run)(const KernelContext&) noexcept;
  // Chooses an algorithm. Optional.
  Status (*plan)(KernelContext&) noexcept = nullptr;
  // Bytes of scratch that run() needs, 64-byte aligned. Optional.
  size_t (*workspace)(const KernelContext&) noexcept = nullptr;
  // The core passes row-major inputs, copying where it must. (Loops take any strides.)
  bool contiguous_inputs = false;
};

}  // namespace vellum

#endif  // VELLUM_TENSOR_KERNEL_H_
