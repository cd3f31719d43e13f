#include <cstdio>
#include <string_view>

#include "vellum/tools/op_coverage/coverage.h"

// op_coverage [--csv|--markdown]: which operator runs how on which device; --markdown is the page of docs/operators.md.
int main(int argc, char** argv) {
  using namespace vellum::tools;
  const std::string_view format = argc > 1 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && format != "--csv" && format != "--markdown")) {
    std::fprintf(stderr, "usage: %s [--csv|--markdown]\n", argv[0]);
    return 2;
  }
  const std::string text = format == "--csv"        ? coverage_csv()
                           : format == "--markdown" ? operators_page()
                                                    : coverage_table();
  std::fputs(text.c_str(), stdout);
  return 0;
}
