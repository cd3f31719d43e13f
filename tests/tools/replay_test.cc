#include "vellum/tools/replay/replay.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "vellum/device/error.h"
#include "vellum/nn/serialization/safetensors.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::replay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Tensors = std::map<std::string, Tensor>;
using Metadata = std::map<std::string, std::string>;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

class Replay : public ::testing::Test {
 protected:
  static std::string path(const std::string& name) { return ::testing::TempDir() + name + ".safetensors"; }

  static std::string write(const std::string& name, const Tensors& tensors, const Metadata& metadata) {
    safetensors::save_file(path(name), tensors, metadata);
    return path(name);
  }

  // What comes of a file of one case.
  static Outcome outcome(const std::string& json, const Tensors& tensors) {
    return run_case(CaseFile(write("one", tensors, {{"case", json}})).load(0), Device(kCPU));
  }

  static Report report(const std::vector<std::string>& files) {
    KnownDifferences none;
    return replay(files, {}, none);
  }
};

const char kAdd[] = R"({"op": "add", "args": [{"tensor": "x0"}, {"tensor": "x1"}], "kwargs": {}})";

Tensors sum_of(float a, float b, float out) {
  return {{"x0", tensor({a})}, {"x1", tensor({b})}, {"out.0", tensor({out})}};
}

TEST_F(Replay, PassesWhatAgrees) {
  const Outcome o = outcome(kAdd, sum_of(1, 2, 3));
  EXPECT_EQ(o.verdict, Verdict::kPassed) << o.why;
  EXPECT_EQ(o.why, "");
}

TEST_F(Replay, NamesIndexGotAndExpectedOfTheFirstDifference) {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f}).view({2, 2});
  const Tensor wrong = tensor({2.f, 4.f, 7.f, 9.f}).view({2, 2});
  const Outcome o = outcome(kAdd, {{"x0", x}, {"x1", x}, {"out.0", wrong}});
  EXPECT_EQ(o.verdict, Verdict::kFailed);
  EXPECT_EQ(o.why, "out.0: element [1, 0] is 6, expected 7");
}

TEST_F(Replay, ComparesDtypeShapeAndNumberOfResults) {
  const Tensor x = tensor({1.f});
  EXPECT_EQ(outcome(kAdd, {{"x0", x}, {"x1", x}, {"out.0", tensor({2.0}, kFloat64)}}).why,
            "out.0: dtype float32, expected float64");
  EXPECT_EQ(outcome(kAdd, {{"x0", x}, {"x1", x}, {"out.0", tensor({2.f}).view({1, 1})}}).why,
            "out.0: shape [1], expected [1, 1]");
  EXPECT_EQ(outcome(kAdd, {{"x0", x}, {"x1", x}, {"out.0", tensor({2.f})}, {"out.1", x}}).why, "1 results, expected 2");
}

// d(x0 * x1) / dx0 * cot = x1 * cot
Tensors product_with_gradients(float grad0) {
  return {{"x0", tensor({2.f})},    {"x1", tensor({5.f})},        {"out.0", tensor({10.f})},
          {"cot.0", tensor({3.f})}, {"grad.x0", tensor({grad0})}, {"grad.x1", tensor({6.f})}};
}
const char kMul[] = R"({"op": "mul", "args": [{"tensor": "x0"}, {"tensor": "x1"}], "kwargs": {}, "grad": true})";

TEST_F(Replay, ComparesGradients) {
  EXPECT_EQ(outcome(kMul, product_with_gradients(15)).why, "");
  EXPECT_EQ(outcome(kMul, product_with_gradients(16)).why, "grad.x0: element [0] is 15, expected 16");
}

TEST_F(Replay, ReadsNoGradientsWhereTheCaseSaysThatThereAreNone) {
  const char json[] = R"({"op": "mul", "args": [{"tensor": "x0"}, {"tensor": "x1"}], "kwargs": {}, "grad": false})";
  EXPECT_EQ(outcome(json, product_with_gradients(16)).verdict, Verdict::kPassed);
}

TEST_F(Replay, FindsAGradientMissingWhereTheResultDoesNotDependOnTheLeaf) {
  const char json[] = R"({"op": "zeros_like", "args": [{"tensor": "x0"}], "kwargs": {}, "grad": true})";
  const Tensor x = tensor({2.f});
  const Outcome o = outcome(json, {{"x0", x}, {"out.0", zeros({1})}, {"cot.0", x}, {"grad.x0", x}});
  EXPECT_EQ(o.why, "out.0: does not require a gradient");
}

TEST_F(Replay, TakesArgumentsByKeywordAsByPosition) {
  const Tensor x = tensor({1.f, 2.f}).view({1, 2});
  const Tensors tensors{{"x0", x}, {"out.0", tensor({3.f})}};
  for (const char* arguments :
       {R"("args": [{"tensor": "x0"}, 1], "kwargs": {})", R"("args": [{"tensor": "x0"}, {"list": [1]}], "kwargs": {})",
        R"("args": [{"tensor": "x0"}], "kwargs": {"dim": -1, "keepdim": false})",
        R"("args": [], "kwargs": {"input": {"tensor": "x0"}, "dim": 1, "dtype": null})"})
    EXPECT_EQ(outcome(str_cat(R"({"op": "sum", )", arguments, "}"), tensors).why, "") << arguments;
}

TEST_F(Replay, ReadsSpecialNumbers) {
  const auto filled = [](const char* value, const Tensor& expected) {
    const std::string json =
        str_cat(R"({"op": "full_like", "args": [{"tensor": "x0"}, )", value, R"(], "kwargs": {}})");
    return outcome(json, {{"x0", zeros_like(expected)}, {"out.0", expected}}).why;
  };
  EXPECT_EQ(filled(R"({"float": "inf"})", tensor({kInf})), "");
  EXPECT_EQ(filled(R"({"float": "-inf"})", tensor({-kInf})), "");
  EXPECT_EQ(filled(R"({"float": "nan"})", tensor({kNan})), "");
  EXPECT_EQ(filled(R"({"complex": [1.5, -2]})", tensor({complex64(1.5f, -2)})), "");
  EXPECT_EQ(filled("true", tensor({true})), "");
  EXPECT_EQ(filled("9007199254740993", tensor({int64_t{9007199254740993}})), "");
  EXPECT_EQ(filled(R"({"float": "inf"})", tensor({-kInf})), "out.0: element [0] is inf, expected -inf");
}

// --- What is not supported, and is never a pass.

TEST_F(Replay, SkipsAnOperatorWithoutABinding) {
  const Outcome o = outcome(R"({"op": "nn.functional.no_such_function"})", {{"out.0", tensor({1.f})}});
  EXPECT_EQ(o.verdict, Verdict::kUnsupported);
  EXPECT_EQ(o.why, "the operator");
}

TEST_F(Replay, SkipsAnArgumentThatTheBindingDoesNotRead) {
  const Outcome o =
      outcome(R"({"op": "add", "args": [{"tensor": "x0"}, {"tensor": "x1"}], "kwargs": {"no_such_argument": "floor"}})",
              sum_of(1, 2, 3));
  EXPECT_EQ(o.verdict, Verdict::kUnsupported);
  EXPECT_EQ(o.why, R"(argument no_such_argument = "floor")");
  EXPECT_EQ(
      outcome(R"({"op": "add", "args": [{"tensor": "x0"}, {"tensor": "x1"}, 4], "kwargs": {}})", sum_of(1, 2, 3)).why,
      "argument 2 = 4");
}

TEST_F(Replay, TakesPlacementsThatAreTheDefault) {
  const auto why = [](const char* keyword) {
    const std::string json = str_cat(R"({"op": "ones", "args": [{"list": [1]}], "kwargs": {)", keyword, "}}");
    return outcome(json, {{"out.0", ones({1})}}).why;
  };
  EXPECT_EQ(why(R"("device": "cpu", "requires_grad": false, "pin_memory": false, "layout": null)"), "");
  EXPECT_EQ(why(R"("device": "cuda:0")"), R"(argument device = "cuda:0")");
  EXPECT_EQ(why(R"("requires_grad": true)"), "argument requires_grad = true");
}

TEST_F(Replay, SkipsADtypeThatTheOperatorDoesNotTake) {
  const Tensor x = tensor({int64_t{1}});
  const Outcome o =
      outcome(R"({"op": "log_softmax", "args": [{"tensor": "x0"}, 0], "kwargs": {}})", {{"x0", x}, {"out.0", x}});
  EXPECT_EQ(o.verdict, Verdict::kUnsupported);
  EXPECT_THAT(o.why, HasSubstr("int64"));
}

TEST_F(Replay, FailsWhereTheOperatorThrows) {
  const Outcome o = outcome(kAdd, {{"x0", zeros({2})}, {"x1", zeros({3})}, {"out.0", zeros({3})}});
  EXPECT_EQ(o.verdict, Verdict::kFailed);
  EXPECT_THAT(o.why, HasSubstr("threw: add: "));
}

// --- Files.

TEST_F(Replay, RunsEveryCaseOfABundle) {
  const std::string bundle = write(
      "bundle",
      {{"0.x0", tensor({1.f})},
       {"0.x1", tensor({1.f})},
       {"0.out.0", tensor({2.f})},
       {"1.x0", tensor({1.f})},
       {"1.out.0", tensor({9.f})}},
      {{"cases", str_cat("[", kAdd, ", 7, ", R"({"op": "neg", "args": [{"tensor": "x0"}], "kwargs": {}})", "]")}});
  const Report r = report({bundle});
  EXPECT_EQ(r.tallies().at("add").passed, 1);
  EXPECT_THAT(r.tallies().at("bundle.safetensors").failures,
              ElementsAre("bundle.safetensors#1: the case is no JSON object"));
  EXPECT_THAT(r.tallies().at("neg").failures, ElementsAre("bundle.safetensors#2: the case has no tensor 'out.0'"));
}

TEST_F(Replay, ReadsComplex128AsPairs) {
  const Tensor z = tensor({complex128(1, 2)});
  const Tensors tensors{{"x0", z.view_as_real()}, {"out.0", tensor({complex128(-1, -2)}).view_as_real()}};
  const std::string json = R"({"op": "neg", "args": [{"tensor": "x0"}], "kwargs": {}})";
  EXPECT_EQ(report({write("pairs", tensors, {{"case", json}, {"complex128", R"(["x0", "out.0"])"}})}).last_line(),
            "1 passed, 0 failed, 0 skipped");
}

TEST_F(Replay, CountsWhatIsNoCaseAsFailedAndGoesOn) {
  const std::string good = write("good", sum_of(1, 2, 3), {{"case", kAdd}});
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  for (const Metadata& metadata : std::vector<Metadata>{
           {},
           {{"case", "{"}},
           {{"case", "[]"}},
           {{"case", R"({"args": []})"}},
           {{"case", R"({"op": 3})"}},
           {{"case", R"({"op": "add", "args": {}})"}},
           {{"case", R"({"op": "add", "kwargs": []})"}},
           {{"case", R"({"op": "add", "grad": "yes"})"}},
           {{"case", R"({"op": "add", "args": [{"tensor": "x0"}, {"tensor": "x7"}]})"}},
           {{"case", R"({"op": "add", "args": [{"tensor": "x0"}]})"}},
           {{"case", R"({"op": "add", "args": [{"tensor": "x0"}], "kwargs": {"input": {"tensor": "x1"}}})"}},
           {{"case", R"({"op": "add", "args": )" + deep + "}"}},
           {{"case", R"({"op": "add", "args": [1e999]})"}},
           {{"cases", "{}"}},
           {{"cases", "[null]"}},
           {{"case", kAdd}, {"complex128", "3"}},
           {{"case", kAdd}, {"complex128", R"(["x0"])"}},
       }) {
    const Report r = report({write("bad", sum_of(1, 2, 3), metadata), good});
    EXPECT_EQ(r.last_line(), "1 passed, 1 failed, 0 skipped") << (metadata.empty() ? "" : metadata.begin()->second);
  }
}

TEST_F(Replay, CountsWhatIsNoSafetensorsFileAsFailed) {
  std::ofstream(path("garbage")) << "no header";
  const Report r = report({path("garbage")});
  EXPECT_EQ(r.last_line(), "0 passed, 1 failed, 0 skipped");
  EXPECT_THAT(r.tallies().at("garbage.safetensors").failures, ElementsAre(HasSubstr("garbage")));
}

TEST_F(Replay, NamesAPathThatIsNotThere) {
  try {
    find_files({"no/such/folder"});
    FAIL();
  } catch (const IoError& e) {
    EXPECT_STREQ(e.what(), "no/such/folder: there is no such file or folder");
  }
}

// --- Comparison.

TEST_F(Replay, HasTheTolerancesOfPyTorch) {
  const auto differs = [](auto actual, auto expected) {
    constexpr DType kDType = dtype_of<decltype(actual)>;
    return !difference(tensor({actual}, kDType), tensor({expected}, kDType)).empty();
  };
  EXPECT_FALSE(differs(1.f + 1e-6f, 1.f));
  EXPECT_TRUE(differs(1.f + 2e-5f, 1.f));
  EXPECT_FALSE(differs(1e-5f, 0.f));
  EXPECT_TRUE(differs(2e-5f, 0.f));
  EXPECT_FALSE(differs(1 + 1e-7, 1.0));
  EXPECT_TRUE(differs(1 + 3e-7, 1.0));
  EXPECT_FALSE(differs(bfloat16(1.0156f), bfloat16(1.f)));
  EXPECT_TRUE(differs(bfloat16(1.03f), bfloat16(1.f)));
  EXPECT_FALSE(differs(float16(1.001f), float16(1.f)));
  EXPECT_TRUE(differs(float16(1.002f), float16(1.f)));
  EXPECT_TRUE(differs(int64_t{9007199254740993}, int64_t{9007199254740992}));
  // By parts: the imaginary part is not excused by a large real one.
  EXPECT_TRUE(differs(complex64(1e6f, 0.1f), complex64(1e6f, 0.f)));
}

TEST_F(Replay, TakesNanForNanAndAnInfinityForItself) {
  const auto differs = [](double a, double e) {
    return !difference(tensor({a}, kFloat64), tensor({e}, kFloat64)).empty();
  };
  EXPECT_FALSE(differs(kNan, kNan));
  EXPECT_FALSE(differs(kInf, kInf));
  EXPECT_TRUE(differs(kNan, 1));
  EXPECT_TRUE(differs(1, kNan));
  EXPECT_TRUE(differs(1e308, kInf));
  EXPECT_TRUE(differs(kInf, -kInf));
}

// --- Reports.

TEST_F(Replay, SumsUpByOperator) {
  Report r;
  r.add("add", "a", {Verdict::kPassed, ""});
  r.add("add", "b", {Verdict::kFailed, "out.0: wrong"});
  r.add("add", "c", {Verdict::kFailed, "out.0: wrong too"});
  r.add("mul", "d", {Verdict::kUnsupported, "the operator"});
  r.add_known_difference("mul", "a reason");
  EXPECT_EQ(r.last_line(), "1 passed, 2 failed, 2 skipped");
  const std::string brief = r.table(false), verbose = r.table(true);
  EXPECT_THAT(brief, HasSubstr("add   33.3 %  1 passed, 2 failed, 0 unsupported\n    failed: b: out.0: wrong\n"));
  EXPECT_THAT(brief, ::testing::Not(HasSubstr("wrong too")));
  EXPECT_THAT(brief, HasSubstr("mul    0.0 %  0 passed, 0 failed, 1 unsupported, 1 known to differ\n"));
  EXPECT_THAT(brief, HasSubstr("20.0 % of 5 cases passed\n"));
  EXPECT_THAT(verbose, HasSubstr("    failed: c: out.0: wrong too\n"));
  EXPECT_THAT(verbose, HasSubstr("    unsupported (1): the operator\n"));
}

class Known : public Replay {
 protected:
  static KnownDifferences known(const std::string& json) {
    const std::string path = ::testing::TempDir() + "known.json";
    std::ofstream(path) << json;
    return {read_known_differences(path), Device(kCPU)};
  }
  static Report report_of(float out, KnownDifferences& known) {
    return replay({write("known", sum_of(1, 2, out), {{"case", kAdd}})}, {}, known);
  }
};

TEST_F(Known, CountApart) {
  KnownDifferences list = known(R"([{"op": ["mul", "add"], "dtype": "float32", "reason": "because"}])");
  const Report r = report_of(4, list);
  EXPECT_EQ(r.last_line(), "0 passed, 0 failed, 1 skipped");
  EXPECT_EQ(r.tallies().at("add").known_differences.at("because"), 1);
}

TEST_F(Known, FitByOperatorDtypeDeviceAndShapes) {
  for (const char* other : {R"("op": "sub")", R"("op": "add", "dtype": "float64")", R"("op": "add", "variant": "v")",
                            R"("op": "add", "device": "other")", R"("op": "add", "shapes": [[1], [2]])"}) {
    KnownDifferences list = known(str_cat("[{", other, R"(, "reason": "because"}])"));
    EXPECT_EQ(report_of(4, list).last_line(), "0 passed, 1 failed, 0 skipped") << other;
  }
  KnownDifferences list = known(R"([{"op": "add", "shapes": [[1], [1]], "device": "cpu", "reason": "because"}])");
  EXPECT_EQ(report_of(4, list).last_line(), "0 passed, 0 failed, 1 skipped");
}

TEST_F(Known, AreBounded) {
  const char json[] = R"([{"op": "add", "tolerance": [0.1, 0.1], "reason": "because"}])";
  KnownDifferences within = known(json), beyond = known(json);
  EXPECT_EQ(report_of(3.3f, within).last_line(), "0 passed, 0 failed, 1 skipped");
  EXPECT_EQ(report_of(4, beyond).last_line(), "0 passed, 1 failed, 0 skipped");
}

TEST_F(Known, AreStaleWhereNoCaseDiffers) {
  KnownDifferences list = known(R"([{"op": "add", "reason": "because"}, {"op": "mul", "reason": "because"},
                                    {"op": "add", "reason": "elsewhere", "selected": false}])");
  EXPECT_EQ(report_of(3, list).last_line(), "1 passed, 0 failed, 0 skipped");
  EXPECT_THAT(list.stale(), ElementsAre(HasSubstr("add: known to differ (because), but agrees"),
                                        HasSubstr("mul: known to differ (because), but has no case")));
  KnownDifferences met = known(R"([{"op": "add", "reason": "because"}])");
  report_of(4, met);
  EXPECT_THAT(met.stale(), IsEmpty());
}

TEST_F(Known, MustBeWellFormed) {
  for (const char* json : {"", "{}", "[3]", R"([{"op": "add"}])", R"([{"reason": "because"}])",
                           R"([{"op": "add", "reason": "because", "shape": []}])",
                           R"([{"op": "add", "reason": "because", "tolerance": [1]}])"})
    EXPECT_THROW(known(json), IoError) << json;
}

}  // namespace
}  // namespace vellum::replay
