#include "vellum/device/error.h"

namespace vellum {

void throw_if_error(Status status, std::string_view where) {
  if (status.ok()) return;
  const std::string text = str_cat(where, ": ", status.message ? status.message : "failed");
  switch (status.code) {
    case StatusCode::kOutOfMemory:
      throw OutOfMemoryError(text);
    case StatusCode::kInvalidArgument:
      throw InvalidArgumentError(text);
    case StatusCode::kUnsupported:
      throw NotImplementedError(text);
    default:
      throw DeviceError(text);
  }
}

}  // namespace vellum
