#ifndef VELLUM_TENSOR_TENSOR_IMPL_H_
#define VELLUM_TENSOR_TENSOR_IMPL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "vellum/device/device.h"
#include "vellum/device/object_pool.h"
#include "vellum/tensor/dims.h"
#include "vellum/tensor/dtype.h"
#include "vellum/tensor/storage.h"

namespace vellum {

// How a view came to be; decides whether it may be written in place while gradients are recorded.
enum class CreationMode : uint8_t {
  kDefault,
  kNoGrad,       // made while grad mode was off, used while it is on
  kMultiOutput,  // one of several views that one operator returned (split)
};

namespace internal {

struct LiveSlot;

// A node of the dynamic graph as a tensor sees it: something to keep alive. autograd/ derives from it; destruction
// is iterative there (dispose() queues instead of recursing).
class GraphNode {
 public:
  void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) dispose();
  }
  virtual std::string_view name() const = 0;  // "MulBackward"; static storage duration
  uint32_t use_count() const { return refs_.load(std::memory_order_relaxed); }

  LiveSlot* live_slot = nullptr;  // see LiveTable; of a node that was made while the ledger was on

 protected:
  virtual ~GraphNode() = default;
  virtual void dispose() noexcept = 0;

 private:
  std::atomic<uint32_t> refs_{1};
};

// What autograd/ hangs on a tensor beyond its node: gradient, hooks, the accumulator of a leaf.
class AutogradState {
 public:
  virtual ~AutogradState() = default;
};

// What a Tensor handle points to. Pooled, intrusively counted. Sizes and strides are in elements, the first `rank`
// entries are set. Not thread-safe beyond its reference count.
struct TensorImpl {
  enum Flag : uint8_t {
    kRequiresGrad = 1,   // a leaf that wants a gradient
    kContiguous = 2,     // row-major without gaps
    kWrappedNumber = 4,  // made from a C++ number: promotes by category only
  };

  std::atomic<uint32_t> refs{1};
  DType dtype = DType::kUndefined;
  uint8_t rank = 0;
  uint8_t flags = kContiguous;
  CreationMode creation = CreationMode::kDefault;
  Device device;
  MemoryRole role = MemoryRole::kNone;  // see set_memory_role
  uint32_t output_nr = 0;               // which output of grad_fn this is
  // Version of the storage when grad_fn of this view was made. Written after it, for threads that read the view may
  // renew its history.
  std::atomic<uint32_t> view_version{0};
  Storage* storage = nullptr;
  void* data = nullptr;  // of the first element
  int64_t numel = 0;
  int64_t offset = 0;  // of the first element in the storage, in elements of dtype
  GraphNode* grad_fn = nullptr;
  TensorImpl* base = nullptr;  // what this is a view of; never itself a view
  std::unique_ptr<AutogradState> autograd;
  std::unique_ptr<std::string> name;
  LiveSlot* live_slot = nullptr;  // see LiveTable; of a tensor that has a role or was made while the ledger was on
  int64_t sizes[kMaxRank];
  int64_t strides[kMaxRank];

  bool is_contiguous() const { return flags & kContiguous; }
  // A view also follows a base that was written, and so got a history, after the view was made. Its own history is
  // looked at last, when no other thread is renewing it.
  bool needs_grad() const {
    return (base != nullptr && is_stale() && base->needs_grad()) || grad_fn != nullptr || (flags & kRequiresGrad);
  }
  // Of a view: whether its memory was written through another handle since its history was made.
  bool is_stale() const {
    return creation != CreationMode::kNoGrad && view_version.load(std::memory_order_acquire) != storage->version();
  }
  std::span<const int64_t> shape_span() const { return {sizes, rank}; }
  std::span<const int64_t> stride_span() const { return {strides, rank}; }

  void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (refs.load(std::memory_order_acquire) == 1 || refs.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

  static TensorImpl* create() { return new (pool_allocate(sizeof(TensorImpl))) TensorImpl; }

 private:
  TensorImpl() = default;
  ~TensorImpl() = default;
  void destroy();
};

}  // namespace internal
}  // namespace vellum

#endif  // VELLUM_TENSOR_TENSOR_IMPL_H_
