#include <gmock/gmock.h>

#include "vellum/tools/op_coverage/coverage.h"

namespace vellum::tools {
namespace {

using ::testing::HasSubstr;

TEST(OpCoverage, TellsWhatEachGradientKeeps) {
  EXPECT_EQ(describe_saves(find_operator("mul")->def()), "0: input 1; 1: input 0");
  EXPECT_EQ(describe_saves(find_operator("exp")->def()), "0: output 0");
  EXPECT_EQ(describe_saves(find_operator("dropout")->def()), "0: by-product 0");
  EXPECT_EQ(describe_saves(find_operator("complex")->def()), "nothing");
  EXPECT_EQ(describe_saves(find_operator("eq")->def()), "-");
}

TEST(OpCoverage, NamesTheProvenanceOfEveryOperatorDeviceAndDtype) {
  const std::string csv = coverage_csv();
  EXPECT_THAT(csv, HasSubstr("mul,pointwise,cpu,float32,native,yes,0: input 1; 1: input 0\n"));
  EXPECT_THAT(csv, HasSubstr("mul,pointwise,meta,float32,shape only,yes,"));
  EXPECT_THAT(csv, HasSubstr("mul,pointwise,bare,float32,host fallback,yes,"));
  EXPECT_THAT(csv, HasSubstr("to_device,copy,bare,int8,composite,yes,nothing\n"));
  EXPECT_THAT(csv, HasSubstr("permute,shape,bare,bool,view,yes,nothing\n"));
  EXPECT_THAT(csv, HasSubstr("exp,pointwise,cpu,int64,none,yes,"));
}

TEST(OpCoverage, PrintsOneRowForEachOperator) {
  const std::string table = coverage_table();
  EXPECT_THAT(table, HasSubstr("\nexp "));
  for (const OpSlot* slot : all_operators()) EXPECT_THAT(table, HasSubstr("\n" + std::string(slot->def().name) + " "));
}

// Every operator of the house has a kernel on the CPU for every dtype that it is defined for.
TEST(OpCoverage, OfTheCpuIsComplete) {
  for (OpSlot* slot : all_operators()) {
    for (int t = 0; t < kDTypeCount; ++t) {
      const DType dtype = static_cast<DType>(t);
      const bool defined = slot->def().domain.contains(dtype);
      EXPECT_TRUE(!defined || slot->provenance(kCPU, dtype) != Provenance::kNone) << slot->def().name << " " << dtype;
    }
  }
}

}  // namespace
}  // namespace vellum::tools
