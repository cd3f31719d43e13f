#ifndef VELLUM_DEVICE_ERROR_H_
#define VELLUM_DEVICE_ERROR_H_

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "vellum/device/status.h"

namespace vellum {

enum class ErrorCode {
  kInvalidArgument,
  kShape,
  kDType,
  kDevice,
  kIndex,
  kAutograd,
  kOutOfMemory,
  kNotImplemented,
  kIo,
};

// Base of everything that the public API throws. The message names the operator, the offending operands and the mend.
// Throwing leaves every tensor, gradient and counter as it was before the call.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

namespace internal {
template <ErrorCode kCode>
class TypedError : public Error {
 public:
  explicit TypedError(const std::string& message) : Error(kCode, message) {}
};
}  // namespace internal

using InvalidArgumentError = internal::TypedError<ErrorCode::kInvalidArgument>;
using ShapeError = internal::TypedError<ErrorCode::kShape>;
using DTypeError = internal::TypedError<ErrorCode::kDType>;
using DeviceError = internal::TypedError<ErrorCode::kDevice>;
using IndexError = internal::TypedError<ErrorCode::kIndex>;
using AutogradError = internal::TypedError<ErrorCode::kAutograd>;
using OutOfMemoryError = internal::TypedError<ErrorCode::kOutOfMemory>;
using NotImplementedError = internal::TypedError<ErrorCode::kNotImplemented>;
using IoError = internal::TypedError<ErrorCode::kIo>;

// Concatenates the streamed form of its arguments: str_cat("matmul: ", a.shape(), " x ", b.shape()).
template <typename... Args>
std::string str_cat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

template <typename E, typename... Args>
[[noreturn, gnu::cold, gnu::noinline]] void throw_error(const Args&... args) {
  throw E(str_cat(args...));
}

// Throws the exception that fits a failed status; `where` names the operator or function. Does nothing when it is ok.
void throw_if_error(Status status, std::string_view where);

}  // namespace vellum

#endif  // VELLUM_DEVICE_ERROR_H_
