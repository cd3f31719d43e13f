#include "vellum/examples/digits_data.h"

#include <zlib.h>

#include <cstdlib>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vellum/device/error.h"

namespace vellum::digits {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

const char kData[] = "examples/data/digits.csv.gz";

std::string path_in_scratch(const std::string& name) { return ::testing::TempDir() + "/" + name; }

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string written(const std::string& text) {
  const std::string path = path_in_scratch("digits.csv");
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string compressed(const std::string& text) {
  const std::string path = path_in_scratch("text.csv.gz");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

// A row whose 64 pixels are `pixel`.
std::string row(const std::string& pixel, const std::string& label) {
  std::string text;
  for (int i = 0; i < kPixels; ++i) text += pixel + ",";
  return text + label + "\n";
}

std::string complaint(const std::string& path) {
  try {
    read_digits(path);
  } catch (const IoError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    EXPECT_THAT(e.what(), HasSubstr(path));
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

std::string complaint_about(const std::string& text) { return complaint(written(text)); }

TEST(Digits, AreThoseOfTheDataSet) {
  const Digits digits = read_digits(kData);
  EXPECT_EQ(digits.train.size(), 1437);
  EXPECT_EQ(digits.held_out.size(), 360);
  EXPECT_EQ(digits.train.tensors()[0].shape(), (Dims{1437, 64}));
  EXPECT_THAT(digits.train.tensors()[0].to_vector<float>(), Each(AllOf(Ge(0), Le(1))));
  // The first row is held out; its second to fourth pixels are 0, 5 and 13 of 16.
  const std::vector<float> first = digits.held_out.tensors()[0][0].to_vector<float>();
  EXPECT_EQ(first[1], 0);
  EXPECT_EQ(first[2], 5 / 16.f);
  EXPECT_EQ(first[3], 13 / 16.f);
  EXPECT_EQ(digits.held_out.tensors()[1][0].item<int64_t>(), 0);
  EXPECT_EQ(digits.train.tensors()[1][0].item<int64_t>(), 1);
}

TEST(Digits, HoldOutEveryFifthRow) {
  std::string text;
  for (int i = 0; i < 7; ++i) text += row("8", std::to_string(i));
  const Digits digits = read_digits(written(text));
  EXPECT_THAT(digits.held_out.tensors()[1].to_vector<int64_t>(), ElementsAre(0, 5));
  EXPECT_THAT(digits.train.tensors()[1].to_vector<int64_t>(), ElementsAre(1, 2, 3, 4, 6));
  EXPECT_THAT(digits.train.tensors()[0].to_vector<float>(), Each(0.5f));
}

TEST(Digits, MayEndLinesAsWindowsDoesAndLackTheLastEnd) {
  std::string text = row("0", "1") + row("16", "2");
  text.insert(text.find('\n'), "\r");
  text.pop_back();
  EXPECT_EQ(read_digits(written(text)).train.tensors()[1].item<int64_t>(), 2);
}

TEST(Digits, NamesTheLineAndTheFault) {
  const std::string good = row("3", "4");
  EXPECT_THAT(complaint_about(good + "1,2,3\n"), EndsWith(":2: 3 columns instead of 65"));
  EXPECT_THAT(complaint_about(good + "0," + good), EndsWith(":2: 66 columns instead of 65"));
  EXPECT_THAT(complaint_about(good + "\n"), EndsWith(":2: 1 column instead of 65"));
  EXPECT_THAT(complaint_about(row("x", "1")), EndsWith(":1: column 1: 'x' is not a whole number"));
  EXPECT_THAT(complaint_about(row("", "1")), HasSubstr("'' is not a whole number"));
  EXPECT_THAT(complaint_about(row("1.5", "1")), HasSubstr("'1.5' is not a whole number"));
  EXPECT_THAT(complaint_about(row("99999999999", "1")), HasSubstr("not a whole number"));
  EXPECT_THAT(complaint_about(row(" 1", "1")), HasSubstr("' 1' is not a whole number"));
  EXPECT_THAT(complaint_about(row("17", "1")), HasSubstr("column 1: 17 is not a pixel, which goes from 0 to 16"));
  EXPECT_THAT(complaint_about(row("-1", "1")), HasSubstr("-1 is not a pixel"));
  EXPECT_THAT(complaint_about(row("1", "10")), HasSubstr("column 65: 10 is not a digit, which goes from 0 to 9"));
  EXPECT_THAT(complaint_about(std::string(5000, '1')), HasSubstr("too long"));
  EXPECT_THAT(complaint_about(good + std::string(10, '\0')), HasSubstr(":2: 1 column"));
}

TEST(Digits, NeedRows) {
  EXPECT_THAT(complaint_about(""), HasSubstr("0 rows are too few"));
  EXPECT_THAT(complaint_about(row("1", "1")), HasSubstr("1 rows are too few"));
  EXPECT_THAT(complaint(compressed("")), HasSubstr("0 rows"));
}

TEST(Digits, NeedAFileThatCanBeRead) {
  EXPECT_THAT(complaint("/nonexistent/digits.csv"), HasSubstr("No such file"));
  EXPECT_THAT(complaint(::testing::TempDir()), HasSubstr("Is a directory"));
}

TEST(Digits, NoticeThatTheFileWasCutShort) {
  const std::string whole = contents(kData);
  for (const size_t size : {whole.size() - 1, whole.size() - 8, whole.size() / 2, size_t{40}}) {
    const std::string text = complaint_about(whole.substr(0, size));
    EXPECT_THAT(text, HasSubstr("cut short")) << size;
  }
}

TEST(Digits, NoticeThatTheFileWasChanged) {
  std::string damaged = contents(kData);
  damaged[damaged.size() / 2] ^= 0x20;
  complaint_about(damaged);
  std::string wrong_sum = contents(kData);
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  EXPECT_THAT(complaint_about(wrong_sum), HasSubstr("damaged"));
}

}  // namespace
}  // namespace vellum::digits
