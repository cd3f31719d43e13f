#include "vellum/tools/op_coverage/coverage.h"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

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

// Sets of dtypes that have a name, the wider ones first.
std::string describe_dtypes(DTypeSet set) {
  struct Named {
    DTypeSet set;
    const char* name;
  };
  static constexpr DTypeSet kIntegers = DTypeSet(kUInt8) | kInt8 | kInt16 | kInt32 | kInt64;
  static constexpr Named kNamed[] = {{kAllDTypes, "all"},
                                     {kRealDTypes, "real"},
                                     {kIntegers, "integers"},
                                     {kFloatingDTypes, "floating"},
                                     {kComplexDTypes, "complex"}};
  std::string text;
  for (const Named& named : kNamed) {
    if ((set.bits & named.set.bits) != named.set.bits) continue;
    text += (text.empty() ? "" : ", ") + std::string(named.name);
    set.bits = static_cast<uint16_t>(set.bits & ~named.set.bits);
  }
  for (int t = 0; t < kDTypeCount; ++t)
    if (set.contains(static_cast<DType>(t)))
      text += (text.empty() ? "" : ", ") + std::string(dtype_name(static_cast<DType>(t)));
  return text;
}

// By family and name, since the order of registration is the linker's.
std::vector<const OpSlot*> sorted_operators() {
  std::vector<const OpSlot*> sorted;
  for (const OpSlot* slot : all_operators()) sorted.push_back(slot);
  std::sort(sorted.begin(), sorted.end(), [](const OpSlot* a, const OpSlot* b) {
    return std::pair(a->family(), a->def().name) < std::pair(b->family(), b->def().name);
  });
  return sorted;
}

std::string_view kind_name(OpKind kind) {
  switch (kind) {
    case OpKind::kElementwise:
      return "elementwise";
    case OpKind::kReduction:
      return "reduction";
    case OpKind::kGeneral:
      return "general";
    case OpKind::kView:
      return "view";
    default:
      return "composite";
  }
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

std::string operators_page() {
  std::ostringstream out;
  out << "# Operators\n\n"
         "Made from the definitions by `./bazelw run //tools:op_coverage -- --markdown`.\n\n"
         "- **dtypes**: the dtypes that an operator computes in. *real* is bool, integers and floating; *integers* "
         "are\n"
         "  uint8 and int8 to int64; *floating* are float16, bfloat16, float32 and float64; *complex* are complex64 "
         "and\n"
         "  complex128. Operands are promoted to one of them first, as in PyTorch.\n"
         "- **gradient keeps**: for each input that needs a gradient, what the graph keeps alive until the backward "
         "pass.\n"
         "  What several inputs need is kept once. A `*` says that a call may keep less. Shapes and dtypes are always\n"
         "  kept. `-`: there is no gradient.\n\n"
         "Functions that are made of these (`cross_entropy`, `einsum`, `pad`, ...) keep what their parts keep.\n";
  std::string_view family;
  for (const OpSlot* slot : sorted_operators()) {
    const OpDef& op = slot->def();
    if (slot->family() != family) {
      family = slot->family();
      out << "\n## " << family << "\n\n| operator | kind | dtypes | gradient keeps |\n|---|---|---|---|\n";
    }
    out << "| `" << op.name << "` | " << kind_name(op.kind) << " | " << describe_dtypes(op.domain) << " | "
        << describe_saves(op) << " |\n";
  }
  out << "\n" << kHandWritten;
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
