#ifndef VELLUM_ALLOCATOR_CACHING_COUNTERS_H_
#define VELLUM_ALLOCATOR_CACHING_COUNTERS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "vellum/allocator/allocator.h"

namespace vellum::internal {

// A number that one thread writes and any thread may read. Costs what a plain integer costs.
class OwnedNumber {
 public:
  int64_t get() const { return value_.load(std::memory_order_relaxed); }
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t change) { set(get() + change); }

 private:
  std::atomic<int64_t> value_{0};
};

// The sum of one quantity over all threads and its peak, as far as the threads have published their parts.
class SharedPeak {
 public:
  // A thread's part changed by `change` and stood at most `high` above where it was last published.
  void publish(int64_t change, int64_t high) { raise(current_.fetch_add(change, std::memory_order_relaxed) + high); }
  int64_t current() const { return current_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  void reset() { peak_.store(current(), std::memory_order_relaxed); }

 private:
  void raise(int64_t value) {
    int64_t seen = peak();
    while (value > seen && !peak_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }

  std::atomic<int64_t> current_{0};
  std::atomic<int64_t> peak_{0};
};

// One thread's part of a quantity. It publishes whenever it has moved by more than kPeakSlack, so that the shared
// peak is off by at most that for each thread, and exact when there is one.
class ThreadCounter {
 public:
  explicit ThreadCounter(SharedPeak& shared) : shared_(shared) {}

  void increase(int64_t bytes) {
    const int64_t now = current_.get() + bytes;
    current_.set(now);
    allocated_.add(bytes);
    if (now > high_.get()) [[unlikely]] {
      high_.set(now);
      if (now > published_.get() + Allocator::kPeakSlack) publish();
    }
  }

  void decrease(int64_t bytes) {
    const int64_t now = current_.get() - bytes;
    current_.set(now);
    if (now < published_.get() - Allocator::kPeakSlack) [[unlikely]]
      publish();
  }

  void publish() {
    const int64_t now = current_.get(), before = published_.get(), high = high_.get();
    published_.set(now);
    high_.set(now);
    shared_.publish(now - before, high - before);
  }

  // May be called on any thread.
  int64_t current() const { return current_.get(); }
  int64_t allocated() const { return allocated_.get(); }
  // The clamp discards what a publication under way makes the two numbers seem.
  int64_t unpublished_high() const {
    return std::clamp<int64_t>(high_.get() - published_.get(), 0, Allocator::kPeakSlack);
  }

 private:
  OwnedNumber current_;    // may be negative: others' blocks freed here
  OwnedNumber allocated_;  // sum of increases
  OwnedNumber published_;  // `current_` when last published
  OwnedNumber high_;       // highest `current_` since then
  SharedPeak& shared_;
};

}  // namespace vellum::internal

#endif  // VELLUM_ALLOCATOR_CACHING_COUNTERS_H_
