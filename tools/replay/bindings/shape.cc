#include "vellum/tools/replay/binding.h"

namespace vellum::replay {
namespace {

std::optional<int64_t> optional_integer(Args& a, int position, std::string_view name) {
  if (!a.has(position, name)) return {};
  return a.integer(position, name);
}

Results split_of(Args& a, std::string_view sizes_name) {
  const Tensor input = a.tensor(0, "tensor");
  if (!a.is_list(1, sizes_name)) return input.split(a.integer(1, sizes_name), a.integer(2, "dim", 0));
  return input.split(a.integers(1, sizes_name), a.integer(2, "dim", 0));
}

Results slice(Args& a) {
  return a.tensor(0, "self").slice(a.integer(1, "dim", 0), optional_integer(a, 2, "start"),
                                   optional_integer(a, 3, "end"), a.integer(4, "step", 1));
}

const Bindings kBindings{
    {"cat", [](Args& a) { return cat(a.tensors(0, "tensors"), a.integer(1, "dim", 0)); }},
    {"stack", [](Args& a) { return stack(a.tensors(0, "tensors"), a.integer(1, "dim", 0)); }},
    {"split", [](Args& a) { return split_of(a, "split_size_or_sections"); }},
    {"split_with_sizes", [](Args& a) { return split_of(a, "split_sizes"); }},
    {"chunk", [](Args& a) { return a.tensor(0, "input").chunk(a.integer(1, "chunks"), a.integer(2, "dim", 0)); }},
    {"unbind", [](Args& a) { return a.tensor(0, "input").unbind(a.integer(1, "dim", 0)); }},
    {"repeat", [](Args& a) { return a.tensor(0, "input").repeat(a.shape(1, "repeats")); }},
    {"flip", [](Args& a) { return a.tensor(0, "input").flip(a.shape(1, "dims")); }},
    {"roll", [](Args& a) { return a.tensor(0, "input").roll(a.dims(1, "shifts"), a.dims(2, "dims", Dims())); }},
    {"diagonal",
     [](Args& a) {
       return a.tensor(0, "input")
           .diagonal(a.integer(1, "offset", 0), a.integer(2, "dim1", 0), a.integer(3, "dim2", 1));
     }},
    {"permute", [](Args& a) { return a.tensor(0, "input").permute(a.shape(1, "dims")); }},
    {"transpose", [](Args& a) { return a.tensor(0, "input").transpose(a.integer(1, "dim0"), a.integer(2, "dim1")); }},
    {"t", method([](const Tensor& x) { return x.t(); })},
    {"view", [](Args& a) { return a.tensor(0, "input").view(a.shape(1, "size")); }},
    {"reshape", [](Args& a) { return a.tensor(0, "input").reshape(a.shape(1, "shape")); }},
    {"flatten",
     [](Args& a) { return a.tensor(0, "input").flatten(a.integer(1, "start_dim", 0), a.integer(2, "end_dim", -1)); }},
    {"expand", [](Args& a) { return a.tensor(0, "input").expand(a.shape(1, "size")); }},
    {"squeeze",
     [](Args& a) {
       const Tensor input = a.tensor(0, "input");
       return a.has(1, "dim") ? input.squeeze(a.integer(1, "dim")) : input.squeeze();
     }},
    {"broadcast_to", [](Args& a) { return a.tensor(0, "input").expand(a.shape(1, "size")); }},
    {"expand_as", [](Args& a) { return a.tensor(0, "input").expand(a.tensor(1, "other").shape()); }},
    {"view_as", [](Args& a) { return a.tensor(0, "input").view(a.tensor(1, "other").shape()); }},
    {"reshape_as", [](Args& a) { return a.tensor(0, "input").reshape(a.tensor(1, "other").shape()); }},
    {"T", method([](const Tensor& x) { return x.t(); })},
    {"unsqueeze", [](Args& a) { return a.tensor(0, "input").unsqueeze(a.integer(1, "dim")); }},
    {"as_strided",
     [](Args& a) {
       return a.tensor(0, "input")
           .as_strided(a.dims(1, "size"), a.dims(2, "stride"), optional_integer(a, 3, "storage_offset"));
     }},
    {"narrow",
     [](Args& a) {
       if (a.is_tensor(2, "start"))
         return a.tensor(0, "input").narrow(a.integer(1, "dim"), a.tensor(2, "start"), a.integer(3, "length"));
       return a.tensor(0, "input").narrow(a.integer(1, "dim"), a.integer(2, "start"), a.integer(3, "length"));
     }},
    {"select", [](Args& a) { return a.tensor(0, "input").select(a.integer(1, "dim"), a.integer(2, "index")); }},
    {"slice", slice},
};

}  // namespace
}  // namespace vellum::replay
