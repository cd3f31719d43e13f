#include "vellum/memory/predict.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "vellum/allocator/direct.h"
#include "vellum/allocator/memory.h"
#include "vellum/allocator/pinned.h"
#include "vellum/device/device_api.h"
#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"
#include "vellum/memory/fake_device.h"
#include "vellum/tensor/dims.h"
#include "vellum/tensor/generator.h"
#include "vellum/tensor/internal/dry_run.h"

namespace vellum {
namespace {

// The annotations of this thread from the outside in, neighbours of modules joined by dots.
std::string what_runs() {
  std::vector<const Annotation*> frames;
  for (const Annotation* a = thread_state().annotation; a; a = a->parent) frames.push_back(a);
  std::string text;
  for (size_t i = frames.size(); i-- > 0;) {
    const bool joins = i + 1 < frames.size() && frames[i]->kind == Annotation::Kind::kModule &&
                       frames[i + 1]->kind == Annotation::Kind::kModule;
    if (frames[i]->text.empty()) continue;
    text += text.empty() ? "" : joins ? "." : " > ";
    text += frames[i]->text;
  }
  return text.empty() ? "outside of operators" : text;
}

// An allocator of a pool, on the memory of the device or on a fake of it. Hears of the device's streams that end.
class PoolMemory {
 public:
  PoolMemory(Device device, std::unique_ptr<internal::FakeDevice> fake, std::unique_ptr<Allocator> strategy)
      : fake_(std::move(fake)), strategy_(std::move(strategy)), ends_([this, device](const Stream& stream) {
          if (stream.device == device) strategy_->release_stream(stream);
        }) {}

  Allocator& strategy() const { return *strategy_; }
  bool has_live_blocks() const {
    const MemoryStats stats = strategy_->stats();
    return stats.allocations != stats.frees;
  }

 private:
  const std::unique_ptr<internal::FakeDevice> fake_;
  const std::unique_ptr<Allocator> strategy_;
  const StreamEndListener ends_;
};

// For tensors that were left in it, which free their memory into it whenever they die. Lets those go that nothing lives
// in any more.
void keep(std::unique_ptr<PoolMemory> left) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::vector<std::unique_ptr<PoolMemory>>;
  std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& kept) { return !kept->has_live_blocks(); });
  all.push_back(std::move(left));
}

// One device's allocator, which nobody used before.
class Pool {
 public:
  Pool(const PredictOptions& options, bool dry) : device_(options.device) {
    std::unique_ptr<internal::FakeDevice> fake;
    // A device without memory needs no other in its place.
    if (dry && !device_api(device_.type).shape_only)
      fake = std::make_unique<internal::FakeDevice>(device_, options.budget);
    const Device memory = fake ? fake->device() : device_;
    auto strategy = options.make_strategy ? options.make_strategy(memory) : make_strategy(options.strategy, memory);
    memory_ = std::make_unique<PoolMemory>(device_, std::move(fake), std::move(strategy));
  }
  ~Pool() {
    for (auto* memory : {&memory_, &pinned_})
      if (*memory && (*memory)->has_live_blocks()) keep(std::move(*memory));
  }

  Device device() const { return device_; }
  Allocator& strategy() const { return memory_->strategy(); }
  // Page-locked memory of the host for the device, which no peaks tell of.
  Allocator& pinned() {
    if (!pinned_) {
      if (!device_api(device_.type).host_allocate)
        throw_error<NotImplementedError>("pinned memory: ", device_, " has no page-locked host memory");
      auto fake = std::make_unique<internal::FakeDevice>(device_, 0);
      auto strategy = std::make_unique<PinnedAllocator>(std::make_unique<DirectAllocator>(fake->device()),
                                                        /*host_accessible=*/false);
      pinned_ = std::make_unique<PoolMemory>(device_, std::move(fake), std::move(strategy));
    }
    return pinned_->strategy();
  }
  bool owns(const Allocator* source) const {
    return source == &strategy() || (pinned_ && source == &pinned_->strategy());
  }

  // Called before each allocation, whose effect shows at the next call.
  void note() {
    settle();
    upcoming_ = what_runs();
  }

  MemoryPeaks peaks() {
    settle();
    const MemoryStats stats = strategy().stats();
    return {device_,
            std::string(strategy().name()),
            stats.requested.peak,
            stats.active.peak,
            stats.reserved.peak,
            stats.split.peak,
            stats.allocations,
            active_at_,
            reserved_at_};
  }

 private:
  void settle() {
    const MemoryStats stats = strategy().stats();
    if (stats.active.peak > active_) active_at_ = upcoming_;
    if (stats.reserved.peak > reserved_) reserved_at_ = upcoming_;
    active_ = stats.active.peak;
    reserved_ = stats.reserved.peak;
  }

  Device device_;
  std::unique_ptr<PoolMemory> memory_, pinned_;
  int64_t active_ = 0, reserved_ = 0;
  std::string upcoming_, active_at_, reserved_at_;
};

class Pools final : public AllocatorOverride {
 public:
  Pools(const PredictOptions& options, bool dry) : options_(options), dry_(dry) { pool(options.device); }

  Allocator& allocator_for(Device device) override {
    Pool& found = pool(device);
    if (dry_) found.note();
    return found.strategy();
  }

  int64_t allocated_on_this_thread() noexcept override {
    int64_t sum = 0;
    for (const auto& p : pools_) sum += p->strategy().allocated_on_this_thread();
    return sum;
  }

  MemoryPeaks peaks() { return pool(options_.device).peaks(); }
  Allocator& pinned(Device device) { return pool(device).pinned(); }
  bool owns(const Allocator* source) const {
    return std::any_of(pools_.begin(), pools_.end(), [source](const auto& p) { return p->owns(source); });
  }

 private:
  // The strategy of the device's own allocator.
  static std::string usual_strategy(Device device) {
    const ModeGuard none_in_its_place(0, kModeAllocator);
    return std::string(allocator(device).name());
  }

  Pool& pool(Device device) {
    for (const auto& p : pools_)
      if (p->device() == device) return *p;
    PredictOptions options{.device = device};
    if (device == options_.device) options = options_;
    if (options.strategy.empty() && !options.make_strategy) options.strategy = usual_strategy(device);
    return *pools_.emplace_back(std::make_unique<Pool>(options, dry_));
  }

  const PredictOptions& options_;
  const bool dry_;
  std::vector<std::unique_ptr<Pool>> pools_;
};

// --- Tensors that a dry run made and that still have their memory.

class MadeTensors {
 public:
  explicit MadeTensors(Pools& pools);
  ~MadeTensors();
  MadeTensors(const MadeTensors&) = delete;
  MadeTensors& operator=(const MadeTensors&) = delete;

  void add(const internal::TensorImpl& t) {
    live_.emplace(t.storage, Made{str_cat(t.dtype, Dims(t.shape_span()), " of ", what_runs()), nullptr});
    t.storage->watch(forget, t.storage);
  }
  // Room for one value of any dtype.
  void* value_of(const internal::TensorImpl& t) {
    std::unique_ptr<Value>& value = live_.at(t.storage).value;
    value = std::make_unique<Value>();
    return value.get();
  }
  Pools& pools() const { return pools_; }

  size_t size() const { return live_.size(); }
  // The first of them.
  std::string description() const {
    std::string text;
    size_t told = 0;
    for (const auto& [storage, made] : live_) {
      if (told++ == 3) return text + ", ...";
      text += (text.empty() ? "" : ", ") + made.what;
    }
    return text;
  }

 private:
  struct alignas(kDefaultAlignment) Value {  // as other memory, which kernels look at
    std::byte bytes[sizeof(complex128)] = {};
  };
  struct Made {
    std::string what;
    std::unique_ptr<Value> value;
  };
  static void forget(void* storage);

  Pools& pools_;
  MadeTensors* const outer_;
  std::map<const void*, Made> live_;
};

// Those of this thread's innermost dry run.
constinit thread_local MadeTensors* tls_made = nullptr;

MadeTensors::MadeTensors(Pools& pools) : pools_(pools), outer_(std::exchange(tls_made, this)) {}
// Values of numbers that are left behind may still be read.
MadeTensors::~MadeTensors() {
  static std::mutex& mutex = *new std::mutex;
  static auto& kept = *new std::vector<std::unique_ptr<Value>>;
  tls_made = outer_;
  std::lock_guard lock(mutex);
  for (auto& [storage, made] : live_)
    if (made.value) kept.push_back(std::move(made.value));
}

// Finds nothing where the dry run is over.
void MadeTensors::forget(void* storage) {
  for (MadeTensors* made = tls_made; made; made = made->outer_) made->live_.erase(storage);
}

class DryRunHook final : public DryRun {
 public:
  void made(const internal::TensorImpl& tensor) override { tls_made->add(tensor); }
  void* value_of(const internal::TensorImpl& number) override { return tls_made->value_of(number); }
  Allocator& pinned(Device device) override { return tls_made->pools().pinned(device); }
  bool owns(const Storage& storage) const override { return tls_made->pools().owns(storage.source()); }
};

[[maybe_unused]] const bool installed = [] {
  hooks().dry_run = new DryRunHook;
  return true;
}();

void check_function(const char* what, bool is_given) {
  if (!is_given) throw_error<InvalidArgumentError>(what, ": the function is empty");
}

// --- Tables

std::string row(const char* label, std::span<const std::pair<std::string, MemoryPeaks>> columns,
                const std::function<std::string(const MemoryPeaks&)>& cell) {
  char text[64];
  std::snprintf(text, sizeof text, "%-14s", label);
  std::string line = text;
  for (const auto& [name, peaks] : columns) {
    std::snprintf(text, sizeof text, " %28s", cell(peaks).c_str());
    line += text;
  }
  return line + "\n";
}

std::string bytes_row(const char* label, std::span<const std::pair<std::string, MemoryPeaks>> columns,
                      int64_t MemoryPeaks::*bytes) {
  return row(label, columns, [bytes](const MemoryPeaks& peaks) {
    return str_cat(peaks.*bytes, " (", format_bytes(peaks.*bytes), ")");
  });
}

std::string moments(const std::string& name, const MemoryPeaks& peaks) {
  if (peaks.active_at.empty()) return {};
  return str_cat(name, ": live peak in ", peaks.active_at, "; reserved peak in ", peaks.reserved_at, "\n");
}

}  // namespace

MemoryPeaks predict_peak(const std::function<void()>& fn, const PredictOptions& options) {
  check_function("predict_peak", fn != nullptr);
  Pools pools(options, true);
  MadeTensors made(pools);
  {
    const RandomStateGuard random;
    const AllocatorScope allocators(pools);
    const ModeGuard dry(kModeDryRun, 0);
    fn();
  }
  if (made.size() > 0)
    throw_error<InvalidArgumentError>("predict_peak: ", made.size(),
                                      " tensors outlive the function, where they have no memory: ", made.description(),
                                      "; make and drop them within it");
  return pools.peaks();
}

MemoryPeaks measure_peak(const std::function<void()>& fn, const PredictOptions& options) {
  check_function("measure_peak", fn != nullptr);
  if (internal::is_dry_run())
    throw_error<InvalidArgumentError>(
        "measure_peak: nothing is run within a dry run (predict_peak); measure outside of the predicted function");
  Pools pools(options, false);
  {
    const AllocatorScope allocators(pools);
    fn();
  }
  return pools.peaks();
}

std::string peaks_table(std::span<const std::pair<std::string, MemoryPeaks>> columns) {
  if (columns.empty()) return {};
  std::string text;
  char header[64];
  std::snprintf(header, sizeof header, "%-14s", "peak");
  text += header;
  for (const auto& [name, peaks] : columns) {
    std::snprintf(header, sizeof header, " %28s", name.c_str());
    text += header;
  }
  text +=
      "\n" + bytes_row("requested", columns, &MemoryPeaks::requested) +
      bytes_row("live", columns, &MemoryPeaks::active) + bytes_row("reserved", columns, &MemoryPeaks::reserved) +
      bytes_row("fragmentation", columns, &MemoryPeaks::fragmentation) +
      row("allocations", columns, [](const MemoryPeaks& peaks) { return str_cat(peaks.allocations); }) +
      row("strategy", columns, [](const MemoryPeaks& peaks) { return str_cat(peaks.strategy, " on ", peaks.device); });
  for (const auto& [name, peaks] : columns) text += moments(name, peaks);
  return text;
}

int64_t largest_batch(const std::function<void(int64_t)>& fn, int64_t budget, const LargestBatchOptions& options) {
  check_function("largest_batch", fn != nullptr);
  if (budget <= 0)
    throw_error<InvalidArgumentError>("largest_batch: the budget must be positive, it is ", budget, " bytes");
  if (options.at_most <= 0)
    throw_error<InvalidArgumentError>("largest_batch: at_most must be positive, it is ", options.at_most);
  PredictOptions predict = options.predict;
  predict.budget = budget;
  const auto fits = [&](int64_t batch) {
    BatchTrial trial{.batch = batch};
    try {
      trial.peaks = predict_peak([&] { fn(batch); }, predict);
      trial.fits = true;
    } catch (const OutOfMemoryError&) {
    }
    if (options.on_trial) options.on_trial(trial);
    return trial.fits;
  };
  int64_t good = 0, bad = 1;
  while (fits(bad)) {
    good = bad;
    if (good == options.at_most) return good;
    bad = std::min(options.at_most, good > options.at_most / 2 ? options.at_most : 2 * good);
  }
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace vellum
