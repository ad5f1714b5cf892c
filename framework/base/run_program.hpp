#pragma once
// Runs another program and collects what it prints.

#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace plimsoll {

struct Program {
  std::string command;  // a path, or a name that is looked up in PATH
  std::vector<std::string> arguments = {};
  std::vector<std::string> environment = {};  // all of it, NAME=VALUE
  std::chrono::milliseconds limit{60'000};    // it is killed after that
  std::size_t most_output = 1 << 20;  // bytes of each of its two outputs; more: it is killed
  // Called with all of its standard output whenever it has written more, on the waiting thread.
  std::function<void(const std::string& out)> on_output = {};
};

struct ProgramEnd {
  enum class How {
    kExited,      // `code`: its exit status
    kKilled,      // `code`: the signal
    kNotStarted,  // `code`: errno
    kTimedOut,
    kStopped,  // by the stop token
    kPrintedTooMuch,
  };
  How how = How::kNotStarted;
  int code = 0;
  std::string out;
  std::string err;
};

// The environment of this process.
[[nodiscard]] std::vector<std::string> own_environment();

// Runs the program with standard input closed, in a process group of its own that is killed with
// it. Blocks until it has ended; on any thread.
[[nodiscard]] ProgramEnd run_program(Program program, const std::stop_token& stop);

}  // namespace plimsoll
