#ifndef VELLUM_TESTS_NN_SERIALIZATION_TESTING_H_
#define VELLUM_TESTS_NN_SERIALIZATION_TESTING_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vellum/tests/nn/testing.h"

namespace vellum::testing {

// The bytes of a file: the length of the header, the header, the data.
inline std::string file_of(std::string_view header, std::string_view data = {}) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes.append(header).append(data);
}

inline std::span<const std::byte> as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// Tests with an empty folder of their own.
class InFolder : public ::testing::Test {
 protected:
  InFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) / test->test_suite_name() / test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~InFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name = "x.safetensors") const { return folder_ / name; }

  // The names of the files that are there.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_NN_SERIALIZATION_TESTING_H_
