// What a file from a stranger may hold, and what it may not.

#include <limits>

#include "vellum/nn/serialization/safetensors.h"
#include "vellum/tests/nn/serialization/testing.h"

namespace vellum::safetensors {
namespace {

using namespace vellum::testing;
using ::testing::AllOf;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

std::string fault_of(const std::string& bytes) {
  return message_of<IoError>([&] { File::parse(as_bytes(bytes), "stranger"); });
}

struct Hostile {
  const char* label;
  std::string header;
  const char* fault;
  size_t data_bytes = 0;
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.label; }

class Refused : public ::testing::TestWithParam<Hostile> {};

TEST_P(Refused, NamesTheFileAndTheFault) {
  const Hostile& hostile = GetParam();
  EXPECT_THAT(fault_of(file_of(hostile.header, std::string(hostile.data_bytes, '\1'))),
              AllOf(StartsWith("stranger: "), HasSubstr(hostile.fault)));
}

std::string repeated(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// An entry with these fields.
std::string entry(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return str_cat("{\"dtype\":", dtype, ",\"shape\":", shape, ",\"data_offsets\":", offsets, "}");
}

// A header with one tensor "x".
std::string x(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return "{\"x\":" + entry(dtype, shape, offsets) + "}";
}

// Bytes [begin, end) as a tensor of that many elements.
std::string bytes(std::string_view name, int begin, int end) {
  return str_cat("\"", name,
                 "\":", entry("\"U8\"", str_cat("[", end - begin, "]"), str_cat("[", begin, ",", end, "]")));
}

const Hostile kNotJson[] = {
    {"Nothing", "", "the header does not begin with '{'"},
    {"ListAtTheTop", "[]", "the header does not begin with '{'"},
    {"SpaceBefore", " {}", "the header does not begin with '{'"},
    {"ByteOrderMark", "\xef\xbb\xbf{}", "the header does not begin with '{'"},
    {"CutShort", R"({"x":{"dtype")", "not valid JSON at its byte 14"},
    {"TextBehind", "{}x", "not valid JSON at its byte 3"},
    {"SecondObject", "{} {}", "not valid JSON at its byte 4"},
    {"ZeroByteBehind", std::string("{}\0", 3), "not valid JSON at its byte 3: it is zero"},
    {"TextBehindZeroByte", std::string("{}\0{", 4), "not valid JSON at its byte 3: it is zero"},
    {"ZeroByteInName", std::string("{\"\0\":1}", 7), "not valid JSON at its byte 3: it is zero"},
    {"LineBreakInName", "{\"a\nb\":1}", "not valid JSON at its byte 4"},
    {"Comment", "{/**/}", "not valid JSON at its byte 2"},
    {"CommaAtTheEnd", "{" + bytes("x", 0, 1) + ",}", "not valid JSON", 1},
    {"LoneUtf8Byte", "{\"\x80\":1}", "ill-formed UTF-8 byte"},
    {"OverlongUtf8", "{\"\xc0\xaf\":1}", "ill-formed UTF-8 byte"},
    {"CutUtf8", "{\"\xe2\x82\":1}", "ill-formed UTF-8 byte"},
    {"Utf8Surrogate", "{\"\xed\xa0\x80\":1}", "ill-formed UTF-8 byte"},
    {"EscapedSurrogate", R"({"\ud800":1})", "surrogate"},
    {"InvalidUtf8InMetadata", "{\"__metadata__\":{\"a\":\"\xff\"}}", "ill-formed UTF-8 byte"},
};

const Hostile kTwice[] = {
    {"Name", "{" + bytes("x", 0, 1) + "," + bytes("x", 1, 2) + "}", "tensor \"x\" is there twice", 2},
    {"EscapedName", "{" + bytes("x", 0, 1) + "," + bytes("\\u0078", 1, 2) + "}", "tensor \"x\" is there twice", 2},
    {"DType", R"({"x":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
     "tensor \"x\": the key \"dtype\" is there twice", 1},
    {"Shape", R"({"x":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})",
     "tensor \"x\": the key \"shape\" is there twice", 1},
    {"Offsets", R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1]}})",
     "tensor \"x\": the key \"data_offsets\" is there twice", 1},
    {"Metadata", R"({"__metadata__":{},"__metadata__":{}})", "the key \"__metadata__\" is there twice"},
    {"MetadataKey", R"({"__metadata__":{"a":"1","a":"1"}})", "__metadata__: the key \"a\" is there twice"},
};

const Hostile kOfAnotherKind[] = {
    {"NoDType", R"({"x":{"shape":[],"data_offsets":[0,1]}})", "tensor \"x\" has no dtype", 1},
    {"NoShape", R"({"x":{"dtype":"U8","data_offsets":[0,1]}})", "tensor \"x\" has no shape", 1},
    {"NoOffsets", R"({"x":{"dtype":"U8","shape":[]}})", "tensor \"x\" has no data_offsets"},
    {"UnknownKey", R"({"x":{"dtype":"U8","shape":[],"data_offsets":[0,1],"strides":[]}})",
     "tensor \"x\": the key \"strides\" is not one of dtype, shape and data_offsets", 1},
    {"NumberAsEntry", R"({"x":1})",
     "tensor \"x\" must be an object with dtype, shape and data_offsets; there is a number"},
    {"ListAsEntry", R"({"x":["U8",[],[0,1]]})", "tensor \"x\" must be an object", 1},
    {"NullAsEntry", R"({"x":null})", "tensor \"x\" must be an object"},
    {"NumberAsDType", x("8", "[]", "[0,1]"), "tensor \"x\": dtype must be a string; there is a number", 1},
    {"ListAsDType", x("[\"U8\"]", "[]", "[0,1]"), "dtype must be a string; there is an array", 1},
    {"NumberAsShape", x("\"U8\"", "1", "[0,1]"), "tensor \"x\": shape must be an array of sizes; there is a number", 1},
    {"ObjectAsShape", x("\"U8\"", "{}", "[0,1]"), "shape must be an array of sizes; there is an object", 1},
    {"ListAsSize", x("\"U8\"", "[[1]]", "[0,1]"), "shape must be made of whole numbers that are 0 or more", 1},
    {"StringAsSize", x("\"U8\"", "[\"1\"]", "[0,1]"), "shape must be made of whole numbers", 1},
    {"BooleanAsSize", x("\"U8\"", "[true]", "[0,1]"), "whole numbers that are 0 or more; there is a boolean", 1},
    {"NegativeSize", x("\"U8\"", "[-1]", "[0,1]"), "there is a negative number", 1},
    {"FractionAsSize", x("\"U8\"", "[1.0]", "[0,1]"), "there is a number that has a fraction", 1},
    {"ExponentInSize", x("\"U8\"", "[1e0]", "[0,1]"), "there is a number that has a fraction", 1},
    {"SizeOf64Bits", x("\"U8\"", "[9223372036854775808]", "[0,1]"), "9223372036854775808 in shape does not fit 63 bits",
     1},
    {"SizeOf65Bits", x("\"U8\"", "[18446744073709551616]", "[0,1]"), "or more than 64 bits", 1},
    {"NineDimensions", x("\"U8\"", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), "shape has more than the 8 dimensions", 1},
    {"EndlessShape", x("\"U8\"", "[" + repeated("1,", 1000000) + "1]", "[0,1]"), "more than the 8 dimensions", 1},
    {"StringAsOffsets", x("\"U8\"", "[]", "\"01\""), "data_offsets must be an array of two numbers; there is a string",
     1},
    {"NegativeOffset", x("\"U8\"", "[]", "[-1,1]"), "data_offsets must be made of whole numbers", 1},
    {"OneOffset", x("\"U8\"", "[]", "[0]"), "data_offsets has 1 numbers; it needs two", 1},
    {"NoOffset", x("\"U8\"", "[]", "[]"), "data_offsets has 0 numbers; it needs two", 1},
    {"ThreeOffsets", x("\"U8\"", "[]", "[0,1,2]"), "data_offsets has more than two numbers", 1},
    {"TextAsMetadata", R"({"__metadata__":"a"})", "__metadata__ must be an object of strings; there is a string"},
    {"NullAsMetadata", R"({"__metadata__":null})", "__metadata__ must be an object of strings; there is null"},
    {"NumberInMetadata", R"({"__metadata__":{"a":1}})", "__metadata__ must be an object of strings; there is a number"},
    {"ObjectInMetadata", R"({"__metadata__":{"a":{}}})",
     "__metadata__ must be an object of strings; there is an object"},
    {"DeepLists", "{\"x\":" + repeated("[", 1000000), "tensor \"x\" must be an object"},
    {"DeepListsInEntry", "{\"x\":{\"shape\":" + repeated("[", 1000000), "shape must be made of whole numbers"},
    {"DeepObjects", "{" + repeated("\"x\":{", 1000000), "the key \"x\" is not one of dtype, shape and data_offsets"},
};

const Hostile kWrongRange[] = {
    {"Backwards", x("\"U8\"", "[1]", "[2,1]"), "tensor \"x\": data_offsets begin at 2, after their end 1", 2},
    {"BehindTheFile", x("\"U8\"", "[3]", "[0,3]"), "data_offsets end at 3, but the file has 2 bytes of data", 2},
    {"AtTheLimitOf64Bits", x("\"U8\"", "[1]", "[18446744073709551614,18446744073709551615]"),
     "data_offsets end at 18446744073709551615, but the file has 2 bytes", 2},
    {"Overlap", "{" + bytes("x", 0, 2) + "," + bytes("y", 1, 3) + "}",
     "tensor \"y\": its data begin at 1, but the data before overlap them up to 2", 3},
    {"TheSameTwice", "{" + bytes("x", 0, 2) + "," + bytes("y", 0, 2) + "}", "tensor \"y\": its data begin at 0", 2},
    {"EmptyInsideAnother", "{" + bytes("x", 0, 2) + "," + bytes("y", 1, 1) + "}", "tensor \"y\": its data begin at 1",
     2},
    {"Hole", "{" + bytes("x", 0, 1) + "," + bytes("y", 2, 3) + "}",
     "tensor \"y\": its data begin at 2, but the data before leave a hole from 1", 3},
    {"HoleAtTheStart", "{" + bytes("x", 1, 2) + "}", "its data begin at 1, but the data before leave a hole from 0", 2},
    {"BytesBehind", "{" + bytes("x", 0, 1) + "}", "2 bytes at the end belong to no tensor", 3},
    {"BytesWithoutTensor", "{}", "1 bytes at the end belong to no tensor", 1},
    {"TooFewBytes", x("\"F32\"", "[2]", "[0,4]"), "F32[2] takes 8 bytes, but data_offsets [0, 4] hold 4", 4},
    {"TooManyBytes", x("\"BF16\"", "[1,2]", "[0,8]"), "BF16[1, 2] takes 4 bytes, but data_offsets [0, 8] hold 8", 8},
    {"BytesOfAScalar", x("\"F64\"", "[]", "[0,0]"), "F64[] takes 8 bytes"},
    {"BytesOfNoElement", x("\"F64\"", "[0]", "[0,8]"), "F64[0] takes 0 bytes", 8},
    {"BytesOfAForeignDType", x("\"U16\"", "[2]", "[0,2]"), "U16[2] takes 4 bytes", 2},
    {"HalfBytes", x("\"F4\"", "[3]", "[0,1]"), "F4[3] does not fill whole bytes", 1},
    {"ProductOf64Bits", x("\"U8\"", "[4294967296,4294967296]", "[0,0]"), "more bits than 63 bits can count"},
    {"BitsOf64Bits", x("\"F32\"", "[576460752303423488]", "[0,0]"), "more bits than 63 bits can count"},
    {"StridesOf64Bits", x("\"U8\"", "[0,4294967296,4294967296]", "[0,0]"), "more bits than 63 bits can count"},
    {"ProductThatZeroEnds", x("\"U8\"", "[4294967296,4294967296,0]", "[0,0]"), "more bits than 63 bits can count"},
    {"ProductOfAnUnknownDType", x("\"Q2\"", "[4294967296,4294967296]", "[0,0]"), "more bits than 63 bits can count"},
    {"UnknownDTypeBehindTheFile", x("\"Q2\"", "[1]", "[0,3]"), "data_offsets end at 3", 2},
};

std::string label(const ::testing::TestParamInfo<Hostile>& info) { return info.param.label; }
INSTANTIATE_TEST_SUITE_P(NotJson, Refused, ::testing::ValuesIn(kNotJson), label);
INSTANTIATE_TEST_SUITE_P(Twice, Refused, ::testing::ValuesIn(kTwice), label);
INSTANTIATE_TEST_SUITE_P(OfAnotherKind, Refused, ::testing::ValuesIn(kOfAnotherKind), label);
INSTANTIATE_TEST_SUITE_P(WrongRange, Refused, ::testing::ValuesIn(kWrongRange), label);

TEST(Header, HasALengthInFull) {
  for (size_t size = 0; size < 8; ++size)
    EXPECT_THAT(fault_of(std::string(size, '\0')), HasSubstr("too few for the length of the header"));
}

TEST(Header, IsNotLongerThanTheFile) {
  const std::string whole = file_of("{}");
  EXPECT_THAT(fault_of(whole.substr(0, 9)),
              HasSubstr("is cut short: the header has 2 bytes, the file after its length 1"));
}

TEST(Header, IsNotLongerThan100Megabytes) {
  std::string bytes(8, '\xff');
  EXPECT_THAT(fault_of(bytes), HasSubstr("18446744073709551615 bytes, more than the 100000000 that are allowed"));
  const uint64_t length = 100'000'001;
  std::memcpy(bytes.data(), &length, sizeof(length));
  EXPECT_THAT(fault_of(bytes), HasSubstr("more than the 100000000"));
  const uint64_t allowed = 100'000'000;
  std::memcpy(bytes.data(), &allowed, sizeof(allowed));
  EXPECT_THAT(fault_of(bytes), HasSubstr("is cut short"));
}

TEST(Header, ShowsNamesEscapedAndShortened) {
  const std::string fault = fault_of(file_of("{\"\\u001b" + std::string(1'000'000, 'a') + "\":1}"));
  EXPECT_THAT(fault, HasSubstr("tensor \"\\033aaa"));
  EXPECT_LT(fault.size(), 300);
}

TEST(Header, ShowsWhatIsNoJsonEscapedAndShortened) {
  const std::string fault = fault_of(file_of("{\"\xff" + std::string(1'000'000, 'a')));
  EXPECT_EQ(fault.find('\xff'), std::string::npos);
  EXPECT_LT(fault.size(), 400);
}

TEST(Header, MayBeWithoutTensors) {
  const std::string bytes = file_of("{}");
  const File file = File::parse(as_bytes(bytes), "empty");
  EXPECT_THAT(file.names(), IsEmpty());
  EXPECT_THAT(file.metadata(), IsEmpty());
}

TEST(Header, MayHaveWhiteSpaceAnywhereBehindTheFirstByte) {
  const std::string bytes =
      file_of("{ \n\t\"x\" :\r{\"dtype\": \"U8\", \"shape\" :[ ], \"data_offsets\":[0 , 1]}\n}  \n", "\7");
  EXPECT_EQ(File::parse(as_bytes(bytes), "spaced").load("x").item<int>(), 7);
}

TEST(Header, MayHaveKeysInAnyOrder) {
  const std::string bytes =
      file_of(R"({"x":{"data_offsets":[0,2],"shape":[2],"dtype":"U8"},"__metadata__":{"b":"2","a":"1"}})", "\1\2");
  const File file = File::parse(as_bytes(bytes), "reordered");
  EXPECT_EQ(file.load("x").to_vector<uint8_t>(), std::vector<uint8_t>({1, 2}));
  EXPECT_THAT(file.metadata(), ElementsAre(Pair("a", "1"), Pair("b", "2")));
}

TEST(Header, ListsNamesInTheOrderOfTheirData) {
  const std::string bytes_of_three =
      file_of("{" + bytes("a", 2, 3) + "," + bytes("b", 0, 2) + "," + bytes("c", 2, 2) + "}", "123");
  EXPECT_THAT(File::parse(as_bytes(bytes_of_three), "three").names(), ElementsAre("b", "c", "a"));
}

TEST(Header, MayHaveAnyUnicodeInNames) {
  const std::string bytes = file_of(R"({"\u0000\ud83d\ude00é":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})", "1");
  EXPECT_THAT(File::parse(as_bytes(bytes), "unicode").names(), ElementsAre(std::string("\0😀é", 7)));
}

TEST(Header, MayHaveEightDimensions) {
  const std::string bytes = file_of(x("\"I16\"", "[1,1,1,1,1,1,1,1]", "[0,2]"), "\1\1");
  EXPECT_EQ(File::parse(as_bytes(bytes), "deep").load("x").shape(), Dims::filled(8, 1));
}

TEST(Header, MayHaveEmptyTensorsOfLargeSizes) {
  const std::string bytes = file_of(x("\"U8\"", "[0,1099511627776,1048575]", "[0,0]"));
  EXPECT_EQ(File::parse(as_bytes(bytes), "empty").load("x").shape(), Dims({0, int64_t{1} << 40, (1 << 20) - 1}));
}

TEST(Header, MayNameADTypeThatNobodyKnows) {
  const std::string bytes = file_of(x("\"Q2\"", "[5]", "[0,3]"), "123");
  const File file = File::parse(as_bytes(bytes), "new");
  EXPECT_EQ(file.entry("x").dtype, DType::kUndefined);
  EXPECT_EQ(file.entry("x").dtype_name, "Q2");
  EXPECT_EQ(file.entry("x").shape, Dims({5}));
  EXPECT_THAT(message_of<DTypeError>([&] { file.load("x"); }),
              HasSubstr("new: tensor \"x\" has the dtype \"Q2\", which Vellum lacks; convert it"));
}

}  // namespace
}  // namespace vellum::safetensors
