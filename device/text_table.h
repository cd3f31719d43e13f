#ifndef VELLUM_DEVICE_TEXT_TABLE_H_
#define VELLUM_DEVICE_TEXT_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vellum::internal {

// A map from texts to their numbers, searched without making a string.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using TextNumbers = std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>>;

inline constexpr uint32_t kMaxNames = 1 << 16;  // in any table of names; the rest shares one

// Numbers for texts, which never mean another text later. "" is 0. Thread-safe.
class TextTable {
 public:
  // `otherwise` once the table is full. Throws std::bad_alloc.
  uint32_t number(std::string_view text, uint32_t otherwise = 0);
  // Lives as long as the table.
  const std::string& text(uint32_t number) const;

 private:
  mutable std::mutex mutex_;
  TextNumbers numbers_{{"", 0}};
  std::deque<std::string> texts_{""};
};

// The paths of modules. Their numbers outlive whoever asks for them, since graphs and blocks keep them; there are few.
// 0 is no module; thread-safe.
uint32_t module_child(uint32_t parent, std::string_view name);
const std::string& module_path(uint32_t module);

}  // namespace vellum::internal

#endif  // VELLUM_DEVICE_TEXT_TABLE_H_
