#ifndef VELLUM_TENSOR_INTERNAL_RESOLVE_H_
#define VELLUM_TENSOR_INTERNAL_RESOLVE_H_

#include "vellum/tensor/kernel.h"

namespace vellum::internal {

// What an OpSlot stores where no native kernel serves a call.
extern constinit const KernelEntry kCompositeEntry;
extern constinit const KernelEntry kHostFallbackEntry;
extern constinit const KernelEntry kShapeOnlyEntry;
extern constinit const KernelEntry kMissingEntry;

inline bool is_native(const KernelEntry* entry) { return entry->run != nullptr; }

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_RESOLVE_H_
