#ifndef VELLUM_ALLOCATOR_OUT_OF_MEMORY_H_
#define VELLUM_ALLOCATOR_OUT_OF_MEMORY_H_

#include <cstdint>
#include <string>

#include "vellum/allocator/allocator.h"
#include "vellum/device/device.h"

namespace vellum {

// What an OutOfMemoryError says of `source`, which could not serve `bytes` on `device`: what was requested, what is
// live and cached, the largest free block, fragmentation (the part of cached memory outside that block), the limit if
// there is one, and what to do.
std::string out_of_memory_text(Device device, int64_t bytes, const Allocator& source);

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_OUT_OF_MEMORY_H_
