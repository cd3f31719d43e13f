#include "vellum/tools/op_coverage/coverage.h"

#include <algorithm>
#include <sstream>

#include "vellum/tensor/backend.h"

namespace vellum::tools {
namespace {

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string_view provenance_of(OpSlot& slot, const Backend& backend, DType dtype) {
  if (!slot.def().domain.contains(dtype)) return "none";
  if (slot.def().kind == OpKind::kView) return "view";
  return provenance_name(slot.provenance(device_type(backend.name), dtype));
}

char letter(std::string_view provenance) {
  switch (provenance[0]) {
    case 'n':
      return provenance == "native" ? 'N' : '.';
    case 'c':
      return 'C';
    case 'h':
      return 'h';
    case 's':
      return 's';
    default:
      return 'v';
  }
}

void append(std::string& text, std::string_view what, int index) {
  if (!text.empty()) text += " + ";
  text += std::string(what) + " " + std::to_string(index);
}

std::string describe(Saves saves) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    if (saves.has_input(i)) append(text, "input", i);
  for (int i = 0; i < 8; ++i)
    if (saves.has_output(i)) append(text, "output", i);
  for (int i = 0; i < 8; ++i)
    if (saves.has_by_product(i)) append(text, "by-product", i);
  return text;
}

}  // namespace

std::string describe_saves(const OpDef& op) {
  if (!op.vjp) return "-";
  std::string text;
  for (int i = 0; i < kMaxInputs; ++i) {
    const std::string own = describe(op.saves[static_cast<size_t>(i)]);
    if (own.empty()) continue;
    if (!text.empty()) text += "; ";
    text += std::to_string(i) + ": " + own;
  }
  if (text.empty()) return "nothing";
  return op.refine_saves ? text + "*" : text;
}

std::string coverage_table() {
  std::ostringstream out;
  out << "One letter for each compute dtype: bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64\n"
         "complex64 complex128. N native, C composite, h host fallback, s shape only, v view, . none.\n\n";
  size_t width = 0;
  for (OpSlot* slot : all_operators()) width = std::max(width, slot->def().name.size() + 2);
  out << padded("operator", width);
  for (const Backend* backend : registered_backends()) out << padded(std::string(backend->name), kDTypeCount + 2);
  out << "what each gradient keeps\n";
  for (OpSlot* slot : all_operators()) {
    out << padded(std::string(slot->def().name), width);
    for (const Backend* backend : registered_backends()) {
      std::string letters;
      for (int t = 0; t < kDTypeCount; ++t) letters += letter(provenance_of(*slot, *backend, static_cast<DType>(t)));
      out << padded(letters, kDTypeCount + 2);
    }
    out << describe_saves(slot->def()) << "\n";
  }
  return out.str();
}

std::string coverage_csv() {
  std::ostringstream out;
  out << "operator,family,device,dtype,provenance,differentiable,saves\n";
  for (OpSlot* slot : all_operators())
    for (const Backend* backend : registered_backends())
      for (int t = 0; t < kDTypeCount; ++t) {
        const DType dtype = static_cast<DType>(t);
        out << slot->def().name << "," << slot->family() << "," << backend->name << "," << dtype << ","
            << provenance_of(*slot, *backend, dtype) << "," << (slot->def().vjp ? "yes" : "no") << ","
            << describe_saves(slot->def()) << "\n";
      }
  return out.str();
}

}  // namespace vellum::tools
