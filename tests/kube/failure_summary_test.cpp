// What a program says of its failures at its very end.

#include "tests/kube/failure_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "tests/support/child_process.hpp"

namespace plimsoll::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::TestPartResult;
using ::testing::UnitTest;

class FailureSummaryTest : public ::testing::Test {
 protected:
  void SetUp() override { summary_.OnTestStart(*UnitTest::GetInstance()->current_test_info()); }
  void report(TestPartResult::Type type, const char* file, int line, const std::string& message) {
    summary_.OnTestPartResult(TestPartResult(type, file, line, message.c_str()));
  }
  std::string end() {
    summary_.OnTestEnd(*UnitTest::GetInstance()->current_test_info());
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

TEST_F(FailureSummaryTest, KnowsFailuresOutsideOfTests) {
  summary_.OnTestEnd(*UnitTest::GetInstance()->current_test_info());
  report(TestPartResult::kFatalFailure, "a.cpp", 1, "no cluster");
  EXPECT_THAT(end(), HasSubstr("a.cpp:1: outside of a test\nno cluster\n"));
}

// Run by the test below in a program of its own, as a suite that fails and prints a lot.
TEST(FailingSuite, DISABLED_FailsAndGoesOn) {
  UnitTest::GetInstance()->listeners().Append(new FailureSummary(std::cout));
  EXPECT_EQ(1, 2) << "not equal";
  for (int i = 0; i < 1000; ++i) std::cerr << "a line of some log\n";
  FAIL() << "given up";
}

TEST(FailingSuite, EndsWithWhatFailed) {
  const auto finished = run({.argv = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                      "--gtest_also_run_disabled_tests",
                                      "--gtest_filter=FailingSuite.DISABLED_FailsAndGoesOn"}});
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_EQ(finished->status, ExitStatus::exited(1));
  const std::size_t at = finished->out.find("\n=== 2 assertions failed:\n");
  ASSERT_NE(at, std::string::npos) << finished->out;
  const std::string end = finished->out.substr(at);
  EXPECT_THAT(end, AllOf(HasSubstr("failure_summary_test.cpp:"), HasSubstr("not equal"),
                         HasSubstr("given up"), Not(HasSubstr("some log"))));
}

}  // namespace
}  // namespace plimsoll::test
