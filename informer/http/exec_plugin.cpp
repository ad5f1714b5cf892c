#include "informer/http/exec_plugin.hpp"

#include <plimsoll/time_text.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "framework/api/decoder.hpp"
#include "framework/base/json_field.hpp"
#include "informer/http/base64.hpp"

extern char** environ;

namespace plimsoll::informer {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxOutput = 1 << 20;

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

// KUBERNETES_EXEC_INFO: the ExecCredential that tells the plugin about its caller.
std::string exec_info(const ServerAccess& access) {
  const ExecPlugin& plugin = *access.exec;
  json spec = {{"interactive", false}};
  if (plugin.provide_cluster_info) {
    json cluster = {{"server", access.server}};
    if (!access.tls_server_name.empty()) cluster["tls-server-name"] = access.tls_server_name;
    if (!access.proxy_url.empty()) cluster["proxy-url"] = access.proxy_url;
    if (!access.certificate_authority_pem.empty()) {
      cluster["certificate-authority-data"] = encode_base64(access.certificate_authority_pem);
    }
    auto config = json::parse(plugin.cluster_config_json, nullptr, false);
    if (!config.is_discarded()) cluster["config"] = config;
    spec["cluster"] = cluster;
  }
  return json{{"apiVersion", plugin.api_version}, {"kind", "ExecCredential"}, {"spec", spec}}
      .dump();
}

// Our environment, the plugin's additions, and KUBERNETES_EXEC_INFO.
std::vector<std::string> exec_environment(const ServerAccess& access) {
  std::vector<std::string> added;
  for (const auto& [name, value] : access.exec->env) added.push_back(name + "=" + value);
  added.push_back("KUBERNETES_EXEC_INFO=" + exec_info(access));
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const bool replaced = std::any_of(added.begin(), added.end(), [&](const std::string& other) {
      return std::string_view(other).starts_with(name);
    });
    if (!replaced) all.emplace_back(text);
  }
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (auto& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The output of a plugin run.
struct Output {
  std::string out;
  std::string err;
  bool timed_out = false;
  bool stopped = false;
  bool too_long = false;
};

// Reads one ready descriptor; false at its end.
bool drain(int fd, std::string& into, bool& too_long) {
  char buffer[4096];
  const ssize_t n = ::read(fd, buffer, sizeof buffer);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  if (n == 0) return false;
  into.append(buffer, static_cast<std::size_t>(n));
  if (into.size() > kMaxOutput) too_long = true;
  return true;
}

Output collect(int out_fd, int err_fd, const std::stop_token& stop,
               std::chrono::steady_clock::time_point deadline) {
  Output output;
  bool out_open = true;
  bool err_open = true;
  while (out_open || err_open) {
    if (stop.stop_requested()) {
      output.stopped = true;
      return output;
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      output.timed_out = true;
      return output;
    }
    std::array<pollfd, 2> fds{pollfd{out_open ? out_fd : -1, POLLIN, 0},
                              pollfd{err_open ? err_fd : -1, POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), 50) <= 0) continue;
    if (fds[0].revents != 0) out_open = drain(out_fd, output.out, output.too_long);
    if (fds[1].revents != 0) err_open = drain(err_fd, output.err, output.too_long);
    if (output.too_long) return output;
  }
  return output;
}

// Waits for the child; kills its process group on a stop request or at the deadline.
int reap(pid_t child, bool kill_now, const std::stop_token& stop,
         std::chrono::steady_clock::time_point deadline, bool& timed_out) {
  int status = 0;
  while (true) {
    if (kill_now) ::kill(-child, SIGKILL);
    const pid_t got = ::waitpid(child, &status, kill_now ? 0 : WNOHANG);
    if (got == child) return status;
    if (got < 0 && errno != EINTR) return -1;
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= deadline) {
      timed_out = !stop.stop_requested();
      kill_now = true;
      continue;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::string tail(const std::string& text) {
  std::string end = text.size() > 500 ? "..." + text.substr(text.size() - 500) : text;
  while (!end.empty() && (end.back() == '\n' || end.back() == ' ')) end.pop_back();
  return end;
}

Result<pid_t> spawn(const ServerAccess& access, Pipe& out, Pipe& err) {
  const ExecPlugin& plugin = *access.exec;
  std::vector<std::string> args{plugin.command};
  args.insert(args.end(), plugin.args.begin(), plugin.args.end());
  std::vector<std::string> environment = exec_environment(access);

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

  pid_t child = -1;
  const int failure = posix_spawnp(&child, plugin.command.c_str(), &actions, &attributes,
                                   pointers(args).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    std::string message =
        "cannot run it: " + std::string(std::strerror(failure)) + " (" + access.source + ")";
    if (failure == ENOENT) {
      message += plugin.install_hint.empty() ? "; install it or correct exec.command"
                                             : "; " + plugin.install_hint;
    }
    return fail(ErrorCode::kUnauthorized, message);
  }
  return child;
}

// A time outside of the clock's range becomes the clock's first or last moment: the year 1 is long
// ago.
std::optional<std::chrono::system_clock::time_point> parse_expiry(const std::string& text) {
  using Point = std::chrono::system_clock::time_point;
  using std::chrono::milliseconds;
  const auto ms = sdk::parse_time(text);
  if (!ms) return std::nullopt;
  const auto in_ms = [](Point point) {
    return std::chrono::duration_cast<milliseconds>(point.time_since_epoch());
  };
  return Point(std::clamp(milliseconds(*ms), in_ms(Point::min()), in_ms(Point::max())));
}

}  // namespace

Result<ExecCredential> parse_exec_credential(const std::string& text,
                                             const std::string& api_version) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) {
    return fail(ErrorCode::kUnauthorized,
                "it printed no JSON object; expected an ExecCredential on standard output");
  }
  if (text_at(root, "kind") != "ExecCredential" || text_at(root, "apiVersion") != api_version) {
    return fail(ErrorCode::kUnauthorized, "it printed kind '" + text_at(root, "kind") + "' of '" +
                                              text_at(root, "apiVersion") +
                                              "'; expected ExecCredential of '" + api_version +
                                              "', as exec.apiVersion says");
  }
  const auto status = root.find("status");
  if (status == root.end() || !status->is_object()) {
    return fail(ErrorCode::kUnauthorized, "its ExecCredential has no status");
  }
  ExecCredential credential;
  credential.token = text_at(*status, "token");
  credential.client_certificate_pem = text_at(*status, "clientCertificateData");
  credential.client_key_pem = text_at(*status, "clientKeyData");
  if (credential.token.empty() && credential.client_certificate_pem.empty()) {
    return fail(ErrorCode::kUnauthorized,
                "its ExecCredential has neither status.token nor status.clientCertificateData");
  }
  if (auto sound = check_header_text(credential.token, "status.token of its ExecCredential");
      !sound) {
    return fail(ErrorCode::kUnauthorized, sound.error().message);
  }
  if (credential.client_certificate_pem.empty() != credential.client_key_pem.empty()) {
    return fail(ErrorCode::kUnauthorized,
                "its ExecCredential has only one of status.clientCertificateData and "
                "status.clientKeyData; both are needed");
  }
  const std::string expires = text_at(*status, "expirationTimestamp");
  if (!expires.empty()) {
    credential.expires = parse_expiry(expires);
    if (!credential.expires) {
      return fail(ErrorCode::kUnauthorized,
                  "status.expirationTimestamp '" + expires + "' is not an RFC 3339 time");
    }
  }
  return credential;
}

Result<ExecCredential> run_exec_plugin(const ServerAccess& access, std::stop_token stop,
                                       std::chrono::milliseconds limit) {
  const std::string context = "exec credential plugin '" + access.exec->command + "'";
  Pipe out;
  Pipe err;
  if (!out.open() || !err.open()) {
    return fail(ErrorCode::kUnavailable, context + ": no pipe: " + std::strerror(errno));
  }
  const auto deadline = std::chrono::steady_clock::now() + limit;
  auto child = spawn(access, out, err);
  if (!child) return fail(child.error().within(context));
  out.close_write();
  err.close_write();
  Output output = collect(out.read_end(), err.read_end(), stop, deadline);
  const bool kill_now = output.stopped || output.timed_out || output.too_long;
  const int status = reap(*child, kill_now, stop, deadline, output.timed_out);
  if (stop.stop_requested()) return fail(ErrorCode::kCancelled, context + ": stopped");
  if (output.timed_out) {
    return fail(ErrorCode::kUnauthorized, context + " did not finish within " +
                                              std::to_string(limit.count() / 1000) +
                                              " s; it was killed");
  }
  if (output.too_long) {
    return fail(ErrorCode::kUnauthorized, context + " printed more than 1 MiB; it was killed");
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string how = WIFEXITED(status)
                                ? "failed with exit status " + std::to_string(WEXITSTATUS(status))
                                : "was killed by signal " + std::to_string(WTERMSIG(status));
    std::string message = context + " " + how + ": " + tail(output.err);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && !access.exec->install_hint.empty()) {
      message += "; " + access.exec->install_hint;
    }
    return fail(ErrorCode::kUnauthorized, message);
  }
  auto credential = parse_exec_credential(output.out, access.exec->api_version);
  if (!credential) return fail(credential.error().within(context));
  return credential;
}

}  // namespace plimsoll::informer
