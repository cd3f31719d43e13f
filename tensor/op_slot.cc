#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <string>

#include "vellum/device/error.h"
#include "vellum/tensor/internal/resolve.h"
#include "vellum/tensor/op_def.h"

namespace vellum {
namespace {

// Slots join while static initializers run, possibly of several shared objects, hence the atomics.
std::atomic<OpSlot*> newest_slot{nullptr};
std::atomic<int> slot_count{0};
std::atomic<bool> strict{false};

std::string upper_camel_case(std::string_view name) {
  std::string text;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') text += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return text;
}

const KernelEntry* find_native(const OpDef& def, DeviceType device, DType compute) {
  const Backend* backend = find_backend(device);
  if (!backend) {
    device_api(device);  // throws, naming the target to link
    return nullptr;
  }
  const std::string_view name = def.kernel.empty() ? def.name : def.kernel;
  for (const KernelEntry& entry : backend->kernels)
    if (entry.op == name && entry.dtypes.contains(compute)) return &entry;
  return nullptr;
}

}  // namespace

namespace internal {

constinit const KernelEntry kCompositeEntry{"composite", {}, nullptr};
constinit const KernelEntry kHostFallbackEntry{"host fallback", {}, nullptr};
constinit const KernelEntry kShapeOnlyEntry{"shape only", {}, nullptr};
constinit const KernelEntry kMissingEntry{"missing", {}, nullptr};

}  // namespace internal

OpSlot::OpSlot(const OpDef& def, std::string_view family)
    : def_(def),
      family_(family),
      gradient_name_(*new std::string(upper_camel_case(def.name) + "Backward")),
      id_(slot_count.fetch_add(1)),
      next_(nullptr) {
  OpSlot* head = newest_slot.load();
  do {
    next_ = head;
  } while (!newest_slot.compare_exchange_weak(head, this));
}

const KernelEntry* OpSlot::resolve(DeviceType device, DType compute) {
  const KernelEntry* entry = find_native(def_, device, compute);
  if (!entry) {
    const bool shape_only = device_api(device).shape_only;
    const bool in_domain = def_.domain.contains(compute);
    if (def_.composite)
      entry = &internal::kCompositeEntry;
    else if (shape_only && in_domain)
      entry = &internal::kShapeOnlyEntry;
    else if (device != kCPU && !shape_only && in_domain && find_native(def_, kCPU, compute))
      entry = &internal::kHostFallbackEntry;
    else
      entry = &internal::kMissingEntry;
  }
  if (entry == &internal::kHostFallbackEntry && !strict_dispatch())
    std::fprintf(stderr, "vellum: %.*s(%.*s) has no kernel on '%.*s'; it runs on the host, with copies\n",
                 static_cast<int>(def_.name.size()), def_.name.data(), static_cast<int>(dtype_name(compute).size()),
                 dtype_name(compute).data(), static_cast<int>(device_type_name(device).size()),
                 device_type_name(device).data());
  kernels_[device.id][static_cast<int>(compute)].store(entry, std::memory_order_release);
  return entry;
}

Provenance OpSlot::provenance(DeviceType device, DType compute) {
  if (def_.kind == OpKind::kView) return Provenance::kShapeOnly;
  const KernelEntry* entry = find_native(def_, device, compute);
  if (entry) return Provenance::kNative;
  if (def_.composite) return Provenance::kComposite;
  if (!def_.domain.contains(compute)) return Provenance::kNone;
  if (device_api(device).shape_only) return Provenance::kShapeOnly;
  return device != kCPU && find_native(def_, kCPU, compute) ? Provenance::kHostFallback : Provenance::kNone;
}

std::string_view provenance_name(Provenance p) {
  switch (p) {
    case Provenance::kNative:
      return "native";
    case Provenance::kComposite:
      return "composite";
    case Provenance::kHostFallback:
      return "host fallback";
    case Provenance::kShapeOnly:
      return "shape only";
    default:
      return "none";
  }
}

std::vector<OpSlot*> all_operators() {
  std::vector<OpSlot*> slots;
  for (OpSlot* s = newest_slot.load(); s; s = const_cast<OpSlot*>(s->next())) slots.push_back(s);
  std::reverse(slots.begin(), slots.end());
  return slots;
}

OpSlot* find_operator(std::string_view name) {
  for (OpSlot* s = newest_slot.load(); s; s = const_cast<OpSlot*>(s->next()))
    if (s->def().name == name) return s;
  return nullptr;
}

void set_strict_dispatch(bool value) { strict.store(value); }
bool strict_dispatch() { return strict.load(); }

}  // namespace vellum
