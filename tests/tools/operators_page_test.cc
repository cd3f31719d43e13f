#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "vellum/tools/op_coverage/coverage.h"

namespace vellum::tools {
namespace {

TEST(OperatorsPage, IsWhatTheDefinitionsSay) {
  std::ifstream file("docs/operators.md");
  ASSERT_TRUE(file) << "docs/operators.md cannot be read";
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string made = operators_page();
  EXPECT_EQ(page.substr(0, made.size()), made)
      << "run ./bazelw run //tools:op_coverage -- --markdown and put it in place of what stands above \""
      << kHandWritten << "\" in docs/operators.md";
}

}  // namespace
}  // namespace vellum::tools
