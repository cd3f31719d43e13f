#include "vellum/tests/fakes/sim_queues.h"

#include <set>
#include <string>

#include "vellum/device/error.h"

namespace vellum::sim {
namespace {

constexpr Status kNoStream{StatusCode::kInvalidArgument, "sim: this device has no such stream"};

// The text of a Status lives as long as the program.
const char* kept(std::string text) {
  static std::set<std::string>& texts = *new std::set<std::string>;
  return texts.insert(std::move(text)).first->c_str();
}

bool is_ready(const Item& item) { return !item.waits_for || item.waits_for->reached; }

}  // namespace

Queues::Queues() {
  for (DeviceQueues& device : devices_) device.streams[0];
}

void Queues::set_mode(Mode mode, uint64_t seed) {
  mode_ = mode;
  random_.seed(seed);
}

void Queues::reset(int device) {
  devices_[device].fault = {};
  auto& streams = devices_[device].streams;
  for (auto& [handle, queue] : streams) {
    for (const Item& item : queue.items)
      if (item.reaches) item.reaches->reached = true;
    queue.items.clear();
  }
  std::erase_if(streams, [](const auto& entry) { return entry.second.destroyed; });
}

Queues::Queue* Queues::find(int device, StreamHandle stream) {
  const auto found = devices_[device].streams.find(stream);
  return found == devices_[device].streams.end() ? nullptr : &found->second;
}

Status Queues::create_stream(int device, StreamHandle* out) {
  *out = ++last_handle_;
  devices_[device].streams[*out];
  return ok_status();
}

Status Queues::destroy_stream(int device, StreamHandle stream) {
  Queue* const queue = find(device, stream);
  if (!queue || queue->destroyed || stream == 0) return kNoStream;
  queue->destroyed = true;
  if (queue->items.empty()) devices_[device].streams.erase(stream);
  return ok_status();
}

Status Queues::enqueue(int device, StreamHandle stream, Item item) {
  Queue* const queue = find(device, stream);
  if (!queue || queue->destroyed) return kNoStream;
  queue->items.push_back(std::move(item));
  if (mode_ == Mode::kImmediate)
    while (run_all(0) + run_all(1) > 0) continue;
  churn();
  return ok_status();
}

Status Queues::mark(int device, StreamHandle stream, std::string_view what, PointRef* out) {
  *out = std::make_shared<Point>(Point{false, device, stream});
  return enqueue(device, stream, {.what = what, .reaches = *out});
}

EventHandle Queues::create_event(int device) {
  events_[++last_handle_] = {device, std::make_shared<Point>(Point{.reached = true})};
  return last_handle_;
}

PointRef* Queues::event(int device, EventHandle event) {
  const auto found = events_.find(event);
  return found == events_.end() || (device >= 0 && found->second.device != device) ? nullptr : &found->second.latest;
}

void Queues::run_front(int device, StreamHandle stream) {
  std::deque<Item>& items = find(device, stream)->items;
  const Item item = std::move(items.front());
  items.pop_front();
  Status status;
  if (item.run) {
    running_ = item.what;
    status = item.run();
    running_ = {};
  }
  if (item.reaches) item.reaches->reached = true;
  if (!status.ok()) fail(device, stream, item.what, status);
  if (const Queue* left = find(device, stream); left && left->destroyed && left->items.empty())
    devices_[device].streams.erase(stream);
}

void Queues::fail(int device, StreamHandle stream, std::string_view what, Status status) {
  reset(device);
  const char* const text =
      kept(str_cat("sim: '", what, "' failed on stream ", stream, ": ", status.message ? status.message : "no reason"));
  devices_[device].fault = {StatusCode::kDeviceError, text};
}

bool Queues::run_one(int device, StreamHandle stream) {
  Queue* const queue = find(device, stream);
  if (!queue || queue->items.empty() || !is_ready(queue->items.front())) return false;
  run_front(device, stream);
  return true;
}

size_t Queues::run_all(int device) {
  size_t count = 0;
  for (std::vector<StreamHandle> ready; !(ready = runnable(device)).empty();)
    for (const StreamHandle stream : ready) count += run_one(device, stream);
  return count;
}

std::vector<StreamHandle> Queues::runnable(int device) const {
  std::vector<StreamHandle> ready;
  for (const auto& [handle, queue] : devices_[device].streams)
    if (!queue.items.empty() && is_ready(queue.items.front())) ready.push_back(handle);
  return ready;
}

size_t Queues::pending(int device, StreamHandle stream) const {
  const auto found = devices_[device].streams.find(stream);
  return found == devices_[device].streams.end() ? 0 : found->second.items.size();
}

bool Queues::run_any() {
  std::vector<Place> places;
  for (int device = 0; device < kDevices; ++device)
    for (const StreamHandle stream : runnable(device)) places.push_back({device, stream});
  if (places.empty()) return false;
  const Place place = places[random_() % places.size()];
  run_front(place.device, place.stream);
  return true;
}

void Queues::churn() {
  if (mode_ != Mode::kRandom) return;
  for (uint64_t count = random_() % 3; count > 0; --count)
    if (!run_any()) return;
}

bool Queues::next_towards(const PointRef& point, Place* place) {
  for (const Point* at = point.get(); at->device >= 0;) {
    *place = {at->device, at->stream};
    const Item& front = find(at->device, at->stream)->items.front();
    if (is_ready(front)) return true;
    at = front.waits_for.get();
  }
  return false;
}

Status Queues::deadlock(const PointRef& point) {
  std::string text = "sim: this wait would never end: ";
  if (point->device < 0) text += "it is for a closed gate";
  for (const Point* at = point.get(); at->device >= 0;) {
    const Item& front = find(at->device, at->stream)->items.front();
    text += str_cat("stream ", at->stream, " of sim:", at->device, " waits for ");
    at = front.waits_for.get();
    if (at->device < 0) text += "a gate that is closed";
  }
  return {StatusCode::kDeviceError, kept(std::move(text))};
}

Status Queues::finish(const PointRef& point) {
  while (!point->reached) {
    Place place;
    if (mode_ == Mode::kRandom) {
      if (!run_any()) return deadlock(point);
    } else {
      if (!next_towards(point, &place)) return deadlock(point);
      run_front(place.device, place.stream);
    }
  }
  return point->device >= 0 ? fault(point->device) : ok_status();
}

Status Queues::finish_stream(int device, StreamHandle stream) {
  PointRef end;
  if (const Status status = mark(device, stream, "synchronize", &end); !status.ok()) return status;
  return finish(end);
}

Status Queues::finish_device(int device) {
  std::vector<StreamHandle> streams;
  for (const auto& [handle, queue] : devices_[device].streams)
    if (!queue.items.empty()) streams.push_back(handle);
  for (const StreamHandle stream : streams) {
    Queue* const queue = find(device, stream);
    if (!queue || queue->items.empty()) continue;
    PointRef end = std::make_shared<Point>(Point{false, device, stream});
    queue->items.push_back({.what = "synchronize", .reaches = end});
    if (const Status status = finish(end); !status.ok()) return status;
  }
  return fault(device);
}

}  // namespace vellum::sim
