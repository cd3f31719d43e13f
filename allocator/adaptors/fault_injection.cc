#include "vellum/allocator/adaptors/fault_injection.h"

#include <utility>

namespace vellum {

FaultInjectionAdaptor::FaultInjectionAdaptor(std::unique_ptr<Allocator> upstream, InjectedFaults faults)
    : Adaptor("fault_injection", std::move(upstream)), faults_(std::move(faults)) {}

bool FaultInjectionAdaptor::fails(size_t bytes) {
  std::lock_guard lock(mutex_);
  const int64_t number = allocations_++;
  const bool fails = number == faults_.at || (faults_.from >= 0 && number >= faults_.from) ||
                     (faults_.every > 0 && (number + 1) % faults_.every == 0) ||
                     (faults_.if_bytes && faults_.if_bytes(bytes));
  failures_ += fails;
  return fails;
}

Status FaultInjectionAdaptor::allocate(size_t bytes, size_t alignment, const Stream& stream, Block* out) noexcept {
  if (fails(bytes)) return {StatusCode::kOutOfMemory, "a FaultInjectionAdaptor was told to fail this allocation"};
  return Adaptor::allocate(bytes, alignment, stream, out);
}

void FaultInjectionAdaptor::inject(InjectedFaults faults) {
  std::lock_guard lock(mutex_);
  faults_ = std::move(faults);
  allocations_ = 0;
  failures_ = 0;
}

int64_t FaultInjectionAdaptor::allocations() const {
  std::lock_guard lock(mutex_);
  return allocations_;
}

int64_t FaultInjectionAdaptor::failures() const {
  std::lock_guard lock(mutex_);
  return failures_;
}

}  // namespace vellum
