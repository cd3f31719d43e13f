#include "vellum/nn/serialization/internal/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "vellum/device/error.h"

namespace vellum::safetensors::internal {
namespace {

struct FormatDType {
  std::string_view name;
  int bits;  // of an element
  DType dtype = DType::kUndefined;
};

// All dtypes of the format, in the order of its library: a file has them from the last to the first.
constexpr FormatDType kFormatDTypes[] = {
    {"BOOL", 8, kBool},  {"F4", 4},           {"F6_E2M3", 6},        {"F6_E3M2", 6},          {"U8", 8, kUInt8},
    {"I8", 8, kInt8},    {"F8_E5M2", 8},      {"F8_E4M3", 8},        {"F8_E8M0", 8},          {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8},  {"I16", 16, kInt16}, {"U16", 16},           {"F16", 16, kFloat16},   {"BF16", 16, kBFloat16},
    {"I32", 32, kInt32}, {"U32", 32},         {"F32", 32, kFloat32}, {"C64", 64, kComplex64}, {"F64", 64, kFloat64},
    {"I64", 64, kInt64}, {"U64", 64},
};

const FormatDType* find_format(std::string_view name) {
  const auto* found = std::ranges::find(kFormatDTypes, name, &FormatDType::name);
  return found == std::end(kFormatDTypes) ? nullptr : found;
}

const FormatDType* find_format(DType dtype) {
  const auto* found = std::ranges::find(kFormatDTypes, dtype, &FormatDType::dtype);
  return found == std::end(kFormatDTypes) ? nullptr : found;
}

std::string shortened(std::string_view text, size_t limit) {
  const absl::string_view kept(text.data(), std::min(text.size(), limit));
  return absl::CEscape(kept) + (text.size() > limit ? "..." : "");
}

// The JSON library's words without its code and position, printable, cut where it quotes much of a stranger's file.
std::string reason_of(std::string_view what) {
  constexpr size_t kLimit = 150;
  const size_t position_end = what.find(": ");
  if (position_end != std::string_view::npos) what.remove_prefix(position_end + 2);
  std::string reason(what.substr(0, kLimit));
  std::ranges::replace_if(
      reason, [](char c) { return c < ' ' || c > '~'; }, '?');
  return reason;
}

// Receives the header's JSON piece by piece and knows at each what may come, so that nothing else is ever stored and no
// nesting is followed: a document tree would keep the last of two equal keys and be as large as a stranger likes.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(uint64_t data_bytes, const std::string& file) : data_bytes_(data_bytes), file_(file) {}

  Header take() { return std::move(header_); }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("a boolean"); }
  bool number_integer(number_integer_t) override { refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    refuse("a number that has a fraction or more than 64 bits");
  }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (place_ == Place::kSizes)
      add_size(number);
    else if (place_ == Place::kBounds)
      bounds_.push_back(number);
    else
      refuse("a number");
    if (bounds_.size() > 2) fail(where(), " has more than two numbers; they are the begin and the end of the data");
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::kDType) {
      entry_->dtype_name = std::move(text);
      place_ = Place::kFields;
    } else if (place_ == Place::kText) {
      *text_ = std::move(text);
      place_ = Place::kTexts;
    } else {
      refuse("a string");
    }
    return true;
  }

  bool start_object(size_t) override {
    if (place_ == Place::kHeader)
      place_ = Place::kNames;
    else if (place_ == Place::kEntry)
      place_ = Place::kFields;
    else if (place_ == Place::kMetadata)
      place_ = Place::kTexts;
    else
      refuse("an object");
    return true;
  }

  bool key(string_t& key) override {
    if (place_ == Place::kNames)
      start_value(std::move(key));
    else if (place_ == Place::kFields)
      start_field(key);
    else
      start_text(std::move(key));
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kFields) finish_entry();
    place_ = Place::kNames;
    return true;
  }

  bool start_array(size_t) override {
    if (place_ == Place::kShape)
      place_ = Place::kSizes;
    else if (place_ == Place::kOffsets)
      place_ = Place::kBounds;
    else
      refuse("an array");
    return true;
  }

  bool end_array() override {
    if (place_ == Place::kBounds && bounds_.size() != 2)
      fail(where(), " has ", bounds_.size(), " numbers; it needs two, the begin and the end of the data");
    place_ = Place::kFields;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    fail("the header is not valid JSON at its byte ", position, ": ", reason_of(error.what()));
  }

 private:
  // Where in the document the reader is, which says what may come next.
  enum class Place {
    kHeader,  // the object around all
    kNames,   // its keys
    kEntry,   // the object of a tensor
    kFields,  // its keys
    kDType,   // their values ...
    kShape,
    kSizes,
    kOffsets,
    kBounds,
    kMetadata,  // the object of the metadata
    kTexts,     // its keys
    kText,      // their values
  };

  template <typename... Args>
  [[noreturn]] void fail(const Args&... what) const {
    throw_error<IoError>(file_, ": ", what...);
  }

  std::string tensor() const { return "tensor " + shown_name(*name_); }

  std::string where() const {
    switch (place_) {
      case Place::kDType:
        return tensor() + ": dtype";
      case Place::kShape:
      case Place::kSizes:
        return tensor() + ": shape";
      case Place::kOffsets:
      case Place::kBounds:
        return tensor() + ": data_offsets";
      case Place::kEntry:
        return tensor();
      case Place::kMetadata:
      case Place::kText:
        return std::string(kMetadataKey);
      default:
        return "the header";
    }
  }

  const char* wanted() const {
    switch (place_) {
      case Place::kDType:
        return "a string";
      case Place::kShape:
        return "an array of sizes";
      case Place::kOffsets:
        return "an array of two numbers";
      case Place::kSizes:
      case Place::kBounds:
        return "made of whole numbers that are 0 or more";
      case Place::kEntry:
        return "an object with dtype, shape and data_offsets";
      case Place::kMetadata:
      case Place::kText:
        return "an object of strings";
      default:
        return "an object";
    }
  }

  [[noreturn]] void refuse(const char* found) const { fail(where(), " must be ", wanted(), "; there is ", found); }

  void start_value(std::string name) {
    if (name == kMetadataKey) {
      if (std::exchange(has_metadata_, true)) fail("the key ", shown_name(name), " is there twice");
      place_ = Place::kMetadata;
      return;
    }
    const auto [position, is_new] = header_.entries.try_emplace(std::move(name));
    name_ = &position->first;
    entry_ = &position->second;
    if (!is_new) fail(tensor(), " is there twice");
    has_dtype_ = has_shape_ = has_offsets_ = false;
    bounds_.clear();
    place_ = Place::kEntry;
  }

  void start_field(const std::string& key) {
    bool* has = nullptr;
    if (key == "dtype") std::tie(has, place_) = std::pair(&has_dtype_, Place::kDType);
    if (key == "shape") std::tie(has, place_) = std::pair(&has_shape_, Place::kShape);
    if (key == "data_offsets") std::tie(has, place_) = std::pair(&has_offsets_, Place::kOffsets);
    if (!has) fail(tensor(), ": the key ", shown_name(key), " is not one of dtype, shape and data_offsets");
    if (std::exchange(*has, true)) fail(tensor(), ": the key ", shown_name(key), " is there twice");
  }

  void start_text(std::string key) {
    const auto [position, is_new] = header_.metadata.try_emplace(std::move(key));
    if (!is_new) fail(kMetadataKey, ": the key ", shown_name(position->first), " is there twice");
    text_ = &position->second;
    place_ = Place::kText;
  }

  void add_size(uint64_t size) {
    if (entry_->shape.size() == kMaxRank)
      fail(tensor(), ": shape has more than the ", kMaxRank, " dimensions that a tensor can have");
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      fail(tensor(), ": the size ", size, " in shape does not fit 63 bits");
    entry_->shape.push_back(static_cast<int64_t>(size));
  }

  void finish_entry() {
    if (!has_dtype_) fail(tensor(), " has no dtype");
    if (!has_shape_) fail(tensor(), " has no shape");
    if (!has_offsets_) fail(tensor(), " has no data_offsets");
    entry_->begin = bounds_[0];
    entry_->end = bounds_[1];
    if (entry_->begin > entry_->end)
      fail(tensor(), ": data_offsets begin at ", entry_->begin, ", after their end ", entry_->end);
    if (entry_->end > data_bytes_)
      fail(tensor(), ": data_offsets end at ", entry_->end, ", but the file has ", data_bytes_, " bytes of data");
    const FormatDType* format = find_format(entry_->dtype_name);
    entry_->dtype = format ? format->dtype : DType::kUndefined;
    const uint64_t elements = checked_elements(format ? format->bits : 8);
    if (format) check_bytes(elements, *format);
  }

  // The number of elements. Strides are products of sizes other than 0, so those must fit even where no element is.
  uint64_t checked_elements(int bits) const {
    int64_t stride = bits, elements = 1;
    bool fits = true;
    for (const int64_t size : entry_->shape) {
      fits = fits && !__builtin_mul_overflow(stride, std::max<int64_t>(size, 1), &stride);
      if (fits) elements *= size;
    }
    if (!fits) fail(tensor(), ": a tensor of shape ", entry_->shape, " has more bits than 63 bits can count");
    return static_cast<uint64_t>(elements);
  }

  void check_bytes(uint64_t elements, const FormatDType& format) const {
    const uint64_t bits = elements * static_cast<uint64_t>(format.bits), bytes = entry_->end - entry_->begin;
    if (bits % 8 != 0) fail(tensor(), ": ", format.name, entry_->shape, " does not fill whole bytes");
    if (bits / 8 != bytes)
      fail(tensor(), ": ", format.name, entry_->shape, " takes ", bits / 8, " bytes, but data_offsets [", entry_->begin,
           ", ", entry_->end, "] hold ", bytes);
  }

  const uint64_t data_bytes_;
  const std::string& file_;
  Header header_;
  Place place_ = Place::kHeader;
  bool has_metadata_ = false;

  // Of the entry that is being read.
  const std::string* name_ = nullptr;
  Entry* entry_ = nullptr;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  std::vector<uint64_t> bounds_;

  std::string* text_ = nullptr;  // of the metadata
};

// Puts the entries into the order of their data, which they must cover without a gap or an overlap.
void order_data(Header& header, uint64_t data_bytes, const std::string& file) {
  for (const auto& named : header.entries) header.in_order.push_back(&named);
  std::ranges::stable_sort(header.in_order, {},
                           [](const auto* named) { return std::pair(named->second.begin, named->second.end); });
  uint64_t covered = 0;
  for (const auto* named : header.in_order) {
    const auto& [name, entry] = *named;
    if (entry.begin != covered)
      throw_error<IoError>(file, ": tensor ", shown_name(name), ": its data begin at ", entry.begin,
                           ", but the data before ",
                           entry.begin < covered ? "overlap them up to " : "leave a hole from ", covered);
    covered = entry.end;
  }
  if (covered != data_bytes)
    throw_error<IoError>(file, ": ", data_bytes - covered, " bytes at the end belong to no tensor");
}

std::string json_string(const std::string& text, const char* what) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    throw_error<InvalidArgumentError>("save_file: the ", what, " ", shown_name(text),
                                      " is not UTF-8, which the format needs");
  }
}

}  // namespace

std::string shown_name(std::string_view name) {
  constexpr size_t kLimit = 100;
  return '"' + shortened(name, kLimit) + '"';
}

std::string_view format_name(DType dtype) {
  const FormatDType* format = dtype == DType::kUndefined ? nullptr : find_format(dtype);
  return format ? format->name : std::string_view();
}

bool comes_before(const std::pair<std::string, Entry>& a, const std::pair<std::string, Entry>& b) {
  const FormatDType *of_a = find_format(a.second.dtype_name), *of_b = find_format(b.second.dtype_name);
  return of_a != of_b ? of_a > of_b : a.first < b.first;
}

Header parse_header(std::string_view json, uint64_t data_bytes, const std::string& file) {
  if (!json.starts_with('{')) throw_error<IoError>(file, ": the header does not begin with '{'");
  // The JSON library takes a zero byte for the end of its input.
  if (const size_t zero = json.find('\0'); zero != std::string_view::npos)
    throw_error<IoError>(file, ": the header is not valid JSON at its byte ", zero + 1, ": it is zero");
  HeaderReader reader(data_bytes, file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  Header header = reader.take();
  order_data(header, data_bytes, file);
  return header;
}

std::string header_text(std::span<const std::pair<std::string, Entry>> entries, const Metadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text += json_string(std::string(kMetadataKey), "key") + ":{";
    for (const auto& [key, value] : metadata)
      text += json_string(key, "metadata key") + ':' + json_string(value, "metadata text") + ',';
    text.back() = '}';
    text += ',';
  }
  for (const auto& [name, entry] : entries) {
    if (name == kMetadataKey)
      throw_error<InvalidArgumentError>("save_file: no tensor can be called ", shown_name(name),
                                        ", where the format keeps its metadata; rename it");
    text += str_cat(json_string(name, "name"), ":{\"dtype\":\"", entry.dtype_name, "\",\"shape\":[");
    for (int i = 0; i < entry.shape.size(); ++i) text += str_cat(i ? "," : "", entry.shape[i]);
    text += str_cat("],\"data_offsets\":[", entry.begin, ",", entry.end, "]},");
  }
  if (text.size() > 1) text.pop_back();
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace vellum::safetensors::internal
