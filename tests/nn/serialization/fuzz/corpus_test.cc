// Every input of the corpus through the fuzz target, which ends the program where a promise is broken.

#include <cstdint>
#include <filesystem>

#include "vellum/nn/serialization/safetensors.h"
#include "vellum/tests/nn/serialization/testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace vellum::safetensors {
namespace {

using namespace vellum::testing;

TEST(Corpus, IsReadOrRefused) {
  int accepted = 0, refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/nn/serialization/fuzz/corpus")) {
    SCOPED_TRACE(entry.path());
    const std::string bytes = read(entry.path());
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), 0);
    try {
      File::parse(as_bytes(bytes), "corpus");
      ++accepted;
    } catch (const IoError&) {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace vellum::safetensors
