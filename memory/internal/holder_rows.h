#ifndef VELLUM_MEMORY_INTERNAL_HOLDER_ROWS_H_
#define VELLUM_MEMORY_INTERNAL_HOLDER_ROWS_H_

#include <vector>

#include "vellum/memory/internal/holder_graph.h"

namespace vellum::internal {

// memory_holders() of one allocator.
std::vector<MemoryHolder> holder_rows(const Allocator& source, HolderGraph::Reach reach);

// Freed blocks that wait for another stream; they count as active.
std::vector<BlockInfo> pending_blocks(const Allocator& source);

// The first holder's row of a block of scratch memory.
MemoryHolder workspace_row(const StorageOrigin& origin, const Allocator& source, const Block& block);

// The module that a label such as "encoder.0.weight" names; `parts` of it are the tensor's own.
std::string module_of_label(std::string_view label, int parts);

}  // namespace vellum::internal

#endif  // VELLUM_MEMORY_INTERNAL_HOLDER_ROWS_H_
