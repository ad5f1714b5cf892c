// What a program says of its failures at its very end.

#include "tests/kube/failure_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace plimsoll::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::TestPartResult;
using ::testing::UnitTest;

class FailureSummaryTest : public ::testing::Test {
 protected:
  void report(TestPartResult::Type type, const char* file, int line, const std::string& message) {
    summary_.OnTestPartResult(TestPartResult(type, file, line, message.c_str()));
  }
  std::string end() {
    summary_.OnTestProgramEnd(*UnitTest::GetInstance());
    return out_.str();
  }

  std::ostringstream out_;
  FailureSummary summary_{out_};
};

TEST_F(FailureSummaryTest, SaysNothingWhereNothingFailed) {
  report(TestPartResult::kSuccess, "a.cpp", 1, "fine");
  report(TestPartResult::kSkip, "a.cpp", 2, "SKIPPED: no kube-apiserver");
  EXPECT_EQ(end(), "");
}

TEST_F(FailureSummaryTest, SaysWhereAndWhatInOrder) {
  report(TestPartResult::kNonFatalFailure, "tests/a.cpp", 7, "Expected: 1\nWhich is: 2");
  report(TestPartResult::kFatalFailure, nullptr, -1, "it threw");
  EXPECT_EQ(end(),
            "\n=== 2 assertions failed:\n"
            "\ntests/a.cpp:7: in FailureSummaryTest.SaysWhereAndWhatInOrder\n"
            "Expected: 1\nWhich is: 2\n"
            "\nunknown file:-1: in FailureSummaryTest.SaysWhereAndWhatInOrder\nit threw\n");
}

TEST_F(FailureSummaryTest, CutsLongMessagesBetweenCharacters) {
  const std::string first(FailureSummary::kMessageBytes - 1, 'x');
  report(TestPartResult::kNonFatalFailure, "a.cpp", 7, first + "\u00e9" + "rest");
  EXPECT_THAT(end(), AllOf(HasSubstr("=== 1 assertion failed:"),
                           HasSubstr(first + "\n... and 6 bytes more, above\n")));
}

TEST_F(FailureSummaryTest, CountsWhatItDoesNotRepeat) {
  for (std::size_t i = 0; i < FailureSummary::kFailures + 3; ++i) {
    report(TestPartResult::kNonFatalFailure, "a.cpp", static_cast<int>(i), "wrong");
  }
  EXPECT_THAT(end(),
              AllOf(HasSubstr("=== 43 assertions failed:"), HasSubstr("a.cpp:39: in "),
                    Not(HasSubstr("a.cpp:40: in ")), HasSubstr("\n... and 3 more, above\n")));
}

}  // namespace
}  // namespace plimsoll::test
