#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

std::optional<int64_t> bound_of(const nlohmann::json& value) {
  if (value.is_null()) return {};
  return integer_of(value, "a bound of a slice");
}

TensorIndex index_of(const nlohmann::json& value) {
  if (value.is_null()) return kNone;
  if (value.is_number_integer()) return integer_of(value, "index");
  if (tagged(value, "ellipsis")) return kEllipsis;
  const nlohmann::json* bounds = tagged(value, "slice");
  if (!bounds || !bounds->is_array() || bounds->size() != 3) throw Unsupported("an index that is a tensor");
  Slice slice{bound_of((*bounds)[0]), bound_of((*bounds)[1])};
  if (!(*bounds)[2].is_null()) slice.step = integer_of((*bounds)[2], "step");
  return slice;
}

// A list that holds a slice or an ellipsis stands for a tuple of indices, one of numbers alone for an index tensor.
bool is_tuple(const nlohmann::json& list) {
  for (const nlohmann::json& item : list)
    if (tagged(item, "slice") || tagged(item, "ellipsis") || item.is_null()) return true;
  return false;
}

Results get_item(Args& a) {
  const Tensor input = a.tensor(0, "self");
  const nlohmann::json& value = a.json(1, "indices");
  const nlohmann::json* list = list_of(value);
  if (!list) return input.index({index_of(value)});
  if (!is_tuple(*list)) throw Unsupported("an index that is a tensor");
  std::vector<TensorIndex> indices;
  for (const nlohmann::json& item : *list) indices.push_back(index_of(item));
  switch (indices.size()) {
    case 1:
      return input.index({indices[0]});
    case 2:
      return input.index({indices[0], indices[1]});
    case 3:
      return input.index({indices[0], indices[1], indices[2]});
    default:
      throw Unsupported("more than three indices");
  }
}

const Bindings kBindings{
    {"index_select",
     [](Args& a) { return index_select(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index")); }},
    {"gather", [](Args& a) { return gather(a.tensor(0, "input"), a.integer(1, "dim"), a.tensor(2, "index")); }},
    {"masked_fill",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input"), mask = a.tensor(1, "mask");
       return a.is_tensor(2, "value") ? masked_fill(input, mask, a.tensor(2, "value"))
                                      : masked_fill(input, mask, a.scalar(2, "value"));
     }},
    {"__getitem__", get_item},
};

}  // namespace
}  // namespace vellum::replay
