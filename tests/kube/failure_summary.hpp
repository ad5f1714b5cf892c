#pragma once
// Failures where one looks for them: a suite that fails prints the logs of all its processes, and
// the assertion that failed is far above. This listener says each one again as the last thing that
// the program prints.

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace plimsoll::test {

// GoogleTest calls it one call at a time. It reports failures with its own lock held: nothing of
// UnitTest may be asked there.
class FailureSummary : public ::testing::EmptyTestEventListener {
 public:
  static constexpr std::size_t kMessageBytes = 2000;  // of each, from its beginning
  static constexpr std::size_t kFailures = 40;        // the first ones; the others are counted

  // Writes to `out`, which must outlive it.
  explicit FailureSummary(std::ostream& out) : out_(out) {}

  void OnTestStart(const ::testing::TestInfo& test) override;
  void OnTestPartResult(const ::testing::TestPartResult& result) override;
  void OnTestEnd(const ::testing::TestInfo& test) override;
  // Nothing if nothing failed.
  void OnTestProgramEnd(const ::testing::UnitTest& program) override;

 private:
  std::ostream& out_;
  std::string test_;                   // that runs now; environments and suites fail outside of one
  std::vector<std::string> failures_;  // at most kFailures
  std::size_t count_ = 0;
};

}  // namespace plimsoll::test
