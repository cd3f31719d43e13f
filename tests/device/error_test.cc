#include "vellum/device/error.h"

#include <string>

#include "gtest/gtest.h"

namespace vellum {
namespace {

template <typename E>
void expect_thrown(Status status, ErrorCode code, const std::string& message) {
  try {
    throw_if_error(status, "matmul");
    FAIL() << "nothing was thrown";
  } catch (const E& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Status, OkThrowsNothing) {
  EXPECT_TRUE(ok_status().ok());
  EXPECT_NO_THROW(throw_if_error(ok_status(), "matmul"));
}

TEST(Status, EachCodeHasItsException) {
  expect_thrown<OutOfMemoryError>({StatusCode::kOutOfMemory, "full"}, ErrorCode::kOutOfMemory, "matmul: full");
  expect_thrown<InvalidArgumentError>({StatusCode::kInvalidArgument, "odd"}, ErrorCode::kInvalidArgument,
                                      "matmul: odd");
  expect_thrown<NotImplementedError>({StatusCode::kUnsupported, "no"}, ErrorCode::kNotImplemented, "matmul: no");
  expect_thrown<DeviceError>({StatusCode::kDeviceError, "fault"}, ErrorCode::kDevice, "matmul: fault");
  expect_thrown<DeviceError>({StatusCode::kNotReady, "pending"}, ErrorCode::kDevice, "matmul: pending");
}

TEST(Status, AMissingMessageIsTolerated) {
  expect_thrown<DeviceError>({StatusCode::kDeviceError}, ErrorCode::kDevice, "matmul: failed");
}

TEST(Error, CarriesWhatWasStreamed) {
  try {
    throw_error<ShapeError>("inner dimensions differ: ", 3, " != ", 4L);
  } catch (const Error& error) {  // every error is caught as its base
    EXPECT_EQ(error.code(), ErrorCode::kShape);
    EXPECT_STREQ(error.what(), "inner dimensions differ: 3 != 4");
  }
}

}  // namespace
}  // namespace vellum
