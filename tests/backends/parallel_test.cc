#include "vellum/backends/cpu/parallel.h"

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/device/error.h"
#include "vellum/device/thread_state.h"

namespace vellum {
namespace {

class ParallelTest : public ::testing::Test {
 protected:
  ~ParallelTest() override { set_num_threads(before_); }

 private:
  int before_ = get_num_threads();
};

TEST_F(ParallelTest, CoversEachElementOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    for (const int64_t n : {0, 1, 2, 10, 99, 100, 101, 1000})
      for (const int64_t grain : {1, 3, 100, 5000}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
        parallel_for(5, 5 + n, grain, [&](int64_t first, int64_t last) {
          EXPECT_LT(first, last);
          for (int64_t i = first; i < last; ++i) ++seen[static_cast<size_t>(i - 5)];
        });
        for (const auto& count : seen) EXPECT_EQ(count, 1);
      }
  }
}

TEST_F(ParallelTest, ShortRangesStayOnTheCallingThread) {
  set_num_threads(4);
  const auto caller = std::this_thread::get_id();
  int calls = 0;
  parallel_for(0, 100, 100, [&](int64_t first, int64_t last) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(last - first, 100);
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST_F(ParallelTest, LongRangesUseSeveralThreads) {
  set_num_threads(3);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_for(0, 300, 1, [&](int64_t, int64_t) {
    std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 3u);
}

TEST_F(ParallelTest, NestedCallsRunSerially) {
  set_num_threads(3);
  std::atomic<int> total{0};
  parallel_for(0, 3, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const auto thread = std::this_thread::get_id();
      parallel_for(0, 10, 1, [&](int64_t b, int64_t e) {
        EXPECT_EQ(std::this_thread::get_id(), thread);
        total += static_cast<int>(e - b);
      });
    }
  });
  EXPECT_EQ(total, 30);
}

TEST_F(ParallelTest, ThreadsInheritModeAndAnnotations) {
  set_num_threads(3);
  const ModeGuard mode(kModeProfiler, kModeGrad);
  const AnnotationScope annotation(Annotation::Kind::kModule, "encoder");
  const ThreadState expected = thread_state();
  parallel_for(0, 3, 1, [&](int64_t, int64_t) {
    EXPECT_EQ(thread_state().mode, expected.mode);
    EXPECT_EQ(thread_state().annotation, expected.annotation);
  });
}

TEST_F(ParallelTest, RethrowsAnException) {
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    EXPECT_THROW(parallel_for(0, 3, 1, [](int64_t, int64_t) { throw std::runtime_error("broken"); }),
                 std::runtime_error);
  }
}

TEST_F(ParallelTest, RejectsBadNumbersOfThreads) {
  const int before = get_num_threads();
  for (const int bad : {0, -1, 5000}) EXPECT_THROW(set_num_threads(bad), InvalidArgumentError);
  EXPECT_EQ(get_num_threads(), before);
  set_num_threads(2);
  EXPECT_EQ(get_num_threads(), 2);
}

}  // namespace
}  // namespace vellum
