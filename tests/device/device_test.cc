#include "vellum/device/device.h"

#include <cstddef>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/device/error.h"
#include "vellum/tests/device/fake_device.h"

namespace vellum {
namespace {

using testing::fake_device_api;
using testing::immediate_device_api;

template <typename F>
std::string device_error(F f) {
  try {
    f();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "no DeviceError was thrown";
}

TEST(Device, IsTwoBytesAndCpuByDefault) {
  EXPECT_EQ(sizeof(Device), 2u);
  EXPECT_EQ(Device(), Device(kCPU, 0));
  EXPECT_EQ(Device().str(), "cpu");
  EXPECT_EQ(device_type_name(kCPU), "cpu");
}

TEST(Device, IdsAreHandedOutByName) {
  const DeviceType a = device_type("ids_a"), b = device_type("ids_b");
  EXPECT_NE(a, b);
  EXPECT_NE(a, kCPU);
  EXPECT_EQ(device_type("ids_a"), a);
  EXPECT_EQ(device_type("cpu"), kCPU);
  EXPECT_EQ(device_type_name(a), "ids_a");
}

TEST(Device, ANameIsFoundOnceItHasABackend) {
  DeviceType found{9};
  device_type("late");
  EXPECT_FALSE(find_device_type("late", &found));
  EXPECT_EQ(found.id, 9);
  const DeviceType type = register_device("late", fake_device_api());
  EXPECT_TRUE(find_device_type("late", &found));
  EXPECT_EQ(found, type);
  EXPECT_EQ(&device_api(type), &fake_device_api());
}

TEST(Device, RegisteringTheSameTableAgainIsHarmless) {
  EXPECT_EQ(register_device("same", fake_device_api()), register_device("same", fake_device_api()));
}

TEST(Device, TwoBackendsOfOneNameAreRefused) {
  register_device("twice", fake_device_api());
  EXPECT_EQ(device_error([] { register_device("twice", immediate_device_api()); }),
            "device 'twice' is registered twice; link only one backend of that name");
}

TEST(Device, ABackendOfAnotherVersionIsRefused) {
  static const DeviceApi old{.api_version = 0};
  EXPECT_EQ(device_error([] { register_device("old", old); }),
            "device 'old' was built against DeviceApi version 0, this library has 1; rebuild the backend");
}

TEST(Device, ABackendWithAnotherTableIsRefused) {
  static const DeviceApi shorter{.struct_size = 8};
  EXPECT_THAT(device_error([] { register_device("shorter", shorter); }),
              ::testing::StartsWith("device 'shorter' has a DeviceApi of 8 bytes, this library's has "));
}

TEST(Device, ABackendWithPagesOfAnOddSizeIsRefused) {
  static const DeviceApi odd{.granularity = 3 << 20};
  EXPECT_EQ(device_error([] { register_device("odd", odd); }),
            "device 'odd' maps pages of 3145728 bytes; DeviceApi::granularity must be a power of two, or 0 without "
            "pages");
}

TEST(Device, AMissingBackendNamesItsTarget) {
  EXPECT_EQ(device_error([] { device_api(device_type("absent")); }),
            "no backend is registered for device 'absent'; depend on its register target (//backends/absent:register)");
}

TEST(Device, OneBeyondTheLastDoesNotExist) {
  const DeviceType type = register_device("counted", fake_device_api());
  EXPECT_NO_THROW(check_exists(Device(type, 2)));
  EXPECT_EQ(device_error([&] { check_exists(Device(type, 3)); }),
            "device counted:3 does not exist: there are 3 of its type; use one from 0 to 2");
}

TEST(Device, ATypeWithoutDevicesSaysWhatItsBackendKnows) {
  static const DeviceApi silent{.device_count = []() noexcept { return 0; }};
  static const DeviceApi telling{.device_count = []() noexcept { return 0; },
                                 .why_no_devices = []() noexcept { return "the driver is missing"; }};
  const DeviceType a = register_device("silent", silent), b = register_device("telling", telling);
  EXPECT_EQ(device_error([&] { check_exists(Device(a)); }),
            "device silent:0 does not exist: this machine has none of its type; use 'cpu'");
  EXPECT_EQ(device_error([&] { check_exists(Device(b)); }), "device telling:0 does not exist: the driver is missing");
  EXPECT_EQ(device_error([] { Device("telling:0"); }), "device telling:0 does not exist: the driver is missing");
}

TEST(Device, ATableFromBeforeTheReasonIsNotReadBeyondItsEnd) {
  static const DeviceApi older{.struct_size = offsetof(DeviceApi, why_no_devices),
                               .device_count = []() noexcept { return 0; },
                               .why_no_devices = []() noexcept { return "what lies behind the table"; }};
  const DeviceType type = register_device("older", older);
  EXPECT_EQ(device_error([&] { check_exists(Device(type)); }),
            "device older:0 does not exist: this machine has none of its type; use 'cpu'");
}

TEST(Device, ParsesNamesAndIndices) {
  const DeviceType type = register_device("parsed", fake_device_api());
  EXPECT_EQ(Device("parsed"), Device(type, 0));
  EXPECT_EQ(Device("parsed:2"), Device(type, 2));
  EXPECT_EQ(Device("parsed:2").str(), "parsed:2");
  std::ostringstream out;
  out << Device(type, 1);
  EXPECT_EQ(out.str(), "parsed:1");
}

TEST(Device, RefusesBadText) {
  register_device("parsed", fake_device_api());
  for (const char* text : {"parsed:", "parsed:3", "parsed:-1", "parsed:1x", "parsed: 1", "parsed:99999999999"})
    EXPECT_EQ(device_error([&] { Device device(text); }),
              "device '" + std::string(text) + "': the index must be a number from 0 to 2");
  for (const char* text : {"", ":0", "Parsed", "nobody:0"})
    EXPECT_NE(device_error([&] { Device device(text); }).find("no backend of that name is registered"),
              std::string::npos)
        << text;
}

// Last, since it uses up all ids.
TEST(DeviceRegistry, HasRoomForSixteenTypes) {
  const std::string message = device_error([] {
    for (int i = 0; i <= kMaxDeviceTypes; ++i) device_type("filler" + std::to_string(i));
  });
  EXPECT_NE(message.find("there are already 16 types; link fewer backends"), std::string::npos) << message;
}

}  // namespace
}  // namespace vellum
