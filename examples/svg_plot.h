#ifndef VELLUM_EXAMPLES_SVG_PLOT_H_
#define VELLUM_EXAMPLES_SVG_PLOT_H_

#include <string>
#include <vector>

namespace vellum::svg {

// A line over the numbers 1, 2, ..., with an axis of its own.
struct Series {
  std::string label;
  std::string color;           // as CSS writes it
  std::vector<double> values;  // gaps where a value is not finite
};

struct Plot {
  std::string title;
  std::string x_label;
  Series left, right;  // whose axis stands on which side
};

// A self-contained SVG document.
std::string render(const Plot& plot);

// Throws IoError when the file cannot be written.
void write_file(const std::string& path, const std::string& text);

}  // namespace vellum::svg

#endif  // VELLUM_EXAMPLES_SVG_PLOT_H_
