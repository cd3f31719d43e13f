#include "vellum/device/text_table.h"

#include <utility>

namespace vellum::internal {
namespace {

// Leaked on purpose: threads may still ask during static destruction.
TextTable& module_paths() {
  static TextTable& all = *new TextTable;
  return all;
}

}  // namespace

uint32_t TextTable::number(std::string_view text, uint32_t otherwise) {
  std::lock_guard lock(mutex_);
  if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
  if (texts_.size() >= kMaxNames) return otherwise;
  const uint32_t number = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(text);
  numbers_.emplace(text, number);
  return number;
}

const std::string& TextTable::text(uint32_t number) const {
  std::lock_guard lock(mutex_);
  return texts_[number];
}

uint32_t module_child(uint32_t parent, std::string_view name) {
  const std::string& above = module_path(parent);
  return module_paths().number(above.empty() ? std::string(name) : above + "." + std::string(name), parent);
}

const std::string& module_path(uint32_t module) { return module_paths().text(module); }

}  // namespace vellum::internal
