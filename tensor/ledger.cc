#include "vellum/tensor/ledger.h"

#include "vellum/tensor/internal/live_objects.h"

namespace vellum {
namespace internal {

void track_slow(TensorImpl& impl) noexcept {
  if (!impl.live_slot) impl.live_slot = LiveTable::mine().add(LiveKind::kTensor, &impl);
  if (impl.storage->origin().wants_description && hooks().ledger) hooks().ledger->described(impl);
}

void track_slow(GraphNode& node) noexcept {
  if (!node.live_slot) node.live_slot = LiveTable::mine().add(LiveKind::kNode, &node);
}

}  // namespace internal

// These tensors are few and live long: they are tracked even while the ledger is off, so that one that is turned on
// later knows them.
void set_memory_role(const Tensor& tensor, MemoryRole role) {
  internal::TensorImpl& impl = tensor.impl();
  impl.role = role;
  impl.storage->note_role(role);
  internal::track_slow(impl);
}

}  // namespace vellum
