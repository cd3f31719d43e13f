#include "vellum/examples/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "vellum/device/error.h"

namespace vellum::svg {
namespace {

constexpr double kWidth = 720, kHeight = 420;
constexpr double kLeft = 76, kRight = 644, kTop = 84, kBottom = 356;
constexpr int kTicks = 5;

template <typename... Args>
std::string format(const char* pattern, Args... args) {
  char text[512];
  std::snprintf(text, sizeof(text), pattern, args...);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// The range of an axis, ended by round numbers, and the distance of its ticks.
struct Axis {
  double low, high, step;

  double share(double value) const { return (value - low) / (high - low); }
  // Enough to tell ticks apart.
  int digits() const { return std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9))); }
};

double round_step(double range) {
  const double rough = range / kTicks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough * 0.999) return factor * power;
  return 10 * power;
}

Axis axis_of(double low, double high) {
  if (!(high > low)) {
    const double margin = low == 0 ? 1 : std::abs(low) / 10;
    low -= margin;
    high += margin;
  }
  const double step = round_step(high - low);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, step};
}

Axis axis_of(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  return low <= high ? axis_of(low, high) : axis_of(0, 1);
}

// Whole numbers from 1, at most about ten of them.
Axis axis_of_counts(size_t count) {
  const double last = std::max<double>(2, static_cast<double>(count));
  return {1, last, std::max(1.0, round_step(last / 2))};
}

double x_at(const Axis& axis, double value) { return kLeft + axis.share(value) * (kRight - kLeft); }
double y_at(const Axis& axis, double value) { return kBottom - axis.share(value) * (kBottom - kTop); }

std::string text_at(double x, double y, const char* attributes, const std::string& text) {
  return format("<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes) + escaped(text) + "</text>\n";
}

std::string line_between(double x1, double y1, double x2, double y2, const std::string& color, double width) {
  return format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%g\"/>\n", x1, y1,
                x2, y2, escaped(color).c_str(), width);
}

std::string x_axis(const Axis& axis, const std::string& label) {
  std::string out = line_between(kLeft, kBottom, kRight, kBottom, "#333", 1);
  for (double tick = std::ceil(axis.low / axis.step) * axis.step; tick <= axis.high + axis.step * 1e-9;
       tick += axis.step) {
    const double x = x_at(axis, tick);
    out += line_between(x, kBottom, x, kBottom + 5, "#333", 1);
    out += text_at(x, kBottom + 20, "text-anchor=\"middle\"", format("%.0f", tick));
  }
  return out + text_at((kLeft + kRight) / 2, kBottom + 44, "text-anchor=\"middle\"", label);
}

// With a grid of faint lines if it is the left one.
std::string y_axis(const Axis& axis, const Series& series, bool is_left) {
  const double x = is_left ? kLeft : kRight, outward = is_left ? -1 : 1;
  const char* anchor = is_left ? "text-anchor=\"end\"" : "text-anchor=\"start\"";
  std::string out;
  const int ticks = static_cast<int>(std::lround((axis.high - axis.low) / axis.step));
  for (int i = 0; i <= ticks; ++i) {
    const double value = axis.low + i * axis.step, y = y_at(axis, value);
    if (is_left && i > 0) out += line_between(kLeft, y, kRight, y, "#e4e4e4", 1);
    out += line_between(x, y, x + outward * 5, y, series.color, 1);
    out += text_at(x + outward * 9, y + 4, anchor,
                   format("%.*f", axis.digits(), std::abs(value) < axis.step / 2 ? 0 : value));
  }
  out += line_between(x, kTop, x, kBottom, series.color, 1.5);
  const double label_x = is_left ? 22 : kWidth - 14, middle = (kTop + kBottom) / 2;
  const std::string turned = format("text-anchor=\"middle\" transform=\"rotate(-90 %.1f %.1f)\" fill=\"%s\"", label_x,
                                    middle, escaped(series.color).c_str());
  return out + text_at(label_x, middle, turned.c_str(), series.label);
}

std::string curve(const Axis& x, const Axis& y, const Series& series) {
  std::string path, points;
  bool pen_down = false;
  for (size_t i = 0; i < series.values.size(); ++i) {
    const double value = series.values[i];
    if (std::isfinite(value)) {
      const double px = x_at(x, static_cast<double>(i + 1)), py = y_at(y, value);
      path += format("%c%.1f %.1f ", pen_down ? 'L' : 'M', px, py);
      points += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>\n", px, py);
    }
    pen_down = std::isfinite(value);
  }
  const std::string color = escaped(series.color);
  return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + color +
         "\" stroke-width=\"2\" stroke-linejoin=\"round\"/>\n" + "<g fill=\"" + color + "\">\n" + points + "</g>\n";
}

std::string legend(const Series& left, const Series& right) {
  std::string out;
  double x = kLeft;
  for (const Series* series : {&left, &right}) {
    out += line_between(x, 62, x + 26, 62, series->color, 2);
    out += format("<circle cx=\"%.1f\" cy=\"62\" r=\"2.5\" fill=\"%s\"/>\n", x + 13, escaped(series->color).c_str());
    out += text_at(x + 33, 66, "text-anchor=\"start\"", series->label);
    x += 190;
  }
  return out;
}

}  // namespace

std::string render(const Plot& plot) {
  const Axis x = axis_of_counts(std::max(plot.left.values.size(), plot.right.values.size()));
  const Axis left = axis_of(plot.left.values), right = axis_of(plot.right.values);
  std::string out = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n",
      kWidth, kHeight, kWidth, kHeight);
  out += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  out += text_at(kLeft, 34, "font-size=\"17\" font-weight=\"bold\"", plot.title);
  out += legend(plot.left, plot.right);
  out += y_axis(left, plot.left, true) + y_axis(right, plot.right, false) + x_axis(x, plot.x_label);
  out += curve(x, left, plot.left) + curve(x, right, plot.right);
  return out + "</svg>\n";
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw_error<IoError>(path, ": cannot be written");
}

}  // namespace vellum::svg
