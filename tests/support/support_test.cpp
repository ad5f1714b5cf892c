// The test support itself: what other tests rely on when they start programs.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/support/child_process.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;

ChildOptions shell(std::string script) {
  return {.argv = {"sh", "-c", std::move(script)}};
}

bool alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

bool gone_within(pid_t pid, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (alive(pid) && std::chrono::steady_clock::now() < deadline) {
    // A killed grandchild stays a zombie until init takes it: that counts as gone.
    const Result<std::string> stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!stat || stat->find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(5ms);
  }
  return !alive(pid);
}

TEST(TempDir, IsPrivateAndGoesWithWhatItHolds) {
  std::filesystem::path path;
  {
    const TempDir dir("support-test");
    path = dir.path();
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0700U);
    ASSERT_TRUE(write_file(dir / "a", "first", 0600));
    ASSERT_TRUE(write_file(dir / "a", "2", 0640));
    EXPECT_EQ(read_file(dir / "a").value(), "2");
    ASSERT_EQ(::stat((dir / "a").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0640U);
    EXPECT_EQ(read_file(dir / "b").error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(write_file(dir / "no/such/folder", "x"));
  }
  EXPECT_EQ(std::filesystem::exists(path), std::getenv("PLIMSOLL_KEEP_TEMP") != nullptr);
}

TEST(Tail, TakesWholeLines) {
  EXPECT_EQ(tail("", 3), "");
  EXPECT_EQ(tail("one", 3), "one");
  EXPECT_EQ(tail("one\ntwo\n", 1), "two\n");
  EXPECT_EQ(tail("one\ntwo\nthree", 2), "two\nthree");
  EXPECT_EQ(tail("one\ntwo\n", 2), "one\ntwo\n");
}

TEST(FreePort, CanBeBound) {
  const Result<std::uint16_t> port = free_port();
  ASSERT_TRUE(port) << port.error().message;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(*port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(fd);
}

TEST(ChildProcess, ReportsExitStatusAndBothStreams) {
  ChildOptions options = shell("echo out; echo err >&2; pwd; echo $COLOUR; echo [$GONE]; exit 3");
  options.working_dir = "/";
  options.env = {{"COLOUR", "red"}, {"GONE", "x"}};
  options.unset_env = {};
  Result<Finished> finished = run(options);
  ASSERT_TRUE(finished) << finished.error().message;
  EXPECT_EQ(finished->status, ExitStatus::exited(3)) << to_string(finished->status);
  EXPECT_EQ(finished->out, "out\nerr\n/\nred\n[x]\n");
  EXPECT_EQ(finished->err, "");
}

TEST(ChildProcess, TakesVariablesOutOfTheEnvironment) {
  ::setenv("PLIMSOLL_SUPPORT_TEST", "set", 1);
  ChildOptions options = shell("echo [$PLIMSOLL_SUPPORT_TEST]");
  EXPECT_EQ(run(options)->out, "[set]\n");
  options.unset_env = {"PLIMSOLL_SUPPORT_TEST"};
  EXPECT_EQ(run(options)->out, "[]\n");
  ::unsetenv("PLIMSOLL_SUPPORT_TEST");
}

TEST(ChildProcess, AppendsToFilesAndShowsOnlyItsOwnPart) {
  const TempDir dir;
  ChildOptions options = shell("echo out; echo err >&2");
  options.stdout_file = dir / "log";
  options.stderr_file = dir / "errors";
  ASSERT_TRUE(run(options));
  const Result<Finished> second = run(options);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->out, "out\n");
  EXPECT_EQ(second->err, "err\n");
  EXPECT_EQ(read_file(dir / "log").value(), "out\nout\n");
}

TEST(ChildProcess, SaysWhyItCannotStart) {
  const auto absent = ChildProcess::start({.argv = {"/no/such/program"}});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(absent.error().message, "starting /no/such/program: No such file or directory");
  EXPECT_EQ(ChildProcess::start({}).error().code, ErrorCode::kInvalid);
}

TEST(ChildProcess, IsStoppedThenKilledWhenItDoesNotListen) {
  auto polite = ChildProcess::start(shell("sleep 60"));
  ASSERT_TRUE(polite);
  EXPECT_FALSE(polite->wait(10ms).has_value());
  EXPECT_TRUE(polite->running());
  EXPECT_EQ(polite->stop(5s), ExitStatus::by_signal(SIGTERM));
  EXPECT_FALSE(polite->running());

  auto deaf = ChildProcess::start(shell("trap '' TERM; echo up; while :; do sleep 1; done"));
  ASSERT_TRUE(deaf);
  ASSERT_TRUE(deaf->wait_for_output("up", 5s));
  EXPECT_EQ(deaf->stop(100ms), ExitStatus::by_signal(SIGKILL));
  EXPECT_EQ(deaf->wait(0ms), ExitStatus::by_signal(SIGKILL)) << "the answer stays";
}

TEST(ChildProcess, LeavesNoGrandchildBehind) {
  pid_t grandchild = 0;
  {
    auto child = ChildProcess::start(shell("sleep 60 & echo pid=$!; wait"));
    ASSERT_TRUE(child);
    ASSERT_TRUE(child->wait_for_output("\n", 5s));
    grandchild = static_cast<pid_t>(std::stol(child->output().substr(4)));
    ASSERT_TRUE(alive(grandchild));
    ChildProcess moved = std::move(*child);
    EXPECT_TRUE(moved.running());
  }
  EXPECT_TRUE(gone_within(grandchild, 5s));
}

TEST(ChildProcess, WaitForOutputGivesUpWhenTheProgramEnds) {
  auto child = ChildProcess::start(shell("echo last words"));
  ASSERT_TRUE(child);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(child->wait_for_output("never written", 30s));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 20s);
  EXPECT_TRUE(child->wait_for_output("last words", 0ms));
}

TEST(Run, KillsWhatTakesTooLongAndShowsItsLastLines) {
  const Result<Finished> finished = run(shell("echo still busy; sleep 60"), 300ms);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(finished.error().message.find("still busy"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::test
