#include "vellum/tests/fakes/sim.h"

#include "vellum/device/error.h"
#include "vellum/tests/fakes/sim_device.h"
#include "vellum/tests/fakes/sim_kernels.h"
#include "vellum/tests/fakes/sim_protection.h"
#include "vellum/tests/fakes/sim_state.h"

namespace vellum::sim {

State& state() {
  static State& instance = *new State;
  return instance;
}

namespace {

std::lock_guard<std::recursive_mutex> lock() { return std::lock_guard(state().mutex); }

}  // namespace

const Backend& backend() {
  static const Backend instance{.name = "sim", .device = &device_functions(), .kernels = kernels()};
  report_accesses();
  return instance;
}

const Backend& bare_backend() {
  static const Backend instance{.name = "bare", .device = &device_functions()};
  return instance;
}

void set_mode(Mode mode, uint64_t seed) {
  const auto locked = lock();
  state().queues.set_mode(mode, seed);
}

Mode mode() {
  const auto locked = lock();
  return state().queues.mode();
}

ModeScope::ModeScope(Mode mode, uint64_t seed) : saved_(sim::mode()) {
  const auto locked = lock();
  for (int device = 0; device < kDevices; ++device) state().queues.run_all(device);
  set_mode(mode, seed);
}

ModeScope::~ModeScope() {
  const auto locked = lock();
  for (int device = 0; device < kDevices; ++device) state().queues.run_all(device);
  set_mode(saved_);
}

std::vector<Stream> runnable(Device device) {
  const auto locked = lock();
  std::vector<Stream> streams;
  for (const StreamHandle handle : state().queues.runnable(device.index)) streams.push_back({device, handle});
  return streams;
}

size_t pending(const Stream& stream) {
  const auto locked = lock();
  return state().queues.pending(stream.device.index, stream.handle);
}

bool run_one(const Stream& stream) {
  const auto locked = lock();
  return state().queues.run_one(stream.device.index, stream.handle);
}

size_t run_all(Device device) {
  const auto locked = lock();
  return state().queues.run_all(device.index);
}

void Gate::open() const {
  const auto locked = lock();
  point_->reached = true;
  if (mode() != Mode::kImmediate) return;
  for (int device = 0; device < kDevices; ++device) state().queues.run_all(device);
}

Gate hold(const Stream& stream) {
  const auto locked = lock();
  Gate gate;
  gate.point_ = std::make_shared<Point>();
  throw_if_error(state().queues.enqueue(stream.device.index, stream.handle, {.what = "gate", .waits_for = gate.point_}),
                 "hold");
  return gate;
}

void enqueue(const Stream& stream, std::string_view what, std::function<Status()> work) {
  const auto locked = lock();
  throw_if_error(state().queues.enqueue(stream.device.index, stream.handle, {.what = what, .run = std::move(work)}),
                 "enqueue");
}

void* reach(const void* device_pointer, size_t bytes) {
  const auto locked = lock();
  return state().memory.resolve(-1, device_pointer, bytes);
}

void set_memory_limit(Device device, size_t bytes) {
  const auto locked = lock();
  state().memory.set_limit(device.index, bytes);
}

void reset(Device device) {
  const auto locked = lock();
  state().queues.reset(device.index);
  state().memory.set_limit(device.index, kDefaultLimit);
}

}  // namespace vellum::sim
