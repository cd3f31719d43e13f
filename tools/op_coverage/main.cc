#include <cstdio>
#include <string_view>

#include "vellum/tools/op_coverage/coverage.h"

// op_coverage [--csv]: which operator runs how on which device.
int main(int argc, char** argv) {
  const bool csv = argc == 2 && std::string_view(argv[1]) == "--csv";
  if (argc > 1 && !csv) {
    std::fprintf(stderr, "usage: %s [--csv]\n", argv[0]);
    return 2;
  }
  std::fputs((csv ? vellum::tools::coverage_csv() : vellum::tools::coverage_table()).c_str(), stdout);
  return 0;
}
