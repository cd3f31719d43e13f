// Memory that is freed while other streams use it, with the allocator that serves by default.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vellum/tensor/ops/ops.h"
#include "vellum/tests/fakes/sim.h"

namespace vellum {
namespace {

using ::testing::Each;

class RecordStream : public ::testing::Test {
 protected:
  static constexpr int64_t kNumel = 1024;

  ~RecordStream() override { sim::reset(device_); }

  // A tensor of stream a that is read on stream b, where the work is held up, and dropped. `y` is what b reads from it.
  void use_elsewhere_and_drop(bool record) {
    Tensor x;
    Event made(device_);
    {
      const StreamGuard guard(a_);
      x = full({kNumel}, 3, device_);
      made.record(a_);
    }
    data_ = x.impl().data;
    made.block(b_);
    gate_ = sim::hold(b_);
    const StreamGuard guard(b_);
    y_ = x + 1;
    if (record) x.record_stream(b_);
  }
  Tensor another() {
    const StreamGuard guard(a_);
    return full({kNumel}, 100, device_);
  }
  std::vector<float> values_on_b() {
    const StreamGuard guard(b_);
    return y_.to_vector<float>();
  }

  const Device device_{"sim"};
  const sim::ModeScope mode_{sim::Mode::kManual};
  const Stream a_ = create_stream(device_), b_ = create_stream(device_);
  sim::Gate gate_;
  void* data_ = nullptr;
  Tensor y_;
};

TEST_F(RecordStream, KeepsMemoryUntilTheOtherStreamIsDone) {
  use_elsewhere_and_drop(true);
  const Tensor z = another();
  a_.synchronize();
  EXPECT_NE(z.impl().data, data_);
  gate_.open();
  EXPECT_THAT(values_on_b(), Each(4));
}

TEST_F(RecordStream, GivesMemoryBackOnceTheOtherStreamIsDone) {
  use_elsewhere_and_drop(true);
  gate_.open();
  b_.synchronize();
  EXPECT_EQ(another().impl().data, data_) << "the very next allocation reuses it";
}

// What the two above rest on.
TEST_F(RecordStream, LeftOutLetsTheMemoryBeReusedTooEarly) {
  use_elsewhere_and_drop(false);
  const Tensor z = another();
  a_.synchronize();
  EXPECT_EQ(z.impl().data, data_);
  gate_.open();
  EXPECT_THAT(values_on_b(), Each(101));
}

TEST_F(RecordStream, OfAViewCountsForItsStorage) {
  {
    Tensor x;
    {
      const StreamGuard guard(a_);
      x = full({kNumel}, 3, device_);
      a_.synchronize();
    }
    data_ = x.impl().data;
    gate_ = sim::hold(b_);
    const StreamGuard guard(b_);
    y_ = x.slice(0, 0, 4) + 1;
    x.slice(0, 0, 4).record_stream(b_);
  }
  EXPECT_NE(another().impl().data, data_);
  gate_.open();
  EXPECT_THAT(values_on_b(), Each(4));
}

}  // namespace
}  // namespace vellum
