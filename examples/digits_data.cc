#include "vellum/examples/digits_data.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "vellum/device/error.h"
#include "vellum/tensor/ops/ops.h"

namespace vellum::digits {
namespace {

constexpr int kColumns = kPixels + 1;
constexpr int kMaxPixel = 16;
constexpr int kHoldOutEvery = 5;

// The lines of a file that gzip may have compressed.
class LineReader {
 public:
  explicit LineReader(const std::string& path) : path_(path) {
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) throw_error<IoError>(path, ": cannot be opened: ", std::strerror(errno ? errno : ENOMEM));
  }

  // The next line without its end; nothing at the end of the file.
  std::optional<std::string_view> next() {
    errno = 0;
    const char* text = gzgets(file_.get(), buffer_, sizeof(buffer_));
    check_stream();
    if (!text) return {};
    ++line_;
    std::string_view line(text);
    if (line.size() + 1 == sizeof(buffer_)) fail("the line is too long");
    for (const char end : {'\n', '\r'})
      if (line.ends_with(end)) line.remove_suffix(1);
    return line;
  }

  int line() const { return line_; }

  template <typename... Args>
  [[noreturn]] void fail(const Args&... what) const {
    throw_error<IoError>(path_, ":", line_, ": ", what...);
  }

 private:
  // A file that was cut short or changed shows here, though some of its text was still read.
  void check_stream() const {
    int code = Z_OK;
    const char* message = gzerror(file_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    throw_error<IoError>(path_, ": damaged or cut short after line ", line_, ": ",
                         code == Z_ERRNO ? std::strerror(errno) : message);
  }

  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  char buffer_[1024];
  int line_ = 0;
};

int parse_number(const LineReader& reader, int column, std::string_view text, int highest) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    reader.fail("column ", column + 1, ": '", text, "' is not a whole number");
  if (value < 0 || value > highest)
    reader.fail("column ", column + 1, ": ", value, " is not ", column < kPixels ? "a pixel" : "a digit",
                ", which goes from 0 to ", highest);
  return value;
}

struct Columns {
  std::vector<float> pixels;
  std::vector<int64_t> labels;

  data::TensorDataset dataset() const {
    const auto rows = static_cast<int64_t>(labels.size());
    return data::TensorDataset(tensor(std::span<const float>(pixels), {rows, kPixels}), tensor(labels));
  }
};

void append_row(const LineReader& reader, std::string_view line, Columns& rows) {
  const auto columns = std::ranges::count(line, ',') + 1;
  if (columns != kColumns) reader.fail(columns, columns == 1 ? " column" : " columns", " instead of ", kColumns);
  for (int column = 0; column < kColumns; ++column) {
    const size_t comma = std::min(line.find(','), line.size());
    const std::string_view text = line.substr(0, comma);
    if (column < kPixels)
      rows.pixels.push_back(static_cast<float>(parse_number(reader, column, text, kMaxPixel)) / kMaxPixel);
    else
      rows.labels.push_back(parse_number(reader, column, text, kClasses - 1));
    line.remove_prefix(std::min(comma + 1, line.size()));
  }
}

}  // namespace

Digits read_digits(const std::string& path) {
  LineReader reader(path);
  Columns train, held_out;
  while (const auto line = reader.next())
    append_row(reader, *line, (reader.line() - 1) % kHoldOutEvery == 0 ? held_out : train);
  if (train.labels.empty())
    throw_error<IoError>(path, ": ", reader.line(),
                         " rows are too few; at least 2 are needed, one of them to hold out");
  return {train.dataset(), held_out.dataset()};
}

}  // namespace vellum::digits
