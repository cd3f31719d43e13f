#include "vellum/allocator/caching_options.h"

#include <charconv>
#include <string>

#include "vellum/device/error.h"

namespace vellum {
namespace {

constexpr size_t kLeastMaxSplit = size_t{20} << 20;  // oversize blocks are reused for requests this much smaller

[[noreturn]] void refuse(std::string_view key, std::string_view value, std::string_view mend) {
  throw_error<InvalidArgumentError>("caching allocator: option '", key, "' cannot be '", value, "'; ", mend);
}

size_t read_bytes(std::string_view key, std::string_view value) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string_view unit(end, value.data() + value.size() - end);
  const int shift = unit.empty() || unit == "B" ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (error != std::errc() || shift < 0 || number > SIZE_MAX >> shift)
    refuse(key, value, "give bytes, such as 67108864 or 64MiB");
  return number << shift;
}

double read_fraction(std::string_view key, std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) refuse(key, value, "give a fraction such as 0.8");
  return number;
}

bool read_switch(std::string_view key, std::string_view value) {
  if (value != "true" && value != "false") refuse(key, value, "give true or false");
  return value == "true";
}

void read_option(std::string_view key, std::string_view value, CachingOptions* options) {
  if (key == "thread_cache_bytes") {
    options->thread_cache_bytes = read_bytes(key, value);
  } else if (key == "extendable_segments") {
    options->extendable_segments = read_switch(key, value);
  } else if (key == "max_split_size") {
    options->max_split_size = read_bytes(key, value);
  } else if (key == "memory_limit") {
    options->memory_limit = read_bytes(key, value);
  } else if (key == "garbage_collection_threshold") {
    options->garbage_collection_threshold = read_fraction(key, value);
  } else {
    throw_error<InvalidArgumentError>(
        "caching allocator: unknown option '", key,
        "'; choose among extendable_segments, garbage_collection_threshold, max_split_size, memory_limit, "
        "thread_cache_bytes");
  }
}

}  // namespace

void check_options(const CachingOptions& options) {
  const double threshold = options.garbage_collection_threshold;
  if (options.max_split_size <= kLeastMaxSplit)
    refuse("max_split_size", std::to_string(options.max_split_size), "it must be more than 20 MiB (20971520)");
  if (options.memory_limit == 0) refuse("memory_limit", "0", "leave it out for no limit");
  if (!(threshold >= 0 && threshold < 1))
    refuse("garbage_collection_threshold", std::to_string(threshold), "it is a fraction of memory_limit, from 0 to 1");
  if (threshold > 0 && options.memory_limit == CachingOptions::kUnlimited)
    throw_error<InvalidArgumentError>(
        "caching allocator: option 'garbage_collection_threshold' is a fraction of 'memory_limit', which is not given; "
        "add memory_limit, or leave both out");
}

CachingOptions parse_caching_options(std::string_view text, CachingOptions defaults) {
  std::string seen = ",";
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(entry.size() == text.size() ? entry.size() : entry.size() + 1);
    const size_t colon = entry.find(':');
    if (colon == std::string_view::npos || colon + 1 == entry.size())
      throw_error<InvalidArgumentError>("caching allocator: '", entry, "' is not of the form key:value");
    const std::string_view key = entry.substr(0, colon);
    if (seen.find(str_cat(",", key, ",")) != std::string::npos)
      throw_error<InvalidArgumentError>("caching allocator: option '", key, "' is given twice");
    seen += str_cat(key, ",");
    read_option(key, entry.substr(colon + 1), &defaults);
  }
  check_options(defaults);
  return defaults;
}

}  // namespace vellum
