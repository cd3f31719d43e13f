#include "vellum/tools/replay/case.h"

#include <filesystem>

#include "vellum/device/error.h"

namespace vellum::replay {
namespace {

// Deeper than any argument, and no danger to the stack: what copies and prints JSON is recursive.
constexpr int kMaxDepth = 32;

nlohmann::json parse(const std::string& text, const std::string& where) {
  const auto limit = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kMaxDepth) throw_error<IoError>(where, ": nested deeper than ", kMaxDepth, " levels");
    return true;
  };
  try {
    return nlohmann::json::parse(text, limit);
  } catch (const nlohmann::json::exception& e) {
    throw_error<IoError>(where, ": not JSON: ", e.what());
  }
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    throw_error<IoError>("the case has no string '", key, "'; see tools/replay/case.h");
  return found->get<std::string>();
}

nlohmann::json member(const nlohmann::json& object, const char* key, nlohmann::json otherwise) {
  const auto found = object.find(key);
  if (found == object.end()) return otherwise;
  if (found->type() != otherwise.type())
    throw_error<IoError>("the case's '", key, "' is a ", found->type_name(), ", not a ", otherwise.type_name());
  return *found;
}

nlohmann::json parse_array(const std::string& text, const std::string& where) {
  nlohmann::json list = parse(text, where);
  if (!list.is_array()) throw_error<IoError>(where, ": no array, but a ", list.type_name());
  return list;
}

// The first tensor among the arguments, in lists too.
const nlohmann::json* first_tensor(const nlohmann::json& value) {
  if (value.is_object() && value.contains("tensor")) return &value["tensor"];
  const nlohmann::json* list = value.is_array() ? &value : nullptr;
  if (value.is_object() && value.contains("list")) list = &value["list"];
  if (!list || !list->is_array()) return nullptr;
  for (const nlohmann::json& item : *list)
    if (item.is_object() && item.contains("tensor")) return &item["tensor"];
  return nullptr;
}

}  // namespace

CaseFile::CaseFile(const std::string& path)
    : file_(safetensors::File::open(path)), name_(std::filesystem::path(path).filename().string()) {
  const auto& metadata = file_.metadata();
  if (const auto one = metadata.find("case"); one != metadata.end()) {
    descriptions_.push_back(parse(one->second, "metadata 'case'"));
  } else if (const auto many = metadata.find("cases"); many != metadata.end()) {
    const nlohmann::json list = parse_array(many->second, "metadata 'cases'");
    descriptions_.assign(list.begin(), list.end());
    bundle_ = true;
  } else {
    throw_error<IoError>("its metadata have neither 'case' nor 'cases'; see tools/replay/case.h");
  }
  if (const auto names = metadata.find("complex128"); names != metadata.end())
    for (const nlohmann::json& name : parse_array(names->second, "metadata 'complex128'"))
      if (name.is_string()) pairs_.insert(name.get<std::string>());
}

std::string CaseFile::name(size_t i) const { return bundle_ ? str_cat(name_, "#", i) : name_; }

std::string CaseFile::label(size_t i) const {
  Case c;
  const nlohmann::json& description = descriptions_[i];
  const auto copy_text = [&](const char* key, std::string& into) {
    if (!description.is_object()) return;
    if (const auto found = description.find(key); found != description.end() && found->is_string())
      into = found->get<std::string>();
  };
  copy_text("op", c.op);
  copy_text("variant", c.variant);
  return c.op.empty() ? name_ : c.label();
}

Case CaseFile::load(size_t i) const {
  const nlohmann::json& description = descriptions_[i];
  if (!description.is_object()) throw_error<IoError>("the case is no JSON object");
  Case c;
  c.name = name(i);
  c.op = text_of(description, "op");
  c.variant = member(description, "variant", "").get<std::string>();
  c.args = member(description, "args", nlohmann::json::array());
  c.kwargs = member(description, "kwargs", nlohmann::json::object());
  c.grad = member(description, "grad", false).get<bool>();
  const std::string prefix = bundle_ ? str_cat(i, ".") : "";
  for (const std::string& name : file_.names())
    if (name.starts_with(prefix)) c.tensors[name.substr(prefix.size())] = tensor(name);
  if (!c.tensors.contains("out.0")) throw_error<IoError>("the case has no tensor 'out.0'");
  return c;
}

Tensor CaseFile::tensor(const std::string& name) const {
  const Tensor stored = file_.load(name);
  return pairs_.contains(name) ? stored.view_as_complex().clone() : stored;
}

DType Case::dtype() const {
  for (const nlohmann::json& value : args)
    if (const nlohmann::json* name = first_tensor(value); name && name->is_string())
      if (const auto found = tensors.find(name->get<std::string>()); found != tensors.end())
        return found->second.dtype();
  return tensors.at("out.0").dtype();
}

std::vector<Dims> Case::operand_shapes() const {
  std::vector<Dims> shapes;
  for (const auto& [name, tensor] : tensors)
    if (name.find('.') == name.npos) shapes.push_back(tensor.shape());
  return shapes;
}

Tensor Case::numbered(const char* prefix, size_t i) const {
  const auto found = tensors.find(str_cat(prefix, ".", i));
  return found == tensors.end() ? Tensor() : found->second;
}

}  // namespace vellum::replay
