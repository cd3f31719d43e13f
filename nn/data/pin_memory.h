#ifndef VELLUM_NN_DATA_PIN_MEMORY_H_
#define VELLUM_NN_DATA_PIN_MEMORY_H_

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "vellum/nn/data/tensor_dataset.h"
#include "vellum/tensor/tensor.h"

namespace vellum::data {

// pin_memory(batch, device): the batch with every tensor in host memory pinned for `device`. Known for tensors,
// `Batch`, numbers, strings and what the standard library makes of these. A batch type of your own has such a function
// in its own namespace; nothing of a batch can be left out in silence.

// An undefined tensor stays so.
Tensor pin_memory(const Tensor& tensor, Device device);
Batch pin_memory(const Batch& batch, Device device);
inline std::string pin_memory(const std::string& text, Device) { return text; }

template <typename T>
requires std::is_arithmetic_v<T> T pin_memory(const T& number, Device) { return number; }

// Declared before the first is defined, since each may hold any other.
template <typename T>
std::vector<T> pin_memory(const std::vector<T>& batch, Device device);
template <typename T>
std::optional<T> pin_memory(const std::optional<T>& batch, Device device);
template <typename K, typename T>
std::map<K, T> pin_memory(const std::map<K, T>& batch, Device device);
template <typename A, typename B>
std::pair<A, B> pin_memory(const std::pair<A, B>& batch, Device device);
template <typename... T>
std::tuple<T...> pin_memory(const std::tuple<T...>& batch, Device device);

template <typename T>
std::vector<T> pin_memory(const std::vector<T>& batch, Device device) {
  std::vector<T> pinned;
  pinned.reserve(batch.size());
  for (const auto& item : batch) pinned.push_back(pin_memory(item, device));
  return pinned;
}

template <typename T>
std::optional<T> pin_memory(const std::optional<T>& batch, Device device) {
  return batch ? std::optional<T>(pin_memory(*batch, device)) : std::nullopt;
}

template <typename K, typename T>
std::map<K, T> pin_memory(const std::map<K, T>& batch, Device device) {
  std::map<K, T> pinned;
  for (const auto& [key, item] : batch) pinned.emplace(key, pin_memory(item, device));
  return pinned;
}

template <typename A, typename B>
std::pair<A, B> pin_memory(const std::pair<A, B>& batch, Device device) {
  return {pin_memory(batch.first, device), pin_memory(batch.second, device)};
}

template <typename... T>
std::tuple<T...> pin_memory(const std::tuple<T...>& batch, Device device) {
  return std::apply([&](const auto&... item) { return std::tuple<T...>(pin_memory(item, device)...); }, batch);
}

template <typename T>
concept Pinnable = requires(const T& batch, Device device) {
  { pin_memory(batch, device) } -> std::same_as<T>;
};

}  // namespace vellum::data

#endif  // VELLUM_NN_DATA_PIN_MEMORY_H_
