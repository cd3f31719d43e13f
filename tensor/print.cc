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

// How the real numbers of a tensor are written: all alike, and as wide as the widest.
class NumberFormat {
 public:
  explicit NumberFormat(const std::vector<double>& values) {
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;
    bool whole = true, any = false;
    for (const double v : values) {
      if (!std::isfinite(v)) continue;
      whole &= v == std::trunc(v);
      if (v == 0) continue;
      any = true;
      smallest = std::min(smallest, std::abs(v));
      largest = std::max(largest, std::abs(v));
    }
    whole_ = whole;
    scientific_ = any && (whole ? largest > 1e8 : largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4);
    for (const double v : values) width_ = std::max(width_, plain(v).size());
  }

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
  size_t width_ = 0;
};

class Printer {
 public:
  explicit Printer(const Tensor& t) : shape_(t.shape()), dtype_(t.dtype()), summarize_(t.numel() > kSummarizeAbove) {
    const Tensor plain = t.detach();
    if (t.is_complex()) {
      for (const complex128& z : plain.to_vector<complex128>()) {
        first_.push_back(z.real());
        second_.push_back(std::abs(z.imag()));
        negative_.push_back(std::signbit(z.imag()));
      }
    } else if (is_integral(dtype_)) {
      integers_ = plain.to_vector<int64_t>();
    } else {
      first_ = plain.to_vector<double>();
    }
  }

  std::string text() {
    format_elements();
    std::string out;
    write(out, 0, 0, 7);
    return out;
  }

 private:
  size_t size() const { return integers_.empty() ? first_.size() : integers_.size(); }

  void format_elements() {
    elements_.resize(size());
    if (!integers_.empty()) {
      size_t width = 0;
      for (size_t i = 0; i < integers_.size(); ++i) {
        elements_[i] = dtype_ == kBool ? (integers_[i] ? "True" : "False") : std::to_string(integers_[i]);
        width = std::max(width, elements_[i].size());
      }
      for (std::string& e : elements_) e.insert(0, width - e.size(), ' ');
      return;
    }
    const NumberFormat first(first_), second(second_);
    for (size_t i = 0; i < first_.size(); ++i) {
      elements_[i] = shape_.empty() ? first.plain(first_[i]) : first.padded(first_[i]);
      if (!second_.empty()) elements_[i] += (negative_[i] ? "-" : "+") + second.plain(second_[i]) + "j";
    }
  }

  // Elements below dimension `dim` from position `start`; `indent` columns precede.
  void write(std::string& out, int dim, int64_t start, size_t indent) {
    if (dim == shape_.size()) {
      out += elements_[static_cast<size_t>(start)];
      return;
    }
    int64_t step = 1;
    for (int d = dim + 1; d < shape_.size(); ++d) step *= shape_[d];
    const bool last = dim + 1 == shape_.size();
    const int64_t n = shape_[dim];
    const bool cut = summarize_ && n > 2 * kEdgeItems;
    size_t column = indent + 1;
    out += '[';
    for (int64_t i = 0; i < n; ++i) {
      if (i) separate(out, dim, last, indent, column);
      if (cut && i == kEdgeItems) {
        out += "...";
        column += 3;
        i = n - kEdgeItems - 1;
        continue;
      }
      const size_t before = out.size();
      write(out, dim + 1, start + i * step, indent + 1);
      column += out.size() - before;
    }
    out += ']';
  }

  void separate(std::string& out, int dim, bool last, size_t indent, size_t& column) {
    const size_t next = elements_.empty() ? 0 : elements_[0].size();
    if (last && column + 2 + next <= kLineWidth) {
      out += ", ";
      column += 2;
      return;
    }
    out += ",";
    out.append(last ? 1 : static_cast<size_t>(shape_.size() - 1 - dim), '\n');
    out.append(indent + 1, ' ');
    column = indent + 1;
  }

  Dims shape_;
  DType dtype_;
  bool summarize_;
  std::vector<int64_t> integers_;
  std::vector<double> first_, second_;  // real parts; magnitudes of imaginary parts
  std::vector<bool> negative_;
  std::vector<std::string> elements_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  if (!t.defined()) return out << "tensor(undefined)";
  const bool has_values = t.device() == Device(kCPU) || t.impl().data;
  out << "tensor(" << (has_values ? Printer(t).text() : "...");
  if (!has_values || t.numel() == 0) out << ", size=" << t.shape();
  if (t.device() != Device(kCPU)) out << ", device='" << t.device() << "'";
  if (t.dtype() != kFloat32 && t.dtype() != kInt64 && t.dtype() != kBool && t.dtype() != kComplex64)
    out << ", dtype=" << t.dtype();
  if (const GradFn fn = t.grad_fn()) out << ", grad_fn=<" << fn.name() << ">";
  else if (t.requires_grad()) out << ", requires_grad=True";
  return out << ")";
}

std::string to_string(const Tensor& tensor) {
  std::ostringstream out;
  out << tensor;
  return out.str();
}

}  // namespace vellum
