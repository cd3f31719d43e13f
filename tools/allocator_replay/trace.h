#ifndef VELLUM_TOOLS_ALLOCATOR_REPLAY_TRACE_H_
#define VELLUM_TOOLS_ALLOCATOR_REPLAY_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace vellum::allocator_replay {

// One call of an allocator.
struct Operation {
  uint64_t bytes = 0;       // asked for, also where it frees
  uint32_t allocation = 0;  // which allocation it makes or frees, counted from 0
  uint32_t stream = 0;      // 0 is the default stream, the others are numbered as they appear
  bool frees = false;
};

// What a program asked of an allocator, in order.
struct Trace {
  std::vector<Operation> operations;
  size_t allocations = 0;
  size_t frees = 0;
  size_t ignored = 0;      // rows of failed allocations and of 0 bytes
  size_t older_frees = 0;  // of what was allocated before the log began; ignored too
  uint64_t max_live = 0;   // the most bytes that were live at once: no allocator can reserve less
  size_t live_at_end = 0;  // allocations that the trace does not free
};

inline constexpr uint64_t kMaxBytes = uint64_t{1} << 46;  // of one allocation

// Reads a log of RMM's logging adaptor: comma-separated columns named by the first line, of which Action, Pointer and
// Size are needed and Stream is used; their order is free. Actions are "allocate", "free", and "allocate failure",
// which is passed over. Pointers and streams are hexadecimal, with or without "0x".
//
// The log is not trusted. Throws InvalidArgumentError naming `name` and the line where a column is missing or unknown
// actions or numbers stand, where memory is handed out twice, freed twice, or freed with another size. A log may begin
// in the middle of a program: frees of pointers that it has not seen before are passed over.
Trace read_trace(std::istream& in, const std::string& name);

// The same of a file. Throws IoError when it cannot be opened or read.
Trace read_trace_file(const std::string& path);

}  // namespace vellum::allocator_replay

#endif  // VELLUM_TOOLS_ALLOCATOR_REPLAY_TRACE_H_
