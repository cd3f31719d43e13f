// Records a small training step and names that are hard to write down, for trace_test.py: write_trace FILE

#include <string_view>
#include <thread>

#include "vellum/vellum.h"

int main(int, char** argv) {
  using namespace vellum;
  using Kind = Annotation::Kind;
  nn::Sequential model(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 2));
  const Tensor x = randn({3, 4});
  Profiler profiler({.shapes = true});
  model(x).sum().backward();
  for (const std::string_view name : {"quote \" slash \\ line\n", "Grüße 漢字 \xf0\x9f\x98\x80", "not \xff\xc3 utf-8",
                                      "surrogate \xed\xa0\x80", "overlong \xc0\xaf\xe0\x80\xaf", "cut \xe6\xbc"}) {
    const AnnotationScope label(Kind::kUser, name);
    mul(x, x);
  }
  std::thread([&] {
    const ProfilerThreadGuard guard(profiler);
    mul(x, x);
  }).join();
  profiler.stop();
  profiler.write_trace(argv[1]);
}
