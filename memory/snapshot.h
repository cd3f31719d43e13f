#ifndef VELLUM_MEMORY_SNAPSHOT_H_
#define VELLUM_MEMORY_SNAPSHOT_H_

#include <cstdint>
#include <string>

#include "vellum/device/device.h"

namespace vellum {

// Writes what a device's memory holds now, and since a recording began, for //tools:memory_report:
//
//   start_memory_recording();
//   train_step();
//   memory_snapshot("memory.json");
//
// The file is one JSON object; docs/memory.md says what is in it. It is replaced in one step. Without a recording it
// has the live blocks that the ledger knows, no events, and no times. Throws IoError, naming the path, when it cannot
// be written. As a report of the ledger it must not be made while another thread works on a graph.
//
// VELLUM_MEMORY_SNAPSHOT=memory.json in the environment records from the start, on the main thread, and writes the
// CPU's memory when the process ends (exit() or the end of main), or, at the first allocation that fails for want of
// memory where the ledger is on, that of the allocator concerned; that file then stays. Dry runs do not count.
void memory_snapshot(const std::string& path, Device device = {});

// Turns the ledger on for this thread, and keeps every allocation and release from now on of threads where it is on,
// and what the allocators of all devices take from them and give back, on whichever thread: the last `max_events` of
// all these, and the last `max_events` blocks that were freed, at about 200 bytes each. Blocks that are older and known
// to the ledger are noted as allocated at 0; what else is in use is one untracked block for each allocator that has
// memory in use. There is one recording in a process; throws InvalidArgumentError when there is one already, or when
// max_events is not positive.
void start_memory_recording(int64_t max_events = 100'000);
// Forgets the recording. On the thread that started it the ledger is then as it was before; called on another thread,
// it stays on there. Does nothing when there is none.
void stop_memory_recording();

}  // namespace vellum

#endif  // VELLUM_MEMORY_SNAPSHOT_H_
