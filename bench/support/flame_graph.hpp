#pragma once
// A flame graph as an SVG text: where the time of a program goes, by stacks of calls. A frame is as
// wide as its share of the samples, and lies on the frame that called it; neighbours are ordered by
// name. The form is Brendan Gregg's ("The Flame Graph", 2016).

#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace plimsoll::bench {

struct Frame {
  uint64_t samples = 0;  // here or in what is called from here
  std::map<std::string, Frame> called;
};

// Reads what `perf script -F comm,ip,sym --no-inline` prints. Only samples with a function in their
// stack whose name contains `root` count, from the outermost such function on. Names lose their
// parameters and template arguments.
[[nodiscard]] Frame read_samples(std::istream& perf_script, const std::string& root);

// Frames of less than 0.1 % are left out. Each has its whole name and share as a tooltip.
[[nodiscard]] std::string svg_of(const Frame& all, const std::string& title);

// The functions in which most time was spent, what they call not counted: name and share (0 to 1),
// the largest first.
[[nodiscard]] std::vector<std::pair<std::string, double>> self_shares(const Frame& all);

}  // namespace plimsoll::bench
