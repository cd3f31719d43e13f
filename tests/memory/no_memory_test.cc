// The ledger where the process itself has no memory left.

#include <cstdlib>
#include <new>
#include <thread>

#include "vellum/memory/ledger.h"
#include "vellum/tensor/ledger.h"
#include "vellum/tests/autograd/testing.h"

namespace {
constinit thread_local bool tls_no_memory = false;
}  // namespace

void* operator new(size_t bytes) {
  void* data = tls_no_memory ? nullptr : std::malloc(bytes);
  if (!data) throw std::bad_alloc();
  return data;
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }

namespace vellum::testing {
namespace {

TEST(WithoutMemory, ATensorThatCannotBeEnteredStaysUntracked) {
  const Tensor first = ones({1}), second = ones({1});
  std::thread([&] {
    tls_no_memory = true;
    internal::track_slow(first.impl());  // this thread has no table yet
    tls_no_memory = false;
    internal::track_slow(second.impl());
  }).join();
  EXPECT_EQ(first.impl().live_slot, nullptr);
  EXPECT_NE(second.impl().live_slot, nullptr);
}

}  // namespace
}  // namespace vellum::testing
