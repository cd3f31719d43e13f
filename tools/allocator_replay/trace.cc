#include "vellum/tools/allocator_replay/trace.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "vellum/device/error.h"

namespace vellum::allocator_replay {
namespace {

constexpr size_t kMaxLine = 4096;                 // characters
constexpr uint64_t kMaxLive = uint64_t{1} << 62;  // bytes
constexpr size_t kMaxShown = 60;                  // of a stranger's text in a message
constexpr size_t kNoColumn = std::numeric_limits<size_t>::max();

struct Columns {
  size_t action = kNoColumn;
  size_t pointer = kNoColumn;
  size_t size = kNoColumn;
  size_t stream = kNoColumn;
  size_t count = 0;
};

// Debian's Abseil has a string_view of its own, which its string functions want.
std::string_view stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t begin = text.find_first_not_of(kSpace);
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (size_t begin = 0, end = 0; end != line.npos; begin = end + 1) {
    end = line.find(',', begin);
    cells.push_back(stripped(line.substr(begin, end - begin)));
  }
  return cells;
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kMaxShown)) out += c >= ' ' && c <= '~' ? c : '?';
  return "'" + out + (text.size() > kMaxShown ? "...'" : "'");
}

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Trace read(std::istream& in) {
    std::string line;
    while (std::getline(in, line)) {
      ++line_;
      if (line.size() > kMaxLine) fail("a line of more than ", kMaxLine, " characters; this is no allocation log");
      const std::string_view text = stripped(line);
      if (text.empty()) continue;
      const std::vector<std::string_view> cells = cells_of(text);
      if (columns_.count == 0)
        read_header(cells);
      else
        read_row(cells);
    }
    if (columns_.count == 0) fail("nothing in it; a log begins with Thread,Time,Action,Pointer,Size,Stream");
    return std::move(trace_);
  }

 private:
  struct Place {
    uint32_t allocation = 0;
    uint64_t bytes = 0;
    size_t line = 0;  // that allocated it, or if it is not live freed it
    bool live = false;
  };

  template <typename... Args>
  [[noreturn]] void fail(const Args&... args) const {
    throw_error<InvalidArgumentError>(name_, ":", line_, ": ", args...);
  }

  void read_header(const std::vector<std::string_view>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string_view name = cells[i];
      size_t* column = name == "Action"    ? &columns_.action
                       : name == "Pointer" ? &columns_.pointer
                       : name == "Size"    ? &columns_.size
                       : name == "Stream"  ? &columns_.stream
                                           : nullptr;
      if (!column) continue;
      if (*column != kNoColumn) fail("the column ", shown(name), " stands there twice");
      *column = i;
    }
    const auto need = [&](size_t column, const char* name) {
      if (column == kNoColumn)
        fail("no column '", name, "'; a log begins with Thread,Time,Action,Pointer,Size,Stream in any order");
    };
    need(columns_.action, "Action");
    need(columns_.pointer, "Pointer");
    need(columns_.size, "Size");
    columns_.count = cells.size();
  }

  uint64_t number(std::string_view cell, int base, const char* column) const {
    std::string_view digits = cell;
    if (base == 16 && (digits.starts_with("0x") || digits.starts_with("0X"))) digits.remove_prefix(2);
    uint64_t value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value, base);
    if (error != std::errc() || stopped != end)
      fail(column, " is ", shown(cell), ", which is no ", base == 16 ? "hexadecimal number" : "number", " of 64 bits");
    return value;
  }

  void read_row(const std::vector<std::string_view>& cells) {
    if (cells.size() != columns_.count) fail(cells.size(), " values under ", columns_.count, " columns");
    const std::string_view action = cells[columns_.action];
    if (action == "allocate failure" || action == "allocate_failure") {
      ++trace_.ignored;
      return;
    }
    if (action != "allocate" && action != "free")
      fail("the action is ", shown(action), "; expected allocate, free or allocate failure");
    const uint64_t pointer = number(cells[columns_.pointer], 16, "Pointer");
    const uint64_t bytes = number(cells[columns_.size], 10, "Size");
    if (bytes > kMaxBytes) fail("Size is ", bytes, ", more than any device has");
    if (bytes == 0) {
      ++trace_.ignored;
      return;
    }
    const bool frees = action == "free";
    const std::optional<uint32_t> allocation = frees ? free(pointer, bytes) : allocate(pointer, bytes);
    if (allocation) trace_.operations.push_back({bytes, *allocation, stream(cells), frees});
  }

  uint32_t stream(const std::vector<std::string_view>& cells) {
    if (columns_.stream == kNoColumn) return 0;
    const uint64_t handle = number(cells[columns_.stream], 16, "Stream");
    if (handle == 0) return 0;
    return streams_.try_emplace(handle, static_cast<uint32_t>(streams_.size()) + 1).first->second;
  }

  uint32_t allocate(uint64_t pointer, uint64_t bytes) {
    if (trace_.allocations >= std::numeric_limits<uint32_t>::max()) fail("more allocations than this tool can count");
    Place& place = places_[pointer];
    if (place.live)
      fail("allocates 0x", std::hex, pointer, std::dec, ", which is live since line ", place.line,
           "; is a free missing, or the order of threads lost?");
    if (live_bytes_ > kMaxLive) fail("more bytes are live than an address space has");
    place = {static_cast<uint32_t>(trace_.allocations++), bytes, line_, true};
    ++trace_.live_at_end;
    live_bytes_ += bytes;
    trace_.max_live = std::max(trace_.max_live, live_bytes_);
    return place.allocation;
  }

  // Nothing where the allocation lies before the beginning of the log.
  std::optional<uint32_t> free(uint64_t pointer, uint64_t bytes) {
    const auto [found, is_new] = places_.try_emplace(pointer, Place{.line = line_});
    Place& place = found->second;
    if (is_new) {
      ++trace_.older_frees;
      return std::nullopt;
    }
    if (!place.live) fail("frees 0x", std::hex, pointer, std::dec, ", which line ", place.line, " freed already");
    if (place.bytes != bytes)
      fail("frees ", bytes, " bytes, but line ", place.line, " allocated ", place.bytes, " there");
    place.live = false;
    place.line = line_;
    --trace_.live_at_end;
    live_bytes_ -= bytes;
    ++trace_.frees;
    return place.allocation;
  }

  const std::string& name_;
  Trace trace_;
  Columns columns_;
  size_t line_ = 0;
  uint64_t live_bytes_ = 0;
  absl::flat_hash_map<uint64_t, Place> places_;  // by pointer
  absl::flat_hash_map<uint64_t, uint32_t> streams_;
};

}  // namespace

Trace read_trace(std::istream& in, const std::string& name) { return Reader(name).read(in); }

Trace read_trace_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw_error<IoError>("cannot open the trace ", path);
  Trace trace = read_trace(in, path);
  if (in.bad()) throw_error<IoError>("cannot read the trace ", path, " to its end");
  return trace;
}

}  // namespace vellum::allocator_replay
