#include "vellum/allocator/arena_scope.h"

#include <algorithm>
#include <new>
#include <utility>

#include "vellum/allocator/request.h"
#include "vellum/allocator/size_classes.h"

namespace vellum {
namespace internal {
namespace {

constinit thread_local ArenaScopeBase* innermost_scope = nullptr;

}  // namespace

ArenaScopeBase::ArenaScopeBase(Device device) : device_(device), outer_(innermost_scope) { innermost_scope = this; }

ArenaScopeBase::~ArenaScopeBase() { innermost_scope = outer_; }

ArenaScopeBase* ArenaScopeBase::innermost(Device device) noexcept {
  ArenaScopeBase* scope = innermost_scope;
  while (scope && scope->device_ != device) scope = scope->outer_;
  return scope;
}

}  // namespace internal

ArenaScope::~ArenaScope() {
  for (const Chunk& chunk : chunks_) arena_->close(chunk.region);
}

Status ArenaScope::allocate(ArenaAllocator& arena, size_t bytes, size_t alignment, const Stream& stream,
                            Block* out) noexcept try {
  if (const Status status = internal::check_request(bytes, alignment); !status.ok()) return status;
  if (!arena_) arena_ = &arena;
  const size_t step = std::max(alignment, kDefaultAlignment);
  if (arena_ == &arena && bytes + step <= arena.options().chunk_bytes / 2)
    if (Chunk* chunk = chunk_for(bytes + step, stream)) {
      const auto start = reinterpret_cast<uintptr_t>(chunk->region->block.data);
      const size_t offset = internal::round_up(start + chunk->used, step) - start;
      if (arena.place(*chunk->region, stream, offset, bytes, out) == ArenaAllocator::Placed::kDone) {
        chunk->used = offset + internal::round_up(bytes, kDefaultAlignment);
        return ok_status();
      }
      chunk->used = arena.options().chunk_bytes;  // another next: this one's stream has ended
    }
  return arena.allocate_upstream(bytes, alignment, stream, out);
} catch (const std::bad_alloc&) {
  return arena.allocate_upstream(bytes, alignment, stream, out);
}

// A chunk of the stream with room for `bytes`; null when upstream has none.
ArenaScope::Chunk* ArenaScope::chunk_for(size_t bytes, const Stream& stream) {
  const size_t chunk_bytes = arena_->options().chunk_bytes;
  const auto found =
      std::find_if(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) { return chunk.stream == stream; });
  const auto index = static_cast<size_t>(found - chunks_.begin());
  if (found != chunks_.end() && found->used + bytes <= chunk_bytes) return &*found;
  chunks_.reserve(chunks_.size() + 1);  // so that nothing throws once there is a region
  internal::ArenaRegion* region = nullptr;
  if (!arena_->open(chunk_bytes, stream, false, &region).ok()) return nullptr;
  if (index == chunks_.size())
    chunks_.push_back({region, stream, 0});
  else
    arena_->close(std::exchange(chunks_[index], Chunk{region, stream, 0}).region);
  return &chunks_[index];
}

}  // namespace vellum
