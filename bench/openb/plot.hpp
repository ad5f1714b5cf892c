#pragma once
// A line plot as an SVG text.

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::openb {

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
};

[[nodiscard]] std::string svg_of(const Plot& plot);

}  // namespace plimsoll::openb
