#include "vellum/tools/replay/binding.h"

#include <cstdio>
#include <cstdlib>
#include <map>

namespace vellum::replay {
namespace {

std::map<std::string_view, Function>& table() {
  static auto& instance = *new std::map<std::string_view, Function>;
  return instance;
}

}  // namespace

Bindings::Bindings(std::initializer_list<Binding> bindings) {
  for (const Binding& b : bindings)
    if (!table().emplace(b.op, b.run).second) {
      std::fprintf(stderr, "replay: operator '%s' is bound twice\n", std::string(b.op).c_str());
      std::abort();
    }
}

const Function* find_binding(std::string_view op) {
  const auto found = table().find(op);
  return found == table().end() ? nullptr : &found->second;
}

std::vector<std::string> bound_operators() {
  std::vector<std::string> names;
  for (const auto& [op, run] : table()) names.emplace_back(op);
  return names;
}

}  // namespace vellum::replay
