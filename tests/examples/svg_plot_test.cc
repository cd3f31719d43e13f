#include "vellum/examples/svg_plot.h"

#include <cmath>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/device/error.h"

namespace vellum::svg {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Plot plot_of(std::vector<double> left, std::vector<double> right) {
  return {.title = "Title",
          .x_label = "epoch",
          .left = {"loss", "#123456", std::move(left)},
          .right = {"accuracy", "#abcdef", std::move(right)}};
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Svg, HasLabelsTicksAndAPointForEachValue) {
  const std::string svg = render(plot_of({2, 1, 0.5}, {0.5, 0.75, 1}));
  EXPECT_THAT(svg, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* text :
       {">Title<", ">epoch<", ">loss<", ">accuracy<", ">0.5<", ">2.0<", ">1.0<", ">1<", ">2<", ">3<"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_EQ(count(svg, "r=\"2.5\"/>"), 3 + 3);
  EXPECT_EQ(count(svg, ">loss<"), 2);  // on the axis and in the legend
  EXPECT_EQ(count(svg, "<g"), count(svg, "</g>"));
  EXPECT_EQ(count(svg, "<text"), count(svg, "</text>"));
}

TEST(Svg, RefersToNothingOutside) {
  const std::string svg = render(plot_of({1, 2}, {3, 4}));
  EXPECT_EQ(count(svg, "http"), 1);  // the name space
  EXPECT_THAT(svg, Not(HasSubstr("href")));
}

TEST(Svg, DrawsOnePointEqualValuesAndNothing) {
  for (const std::string& svg : {render(plot_of({1}, {0})), render(plot_of({2, 2}, {0, 0})), render(plot_of({}, {}))}) {
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}

TEST(Svg, LeavesGapsWhereAValueIsNotFinite) {
  const std::string svg = render(plot_of({1, std::nan(""), 3, 2}, {INFINITY, 1, 2, 3}));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_EQ(count(svg, "r=\"2.5\"/>"), 3 + 3);
}

TEST(Svg, EscapesText) {
  Plot plot = plot_of({1}, {1});
  plot.title = "a < b & \"c\"";
  EXPECT_THAT(render(plot), HasSubstr("a &lt; b &amp; &quot;c&quot;"));
}

TEST(WriteFile, WritesOrSaysWhereItCould) {
  const std::string path = ::testing::TempDir() + "/plot.svg";
  write_file(path, "text");
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_EQ(text, "text");
  try {
    write_file("/nonexistent/plot.svg", "text");
    ADD_FAILURE();
  } catch (const IoError& e) {
    EXPECT_THAT(e.what(), StartsWith("/nonexistent/plot.svg: "));
  }
}

}  // namespace
}  // namespace vellum::svg
