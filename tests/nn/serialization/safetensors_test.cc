// Files against those of the format's own library (goldens/safetensors_files.py), and what is read back after writing.

#include "vellum/nn/serialization/safetensors.h"

#include <sys/stat.h>

#include <thread>

#include "vellum/tests/nn/serialization/testing.h"

namespace vellum::safetensors {
namespace {

using namespace vellum::testing;
using ::testing::AllOf;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr char kGolden[] = "tests/nn/serialization/goldens/every_dtype.safetensors";
constexpr char kForeign[] = "tests/nn/serialization/goldens/foreign_dtypes.safetensors";

TEST(Golden, HasEveryDType) {
  const std::map<std::string, Tensor> loaded = load_file(kGolden);
  EXPECT_EQ(loaded.size(), 14);
  const auto expect = [&](const std::string& name, DType dtype, const Dims& shape, const auto& expected) {
    SCOPED_TRACE(name);
    const Tensor& t = loaded.at(name);
    EXPECT_EQ(t.dtype(), dtype);
    EXPECT_EQ(t.shape(), shape);
    EXPECT_EQ(t.to_vector<typename std::decay_t<decltype(expected)>::value_type>(), expected);
  };
  expect("mask", kBool, {3}, std::vector<bool>({true, false, true}));
  expect("layer.u8", kUInt8, {2, 2}, std::vector<int64_t>({0, 1, 254, 255}));
  expect("layer.i8", kInt8, {3}, std::vector<int64_t>({-128, 0, 127}));
  expect("layer.i16", kInt16, {2}, std::vector<int64_t>({-32768, 32767}));
  expect("layer.i32", kInt32, {1, 2}, std::vector<int64_t>({-2147483648, 2147483647}));
  expect("steps", kInt64, {}, std::vector<int64_t>({-4611686018427387905}));
  expect("layer.f16", kFloat16, {2}, std::vector<double>({1.5, -0.25}));
  expect("layer.bf16", kBFloat16, {2}, std::vector<double>({1.5, -3}));
  expect("layer.f32", kFloat32, {2, 3}, std::vector<float>({0.5f, 1, 1.5f, -2, 1e30f, 0.1f}));
  expect("another.f32", kFloat32, {1}, std::vector<float>({7}));
  expect("layer.f64", kFloat64, {1}, std::vector<double>({0.1}));
  expect("layer.c64", kComplex64, {2}, std::vector<complex64>({{1, 2}, {0, -0.5f}}));
  expect("empty", kFloat32, {0, 4}, std::vector<float>());
  expect("nämé \"\\\n\x7f", kUInt8, {1}, std::vector<int64_t>({9}));
}

TEST(Golden, HasMetadata) { EXPECT_THAT(File::open(kGolden).metadata(), ElementsAre(Pair("format", "pt \"1\"\t"))); }

TEST(Golden, SaysWhereTheDataLie) {
  const File file = File::open(kGolden);
  EXPECT_THAT(file.names(),
              ElementsAre("steps", "layer.f64", "layer.c64", "another.f32", "empty", "layer.f32", "layer.i32",
                          "layer.bf16", "layer.f16", "layer.i16", "layer.i8", "layer.u8", "nämé \"\\\n\x7f", "mask"));
  EXPECT_TRUE(file.contains("layer.f32"));
  EXPECT_FALSE(file.contains("layer"));
  EXPECT_FALSE(file.contains("__metadata__"));
  const Entry& entry = file.entry("layer.f32");
  EXPECT_EQ(entry.dtype, kFloat32);
  EXPECT_EQ(entry.dtype_name, "F32");
  EXPECT_EQ(entry.shape, Dims({2, 3}));
  EXPECT_EQ(entry.begin, 36);
  EXPECT_EQ(entry.end, 60);
}

TEST(Golden, ListsForeignDTypesAndRefusesToLoadThem) {
  const File file = File::open(kForeign);
  EXPECT_EQ(file.load("ours").item<float>(), 2.5f);
  EXPECT_EQ(file.entry("f4").shape, Dims({1, 4}));
  for (const auto& [name, dtype] :
       {std::pair("u16", "U16"), {"u32", "U32"}, {"u64", "U64"}, {"f8_e4m3", "F8_E4M3"}, {"f4", "F4"}}) {
    EXPECT_EQ(file.entry(name).dtype, DType::kUndefined);
    EXPECT_EQ(file.entry(name).dtype_name, dtype);
    EXPECT_THAT(
        message_of<DTypeError>([&, name = name] { file.load(name); }),
        AllOf(HasSubstr(str_cat("tensor \"", name, "\" has the dtype \"", dtype, "\"")), HasSubstr("convert it")));
  }
  EXPECT_THROW(load_file(kForeign), DTypeError);
}

class Saved : public InFolder {};

TEST_F(Saved, AsTheFormatsOwnLibraryDoes) {
  save_file(path(), load_file(kGolden), File::open(kGolden).metadata());
  EXPECT_EQ(read(path()), read(kGolden));
}

TEST_F(Saved, WithoutTensorsIsAFile) {
  save_file(path(), {});
  EXPECT_EQ(read(path()), file_of("{}      "));
}

TEST_F(Saved, MetadataStandByKey) {
  save_file(path(), {}, {{"b", "2"}, {"a", "1\n"}, {"", ""}});
  EXPECT_THAT(read(path()), HasSubstr(R"({"__metadata__":{"":"","a":"1\n","b":"2"}})"));
  EXPECT_THAT(File::open(path()).metadata(), ElementsAre(Pair("", ""), Pair("a", "1\n"), Pair("b", "2")));
}

TEST_F(Saved, DataStartAtAMultipleOfEight) {
  for (std::string name = "x"; name.size() < 10; name += 'x') {
    save_file(path(), {{name, tensor({1.f})}});
    EXPECT_EQ(read(path()).size() % 8, sizeof(float));
  }
}

class EveryDType : public Saved, public ::testing::WithParamInterface<DType> {
 protected:
  // [3, 4] with a value of its own in each place, as far as the dtype goes.
  Tensor matrix() const {
    return (GetParam() == kBool ? eq(pattern({3, 4}), pattern({1, 4})) : pattern({3, 4}) * 4).to(GetParam());
  }

  void expect_back(const Tensor& saved) {
    save_file(path(), {{"x", saved}});
    const Tensor loaded = load_file(path()).at("x");
    EXPECT_EQ(loaded.dtype(), saved.dtype());
    EXPECT_EQ(loaded.shape(), saved.shape());
    EXPECT_EQ(loaded.strides(), contiguous_strides(saved.shape()));
    EXPECT_EQ(loaded.to_vector<complex128>(), saved.to_vector<complex128>());
  }
};

TEST_P(EveryDType, IsReadBackFromAnyLayout) {
  const Tensor x = matrix();
  expect_back(x);
  expect_back(x.t());
  expect_back(x.slice(1, 1, 4, 2));
  expect_back(x[1].unsqueeze(0).expand({2, 5, 4}));
  expect_back(x[2][1]);
  expect_back(x.slice(0, 1, 1));
}

INSTANTIATE_TEST_SUITE_P(All, EveryDType,
                         ::testing::Values(kBool, kUInt8, kInt8, kInt16, kInt32, kInt64, kFloat16, kBFloat16, kFloat32,
                                           kFloat64, kComplex64),
                         [](const auto& info) { return std::string(dtype_name(info.param)); });

TEST_F(Saved, NotANumberKeepsItsBits) {
  const uint32_t bits = 0x7fa12345;
  Tensor x = zeros({1});
  std::memcpy(x.mutable_data<float>(), &bits, sizeof(bits));
  save_file(path(), {{"x", x}});
  uint32_t loaded;
  std::memcpy(&loaded, load_file(path()).at("x").data<float>(), sizeof(loaded));
  EXPECT_EQ(loaded, bits);
}

TEST_F(Saved, FromAndToADeviceThatTheHostCannotReach) {
  const Tensor x = pattern({3, 4});
  save_file(path(), {{"x", x.to(Device("sim")).t()}});
  const Tensor loaded = load_file(path(), Device("sim:1")).at("x");
  EXPECT_EQ(loaded.device(), Device("sim:1"));
  EXPECT_EQ(values(loaded), values(x.t()));
}

TEST_F(Saved, TensorsWithAHistoryComeBackWithout) {
  const Tensor x = leaf({1, 2});
  save_file(path(), {{"x", x}, {"y", x * 2}});
  const auto loaded = load_file(path());
  EXPECT_FALSE(loaded.at("x").requires_grad());
  EXPECT_FALSE(loaded.at("y").requires_grad());
  EXPECT_EQ(values(loaded.at("y")), std::vector<double>({2, 4}));
}

TEST_F(Saved, ViewsOfOneMemoryEachInFull) {
  const Tensor x = constant({1, 2, 3});
  save_file(path(), {{"x", x}, {"tail", x.slice(0, 1)}});
  const auto loaded = load_file(path());
  EXPECT_FALSE(loaded.at("x").shares_storage_with(loaded.at("tail")));
  EXPECT_EQ(values(loaded.at("tail")), std::vector<double>({2, 3}));
}

TEST_F(Saved, OneCopyAtATimeIsHeld) {
  constexpr int64_t kSide = 512;
  const Tensor x = zeros({kSide, kSide});
  reset_peak_memory_stats();
  const int64_t before = live_bytes();
  save_file(path(), {{"a", x.t()}, {"b", x.t()}, {"c", x.t()}});
  EXPECT_LT(max_memory_allocated() - before, 2 * x.nbytes());
  EXPECT_GE(max_memory_allocated() - before, x.nbytes());
  EXPECT_EQ(live_bytes(), before);
}

TEST_F(Saved, ComplexOfDoublesIsRefused) {
  EXPECT_THAT(message_of<DTypeError>([&] {
                save_file(path(), {{"x", zeros({1}, kComplex128)}});
              }),
              HasSubstr("save_file: tensor \"x\" is complex128, which the format lacks; save to(kComplex64), or "
                        "view_as_real() as float64"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Saved, WhatHasNoValuesIsRefused) {
  EXPECT_THAT(message_of<DeviceError>([&] {
                save_file(path(), {{"x", zeros({1}, Device("meta"))}});
              }),
              HasSubstr("tensor \"x\" is on meta"));
  EXPECT_THAT(message_of<InvalidArgumentError>([&] {
                save_file(path(), {{"x", Tensor()}});
              }),
              HasSubstr("tensor \"x\" is undefined"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Saved, TheNameOfTheMetadataIsRefused) {
  EXPECT_THAT(message_of<InvalidArgumentError>([&] {
                save_file(path(), {{"__metadata__", zeros({1})}});
              }),
              HasSubstr("no tensor can be called \"__metadata__\""));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Saved, WhatIsNotUtf8IsRefused) {
  const Tensor x = zeros({1});
  const auto refusal = [&](const std::map<std::string, Tensor>& tensors,
                           const std::map<std::string, std::string>& metadata) {
    return message_of<InvalidArgumentError>([&] { save_file(path(), tensors, metadata); });
  };
  EXPECT_THAT(refusal({{"\xff", x}}, {}), HasSubstr("the name \"\\377\" is not UTF-8"));
  EXPECT_THAT(refusal({}, {{"\xff", ""}}), HasSubstr("the metadata key \"\\377\" is not UTF-8"));
  EXPECT_THAT(refusal({}, {{"", "\xff"}}), HasSubstr("the metadata text \"\\377\" is not UTF-8"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Saved, AHeaderThatNobodyWouldReadIsRefused) {
  EXPECT_THAT(message_of<InvalidArgumentError>([&] {
                save_file(path(), {}, {{"a", std::string(100'000'000, 'a')}});
              }),
              HasSubstr("more than the 100000000 that readers allow"));
  EXPECT_THAT(files(), IsEmpty());
}

class Opened : public InFolder {
 protected:
  std::string fault() const {
    return message_of<IoError>([&] { File::open(path()); });
  }
};

TEST_F(Opened, MustBeThere) { EXPECT_THAT(fault(), AllOf(StartsWith(path()), HasSubstr("No such file"))); }

TEST_F(Opened, MustBeARegularFile) {
  EXPECT_THAT(message_of<IoError>([&] { File::open(path("")); }), HasSubstr("is not a regular file"));
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_THAT(fault(), HasSubstr("is not a regular file"));
}

TEST_F(Opened, MustNotBeEmpty) {
  write(path(), "");
  EXPECT_THAT(fault(), AllOf(StartsWith(path()), HasSubstr("has 0 bytes")));
}

TEST_F(Opened, NamesItselfInFaults) {
  write(path(), file_of("{}", "1"));
  EXPECT_THAT(fault(), StartsWith(path() + ": 1 bytes at the end"));
}

TEST_F(Opened, GoesOnWhereItsFileIsReplaced) {
  save_file(path(), {{"x", constant({1, 2})}});
  const File file = File::open(path());
  save_file(path(), {{"x", constant({3})}});
  EXPECT_EQ(values(file.load("x")), std::vector<double>({1, 2}));
  EXPECT_EQ(values(File::open(path()).load("x")), std::vector<double>({3}));
}

TEST_F(Opened, NoticesThatItWasShortened) {
  save_file(path(), {{"x", zeros({4096})}});
  const File file = File::open(path());
  std::filesystem::resize_file(path(), 100);
  EXPECT_THAT(message_of<IoError>([&] { file.load("x"); }),
              AllOf(StartsWith(path()), HasSubstr("to 100 bytes while it was open")));
}

TEST_F(Opened, CanBeMoved) {
  save_file(path(), {{"x", constant({1, 2})}});
  File file = File::open(path());
  File moved = std::move(file);
  EXPECT_EQ(values(moved.load("x")), std::vector<double>({1, 2}));
  file = std::move(moved);
  EXPECT_EQ(values(file.load("x")), std::vector<double>({1, 2}));
}

TEST_F(Opened, HoldsNoMemoryOfItsTensors) {
  save_file(path(), {{"x", zeros({1000})}});
  const int64_t before = live_bytes();
  const File file = File::open(path());
  EXPECT_EQ(live_bytes(), before);
  const Tensor x = file.load("x");
  EXPECT_GE(live_bytes(), before + x.nbytes());
}

TEST_F(Opened, OutlivedByItsTensors) {
  save_file(path(), {{"x", constant({1, 2})}});
  const Tensor x = File::open(path()).load("x");
  EXPECT_EQ(values(x), std::vector<double>({1, 2}));
}

TEST_F(Opened, IsReadByThreadsAtOnce) {
  save_file(path(), {{"x", arange(1000)}});
  const File file = File::open(path());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) EXPECT_EQ(file.load("x").to_vector<int64_t>()[999], 999);
    });
  for (std::thread& thread : threads) thread.join();
}

class Load : public ::testing::Test {
 protected:
  static File one(std::string_view entry, std::string_view data) {
    static std::string bytes;
    bytes = file_of(str_cat("{\"x\":", entry, "}"), data);
    return File::parse(as_bytes(bytes), "memory");
  }
};

TEST_F(Load, TakesDataAtAnyAddress) {
  for (int spaces = 0; spaces < 8; ++spaces) {
    const double value = 1.25;
    const std::string data(reinterpret_cast<const char*>(&value), sizeof(value));
    const File file = one(std::string(spaces, ' ') + R"({"dtype":"F64","shape":[],"data_offsets":[0,8]})", data);
    EXPECT_EQ(file.load("x").item(), value);
  }
}

TEST_F(Load, RefusesBoolsThatAreNeitherZeroNorOne) {
  constexpr std::string_view kEntry = R"({"dtype":"BOOL","shape":[3],"data_offsets":[0,3]})";
  EXPECT_EQ(one(kEntry, std::string_view("\1\0\1", 3)).load("x").to_vector<bool>(),
            std::vector<bool>({true, false, true}));
  EXPECT_THAT(message_of<IoError>([&] { one(kEntry, std::string_view("\1\2\0", 3)).load("x"); }),
              HasSubstr("memory: tensor \"x\": the bool at 1 has the value 2; it must be 0 or 1"));
}

TEST_F(Load, OnMetaHasAShapeAlone) {
  const Tensor x = one(R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})", "12").load("x", Device("meta"));
  EXPECT_EQ(x.device(), Device("meta"));
  EXPECT_EQ(x.shape(), Dims({2}));
}

TEST(Names, LikeTheOneAskedForAreListed) {
  std::string header;
  for (const char* name : {"encoder.weight", "encoder.bias", "head.weight"})
    header += str_cat("\"", name, "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},");
  header.back() = '}';
  const std::string bytes = file_of("{" + header);
  const File file = File::parse(as_bytes(bytes), "memory");
  const auto message = [&](std::string_view name) { return message_of<IndexError>([&] { file.entry(name); }); };
  EXPECT_THAT(message("encoder.wieght"),
              HasSubstr("memory: among 3 tensors there is no \"encoder.wieght\"; names like it "
                        "are \"encoder.weight\", \"encoder.bias\""));
  EXPECT_THAT(message("module.head.weight"), HasSubstr("names like it are \"head.weight\""));
  EXPECT_THAT(message("x"), AllOf(HasSubstr("no \"x\""), Not(HasSubstr("names like"))));
  EXPECT_THROW(file.load("x"), IndexError);
}

}  // namespace
}  // namespace vellum::safetensors
