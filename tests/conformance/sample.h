#ifndef VELLUM_TESTS_CONFORMANCE_SAMPLE_H_
#define VELLUM_TESTS_CONFORMANCE_SAMPLE_H_

#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/tensor/tensor.h"

// Sample calls of operators, from which the suites make their cases. Every operator that is linked in needs some; an
// operator of another workspace brings a file like those under samples/.

namespace vellum::conformance {

// What values an operand takes. Later ones are stricter.
enum class Values : uint8_t {
  kAny,       // at least 0.25 from 0; small integers, 0 among them
  kNonzero,   //
  kPositive,  //
  kDistinct,  // no two alike, so that a maximum is unique and stays so when an element is moved a little
  kIndex,     // int64 in [0, bound)
  kFixed,     // `fixed` as they are
};

struct Operand {
  Dims shape;
  Values values = Values::kAny;
  DType dtype = DType::kUndefined;  // undefined: the dtype that the suite runs through
  int64_t bound = 0;
  std::vector<double> fixed;
  bool defined = true;  // false: an optional input that is left out
};

enum class Layout : uint8_t { kContiguous, kTransposed, kSliced, kExpanded, kAliased };
inline constexpr Layout kLayouts[] = {Layout::kContiguous, Layout::kTransposed, Layout::kSliced, Layout::kExpanded,
                                      Layout::kAliased};
std::string_view layout_name(Layout layout);

struct Sample {
  std::vector<Operand> operands;
  std::shared_ptr<const void> attrs;
  bool contiguous_only = false;  // the attributes or the operator fix how input 0 lies
  bool gradients = true;
};

template <typename T>
std::shared_ptr<const void> attributes(T attrs) {
  return std::make_shared<const T>(std::move(attrs));
}

// The samples of one operator on a device.
using SampleFunction = std::vector<Sample> (*)(Device device);

// Adds samples; for static initializers.
class RegisterSamples {
 public:
  RegisterSamples(std::initializer_list<std::pair<std::string_view, SampleFunction>> table);
};

// Of an operator, or null when nobody has written any.
SampleFunction find_samples(std::string_view op);

}  // namespace vellum::conformance

#endif  // VELLUM_TESTS_CONFORMANCE_SAMPLE_H_
