#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

std::optional<int64_t> bound_of(const nlohmann::json& value) {
  if (value.is_null()) return {};
  return integer_of(value, "a bound of a slice");
}

TensorIndex index_of(Args& a, const nlohmann::json& value);

// Nested lists of integers or booleans, as an index tensor.
Tensor tensor_of(const nlohmann::json& list) {
  std::vector<int64_t> numbers;
  bool is_mask = false;
  for (const nlohmann::json& item : list) {
    if (!item.is_number_integer() && !item.is_boolean()) throw Unsupported("an index list of other than numbers");
    is_mask |= item.is_boolean();
    numbers.push_back(item.is_boolean() ? item.get<bool>() : item.get<int64_t>());
  }
  return is_mask ? tensor(numbers).to(kBool) : tensor(numbers);
}

TensorIndex index_of(Args& a, const nlohmann::json& value) {
  if (value.is_null()) return vellum::kNone;
  if (value.is_boolean()) return scalar_tensor(value.get<bool>());
  if (value.is_number_integer()) return integer_of(value, "index");
  if (tagged(value, "ellipsis")) return kEllipsis;
  if (const nlohmann::json* name = tagged(value, "tensor")) return a.operand(name->get<std::string>());
  if (const nlohmann::json* list = list_of(value)) return tensor_of(*list);
  const nlohmann::json* bounds = tagged(value, "slice");
  if (!bounds || !bounds->is_array() || bounds->size() != 3) throw Unsupported("an index of another kind");
  Slice slice{bound_of((*bounds)[0]), bound_of((*bounds)[1])};
  if (!(*bounds)[2].is_null()) slice.step = integer_of((*bounds)[2], "step");
  return slice;
}

// A list of numbers alone stands for an index tensor, any other for a tuple of indices.
bool is_tuple(const nlohmann::json& list) {
  for (const nlohmann::json& item : list)
    if (!item.is_number()) return true;
  return list.empty();
}

std::vector<TensorIndex> indices_of(Args& a, int position) {
  const nlohmann::json& value = a.json(position, "indices");
  const nlohmann::json* list = list_of(value);
  std::vector<TensorIndex> indices;
  if (!list || !is_tuple(*list)) {
    indices.push_back(index_of(a, value));
  } else {
    for (const nlohmann::json& item : *list) indices.push_back(index_of(a, item));
  }
  return indices;
}

Results get_item(Args& a) {
  const Tensor input = a.tensor(0, "self");
  return input.index(std::span<const TensorIndex>(indices_of(a, 1)));
}

Results put_item(Args& a) {
  Tensor written = a.tensor(0, "input").clone();
  const std::vector<TensorIndex> indices = indices_of(a, 1);
  written.index_put_(std::span<const TensorIndex>(indices), a.tensor(2, "values"), a.boolean(3, "accumulate", false));
  return written;
}

Results scattered(Args& a) {
  const Tensor input = a.tensor(0, "input"), index = a.tensor(2, "index");
  const int64_t dim = a.integer(1, "dim");
  const std::string reduce = a.text(kKeywordOnly, "reduce", "");
  if (reduce == "add" && a.is_tensor(3, "src")) return scatter_add(input, dim, index, a.tensor(3, "src"));
  if (!reduce.empty()) throw Unsupported("reduce = " + reduce);
  if (a.is_tensor(3, "src")) return scatter(input, dim, index, a.tensor(3, "src"));
  return scatter(input, dim, index, a.scalar(3, a.has(kKeywordOnly, "value") ? "value" : "src"));
}

std::optional<int64_t> optional_integer(Args& a, int position, std::string_view name) {
  if (!a.has(position, name)) return {};
  return a.integer(position, name);
}

Results embedded(Args& a) {
  Tensor index = a.tensor(0, "input"), weight = a.tensor(1, "weight");
  if (!is_integral(index.dtype())) std::swap(index, weight);  // the database's function takes the weight first
  a.boolean(5, "scale_grad_by_freq", false);
  if (a.boolean(6, "sparse", false)) throw Unsupported("sparse gradients");
  return embedding(weight, index, optional_integer(a, 2, "padding_idx"));
}

Results padded(Args& a) {
  const Tensor input = a.tensor(0, "input");
  std::vector<int64_t> pads;
  const nlohmann::json* list = list_of(a.json(1, "pad"));
  if (!list) throw Unsupported("a padding that is no list");
  for (const nlohmann::json& n : *list) pads.push_back(integer_of(n, "pad"));
  const std::string mode = a.text(2, "mode", "constant");
  const Scalar value = a.scalar(3, "value", 0);
  if (mode == "constant") return pad(input, pads, PadMode::kConstant, value);
  return pad(input, pads,
             mode == "reflect"     ? PadMode::kReflect
             : mode == "replicate" ? PadMode::kReplicate
                                   : PadMode::kCircular);
}

const Bindings kBindings{
    {"index_select",
     [](Args& a) { return index_select(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index")); }},
    {"gather", [](Args& a) { return gather(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index")); }},
    {"__getitem__", get_item},
    {"index_put", put_item},
    {"index_add",
     [](Args& a) {
       return index_add(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index"), a.tensor(3, "source"),
                        a.scalar(kKeywordOnly, "alpha", 1));
     }},
    {"index_copy",
     [](Args& a) {
       return index_copy(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index"), a.tensor(3, "source"));
     }},
    {"scatter", scattered},
    {"scatter_add",
     [](Args& a) {
       return scatter_add(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index"), a.tensor(3, "src"));
     }},
    {"masked_select", [](Args& a) { return masked_select(a.tensor(0, "input"), a.tensor(1, "mask")); }},
    {"nonzero",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input");
       if (!a.boolean(kKeywordOnly, "as_tuple", false)) return Results(nonzero(input));
       return Results(nonzero(input).unbind(1));
     }},
    {"argwhere", unary(nonzero)},
    {"take_along_dim",
     [](Args& a) {
       return take_along_dim(a.tensor(0, "input"), a.tensor(1, "indices"), optional_integer(a, 2, "dim"));
     }},
    {"nn.functional.embedding", embedded},
    {"nn.functional.one_hot", [](Args& a) { return one_hot(a.tensor(0, "input"), a.integer(1, "num_classes", -1)); }},
    {"nn.functional.pad", padded},
    {"repeat", [](Args& a) { return a.tensor(0, "input").repeat(a.shape(1, "repeats")); }},
    {"tile",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input");
       Dims counts = a.shape(1, "dims");
       while (counts.size() < input.dim()) counts.insert(0, 1);
       return input.repeat(counts);
     }},
    {"flip", [](Args& a) { return a.tensor(0, "input").flip(a.shape(1, "dims")); }},
    {"fliplr", method([](const Tensor& x) { return x.flip({1}); })},
    {"flipud", method([](const Tensor& x) { return x.flip({0}); })},
    {"roll", [](Args& a) { return a.tensor(0, "input").roll(a.dims(1, "shifts"), a.dims(2, "dims", Dims{})); }},
    {"tril", [](Args& a) { return tril(a.tensor(0, "input"), a.integer(1, "diagonal", 0)); }},
    {"triu", [](Args& a) { return triu(a.tensor(0, "input"), a.integer(1, "diagonal", 0)); }},
};

}  // namespace
}  // namespace vellum::replay
