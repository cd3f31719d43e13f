#ifndef VELLUM_TESTS_MEMORY_TESTING_H_
#define VELLUM_TESTS_MEMORY_TESTING_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "vellum/memory/leak_scope.h"
#include "vellum/memory/ledger.h"
#include "vellum/tests/autograd/testing.h"

namespace vellum::testing {

inline int64_t bytes_of(MemoryCategory category) {
  int64_t bytes = 0;
  for (const MemoryHolder& row : memory_holders())
    if (row.category == category) bytes += row.bytes;
  return bytes;
}

// The row of the block of a tensor.
inline MemoryHolder holder_of(const Tensor& t) {
  for (const MemoryHolder& row : memory_holders())
    if (row.data == t.impl().storage->data()) return row;
  return {};
}

// What a scope found, for use after its end.
struct Found {
  LeakReport report;
  bool any = false;

  std::function<void(const LeakReport&)> listener() {
    return [this](const LeakReport& found) {
      report = found;
      any = true;
    };
  }
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_MEMORY_TESTING_H_
