#include "tests/kube/failure_summary.hpp"

#include <cstdio>
#include <string_view>

namespace plimsoll::test {
namespace {

// The beginning of a text, not cut within a character of UTF-8.
std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  const auto continues = [&](std::size_t at) { return (text[at] & 0xC0) == 0x80; };
  std::size_t size = most;
  while (size > 0 && continues(size)) --size;
  return std::string(text.substr(0, size)) + "\n... and " + std::to_string(text.size() - size) +
         " bytes more, above";
}

}  // namespace

void FailureSummary::OnTestStart(const ::testing::TestInfo& test) {
  test_ = std::string(test.test_suite_name()) + "." + test.name();
}

void FailureSummary::OnTestEnd(const ::testing::TestInfo&) {
  test_.clear();
}

void FailureSummary::OnTestPartResult(const ::testing::TestPartResult& result) {
  if (!result.failed()) return;
  if (++count_ > kFailures) return;
  const char* file = result.file_name() != nullptr ? result.file_name() : "unknown file";
  failures_.push_back(std::string(file) + ":" + std::to_string(result.line_number()) + ": " +
                      (test_.empty() ? "outside of a test" : "in " + test_) + "\n" +
                      shortened(result.message(), kMessageBytes));
}

void FailureSummary::OnTestProgramEnd(const ::testing::UnitTest&) {
  if (count_ == 0) return;
  std::fflush(stdout);  // GoogleTest's own words, and the logs
  std::fflush(stderr);
  out_ << "\n=== " << count_ << (count_ == 1 ? " assertion failed:\n" : " assertions failed:\n");
  for (const std::string& failure : failures_) out_ << "\n" << failure << "\n";
  if (count_ > kFailures) out_ << "\n... and " << count_ - kFailures << " more, above\n";
  out_ << std::flush;
}

}  // namespace plimsoll::test
