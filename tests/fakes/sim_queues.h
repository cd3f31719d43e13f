#ifndef VELLUM_TESTS_FAKES_SIM_QUEUES_H_
#define VELLUM_TESTS_FAKES_SIM_QUEUES_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string_view>

#include "vellum/device/device_api.h"
#include "vellum/tests/fakes/sim.h"
#include "vellum/tests/fakes/sim_memory.h"

namespace vellum::sim {

// A moment that other work waits for: a recorded event in a stream, or a gate.
struct Point {
  bool reached = false;
  int device = -1;  // of a gate: none
  StreamHandle stream = 0;
};
using PointRef = std::shared_ptr<Point>;

struct Item {
  std::string_view what;  // static storage duration
  std::function<Status()> run = nullptr;
  PointRef waits_for = nullptr;
  PointRef reaches = nullptr;
};

// The streams and events of all devices, not thread-safe.
class Queues {
 public:
  Queues();

  void set_mode(Mode mode, uint64_t seed);
  Mode mode() const { return mode_; }
  // The fault of a device, which lasts until reset.
  Status fault(int device) const { return devices_[device].fault; }
  void reset(int device);

  Status create_stream(int device, StreamHandle* out);
  // What is queued still runs.
  Status destroy_stream(int device, StreamHandle stream);
  Status enqueue(int device, StreamHandle stream, Item item);
  // Enqueues a point.
  Status mark(int device, StreamHandle stream, std::string_view what, PointRef* out);

  // Waiting: runs work as the mode says until the point is reached.
  Status finish(const PointRef& point);
  Status finish_stream(int device, StreamHandle stream);
  Status finish_device(int device);
  // Of a call of the device in kRandom: some work proceeds.
  void churn();

  EventHandle create_event(int device);
  void destroy_event(EventHandle event) { events_.erase(event); }
  // The latest point that was recorded; null when there is none or no such event.
  PointRef* event(int device, EventHandle event);

  std::vector<StreamHandle> runnable(int device) const;
  size_t pending(int device, StreamHandle stream) const;
  bool run_one(int device, StreamHandle stream);
  size_t run_all(int device);

  // The item that is running on some thread, for the report of a segmentation fault.
  std::string_view running() const { return running_; }

 private:
  struct Queue {
    std::deque<Item> items;
    bool destroyed = false;
  };
  struct Place {
    int device = 0;
    StreamHandle stream = 0;
  };
  struct DeviceQueues {
    std::map<StreamHandle, Queue> streams;
    Status fault;
  };
  struct Event {
    int device;
    PointRef latest;
  };

  Queue* find(int device, StreamHandle stream);
  void run_front(int device, StreamHandle stream);
  void fail(int device, StreamHandle stream, std::string_view what, Status status);
  bool run_any();
  // The stream that has to proceed for the point to be reached. False when nothing that can run leads there.
  bool next_towards(const PointRef& point, Place* place);
  Status deadlock(const PointRef& point);

  Mode mode_ = Mode::kRandom;
  std::mt19937_64 random_{1};
  DeviceQueues devices_[kDevices];
  std::map<EventHandle, Event> events_;
  uint64_t last_handle_ = 0;
  std::string_view running_;
};

}  // namespace vellum::sim

#endif  // VELLUM_TESTS_FAKES_SIM_QUEUES_H_
