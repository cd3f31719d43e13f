#ifndef VELLUM_TESTS_MEMORY_PREDICT_TESTING_H_
#define VELLUM_TESTS_MEMORY_PREDICT_TESTING_H_

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "vellum/allocator/strategy.h"
#include "vellum/vellum.h"

namespace vellum::testing {

inline void expect_same(const MemoryPeaks& predicted, const MemoryPeaks& measured) {
  EXPECT_EQ(predicted.requested, measured.requested);
  EXPECT_EQ(predicted.active, measured.active);
  EXPECT_EQ(predicted.reserved, measured.reserved);
  EXPECT_EQ(predicted.fragmentation, measured.fragmentation);
  EXPECT_EQ(predicted.allocations, measured.allocations);
}

// The dry run finds to the byte what the run needs, under every strategy.
inline void expect_exact(const std::function<void()>& program) {
  set_num_threads(1);
  for (const std::string& strategy : strategy_names()) {
    SCOPED_TRACE(strategy);
    const MemoryPeaks predicted = predict_peak(program, {.strategy = strategy});
    EXPECT_GT(predicted.requested, 0);
    EXPECT_GE(predicted.active, predicted.requested);
    EXPECT_GE(predicted.reserved, predicted.active);
    expect_same(predicted, measure_peak(program, {.strategy = strategy}));
  }
}

template <typename E>
std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_MEMORY_PREDICT_TESTING_H_
