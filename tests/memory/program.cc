// A program for environment_test.py. Prints whether the ledger is on, and then, by its argument:
//
//   oom      the text of an OutOfMemoryError
//   dry_oom  the same of one in a dry run
//   exit     nothing, and ends while a graph is alive

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "vellum/device/error.h"
#include "vellum/memory/ledger.h"
#include "vellum/memory/predict.h"
#include "vellum/memory/snapshot.h"
#include "vellum/tensor/ops/ops.h"

int main(int argc, char** argv) {
  using namespace vellum;
  Tensor x = ones({1000});
  x.set_name("images");
  std::puts(is_ledger_enabled() ? "on" : "off");
  const std::string_view what = argc < 2 ? "" : argv[1];
  if (what == "exit") {
    const Tensor w = ones({1000}).requires_grad_();
    const Tensor y = (w * 2).square();
    std::exit(0);
  }
  if (what == "dry_oom") {
    try {
      predict_peak([] { empty({int64_t{1} << 40}); }, {.budget = 1 << 20});
    } catch (const OutOfMemoryError& error) {
      std::puts(error.what());
    }
  }
  if (what != "oom") return 0;
  try {
    empty({int64_t{1} << 50});
  } catch (const OutOfMemoryError& error) {
    std::puts(error.what());
  }
  return 0;
}
