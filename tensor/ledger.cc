#include "vellum/tensor/ledger.h"

#include <new>

#include "vellum/tensor/internal/live_objects.h"

namespace vellum {
namespace internal {

namespace {

LiveSlot* slot_for(LiveKind kind, void* object) noexcept try {
  return LiveTable::mine().add(kind, object);
} catch (const std::bad_alloc&) {
  return nullptr;  // it stays untracked
}

}  // namespace

void track_slow(TensorImpl& impl) noexcept {
  if (!impl.live_slot) impl.live_slot = slot_for(LiveKind::kTensor, &impl);
  if (impl.storage->origin().wants_description && hooks().ledger) hooks().ledger->described(impl);
}

void track_slow(GraphNode& node) noexcept {
  if (!node.live_slot) node.live_slot = slot_for(LiveKind::kNode, &node);
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
