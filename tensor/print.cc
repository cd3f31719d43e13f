#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <ostream>
#include <sstream>

#include "vellum/tensor/tensor.h"

namespace vellum {
namespace {

constexpr int64_t kSummarizeAbove = 1000;  // elements
constexpr int64_t kEdgeItems = 3;
constexpr int kPrecision = 4;
constexpr size_t kLineWidth = 80;

std::string formatted(const char* format, int precision, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, precision, value);
  return buffer;
}

// How the real numbers of a tensor are written: all alike, as wide as the widest that is finite and not 0.
class NumberFormat {
 public:
  explicit NumberFormat(const std::vector<double>& values) {
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    for (const double v : values) {
      if (!std::isfinite(v) || v == 0) continue;
      whole_ = whole_ && v == std::trunc(v);
      smallest = std::min(smallest, std::abs(v));
      largest = std::max(largest, std::abs(v));
    }
    scientific_ = largest > 0 && (largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4);
    for (const double v : values)
      if (std::isfinite(v) && v != 0) width_ = std::max(width_, plain(v).size());
  }

  size_t width() const { return width_; }

  std::string padded(double v) const {
    const std::string text = plain(v);
    return std::string(width_ > text.size() ? width_ - text.size() : 0, ' ') + text;
  }

  std::string plain(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    if (scientific_) return formatted("%.*e", kPrecision, v);
    return whole_ ? formatted("%.*f.", 0, v) : formatted("%.*f", kPrecision, v);
  }

 private:
  bool whole_ = true, scientific_ = false;
  size_t width_ = 1;
};

// Lays out the elements as PyTorch does: lines of as many as fit, and of a large tensor the edges only.
class Printer {
 public:
  explicit Printer(const Tensor& t) : shape_(t.shape()), summarize_(t.numel() > kSummarizeAbove) {
    if (t.is_complex())
      format_complex(t.to_vector<complex128>());
    else if (t.dtype() == kBool)
      format_bools(t.to_vector<bool>());
    else if (is_integral(t.dtype()))
      format_integers(t.to_vector<int64_t>());
    else
      format_reals(t.to_vector<double>());
  }

  std::string text() const {
    if (elements_.empty()) return "[]";
    std::string out;
    size_t next = 0;
    write(out, next, 0, kIndent);
    return out;
  }

 private:
  static constexpr size_t kIndent = 7;  // "tensor("

  // The elements that are shown, in their order.
  template <typename T>
  std::vector<T> shown(const std::vector<T>& all, int dim = 0, int64_t start = 0) const {
    if (dim == shape_.size()) return {all[static_cast<size_t>(start)]};
    int64_t step = 1;
    for (int d = dim + 1; d < shape_.size(); ++d) step *= shape_[d];
    std::vector<T> out;
    for (int64_t i = 0; i < shape_[dim]; ++i) {
      if (is_cut(dim) && i == kEdgeItems) i = shape_[dim] - kEdgeItems;
      const std::vector<T> part = shown(all, dim + 1, start + i * step);
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }

  bool is_cut(int dim) const { return summarize_ && shape_[dim] > 2 * kEdgeItems; }

  void format_reals(const std::vector<double>& all) {
    const std::vector<double> values = shown(all);
    const NumberFormat format(values);
    width_ = format.width();
    for (const double v : values) elements_.push_back(format.padded(v));
  }

  void format_complex(const std::vector<complex128>& all) {
    std::vector<double> re, im;
    for (const complex128& z : shown(all)) re.push_back(z.real()), im.push_back(z.imag());
    const NumberFormat first(re), second(im);
    width_ = first.width() + second.width() + 1;  // the j
    for (size_t i = 0; i < re.size(); ++i) {
      const std::string imaginary = second.plain(im[i]) + "j";
      elements_.push_back(first.padded(re[i]) + (imaginary[0] == '-' ? "" : "+") + imaginary);
    }
  }

  void format_integers(const std::vector<int64_t>& all) {
    for (const int64_t v : shown(all)) elements_.push_back(std::to_string(v));
    pad();
  }

  void format_bools(const std::vector<bool>& all) {
    for (const bool v : shown(all)) elements_.push_back(v ? "True" : "False");
    pad();
  }

  void pad() {
    for (const std::string& e : elements_) width_ = std::max(width_, e.size());
    for (std::string& e : elements_) e.insert(0, width_ - e.size(), ' ');
  }

  // Element `next` and those behind it, below dimension `dim`; `indent` columns precede.
  void write(std::string& out, size_t& next, int dim, size_t indent) const {
    if (dim == shape_.size()) {
      out += elements_[next++];
      return;
    }
    const bool row = dim + 1 == shape_.size();
    const int64_t per_line = std::max<int64_t>(1, static_cast<int64_t>((kLineWidth - indent) / (width_ + 2)));
    const int64_t count = is_cut(dim) ? 2 * kEdgeItems + 1 : shape_[dim];
    out += '[';
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) out += row && i % per_line != 0 ? ", " : line_break(row ? 1 : shape_.size() - 1 - dim, indent + 1);
      if (is_cut(dim) && i == kEdgeItems)
        out += row ? " ..." : "...";
      else
        write(out, next, dim + 1, indent + 1);
    }
    out += ']';
  }

  static std::string line_break(int lines, size_t indent) {
    return "," + std::string(static_cast<size_t>(lines), '\n') + std::string(indent, ' ');
  }

  Dims shape_;
  bool summarize_;
  size_t width_ = 0;  // of one element, without what separates it from the next
  std::vector<std::string> elements_;
};

std::string tuple(const Dims& shape) {
  std::string text;
  for (const int64_t n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  if (!t.defined()) return out << "tensor(undefined)";
  const bool has_values = t.device() == Device(kCPU) || t.impl().data;
  out << "tensor(" << (has_values ? Printer(t.detach()).text() : "...");
  if (t.device() != Device(kCPU)) out << ", device='" << t.device() << "'";
  if (!has_values || (t.numel() == 0 && t.dim() != 1)) out << ", size=" << tuple(t.shape());
  if (t.dtype() != kFloat32 && t.dtype() != kInt64 && t.dtype() != kBool && t.dtype() != kComplex64)
    out << ", dtype=" << t.dtype();
  if (const GradFn fn = t.grad_fn())
    out << ", grad_fn=<" << fn.name() << ">";
  else if (t.requires_grad())
    out << ", requires_grad=True";
  return out << ")";
}

std::string to_string(const Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

}  // namespace vellum
