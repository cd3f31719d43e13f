#ifndef VELLUM_TOOLS_REPLAY_ARGS_H_
#define VELLUM_TOOLS_REPLAY_ARGS_H_

#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "vellum/tensor/ops/ops.h"
#include "vellum/tools/replay/case.h"

namespace vellum::replay {

// What a binding throws where the library has no such argument, dtype or form of a call.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int kKeywordOnly = -1;

// The arguments of one call, by position or by keyword as in Python: `position` counts from 0, `name` is PyTorch's. A
// null counts as left out. Each reader throws Unsupported when the argument is there in a form that it does not read,
// and InvalidArgumentError when it is missing and has no default. Not thread-safe.
class Args {
 public:
  // Tensors are moved to `device`; those that the case has a gradient of become leaves that require one.
  Args(const Case& c, Device device);

  // Whether it is given. Does not count as reading it.
  bool has(int position, std::string_view name) const { return find(position, name) != nullptr; }
  bool is_tensor(int position, std::string_view name) const;
  bool is_list(int position, std::string_view name) const;
  bool is_text(int position, std::string_view name) const;
  bool is_dtype(int position, std::string_view name) const;

  Tensor tensor(int position, std::string_view name);
  Tensor optional_tensor(int position, std::string_view name);  // undefined where it is left out
  std::vector<Tensor> tensors(int position, std::string_view name);
  Scalar scalar(int position, std::string_view name, std::optional<Scalar> otherwise = {});
  int64_t integer(int position, std::string_view name, std::optional<int64_t> otherwise = {});
  double real(int position, std::string_view name, std::optional<double> otherwise = {});
  bool boolean(int position, std::string_view name, bool otherwise);
  std::string text(int position, std::string_view name, const std::string& otherwise);
  DType dtype(int position, std::string_view name, DType otherwise);
  // One integer or a list of them.
  std::vector<int64_t> integers(int position, std::string_view name,
                                std::optional<std::vector<int64_t>> otherwise = {});
  Dims dims(int position, std::string_view name, std::optional<Dims> otherwise = {});
  // The same, or integers from `position` on to the last argument: view(2, 3).
  Dims shape(int position, std::string_view name);
  // The argument as it stands in the case.
  const nlohmann::json& json(int position, std::string_view name);
  // The tensor of this name in the case, on the device.
  Tensor operand(const std::string& name);

  const Case& source() const { return case_; }
  Device device() const { return device_; }
  // The tensors that require a gradient, by name.
  const std::map<std::string, Tensor>& leaves() const { return leaves_; }
  // Throws Unsupported naming an argument that nobody read.
  void check_all_read() const;

 private:
  const nlohmann::json* find(int position, std::string_view name) const;
  // Marks it as read; null when it is left out and `optional`.
  const nlohmann::json* read(int position, std::string_view name, bool optional);

  const Case& case_;
  Device device_;
  std::map<std::string, Tensor> operands_, leaves_;
  std::set<size_t> read_positions_;
  std::set<std::string, std::less<>> read_names_;
};

// The forms of a value. Each throws Unsupported, naming `what`, when it is none.
Scalar scalar_of(const nlohmann::json& value, std::string_view what);
int64_t integer_of(const nlohmann::json& value, std::string_view what);
// The elements of {"list": [...]} or of an array; null when it is neither.
const nlohmann::json* list_of(const nlohmann::json& value);
// The inner value of {"tensor": name} and the like; null when it is not such an object.
const nlohmann::json* tagged(const nlohmann::json& value, const char* tag);

}  // namespace vellum::replay

#endif  // VELLUM_TOOLS_REPLAY_ARGS_H_
