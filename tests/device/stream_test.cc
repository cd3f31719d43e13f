#include "vellum/device/stream.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/device/error.h"
#include "vellum/tests/device/fake_device.h"

namespace vellum {
namespace {

using Log = std::vector<std::string>;

class StreamTest : public ::testing::Test {
 protected:
  StreamTest() { clear(); }
  ~StreamTest() override { clear(); }

  static void clear() {
    testing::fake_log().clear();
    testing::fake_answer() = {};
  }
  static const Log& log() { return testing::fake_log(); }
  static void answer(StatusCode code) { testing::fake_answer() = {code, "told so"}; }

  const Device fake_{register_device("fake", testing::fake_device_api()), 1};
  const Device immediate_{register_device("immediate", testing::immediate_device_api())};
};

TEST_F(StreamTest, TheDefaultStreamIsCurrentUnlessGuarded) {
  EXPECT_EQ(current_stream(fake_), (Stream{fake_, 0}));
  {
    StreamGuard outer({fake_, 4});
    EXPECT_EQ(current_stream(fake_).handle, 4u);
    {
      StreamGuard inner({fake_, 5});
      EXPECT_EQ(current_stream(fake_).handle, 5u);
    }
    EXPECT_EQ(current_stream(fake_).handle, 4u);
    EXPECT_EQ(current_stream(Device(fake_.type, 0)).handle, 0u);               // of that device only
    std::thread([&] { EXPECT_EQ(current_stream(fake_).handle, 0u); }).join();  // on this thread only
  }
  EXPECT_EQ(current_stream(fake_).handle, 0u);
}

TEST_F(StreamTest, AGuardForADeviceBeyondTheTableIsAnError) {
  EXPECT_THROW(StreamGuard({Device(fake_.type, 16), 1}), DeviceError);
}

TEST_F(StreamTest, TheCurrentDeviceFollowsItsGuard) {
  EXPECT_EQ(current_device(), Device());
  {
    DeviceGuard guard(fake_);
    EXPECT_EQ(current_device(), fake_);
    std::thread([] { EXPECT_EQ(current_device(), Device()); }).join();
  }
  EXPECT_EQ(current_device(), Device());
  EXPECT_THROW(DeviceGuard(Device(device_type("nobody"))), DeviceError);
  EXPECT_EQ(current_device(), Device());
}

TEST_F(StreamTest, StreamsAreMadeSynchronizedAndDestroyed) {
  const Stream stream = create_stream(fake_);
  EXPECT_EQ(stream, (Stream{fake_, 1}));
  stream.synchronize();
  destroy_stream(stream);
  destroy_stream({fake_, 0});  // the default stream stays
  synchronize(fake_);
  EXPECT_EQ(log(), (Log{"create stream", "finish 1", "destroy stream 1", "finish device 1"}));
}

TEST_F(StreamTest, FaultsSurfaceAtSynchronize) {
  answer(StatusCode::kDeviceError);
  EXPECT_THROW((Stream{fake_, 1}.synchronize()), DeviceError);
  EXPECT_THROW(synchronize(fake_), DeviceError);
}

TEST_F(StreamTest, AnEventIsRecordedAwaitedAndDestroyedOnce) {
  {
    Event event(fake_);
    event.record({fake_, 2});
    event.block({fake_, 3});
    event.synchronize();
    Event moved(std::move(event));
    EXPECT_TRUE(moved.query());
  }
  EXPECT_EQ(log(), (Log{"create event", "record 7 on 2", "3 waits for 7", "await 7", "query 7", "destroy event 7"}));
}

TEST_F(StreamTest, APendingEventIsNoError) {
  const Event event(fake_);
  answer(StatusCode::kNotReady);
  EXPECT_FALSE(event.query());
  answer(StatusCode::kDeviceError);
  EXPECT_THROW(event.query(), DeviceError);
}

TEST_F(StreamTest, AnEventStaysOnItsDevice) {
  Event event(fake_);
  EXPECT_THROW(event.record({immediate_, 0}), DeviceError);
}

TEST_F(StreamTest, AStreamOfAnotherDeviceTypeWaitsByWayOfTheHost) {
  const Event event(fake_);
  event.block({immediate_, 0});
  EXPECT_EQ(log(), (Log{"create event", "await 7"}));
}

TEST_F(StreamTest, ADeviceThatWorksAtOnceNeedsNoStreamsOrEvents) {
  const Stream stream = create_stream(immediate_);
  EXPECT_EQ(stream.handle, 0u);
  stream.synchronize();
  synchronize(immediate_);
  Event event(immediate_);
  event.record(stream);
  event.block(stream);
  event.synchronize();
  EXPECT_TRUE(event.query());
  destroy_stream(stream);
  EXPECT_TRUE(log().empty());
}

}  // namespace
}  // namespace vellum
