#ifndef VELLUM_ALLOCATOR_ARENA_SCOPE_H_
#define VELLUM_ALLOCATOR_ARENA_SCOPE_H_

#include <cstddef>
#include <vector>

#include "vellum/allocator/arena.h"
#include "vellum/device/device.h"

namespace vellum {

namespace internal {

// What serves a thread's allocations on one device while it is that device's innermost scope on the thread.
class ArenaScopeBase {
 public:
  ArenaScopeBase(const ArenaScopeBase&) = delete;
  ArenaScopeBase& operator=(const ArenaScopeBase&) = delete;

  virtual Status allocate(ArenaAllocator& arena, size_t bytes, size_t alignment, const Stream& stream,
                          Block* out) noexcept = 0;
  // Of the calling thread; null if there is none.
  static ArenaScopeBase* innermost(Device device) noexcept;

 protected:
  explicit ArenaScopeBase(Device device);
  ~ArenaScopeBase();

 private:
  const Device device_;
  ArenaScopeBase* const outer_;
};

}  // namespace internal

// While it lives, this thread's memory on `device` comes from chunks that are filled from front to back; nothing is
// searched, and nothing freed is used again. A chunk goes back as a whole: when it is full or the scope has ended, and
// its last block has been freed. So blocks may outlive the scope, but one of them then keeps its chunk.
//
//   {
//     ArenaScope scope;
//     const Tensor y = model(x);  // many small blocks, one chunk
//   }
//
// For work that makes many blocks and drops them together; a whole training step would hold the sum of what it
// allocates, which a ReplayScope avoids. Does nothing where the device's allocator is not the arena strategy (see
// set_allocator). Scopes nest; each ends on its own thread.
class ArenaScope final : private internal::ArenaScopeBase {
 public:
  explicit ArenaScope(Device device = {}) : ArenaScopeBase(device) {}
  ~ArenaScope();

 private:
  struct Chunk {
    internal::ArenaRegion* region;
    Stream stream;  // that it was opened for
    size_t used;    // bytes
  };

  Status allocate(ArenaAllocator& arena, size_t bytes, size_t alignment, const Stream& stream,
                  Block* out) noexcept override;
  Chunk* chunk_for(size_t bytes, const Stream& stream);

  ArenaAllocator* arena_ = nullptr;  // that which first asked
  std::vector<Chunk> chunks_;        // one for each stream
};

}  // namespace vellum

#endif  // VELLUM_ALLOCATOR_ARENA_SCOPE_H_
