#ifndef VELLUM_TENSOR_INTERNAL_ALLOCATE_BLOCK_H_
#define VELLUM_TENSOR_INTERNAL_ALLOCATE_BLOCK_H_

#include <cstdint>
#include <string_view>

#include "vellum/allocator/allocator.h"
#include "vellum/device/stream.h"

namespace vellum::internal {

// A block of `source` for `stream`, which the caller has to give back. Throws OutOfMemoryError with the allocator's
// statistics and, where the ledger is on, the largest holders of its blocks. `purpose` begins the texts of errors.
// `out` should be where the block is to stay: a copy of what has just been written in parts stalls the processor.
void allocate_block(int64_t bytes, const Stream& stream, Allocator& source, std::string_view purpose, Block* out);

}  // namespace vellum::internal

#endif  // VELLUM_TENSOR_INTERNAL_ALLOCATE_BLOCK_H_
