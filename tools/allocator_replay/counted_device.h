#ifndef VELLUM_TOOLS_ALLOCATOR_REPLAY_COUNTED_DEVICE_H_
#define VELLUM_TOOLS_ALLOCATOR_REPLAY_COUNTED_DEVICE_H_

#include <cstdint>

#include "vellum/device/device.h"

namespace vellum::allocator_replay {

// A device whose memory is the host's, and that counts what is asked of it. The strategies take it for any other, so
// that what they hold is seen from outside instead of by their own statistics.
Device counted_device();

struct DeviceUse {
  int64_t bytes = 0;       // held now
  int64_t peak_bytes = 0;  // the most since the counting began
  int64_t allocations = 0;
  int64_t frees = 0;
};

// Begins at 0. From now on the device has no more than `limit` bytes. Only while nothing of its memory is in use.
void restart_counting(int64_t limit);
DeviceUse device_use();

}  // namespace vellum::allocator_replay

#endif  // VELLUM_TOOLS_ALLOCATOR_REPLAY_COUNTED_DEVICE_H_
