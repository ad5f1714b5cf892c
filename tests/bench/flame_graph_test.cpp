#include "bench/support/flame_graph.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace plimsoll::bench {
namespace {

// As perf prints them: the innermost function first, a blank line after each sample.
constexpr const char* kSamples =
    "engine \n"
    "\t    1 malloc\n"
    "\t    2 a::f<int, b<c> >(char const*) const\n"
    "\t    3 a::(anonymous namespace)::loop(int)\n"
    "\t    4 main\n"
    "\n"
    "engine \n"
    "\t    2 a::f<int, b<c> >(char const*) const\n"
    "\t    3 a::(anonymous namespace)::loop(int)\n"
    "\t    4 main\n"
    "\n"
    "engine \n"
    "\t    9 elsewhere\n"
    "\t    4 main\n"
    "\n"
    "engine \n"
    "\t    7 std::vector<int>::operator[](unsigned long)\n"
    "\t    3 a::(anonymous namespace)::loop(int)\n";

Frame samples() {
  std::istringstream in(kSamples);
  return read_samples(in, "a::loop");
}

TEST(FlameGraph, StacksBeginAtTheRoot) {
  const Frame all = samples();
  EXPECT_EQ(all.samples, 3U) << "the one elsewhere does not count";
  ASSERT_EQ(all.called.size(), 1U);
  const Frame& loop = all.called.at("a::loop");
  EXPECT_EQ(loop.samples, 3U);
  ASSERT_EQ(loop.called.count("a::f"), 1U);
  EXPECT_EQ(loop.called.at("a::f").samples, 2U);
  EXPECT_EQ(loop.called.at("a::f").called.at("malloc").samples, 1U);
  EXPECT_EQ(loop.called.count("std::vector::operator[]"), 1U);
}

TEST(FlameGraph, SelfSharesLeaveOutWhatIsCalled) {
  const auto shares = self_shares(samples());
  ASSERT_EQ(shares.size(), 3U) << "the loop itself did nothing";
  for (const auto& [name, share] : shares) EXPECT_DOUBLE_EQ(share, 1.0 / 3) << name;
}

TEST(FlameGraph, FramesAreAsWideAsTheirShare) {
  const std::string svg = svg_of(samples(), "title");
  EXPECT_NE(svg.find("<title>a::loop, 100.0 %</title><rect x=\"0.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("<title>a::f, 66.7 %</title><rect x=\"0.0\" y=\"53.0\" width=\"800.0\""),
            std::string::npos)
      << svg;
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

TEST(FlameGraph, NothingSampled) {
  std::istringstream in("");
  const Frame all = read_samples(in, "loop");
  EXPECT_EQ(all.samples, 0U);
  EXPECT_NE(svg_of(all, "nothing").find("</svg>"), std::string::npos);
  EXPECT_TRUE(self_shares(all).empty());
}

}  // namespace
}  // namespace plimsoll::bench
