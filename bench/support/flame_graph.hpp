#pragma once
// A flame graph as an SVG text: a program's time by call stacks. The width of a frame is its share
// of the samples. A frame lies on the frame that called it, and neighbours are ordered by name. The
// form is Brendan Gregg's ("The Flame Graph", 2016).

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace plimsoll::bench {

struct Frame {
  uint64_t samples = 0;  // in this function and in the functions that it calls
  std::map<std::string, Frame> called;
};

// Reads the output of `perf script -F comm,ip,sym --no-inline`. Counts only samples whose stack has
// a function with `root` in its name, starting at the outermost such function. Parameters and
// template arguments are removed from names.
[[nodiscard]] Frame read_samples(std::istream& perf_script, const std::string& root);

// Frames of less than 0.1 % are left out. Each has its whole name and share as a tooltip.
[[nodiscard]] std::string svg_of(const Frame& all, const std::string& title);

// The functions with the most time of their own, without the functions that they call: name and
// share (0 to 1), the largest first.
[[nodiscard]] std::vector<std::pair<std::string, double>> self_shares(const Frame& all);

}  // namespace plimsoll::bench
