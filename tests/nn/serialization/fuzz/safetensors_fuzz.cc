// Any bytes as a file: what is not refused with an error of the library must be whole.

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "vellum/device/error.h"
#include "vellum/nn/serialization/internal/safetensors_header.h"
#include "vellum/nn/serialization/safetensors.h"

namespace vellum::safetensors {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool same(const Entry& a, const Entry& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.begin == b.begin && a.end == b.end &&
         a.dtype_name == b.dtype_name;
}

// The entries' ranges follow each other from the first byte to the last one.
void check_ranges(const File& file) {
  uint64_t covered = 0;
  for (const std::string& name : file.names()) {
    const Entry& entry = file.entry(name);
    require(file.contains(name) && entry.begin == covered && entry.end >= covered);
    covered = entry.end;
  }
}

void check_tensors(const File& file) {
  for (const std::string& name : file.names()) {
    const Entry& entry = file.entry(name);
    try {
      const Tensor t = file.load(name);
      require(t.dtype() == entry.dtype && t.shape() == entry.shape);
      require(static_cast<uint64_t>(t.nbytes()) == entry.end - entry.begin);
    } catch (const DTypeError&) {
      require(entry.dtype == DType::kUndefined);
    } catch (const IoError&) {
      require(entry.dtype == kBool);
    }
  }
}

// What would be written for the same entries reads as they do. Names of dtypes that nobody knows are not written.
void check_header(const File& file) {
  std::vector<std::pair<std::string, Entry>> entries;
  for (const std::string& name : file.names()) {
    if (file.entry(name).dtype == DType::kUndefined) return;
    entries.emplace_back(name, file.entry(name));
  }
  const uint64_t bytes = entries.empty() ? 0 : entries.back().second.end;
  const internal::Header header =
      internal::parse_header(internal::header_text(entries, file.metadata()), bytes, "written");
  require(header.metadata == file.metadata() && header.entries.size() == entries.size());
  for (const auto& [name, entry] : entries) require(same(header.entries.at(name), entry));
}

}  // namespace
}  // namespace vellum::safetensors

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using vellum::safetensors::File;
  std::optional<File> file;
  try {
    file.emplace(File::parse(std::as_bytes(std::span(data, size)), "fuzz"));
  } catch (const vellum::IoError&) {
    return 0;
  }
  vellum::safetensors::check_ranges(*file);
  vellum::safetensors::check_tensors(*file);
  vellum::safetensors::check_header(*file);
  return 0;
}
