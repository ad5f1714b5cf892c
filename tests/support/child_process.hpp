#pragma once
// A program that a test runs: bounded in time, its output kept, never left behind.
//
//   auto plimsoll = ChildProcess::start({.argv = {bin / "plimsoll", "run", "--config", profile}});
//   ASSERT_TRUE(plimsoll) << plimsoll.error().message;
//   ASSERT_TRUE(plimsoll->wait_for_output("ready", 10s)) << plimsoll->output();
//   plimsoll->kill();                                   // kill -9
//   EXPECT_EQ(plimsoll->wait(5s), ExitStatus::by_signal(SIGKILL));
//
// The child leads a process group of its own; what it has started and left behind is killed when
// its own end is noticed. It gets SIGKILL when the thread that started it ends (PR_SET_PDEATHSIG):
// start it from the test's main thread. Its standard input is /dev/null.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::test {

// How a program ended: by exit(code), or by a signal.
struct ExitStatus {
  int code = -1;   // -1 if a signal ended it
  int signal = 0;  // 0 if it exited by itself

  static ExitStatus exited(int code) { return {code, 0}; }
  static ExitStatus by_signal(int signal) { return {-1, signal}; }
  friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

// "exit status 3" or "signal 9 (Killed)", for messages.
[[nodiscard]] std::string to_string(const ExitStatus& status);

struct ChildOptions {
  std::vector<std::string> argv = {};  // argv[0] is searched for in PATH if it has no slash
  std::vector<std::pair<std::string, std::string>> env =
      {};                                   // set besides the test's own environment
  std::vector<std::string> unset_env = {};  // taken out of it
  std::filesystem::path working_dir = {};   // empty: the test's own
  std::filesystem::path stdout_file = {};   // appended to; empty: memory only
  std::filesystem::path stderr_file = {};   // empty: the same place as standard output
};

// Owner: the test. Not for use from several threads at once. The destructor kills the whole process
// group (SIGKILL) and waits for it.
class ChildProcess {
 public:
  // Starts the program and returns once it is really running; kNotFound or kInternal with the
  // reason if it cannot be executed.
  [[nodiscard]] static Result<ChildProcess> start(const ChildOptions& options);

  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  // False once it has ended, whether anybody waited for it or not.
  [[nodiscard]] bool running() { return !wait(std::chrono::milliseconds(0)).has_value(); }

  // Waits for the end; nothing if it still runs after the timeout. Gives the same answer again
  // afterwards.
  [[nodiscard]] std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);

  // Sends a signal to the program itself, for SIGSTOP and the like; nothing happens if it has
  // ended.
  void signal(int number) const;
  // SIGKILL to the whole group, and waits.
  void kill();
  // SIGTERM, then after the grace period SIGKILL; says how it ended.
  ExitStatus stop(std::chrono::milliseconds grace = std::chrono::seconds(5));

  // What it wrote so far. Both streams are in output() unless stderr_file was given.
  [[nodiscard]] std::string output() const;
  [[nodiscard]] std::string error_output() const;

  // Waits until the text is in the output (either stream); false after the timeout or if the
  // program ended without it.
  [[nodiscard]] bool wait_for_output(std::string_view text, std::chrono::milliseconds timeout);

 private:
  ChildProcess() = default;
  void release() noexcept;

  pid_t pid_ = -1;
  int stdout_fd_ = -1;
  int stderr_fd_ = -1;  // -1: the same as stdout_fd_
  off_t stdout_start_ = 0;
  off_t stderr_start_ = 0;
  std::optional<ExitStatus> status_;
};

// A program that was run to its end.
struct Finished {
  ExitStatus status;
  std::string out;
  std::string err;  // empty: both streams are in `out`
};

// Starts, waits, returns how it ended and what it wrote; kUnavailable (after SIGKILL) with the tail
// of the output if it takes longer than the timeout.
[[nodiscard]] Result<Finished> run(const ChildOptions& options,
                                   std::chrono::milliseconds timeout = std::chrono::seconds(30));

}  // namespace plimsoll::test
