#ifndef VELLUM_TENSOR_INTERNAL_DRY_RUN_H_
#define VELLUM_TENSOR_INTERNAL_DRY_RUN_H_

#include <bit>
#include <cstdint>
#include <string_view>

#include "vellum/device/thread_state.h"
#include "vellum/tensor/op_def.h"
#include "vellum/tensor/tensor.h"

// A dry run: everything is as in a run, but that memory has no values, since it is at addresses that no process has,
// and kernels and copies are left out. memory/predict.h makes it. Tensors that were there before may be read as
// operands; what would change one is refused, so that a dry run leaves no trace.

namespace vellum {

// What the library tells of a thread's dry run, while kModeDryRun is set there.
class DryRun {
 public:
  virtual void made(const internal::TensorImpl& tensor) = 0;  // with memory of its own
  // Real memory of the host for the value of `number`, which was made: the host knows it without computing anything.
  // Lives as long as the tensor's storage.
  virtual void* value_of(const internal::TensorImpl& number) = 0;
  // Where the page-locked host memory for `device` comes from. Throws as pinned_allocator does.
  virtual Allocator& pinned(Device device) = 0;
  // Whether the dry run allocated the memory.
  virtual bool owns(const Storage& storage) const = 0;

 protected:
  ~DryRun() = default;
};

namespace internal {

inline bool is_dry_run() { return thread_state().mode & kModeDryRun; }

// Where the memory of dry runs begins; it ends at twice that. Neither x86-64 nor AArch64 has anything there that a
// process could touch.
inline constexpr uintptr_t kDryAddresses = uintptr_t{1} << 55;
inline bool is_dry_address(const void* data) { return std::bit_cast<uintptr_t>(data) / kDryAddresses == 1; }

// Whether the host may read the values: the tensor is none of a dry run, or a number that nothing was written to since.
bool has_values(const Tensor& t);
// Whether the host may write the values of a fresh tensor.
inline bool takes_values(const Tensor& t) { return !is_dry_address(t.impl().data); }

// What `copy` makes of `t` for the host to read. In a dry run that counts, and is then done for real if `t` has values.
template <typename Copy>
Tensor readable(const Tensor& t, Copy copy) {
  Tensor host = copy();
  if (has_values(host) || !has_values(t)) return host;
  const ModeGuard real(0, kModeDryRun | kModeAllocator);
  return copy();
}

// Throws InvalidArgumentError where the values of `t`, which are in `host`, are those of a dry run. `what` reads them.
void check_values(std::string_view what, const Tensor& t, const Tensor& host);
// The same for what makes a shape of them. For use in a dry run.
void check_shape_source(std::string_view what, const Tensor& t);

// To be called in a dry run only.
void refuse_foreign_write(std::string_view what, const Tensor& t);
void refuse_foreign_history(std::string_view what, Inputs inputs);
void refuse_foreign_gradient(const TensorImpl& leaf);

// Throws InvalidArgumentError where the memory of `t` is not the dry run's own. `what` changes the tensor.
inline void check_dry_write(std::string_view what, const Tensor& t) {
  if (is_dry_run()) [[unlikely]]
    refuse_foreign_write(what, t);
}
// Throws AutogradError where an operand has a history from before the dry run, which a backward pass would consume.
inline void check_dry_history(std::string_view what, Inputs inputs) {
  if (is_dry_run()) [[unlikely]]
    refuse_foreign_history(what, inputs);
}
// Throws AutogradError where a gradient would arrive in a leaf that is not the dry run's own.
inline void check_dry_gradient(const TensorImpl& leaf) {
  if (is_dry_run()) [[unlikely]]
    refuse_foreign_gradient(leaf);
}

}  // namespace internal
}  // namespace vellum

#endif  // VELLUM_TENSOR_INTERNAL_DRY_RUN_H_
