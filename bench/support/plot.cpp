#include "bench/support/plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plimsoll::bench {
namespace {

constexpr double kWidth = 720;
constexpr double kBeyond = 16;  // half of the width of the axis' last number
constexpr double kHeight = 440;
constexpr double kLeft = 60;
constexpr double kRight = 16;
constexpr double kTop = 40;
constexpr double kBottom = 48;
// Colours that people with colour blindness can also distinguish.
constexpr const char* kColours[] = {"#0072b2", "#56b4e9", "#009e73",
                                    "#d55e00", "#cc79a7", "#555555"};
constexpr const char* kDashes[] = {"", "6 3", "2 2", "", "8 3 2 3", "1 3"};

template <typename... Values>
std::string text(const char* format, Values... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

}  // namespace

std::string svg_of(const Plot& plot) {
  const auto x = [&](double value) {
    return kLeft + (value - plot.x_low) / (plot.x_high - plot.x_low) * (kWidth - kLeft - kRight);
  };
  const auto y = [&](double value) {
    return kHeight - kBottom -
           (value - plot.y_low) / (plot.y_high - plot.y_low) * (kHeight - kTop - kBottom);
  };
  std::string svg = text(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth + kBeyond, kHeight);
  svg += text("<text x=\"%.0f\" y=\"22\" font-size=\"15\">%s</text>\n", kLeft, plot.title.c_str());
  for (double at = plot.x_low; at <= plot.x_high + 1e-9; at += plot.x_step) {
    svg +=
        text("<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/>", x(at), y(plot.y_low), y(plot.y_high));
    svg += text("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.7g</text>\n", x(at),
                y(plot.y_low) + 16, plot.x_log ? std::pow(10, at) : at);
  }
  for (double at = plot.y_low; at <= plot.y_high + 1e-9; at += plot.y_step) {
    svg +=
        text("<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>", x(plot.x_low), y(at), x(plot.x_high));
    svg += text("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.7g</text>\n", x(plot.x_low) - 6,
                y(at) + 4, plot.y_log ? std::pow(10, at) : at);
  }
  svg += text("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
              (kLeft + kWidth - kRight) / 2, kHeight - 10, plot.x_label.c_str());
  svg +=
      text("<text transform=\"translate(16 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
           (kTop + kHeight - kBottom) / 2, plot.y_label.c_str());
  for (size_t i = 0; i < plot.curves.size() && i < std::size(kColours); ++i) {
    const Curve& curve = plot.curves[i];
    std::string path;
    for (auto [at, value] : curve.points) {
      if (plot.x_log) at = std::log10(at);
      if (plot.y_log) value = std::log10(value);
      if (at < plot.x_low || at > plot.x_high || value < plot.y_low) continue;
      path += text("%c%.1f %.1f", path.empty() ? 'M' : 'L', x(at), y(std::min(value, plot.y_high)));
    }
    const char* style = "fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\"/>";
    svg += "<path d=\"" + path + "\" " + text(style, kColours[i], kDashes[i]) + "\n";
    const double row = y(plot.y_low) - 14 - 18.0 * static_cast<double>(plot.curves.size() - 1 - i);
    const double column = kWidth - kRight - 300;
    svg += text("<path d=\"M%.1f %.1fh28\" ", column, row) + text(style, kColours[i], kDashes[i]);
    svg +=
        text("<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", column + 36, row + 4, curve.name.c_str());
  }
  return svg + "</svg>\n";
}

}  // namespace plimsoll::bench
