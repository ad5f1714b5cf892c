#include "tests/support/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "tests/support/temp_dir.hpp"

extern char** environ;

namespace plimsoll::test {
namespace {

using Clock = std::chrono::steady_clock;

// Where a stream goes: a file that is appended to, or memory. Writing and reading share the
// descriptor; reads name their offset, and O_APPEND keeps the writers apart.
Result<int> open_sink(const std::filesystem::path& file) {
  const int fd = file.empty() ? ::memfd_create("child-output", MFD_CLOEXEC)
                              : ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    return fail(ErrorCode::kInternal, "opening " + (file.empty() ? "memory" : file.string()) +
                                          " for a program's output: " + std::strerror(errno));
  }
  if (file.empty()) ::fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}

std::vector<std::string> environment_of(const ChildOptions& options) {
  std::vector<std::string> result;
  const auto replaced = [&options](std::string_view name) {
    return std::ranges::any_of(options.env, [&](const auto& set) { return set.first == name; }) ||
           std::ranges::find(options.unset_env, name) != options.unset_env.end();
  };
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!replaced(text.substr(0, text.find('=')))) result.emplace_back(text);
  }
  for (const auto& [name, value] : options.env) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// All that the child needs between fork and exec, made before: only async-signal-safe calls are
// allowed there.
struct Launch {
  char** argv;
  char** envp;
  const char* working_dir;  // null: stay
  int out;
  int err;
  int report;  // the errno of a failed step is written here; closed by a successful exec
  pid_t parent;
};

[[noreturn]] void run_child(const Launch& launch) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.parent) ::_exit(127);  // the parent died before prctl took hold
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY);
  const bool ready = null >= 0 && ::dup2(null, STDIN_FILENO) >= 0 &&
                     ::dup2(launch.out, STDOUT_FILENO) >= 0 &&
                     ::dup2(launch.err, STDERR_FILENO) >= 0 &&
                     (launch.working_dir == nullptr || ::chdir(launch.working_dir) == 0);
  if (ready) ::execvpe(launch.argv[0], launch.argv, launch.envp);
  const int reason = errno;
  [[maybe_unused]] const ssize_t written = ::write(launch.report, &reason, sizeof(reason));
  ::_exit(127);
}

ExitStatus decode(int status) {
  return WIFSIGNALED(status) ? ExitStatus::by_signal(WTERMSIG(status))
                             : ExitStatus::exited(WEXITSTATUS(status));
}

std::string read_from(int fd, off_t offset) {
  std::string result;
  char buffer[16384];
  for (;;) {
    const ssize_t count =
        ::pread(fd, buffer, sizeof(buffer), offset + static_cast<off_t>(result.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return result;
    result.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::string to_string(const ExitStatus& status) {
  if (status.signal == 0) return "exit status " + std::to_string(status.code);
  return "signal " + std::to_string(status.signal) + " (" + ::strsignal(status.signal) + ")";
}

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  if (options.argv.empty()) return fail(ErrorCode::kInvalid, "no program to start");
  ChildProcess child;
  Result<int> out = open_sink(options.stdout_file);
  if (!out) return fail(out.error());
  child.stdout_fd_ = *out;
  child.stdout_start_ = std::max<off_t>(0, ::lseek(*out, 0, SEEK_END));
  if (!options.stderr_file.empty()) {
    Result<int> err = open_sink(options.stderr_file);
    if (!err) return fail(err.error());
    child.stderr_fd_ = *err;
    child.stderr_start_ = std::max<off_t>(0, ::lseek(*err, 0, SEEK_END));
  }
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    return fail(ErrorCode::kInternal, std::string("pipe: ") + std::strerror(errno));
  }
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> env = environment_of(options);
  const std::vector<char*> argv_pointers = pointers_to(argv);
  const std::vector<char*> env_pointers = pointers_to(env);
  const Launch launch{const_cast<char**>(argv_pointers.data()),
                      const_cast<char**>(env_pointers.data()),
                      options.working_dir.empty() ? nullptr : options.working_dir.c_str(),
                      child.stdout_fd_,
                      child.stderr_fd_ >= 0 ? child.stderr_fd_ : child.stdout_fd_,
                      report[1],
                      ::getpid()};
  const pid_t pid = ::fork();
  if (pid == 0) run_child(launch);
  const int fork_errno = errno;
  ::close(report[1]);
  int reason = 0;
  ssize_t got = 0;
  if (pid > 0) {
    do got = ::read(report[0], &reason, sizeof(reason));
    while (got < 0 && errno == EINTR);
  }
  ::close(report[0]);
  if (pid < 0) return fail(ErrorCode::kInternal, std::string("fork: ") + std::strerror(fork_errno));
  child.pid_ = pid;
  if (got > 0) {
    return fail(reason == ENOENT ? ErrorCode::kNotFound : ErrorCode::kInternal,
                "starting " + options.argv[0] + ": " + std::strerror(reason));
  }
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept {
  *this = std::move(other);
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  release();
  pid_ = std::exchange(other.pid_, -1);
  stdout_fd_ = std::exchange(other.stdout_fd_, -1);
  stderr_fd_ = std::exchange(other.stderr_fd_, -1);
  stdout_start_ = other.stdout_start_;
  stderr_start_ = other.stderr_start_;
  status_ = std::exchange(other.status_, std::nullopt);
  return *this;
}

ChildProcess::~ChildProcess() {
  release();
}

void ChildProcess::release() noexcept {
  kill();
  if (stdout_fd_ >= 0) ::close(stdout_fd_);
  if (stderr_fd_ >= 0) ::close(stderr_fd_);
  stdout_fd_ = stderr_fd_ = -1;
}

std::optional<ExitStatus> ChildProcess::wait(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  auto pause = std::chrono::milliseconds(1);
  while (!status_ && pid_ > 0) {
    siginfo_t ended{};
    const int result =
        ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (result == 0 && ended.si_pid == pid_) {
      // Not reaped yet, so the number of its group cannot belong to anybody else.
      ::kill(-pid_, SIGKILL);
      int status = 0;
      while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
      }
      status_ = decode(status);
    } else if (result < 0 && errno != EINTR) {
      status_ = ExitStatus::exited(-1);  // somebody else has waited for it: how it ended is lost
    } else if (Clock::now() >= deadline) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::milliseconds(20));
    }
  }
  return status_;
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0 && !status_) ::kill(pid_, number);
}

void ChildProcess::kill() {
  while (pid_ > 0 && !status_) {
    ::kill(-pid_, SIGKILL);
    (void)wait(std::chrono::seconds(1));
  }
}

ExitStatus ChildProcess::stop(std::chrono::milliseconds grace) {
  signal(SIGTERM);
  if (pid_ > 0 && !wait(grace)) kill();
  return status_.value_or(ExitStatus{});
}

std::string ChildProcess::output() const {
  return read_from(stdout_fd_, stdout_start_);
}

std::string ChildProcess::error_output() const {
  return stderr_fd_ < 0 ? std::string() : read_from(stderr_fd_, stderr_start_);
}

bool ChildProcess::wait_for_output(std::string_view text, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  for (;;) {
    const bool ended = !running();  // asked first: what it wrote before it ended is then all there
    if (output().find(text) != std::string::npos ||
        error_output().find(text) != std::string::npos) {
      return true;
    }
    if (ended || Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Result<Finished> run(const ChildOptions& options, std::chrono::milliseconds timeout) {
  Result<ChildProcess> child = ChildProcess::start(options);
  if (!child) return fail(child.error());
  const std::optional<ExitStatus> status = child->wait(timeout);
  if (!status) {
    child->kill();
    return fail(ErrorCode::kUnavailable, options.argv[0] + " did not end within " +
                                             std::to_string(timeout.count()) +
                                             " ms; its last lines:\n" + tail(child->output(), 20) +
                                             tail(child->error_output(), 20));
  }
  return Finished{*status, child->output(), child->error_output()};
}

}  // namespace plimsoll::test
