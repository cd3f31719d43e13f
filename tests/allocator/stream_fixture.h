#ifndef VELLUM_TESTS_ALLOCATOR_STREAM_FIXTURE_H_
#define VELLUM_TESTS_ALLOCATOR_STREAM_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "vellum/tests/allocator/stream_program.h"

namespace vellum::testing {

// Programs over whole segments, and over pages.
class StreamFixture : public ::testing::TestWithParam<bool> {
 public:
  static std::string name(const ::testing::TestParamInfo<bool>& info) { return info.param ? "Pages" : "Segments"; }

 protected:
  StreamProgram program(int64_t limit) {
    StreamProgram::Setting setting;
    setting.pages = GetParam();
    setting.limit = limit;
    return StreamProgram(setting);
  }
  static void* data(const StreamProgram& program, size_t index) { return program.held()[index].block.data; }
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_ALLOCATOR_STREAM_FIXTURE_H_
