#include "framework/base/run_program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

extern char** environ;

namespace plimsoll {
namespace {

using How = ProgramEnd::How;

// A pipe that closes its ends when it is destroyed.
class Pipe {
 public:
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_read();
    close_write();
  }
  [[nodiscard]] bool open() { return ::pipe2(ends_.data(), O_CLOEXEC) == 0; }
  void close_read() { close_end(0); }
  void close_write() { close_end(1); }
  [[nodiscard]] int read_end() const { return ends_[0]; }
  [[nodiscard]] int write_end() const { return ends_[1]; }

 private:
  void close_end(std::size_t i) {
    if (ends_[i] >= 0) ::close(ends_[i]);
    ends_[i] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (auto& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// 0, or an errno.
int spawn(Program& program, Pipe& out, Pipe& err, pid_t& child) {
  std::vector<std::string> arguments{program.command};
  arguments.insert(arguments.end(), program.arguments.begin(), program.arguments.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.write_end(), 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  sigset_t pipe;  // we ignore SIGPIPE; a shell script could not undo that for itself
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &pipe);
  const int failure =
      posix_spawnp(&child, program.command.c_str(), &actions, &attributes,
                   pointers(arguments).data(), pointers(program.environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failure;
}

class Collector {
 public:
  Collector(const Program& program, const std::stop_token& stop)
      : stop_(stop),
        deadline_(std::chrono::steady_clock::now() + program.limit),
        program_(program) {}

  // Reads both outputs to their ends; true: the program is to be killed.
  bool collect(int out_fd, int err_fd, ProgramEnd& end) {
    bool out_open = true;
    bool err_open = true;
    while (out_open || err_open) {
      if (must_end(end)) return true;
      std::array<pollfd, 2> fds{pollfd{out_open ? out_fd : -1, POLLIN, 0},
                                pollfd{err_open ? err_fd : -1, POLLIN, 0}};
      if (::poll(fds.data(), fds.size(), 50) <= 0) continue;
      if (fds[0].revents != 0) {
        out_open = drain(out_fd, end.out);
        if (out_open && program_.on_output) program_.on_output(end.out);
      }
      if (fds[1].revents != 0) err_open = drain(err_fd, end.err);
      if (std::max(end.out.size(), end.err.size()) <= program_.most_output) continue;
      end.how = How::kPrintedTooMuch;
      return true;
    }
    return false;
  }

  // Waits for the child; kills its process group on a stop request or at the deadline.
  void reap(pid_t child, bool kill_now, ProgramEnd& end) {
    int status = 0;
    bool killed = kill_now;
    while (true) {
      if (killed) ::kill(-child, SIGKILL);
      const pid_t got = ::waitpid(child, &status, killed ? 0 : WNOHANG);
      if (got == child || (got < 0 && errno != EINTR)) break;
      killed = killed || must_end(end);
      if (!killed) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (killed) return;
    end.how = WIFEXITED(status) ? How::kExited : How::kKilled;
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
  }

 private:
  bool must_end(ProgramEnd& end) const {
    const bool late = std::chrono::steady_clock::now() >= deadline_;
    if (!stop_.stop_requested() && !late) return false;
    end.how = stop_.stop_requested() ? How::kStopped : How::kTimedOut;
    return true;
  }

  // Reads one ready descriptor; false at its end.
  static bool drain(int fd, std::string& into) {
    char buffer[4096];
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    into.append(buffer, static_cast<std::size_t>(n));
    return n > 0;
  }

  const std::stop_token& stop_;
  const std::chrono::steady_clock::time_point deadline_;
  const Program& program_;
};

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

ProgramEnd run_program(Program program, const std::stop_token& stop) {
  ProgramEnd end;
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open()) {
    end.code = errno;
    return end;
  }
  Collector collector(program, stop);
  pid_t child = -1;
  end.code = spawn(program, out, err, child);
  if (end.code != 0) return end;
  out.close_write();
  err.close_write();
  const bool kill_now = collector.collect(out.read_end(), err.read_end(), end);
  collector.reap(child, kill_now, end);
  return end;
}

}  // namespace plimsoll
