#include "cli/ask/port_forward.hpp"

#include <charconv>
#include <chrono>
#include <cstring>
#include <future>
#include <string_view>
#include <utility>

#include "framework/base/quote.hpp"
#include "framework/base/run_program.hpp"

namespace plimsoll::cli {
namespace {

constexpr std::chrono::seconds kUntilForwarded{30};
constexpr std::chrono::hours kLongest{1};  // far more than any question takes
constexpr std::string_view kForwards = "Forwarding from 127.0.0.1:";

// The port in "Forwarding from 127.0.0.1:43521 -> 10259"; 0: the line is not there yet.
std::uint16_t port_in(std::string_view out) {
  const std::size_t at = out.find(kForwards);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = out.substr(at + kForwards.size());
  if (rest.find(' ') == std::string_view::npos) return 0;
  std::uint16_t port = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), port);
  return port;
}

std::string end_of(const ProgramEnd& end) {
  if (end.how == ProgramEnd::How::kNotStarted) {
    return "kubectl cannot be run: " + std::string(std::strerror(end.code)) +
           "; put it into PATH, or say with --server where the scheduler is served";
  }
  return "kubectl port-forward: " +
         (end.err.empty() ? "it ended without a word" : without_last_newlines(end.err));
}

}  // namespace

Result<std::unique_ptr<PortForward>> PortForward::start(const std::string& ns,
                                                        const std::string& target, unsigned port,
                                                        const std::vector<std::string>& flags) {
  Program program{"kubectl",
                  {"port-forward", "--address", "127.0.0.1", "--namespace", ns, target,
                   ":" + std::to_string(port)},
                  own_environment(),
                  kLongest};
  program.arguments.insert(program.arguments.end(), flags.begin(), flags.end());
  auto promise = std::make_shared<std::promise<Result<std::uint16_t>>>();
  auto ready = promise->get_future();
  // Of the thread that runs the program.
  auto told = std::make_shared<bool>(false);
  program.on_output = [promise, told](const std::string& out) {
    const std::uint16_t found = port_in(out);
    if (found == 0 || std::exchange(*told, true)) return;
    promise->set_value(found);
  };
  std::unique_ptr<PortForward> made(new PortForward);
  made->kubectl_ = std::jthread(
      [promise, told, program = std::move(program)](const std::stop_token& stop) mutable {
        const ProgramEnd end = run_program(std::move(program), stop);
        if (!*told) promise->set_value(fail(ErrorCode::kUnavailable, end_of(end)));
      });
  if (ready.wait_for(kUntilForwarded) != std::future_status::ready) {
    return fail(ErrorCode::kUnavailable,
                "kubectl port-forward to " + target + " in " + ns + " says nothing for 30 s");
  }
  const Result<std::uint16_t> forwarded = ready.get();
  if (!forwarded) return fail(forwarded.error().within(target + " in namespace " + ns));
  made->port_ = *forwarded;
  return made;
}

}  // namespace plimsoll::cli
