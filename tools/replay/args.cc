#include "vellum/tools/replay/args.h"

#include <cmath>
#include <limits>

#include "vellum/device/error.h"

namespace vellum::replay {
namespace {

std::string shown(const nlohmann::json& value) {
  constexpr size_t kShown = 80;
  const std::string text = value.dump();
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

[[noreturn]] void refuse(std::string_view what, const nlohmann::json& value, std::string_view wanted) {
  throw Unsupported(str_cat(what, " = ", shown(value), " is no ", wanted));
}

double special_float(const nlohmann::json& value, std::string_view what) {
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  refuse(what, value, "float");
}

DType dtype_named(const std::string& name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  throw Unsupported("dtype " + name);
}

// Where PyTorch's factories put a tensor when nothing else is said: nothing to do here, whatever the device under test.
bool says_the_default(const std::string& name, const nlohmann::json& value) {
  if (name == "device") return value == "cpu";
  if (name == "requires_grad" || name == "pin_memory") return value == false;
  if (name == "layout") return value == "strided" || value == "torch.strided";
  if (name != "memory_format") return false;
  return value == "torch.preserve_format" || value == "torch.contiguous_format";
}

}  // namespace

const nlohmann::json* tagged(const nlohmann::json& value, const char* tag) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(tag);
  return found == value.end() ? nullptr : &*found;
}

const nlohmann::json* list_of(const nlohmann::json& value) {
  const nlohmann::json* list = value.is_array() ? &value : tagged(value, "list");
  return list && list->is_array() ? list : nullptr;
}

int64_t integer_of(const nlohmann::json& value, std::string_view what) {
  const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  if (!value.is_number_integer() || too_large) refuse(what, value, "integer");
  return value.get<int64_t>();
}

Scalar scalar_of(const nlohmann::json& value, std::string_view what) {
  if (value.is_boolean()) return Scalar(value.get<bool>());
  if (value.is_number_integer()) return Scalar(integer_of(value, what));
  if (value.is_number_float()) return Scalar(value.get<double>());
  if (const nlohmann::json* special = tagged(value, "float")) return Scalar(special_float(*special, what));
  const nlohmann::json* parts = tagged(value, "complex");
  if (!parts || !parts->is_array() || parts->size() != 2) refuse(what, value, "number");
  return Scalar(complex128(scalar_of((*parts)[0], what).real(), scalar_of((*parts)[1], what).real()));
}

Args::Args(const Case& c, Device device) : case_(c), device_(device) {}

const nlohmann::json* Args::find(int position, std::string_view name) const {
  const bool placed = position >= 0 && static_cast<size_t>(position) < case_.args.size();
  const auto keyword = case_.kwargs.find(std::string(name));
  const bool named = keyword != case_.kwargs.end();
  if (placed && named) throw_error<InvalidArgumentError>("the case gives '", name, "' twice");
  if (placed && !case_.args[static_cast<size_t>(position)].is_null()) return &case_.args[static_cast<size_t>(position)];
  return named && !keyword->is_null() ? &*keyword : nullptr;
}

const nlohmann::json* Args::read(int position, std::string_view name, bool optional) {
  const nlohmann::json* value = find(position, name);
  if (position >= 0) read_positions_.insert(static_cast<size_t>(position));
  read_names_.emplace(name);
  if (!value && !optional) throw_error<InvalidArgumentError>("the case lacks the argument '", name, "'");
  return value;
}

bool Args::is_tensor(int position, std::string_view name) const {
  const nlohmann::json* value = find(position, name);
  return value && tagged(*value, "tensor");
}

bool Args::is_list(int position, std::string_view name) const {
  const nlohmann::json* value = find(position, name);
  return value && list_of(*value);
}

bool Args::is_text(int position, std::string_view name) const {
  const nlohmann::json* value = find(position, name);
  return value && value->is_string();
}

bool Args::is_dtype(int position, std::string_view name) const {
  const nlohmann::json* value = find(position, name);
  return value && tagged(*value, "dtype");
}

Tensor Args::operand(const std::string& name) {
  if (const auto known = operands_.find(name); known != operands_.end()) return known->second;
  const auto found = case_.tensors.find(name);
  if (found == case_.tensors.end()) throw_error<InvalidArgumentError>("the file has no tensor '", name, "'");
  Tensor t = found->second.to(device_).detach();
  if (case_.grad && case_.tensors.contains("grad." + name)) {
    t.requires_grad_();
    leaves_[name] = t;
  }
  return operands_[name] = t;
}

Tensor Args::tensor(int position, std::string_view name) {
  const nlohmann::json& value = *read(position, name, false);
  const nlohmann::json* tensor = tagged(value, "tensor");
  if (!tensor || !tensor->is_string()) refuse(name, value, "tensor");
  return operand(tensor->get<std::string>());
}

Tensor Args::optional_tensor(int position, std::string_view name) {
  return read(position, name, true) ? tensor(position, name) : Tensor();
}

std::vector<Tensor> Args::tensors(int position, std::string_view name) {
  const nlohmann::json& value = *read(position, name, false);
  const nlohmann::json* list = list_of(value);
  if (!list) refuse(name, value, "list of tensors");
  std::vector<Tensor> tensors;
  for (const nlohmann::json& item : *list) {
    const nlohmann::json* tensor = tagged(item, "tensor");
    if (!tensor || !tensor->is_string()) refuse(name, item, "tensor");
    tensors.push_back(operand(tensor->get<std::string>()));
  }
  return tensors;
}

Scalar Args::scalar(int position, std::string_view name, std::optional<Scalar> otherwise) {
  const nlohmann::json* value = read(position, name, otherwise.has_value());
  return value ? scalar_of(*value, name) : *otherwise;
}

int64_t Args::integer(int position, std::string_view name, std::optional<int64_t> otherwise) {
  const nlohmann::json* value = read(position, name, otherwise.has_value());
  return value ? integer_of(*value, name) : *otherwise;
}

double Args::real(int position, std::string_view name, std::optional<double> otherwise) {
  const nlohmann::json* value = read(position, name, otherwise.has_value());
  if (!value) return *otherwise;
  const Scalar number = scalar_of(*value, name);
  if (number.kind() == Scalar::Kind::kComplex) refuse(name, *value, "real number");
  return number.real();
}

bool Args::boolean(int position, std::string_view name, bool otherwise) {
  const nlohmann::json* value = read(position, name, true);
  if (!value) return otherwise;
  if (!value->is_boolean()) refuse(name, *value, "boolean");
  return value->get<bool>();
}

std::string Args::text(int position, std::string_view name, const std::string& otherwise) {
  const nlohmann::json* value = read(position, name, true);
  if (!value) return otherwise;
  if (!value->is_string()) refuse(name, *value, "string");
  return value->get<std::string>();
}

DType Args::dtype(int position, std::string_view name, DType otherwise) {
  const nlohmann::json* value = read(position, name, true);
  if (!value) return otherwise;
  const nlohmann::json* dtype = tagged(*value, "dtype");
  if (!dtype || !dtype->is_string()) refuse(name, *value, "dtype");
  return dtype_named(dtype->get<std::string>());
}

std::vector<int64_t> Args::integers(int position, std::string_view name,
                                    std::optional<std::vector<int64_t>> otherwise) {
  const nlohmann::json* value = read(position, name, otherwise.has_value());
  if (!value) return *otherwise;
  const nlohmann::json* list = list_of(*value);
  if (!list) return {integer_of(*value, name)};
  std::vector<int64_t> integers;
  for (const nlohmann::json& item : *list) integers.push_back(integer_of(item, name));
  return integers;
}

Dims Args::dims(int position, std::string_view name, std::optional<Dims> otherwise) {
  return otherwise && !has(position, name) ? (read(position, name, true), *otherwise) : Dims(integers(position, name));
}

Dims Args::shape(int position, std::string_view name) {
  Dims dims = this->dims(position, name);
  if (is_list(position, name)) return dims;
  for (size_t i = static_cast<size_t>(position) + 1; i < case_.args.size(); ++i)
    dims.push_back(integer(static_cast<int>(i), ""));
  return dims;
}

const nlohmann::json& Args::json(int position, std::string_view name) { return *read(position, name, false); }

void Args::check_all_read() const {
  for (size_t i = 0; i < case_.args.size(); ++i)
    if (!read_positions_.contains(i) && !case_.args[i].is_null())
      throw Unsupported(str_cat("argument ", i, " = ", shown(case_.args[i])));
  for (const auto& [name, value] : case_.kwargs.items())
    if (!read_names_.contains(name) && !value.is_null() && !says_the_default(name, value))
      throw Unsupported(str_cat("argument ", name, " = ", shown(value)));
}

}  // namespace vellum::replay
