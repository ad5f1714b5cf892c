#include "tests/node/real_runtime.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace plimsoll::node::test {

using plimsoll::test::ChildProcess;
using plimsoll::test::ExitStatus;

RealRuntime::~RealRuntime() {
  kill();
}

void RealRuntime::start() {
  const auto found = plimsoll::test::run(
      {.argv = {"tests/node/runtime/build", "--if-present"}, .stderr_file = "/dev/null"});
  ASSERT_TRUE(found) << found.error().message;
  if (found->status != ExitStatus::exited(0)) {
    const char* ci = std::getenv("CI");
    ASSERT_NE(ci == nullptr ? "" : std::string(ci), "true") << "CI=true forbids a skip";
    GTEST_SKIP() << "SKIPPED: no nri-runtime: run tests/node/runtime/build";
  }
  const std::string folder = found->out.substr(0, found->out.find('\n'));
  auto started = ChildProcess::start({.argv = {folder + "/nri-runtime", folder_.path().string()}});
  ASSERT_TRUE(started) << started.error().message;
  process_.emplace(std::move(*started));
  ASSERT_TRUE(process_->wait_for_output("nri-runtime serves", std::chrono::seconds(60)))
      << process_->output();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, control().c_str(), sizeof address.sun_path - 1);
  control_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(connect(control_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0)
      << std::strerror(errno);
}

void RealRuntime::kill() {
  if (control_ >= 0) close(control_);
  control_ = -1;
  process_.reset();
}

nlohmann::json RealRuntime::ask(const nlohmann::json& request) {
  const std::string line = request.dump() + "\n";
  EXPECT_EQ(::send(control_, line.data(), line.size(), MSG_NOSIGNAL), ssize_t(line.size()));
  std::string answer;
  std::array<char, 65536> part;
  while (!answer.ends_with('\n')) {
    const ssize_t size = ::read(control_, part.data(), part.size());
    if (size <= 0) break;
    answer.append(part.data(), static_cast<std::size_t>(size));
  }
  nlohmann::json said = nlohmann::json::parse(answer, nullptr, false);
  if (said.is_object() && !said.contains("error")) return said;
  ADD_FAILURE() << request.dump() << ": " << answer << process_->output();
  return nlohmann::json::object();
}

}  // namespace plimsoll::node::test
