#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

std::optional<int64_t> bound_of(const nlohmann::json& value) {
  if (value.is_null()) return {};
  return integer_of(value, "a bound of a slice");
}

TensorIndex slice_of(const nlohmann::json& bounds) {
  if (!bounds.is_array() || bounds.size() != 3) throw Unsupported("a slice without three bounds");
  Slice slice{bound_of(bounds[0]), bound_of(bounds[1])};
  if (!bounds[2].is_null()) slice.step = integer_of(bounds[2], "the step of a slice");
  return slice;
}

TensorIndex index_of(Args& a, const nlohmann::json& value) {
  if (value.is_null()) return kNone;
  if (value.is_number_integer()) return integer_of(value, "index");
  if (tagged(value, "ellipsis")) return kEllipsis;
  if (const nlohmann::json* bounds = tagged(value, "slice")) return slice_of(*bounds);
  if (const nlohmann::json* name = tagged(value, "tensor"); name && name->is_string())
    return a.operand(name->get<std::string>());
  const nlohmann::json* list = list_of(value);
  if (!list) throw Unsupported("an index that is no number, slice, ellipsis, tensor or list");
  std::vector<int64_t> positions;
  for (const nlohmann::json& item : *list) positions.push_back(integer_of(item, "index"));
  return tensor(positions).to(a.device());
}

// A list of numbers alone is a tensor of positions; one that holds anything else stands for a tuple of indices.
std::vector<TensorIndex> indices_of(Args& a, const nlohmann::json& value) {
  const nlohmann::json* list = list_of(value);
  bool tuple = false;
  if (list)
    for (const nlohmann::json& item : *list) tuple |= !item.is_number();
  if (!tuple) return {index_of(a, value)};
  std::vector<TensorIndex> indices;
  for (const nlohmann::json& item : *list) indices.push_back(index_of(a, item));
  return indices;
}

Results get_item(Args& a) { return a.tensor(0, "self").index(indices_of(a, a.json(1, "indices"))); }

Results put(Args& a) {
  Tensor written = a.tensor(0, "input").clone();
  const std::vector<TensorIndex> indices = indices_of(a, a.json(1, "indices"));
  return written.index_put_(indices, a.tensor(2, "values"), a.boolean(3, "accumulate", false));
}

Results scatter_into(Args& a) {
  const Tensor input = a.tensor(0, "input"), index = a.tensor(2, "index");
  const int64_t dim = a.integer(1, "dim");
  if (a.has(kKeywordOnly, "reduce")) {
    const std::string reduce = a.text(kKeywordOnly, "reduce", "");
    return a.is_tensor(3, "src") ? scatter(input, dim, index, a.tensor(3, "src"), reduce)
                                 : scatter(input, dim, index, a.scalar(3, "value"), reduce);
  }
  if (a.is_tensor(3, "src")) return scatter(input, dim, index, a.tensor(3, "src"));
  return scatter(input, dim, index, a.scalar(3, "value"));
}

Results non_zero(Args& a) {
  const Tensor input = a.tensor(0, "input");
  if (!a.boolean(kKeywordOnly, "as_tuple", false)) return nonzero(input);
  return nonzero(input.dim() == 0 ? input.unsqueeze(0) : input).unbind(1);
}

Results take(Args& a) {
  const Tensor input = a.tensor(0, "input"), indices = a.tensor(1, "indices");
  return a.has(2, "dim") ? take_along_dim(input, indices, a.integer(2, "dim")) : take_along_dim(input, indices);
}

// embedding(input, weight); in the database's own order the weight, which is not of integers, comes first.
Results embed(Args& a) {
  const Tensor first = a.tensor(0, "input"), second = a.tensor(1, "weight");
  std::optional<int64_t> padding;
  if (a.has(2, "padding_idx")) padding = a.integer(2, "padding_idx");
  a.boolean(6, "sparse", false);  // of the gradient, whose values are the same
  return is_integral(first.dtype()) ? embedding(second, first, padding) : embedding(first, second, padding);
}

PadMode pad_mode(const std::string& name) {
  if (name == "constant") return PadMode::kConstant;
  if (name == "reflect") return PadMode::kReflect;
  if (name == "replicate") return PadMode::kReplicate;
  if (name == "circular") return PadMode::kCircular;
  throw Unsupported("padding " + name);
}

const Bindings kBindings{
    {"index_select",
     [](Args& a) { return index_select(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index")); }},
    {"index_add",
     [](Args& a) {
       return index_add(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index"), a.tensor(3, "source"),
                        a.scalar(kKeywordOnly, "alpha", 1));
     }},
    {"index_copy",
     [](Args& a) {
       return index_copy(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index"), a.tensor(3, "source"));
     }},
    {"index_put", put},
    {"gather", [](Args& a) { return gather(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index")); }},
    {"scatter", scatter_into},
    {"scatter_add",
     [](Args& a) {
       return scatter_add(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index"), a.tensor(3, "src"));
     }},
    {"take_along_dim", take},
    {"masked_select", [](Args& a) { return masked_select(a.tensor(0, "input"), a.tensor(1, "mask")); }},
    {"masked_fill",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input"), mask = a.tensor(1, "mask");
       return a.is_tensor(2, "value") ? masked_fill(input, mask, a.tensor(2, "value"))
                                      : masked_fill(input, mask, a.scalar(2, "value"));
     }},
    {"nonzero", non_zero},
    {"nn.functional.one_hot", [](Args& a) { return one_hot(a.tensor(0, "tensor"), a.integer(1, "num_classes", -1)); }},
    {"nn.functional.embedding", embed},
    {"tril", [](Args& a) { return tril(a.tensor(0, "input"), a.integer(1, "diagonal", 0)); }},
    {"triu", [](Args& a) { return triu(a.tensor(0, "input"), a.integer(1, "diagonal", 0)); }},
    {"nn.functional.pad",
     [](Args& a) {
       return pad(a.tensor(0, "input"), a.integers(1, "pad"), pad_mode(a.text(2, "mode", "constant")),
                  a.scalar(3, "value", 0));
     }},
    {"__getitem__", get_item},
};

}  // namespace
}  // namespace vellum::replay
