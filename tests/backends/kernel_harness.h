#ifndef VELLUM_TESTS_BACKENDS_KERNEL_HARNESS_H_
#define VELLUM_TESTS_BACKENDS_KERNEL_HARNESS_H_

#include <complex>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "vellum/tensor/dims.h"
#include "vellum/tensor/dtype.h"
#include "vellum/tensor/kernel.h"

// Calls kernels as the core would, with arguments made by hand, on each instruction set that this machine can run.

namespace vellum::testing {

using Value = std::complex<double>;

enum class Layout {
  kRowMajor,
  kTransposed,  // dimensions in reverse order in memory
  kSpread,      // every element beside a hole
  kBroadcast,   // stride 0 everywhere
};

// A small tensor.
class Array {
 public:
  Array(DType dtype, const Dims& shape, Layout layout = Layout::kRowMajor);

  // Small numbers: integers of magnitude at most 4, others below 2, as the dtype can hold them.
  Array& randomize(std::mt19937& generator);
  Array& fill(Value value);

  DType dtype() const { return dtype_; }
  const Dims& shape() const { return shape_; }
  int64_t numel() const { return numel_; }
  // Element i in row-major order.
  Value at(int64_t i) const;
  void set(int64_t i, Value value);
  template <typename T>
  T get(int64_t i) const {
    return *reinterpret_cast<const T*>(address(i));
  }
  template <typename T>
  void put(int64_t i, T value) {
    *reinterpret_cast<T*>(const_cast<char*>(address(i))) = value;
  }

  void* data() { return bytes_.data(); }
  const Dims& strides() const { return strides_; }  // elements
  TensorArg arg();

 private:
  const char* address(int64_t i) const;

  DType dtype_;
  Dims shape_, strides_;
  int64_t numel_;
  bool contiguous_;
  std::vector<char> bytes_;
};

// The plan of an elementwise operator; inputs have the output's shape or broadcast to it by strides of 0.
LoopPlan elementwise_plan(Array& out, std::vector<Array*> inputs);
// The plan of a reduction over the dimensions in `dims` (bit mask); `out` keeps them with size 1.
LoopPlan reduction_plan(Array& out, Array& in, uint32_t dims);

struct CallOptions {
  const void* attrs = nullptr;
  const LoopPlan* loop = nullptr;
  DType compute = DType::kUndefined;  // undefined: that of the first input, or of the output without inputs
  RandomState random = {};
};

// A fixture that runs on one instruction set, its parameter.
class KernelTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override;
  void TearDown() override;

  const KernelEntry& kernel(std::string_view op, DType compute) const;
  // plan(), workspace() and run(). A null array is an input that was left out, or a by-product that nobody reads.
  Status call(std::string_view op, std::vector<Array*> inputs, std::vector<Array*> outputs, const CallOptions& options);
  // An elementwise operator, with its plan.
  void apply(std::string_view op, std::vector<Array*> inputs, Array& out, const void* attrs = nullptr,
             DType compute = DType::kUndefined);

  std::mt19937 generator_{42};

 private:
  std::vector<KernelEntry> kernels_;
};

std::vector<int64_t> instruction_sets();
std::string instruction_set_name(const ::testing::TestParamInfo<int64_t>& info);

// Relative error of one rounding.
double epsilon(DType dtype);
// EXPECTs that element i is `expected` within `ulps` roundings of max(|expected|, scale), or the same infinity or NaN.
void expect_close(const Array& actual, int64_t i, Value expected, double ulps, double scale = 0);

#define VELLUM_ON_EACH_INSTRUCTION_SET(Fixture)                                                          \
  INSTANTIATE_TEST_SUITE_P(Targets, Fixture, ::testing::ValuesIn(::vellum::testing::instruction_sets()), \
                           ::vellum::testing::instruction_set_name)

}  // namespace vellum::testing

#endif  // VELLUM_TESTS_BACKENDS_KERNEL_HARNESS_H_
