#pragma once
// A line plot as an SVG text. Points below or beside the plot are left out. Points above it are
// drawn at the upper edge.

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::bench {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  double x_low = 0;
  double x_high = 1;
  double x_step = 1;  // of the grid
  double y_low = 0;
  double y_high = 1;
  double y_step = 1;
  std::vector<Curve> curves;  // at most six
  // The x axis is logarithmic. Points have plain values; low, high and step are powers of ten.
  bool x_log = false;
  bool y_log = false;
};

[[nodiscard]] std::string svg_of(const Plot& plot);

}  // namespace plimsoll::bench
