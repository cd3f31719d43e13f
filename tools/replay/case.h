#ifndef VELLUM_TOOLS_REPLAY_CASE_H_
#define VELLUM_TOOLS_REPLAY_CASE_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "vellum/nn/serialization/safetensors.h"
#include "vellum/tensor/tensor.h"

namespace vellum::replay {

// One call of an operator with what PyTorch made of it. In a file it is JSON,
//
//   {"op": "nn.functional.linear", "variant": "", "args": [{"tensor": "x0"}, ...], "kwargs": {...}, "grad": true}
//
// with tensors beside it: operands by any name, results `out.0`..., cotangents `cot.0`... of those results that have a
// gradient, and gradients `grad.x0`... of those operands that do. Arguments stand in the order and under the names of
// PyTorch's function: numbers, strings, booleans and null for themselves, {"tensor": name}, {"dtype": "float32"},
// {"list": [...]}, {"complex": [re, im]}, {"float": "inf"}, and, as indices, {"slice": [start, stop, step]} and
// {"ellipsis": true}. complex128, which the format lacks, is stored as float64 [..., 2] under a name that the metadata
// `complex128`, an array, lists.
struct Case {
  std::string name;  // where it stands: "add.safetensors", "add.safetensors#7"
  std::string op, variant;
  nlohmann::json args, kwargs;  // an array, an object
  bool grad = false;
  std::map<std::string, Tensor, std::less<>> tensors;  // on the host

  // "nn.functional.pad.reflect": the operator and its variant.
  std::string label() const { return variant.empty() ? op : op + "." + variant; }
  // The operand's whose dtype the case is about: the first one's, without operands the first result's.
  DType dtype() const;
  // The shapes of the operands, in the order of their names.
  std::vector<Dims> operand_shapes() const;
  // Tensor `prefix.i`, or undefined.
  Tensor numbered(const char* prefix, size_t i) const;
};

// A file of cases: one, as the metadata `case`; or a bundle, with an array of them as the metadata `cases`, whose case
// n has its tensors under `n.<name>`.
class CaseFile {
 public:
  // Throws Error when the file is not there, is no safetensors file, or has no cases.
  explicit CaseFile(const std::string& path);

  size_t size() const { return descriptions_.size(); }
  std::string name(size_t i) const;
  // The operator and its variant as far as the case says them, else the file's name.
  std::string label(size_t i) const;
  // Throws Error when the case is not as it should be; the others can still be loaded.
  Case load(size_t i) const;

 private:
  Tensor tensor(const std::string& name) const;

  safetensors::File file_;
  std::string name_;
  bool bundle_ = false;
  std::vector<nlohmann::json> descriptions_;
  std::set<std::string> pairs_;  // the names that `complex128` lists
};

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_CASE_H_
