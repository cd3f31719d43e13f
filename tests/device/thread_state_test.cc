#include "vellum/device/thread_state.h"

#include <thread>

#include "gtest/gtest.h"

namespace vellum {
namespace {

TEST(ThreadState, GradModeIsOnAndNothingElse) { EXPECT_EQ(thread_state().mode, kModeGrad); }

TEST(ThreadState, AModeGuardSetsClearsAndRestores) {
  {
    ModeGuard outer(kModeLedger | kModeAnomaly, kModeGrad);
    EXPECT_EQ(thread_state().mode, kModeLedger | kModeAnomaly);
    {
      ModeGuard inner(kModeGrad, kModeLedger);
      EXPECT_EQ(thread_state().mode, kModeGrad | kModeAnomaly);
    }
    EXPECT_EQ(thread_state().mode, kModeLedger | kModeAnomaly);
    std::thread([] { EXPECT_EQ(thread_state().mode, kModeGrad); }).join();
  }
  EXPECT_EQ(thread_state().mode, kModeGrad);
}

TEST(ThreadState, GradModeAloneKeepsTheFastPath) {
  EXPECT_EQ(kModeGrad & kModeHooked, 0u);
  for (const uint32_t bit : {kModeAutocast, kModeLedger, kModeAnomaly, kModeDryRun, kModeProfiler})
    EXPECT_EQ(bit & kModeHooked, bit);
}

TEST(Annotations, PathsJoinTheFramesOfOneKind) {
  EXPECT_EQ(annotation_path(Annotation::Kind::kModule), "");
  AnnotationScope encoder(Annotation::Kind::kModule, "encoder");
  AnnotationScope layer(Annotation::Kind::kModule, "0");
  AnnotationScope op(Annotation::Kind::kOperator, "matmul");
  {
    AnnotationScope conv(Annotation::Kind::kModule, "conv1");
    EXPECT_EQ(annotation_path(Annotation::Kind::kModule), "encoder.0.conv1");
  }
  EXPECT_EQ(annotation_path(Annotation::Kind::kModule), "encoder.0");
  EXPECT_EQ(annotation_path(Annotation::Kind::kOperator), "matmul");
  EXPECT_EQ(annotation_path(Annotation::Kind::kUser), "");
  std::thread([] { EXPECT_EQ(thread_state().annotation, nullptr); }).join();
}

// Writes down what it is told.
class Listener final : public ProfilerHook {
 public:
  void begin(const Annotation& frame) noexcept override { heard += "(" + std::string(frame.text); }
  void end(const Annotation&) noexcept override { heard += ")"; }
  uint32_t module() noexcept override { return 7; }

  std::string heard;
};

TEST(Annotations, AreToldToTheProfilerWhileItsModeBitIsSet) {
  Listener listener;
  hooks().profiler = &listener;
  { const AnnotationScope quiet(Annotation::Kind::kUser, "quiet"); }
  EXPECT_EQ(observed_module(), 0u);
  {
    const ModeGuard mode(kModeProfiler, 0);
    const AnnotationScope outer(Annotation::Kind::kUser, "outer");
    const AnnotationScope inner(Annotation::Kind::kOperator, "inner");
    EXPECT_EQ(observed_module(), 7u);
  }
  hooks().profiler = nullptr;
  const ModeGuard mode(kModeProfiler, 0);
  { const AnnotationScope nobody(Annotation::Kind::kUser, "nobody"); }
  EXPECT_EQ(observed_module(), 0u);
  EXPECT_EQ(listener.heard, "(outer(inner))");
}

TEST(Hooks, AreOffUnlessInstalled) {
  EXPECT_EQ(hooks().recorder, nullptr);
  EXPECT_EQ(hooks().profiler, nullptr);
}

}  // namespace
}  // namespace vellum
