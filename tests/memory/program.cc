// A program for environment_test.py. Prints whether the ledger is on, and with an argument the text of an
// OutOfMemoryError.

#include <cstdio>

#include "vellum/device/error.h"
#include "vellum/memory/ledger.h"
#include "vellum/memory/snapshot.h"
#include "vellum/tensor/ops/ops.h"

int main(int argc, char**) {
  using namespace vellum;
  Tensor x = ones({1000});
  x.set_name("images");
  std::puts(is_ledger_enabled() ? "on" : "off");
  if (argc < 2) return 0;
  try {
    empty({int64_t{1} << 50});
  } catch (const OutOfMemoryError& error) {
    std::puts(error.what());
  }
  return 0;
}
