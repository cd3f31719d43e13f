#ifndef VELLUM_TENSOR_LEDGER_H_
#define VELLUM_TENSOR_LEDGER_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "vellum/device/thread_state.h"
#include "vellum/tensor/tensor.h"

namespace vellum {

// What tells memory/ of blocks: it implements this and installs itself in hooks().ledger. Which tensors and nodes are
// alive is kept in internal::LiveTable; who holds a block is worked out from them only when somebody asks. Thread-safe;
// nothing here may make or drop tensors.
class Ledger {
 public:
  // A block was allocated while kModeLedger was set: writes its origin.
  virtual void allocated(Storage& storage) noexcept = 0;
  // The first tensor of a block whose origin asked for it.
  virtual void described(const internal::TensorImpl& tensor) noexcept = 0;
  // A tensor of a block that has an origin got a label.
  virtual void named(const internal::TensorImpl& tensor) noexcept = 0;
  // A block that has an origin is about to be freed. Called while `hears_of_frees`.
  virtual void freed(Storage& storage) noexcept = 0;
  bool hears_of_frees() const { return hears_of_frees_.load(std::memory_order_relaxed); }
  // Scratch memory of a kernel, allocated while kModeLedger was set, and its end.
  virtual void workspace_allocated(Allocator& source, const Block& block, const Stream& stream) noexcept = 0;
  virtual void workspace_freed(const Block& block) noexcept = 0;
  // `source`, which serves `device`, had no memory. What to add to the error's `text`: the largest holders of its
  // blocks, or nothing.
  virtual std::string out_of_memory(Device device, int64_t bytes, const Allocator& source,
                                    const std::string& text) noexcept = 0;

 protected:
  ~Ledger() = default;
  std::atomic<bool> hears_of_frees_{false};
};

// The ledger while it is on, on this thread.
inline Ledger* active_ledger() { return thread_state().mode & kModeLedger ? hooks().ledger : nullptr; }

// Says what a tensor is for as long as it lives; the ledger, on or off, then attributes its memory to that. For modules
// and optimizers.
void set_memory_role(const Tensor& tensor, MemoryRole role);

namespace internal {

// To be called where an object is complete.
[[gnu::noinline]] void track_slow(TensorImpl& impl) noexcept;
[[gnu::noinline]] void track_slow(GraphNode& node) noexcept;
inline void track(TensorImpl& impl) {
  if (thread_state().mode & kModeLedger) [[unlikely]]
    track_slow(impl);
}
inline void track(GraphNode& node) {
  if (thread_state().mode & kModeLedger) [[unlikely]]
    track_slow(node);
}

// Remembers what a block was used for, while the ledger is on.
inline void note_role(const Tensor& tensor, MemoryRole role) {
  if (thread_state().mode & kModeLedger) [[unlikely]]
    tensor.impl().storage->note_role(role);
}

}  // namespace internal
}  // namespace vellum

#endif  // VELLUM_TENSOR_LEDGER_H_
