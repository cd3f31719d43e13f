#ifndef VELLUM_NN_SERIALIZATION_INTERNAL_SAFETENSORS_HEADER_H_
#define VELLUM_NN_SERIALIZATION_INTERNAL_SAFETENSORS_HEADER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vellum/nn/serialization/safetensors.h"
#include "vellum/tensor/dtype.h"

namespace vellum::safetensors::internal {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;
inline constexpr size_t kLengthBytes = 8;  // the length of the header, little-endian, that a file begins with
inline constexpr std::string_view kMetadataKey = "__metadata__";

using Entries = std::map<std::string, Entry, std::less<>>;
using Metadata = std::map<std::string, std::string>;

struct Header {
  Entries entries;
  Metadata metadata;
  std::vector<const Entries::value_type*> in_order;  // of the data
};

// Reads the JSON of a header for `data_bytes` bytes of data and checks all of it: that every entry is whole, that its
// range has the size of its shape and dtype, and that the ranges tile the data. Throws IoError that begins with `file`.
Header parse_header(std::string_view json, uint64_t data_bytes, const std::string& file);

// The JSON of a header for entries in the order given, padded with spaces so that the data starts at a multiple of 8
// bytes. Throws InvalidArgumentError when a name or text is not UTF-8, or a tensor is called as the metadata are.
std::string header_text(std::span<const std::pair<std::string, Entry>> entries, const Metadata& metadata);

// "F32"; empty for what the format lacks, which is complex128.
std::string_view format_name(DType dtype);

// Orders as the format's own library does: by dtype, widest first, so that every tensor is aligned, then by name.
bool comes_before(const std::pair<std::string, Entry>& a, const std::pair<std::string, Entry>& b);

// A name from a file as messages show it: in quotes, escaped, cut where it is long.
std::string shown_name(std::string_view name);

}  // namespace vellum::safetensors::internal

#endif  // VELLUM_NN_SERIALIZATION_INTERNAL_SAFETENSORS_HEADER_H_
