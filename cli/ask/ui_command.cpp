#include <openssl/rand.h>

#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <csignal>
#include <iostream>
#include <memory>
#include <utility>

#include "cli/ask/commands.hpp"
#include "cli/line/failure.hpp"
#include "cli/line/signals.hpp"
#include "framework/base/run_program.hpp"
#include "serving/http_server.hpp"
#include "serving/local_names.hpp"
#include "ui/page.hpp"

namespace plimsoll::cli {
namespace {

using serving::ready;
using serving::Reply;
using serving::Request;
using serving::Response;

// Nobody else on this machine can guess it.
std::string random_name() {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return "";
  std::string name;
  for (const unsigned char byte : bytes)
    for (const int digit : {byte >> 4, byte & 15}) name += "0123456789abcdef"[digit];
  return name;
}

// Hands on the page's questions, one after the other, and nothing else.
class Forwarder {
 public:
  Forwarder(std::string prefix, Reach reach, Ask ask)
      : prefix_(std::move(prefix)), reach_(std::move(reach)), ask_(std::move(ask)) {}
  ~Forwarder() { thread_.join(); }
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  void answer(const Request& request, Reply reply) {
    if (!request.path.starts_with(prefix_)) return reply(ready({404, "404 page not found\n"}));
    const std::string name = request.path.substr(prefix_.size());
    if (request.method != "GET" && !(request.method == "POST" && name == "explain"))
      return reply(ready({405, "only GET\n"}));
    if (name.starts_with("ui/")) return reply(ready(ui::file(name.substr(3))));
    if (name != "top" && name != "queue" && name != "explain")
      return reply(ready({404, "404 page not found\n"}));
    informer::HttpRequest asked = question(name);
    if (!request.query.empty()) asked.path += "?" + request.query;
    asked.method = request.method;
    asked.body = request.body;
    boost::asio::post(thread_, [this, asked = std::move(asked), reply = std::move(reply)] {
      reply(ready(ask(asked)));
    });
  }

 private:
  // On the thread. A way that does not work any more is looked for again by the next question: the
  // leader may be another one, and a token ends.
  Response ask(const informer::HttpRequest& asked) {
    if (!ask_) {
      auto ask = reach_();
      if (!ask) return {502, ask.error().message + "\n"};
      ask_ = std::move(*ask);
    }
    const auto said = ask_(asked);
    if (said) return {200, *said, "application/json"};
    if (said.error().code == ErrorCode::kNotFound) return {404, said.error().message + "\n"};
    if (said.error().code == ErrorCode::kInvalid) return {400, said.error().message + "\n"};
    ask_ = nullptr;
    return {502, said.error().message + "\n"};
  }

  const std::string prefix_;
  const Reach reach_;
  Ask ask_;  // used on the thread only
  boost::asio::thread_pool thread_{1};
};

// As a Gate: no page of the web that calls itself by a name for this machine.
void require_loopback_name(const Request& request, const Reply& done) {
  if (serving::is_local_name(request.host)) return done({});
  done(ready({403, "forbidden: this server is asked as 127.0.0.1\n"}));
}

// Serves what is below "/SECRET/" until a signal ends it. `page`: the rest of the page's address.
int serve(const PageArguments& arguments, Signals& signals, const std::string& page,
          serving::LateHandler answer) {
  serving::ServerOptions options;
  options.port = arguments.port;
  options.gate = require_loopback_name;
  const auto server = serving::HttpServer::start(std::move(options), std::move(answer));
  if (!server) return failure("ui", server.error().message);
  const std::string address = (*server)->url() + page;
  std::cout << address << "\n" << std::flush;
  std::cerr << "open this address in a browser on this machine; Ctrl-C ends it\n";
  if (!signals.started()) return 0;
  if (arguments.open) {
    const auto end = run_program(
        {.command = "xdg-open", .arguments = {address}, .environment = own_environment()},
        signals.ending());
    if (end.how != ProgramEnd::How::kExited || end.code != 0)
      std::cerr << "note: xdg-open does not open it\n";
  }
  while (true) {
    const int signal = signals.next(std::chrono::hours(1));
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) break;
  }
  (*server)->stop();
  return 0;
}

constexpr const char* kNoSecret = "this machine has no random numbers";

}  // namespace

int show_page(const PageArguments& arguments, const Reach& reach) {
  Signals signals;
  auto ask = reach();
  if (!ask) return failure("ui", ask.error().message);
  if (const auto there = (*ask)(question("queue")); !there)
    return failure("ui", there.error().message);
  const std::string secret = random_name();
  if (secret.empty()) return failure("ui", kNoSecret);
  Forwarder forwarder("/" + secret + "/debug/", reach, std::move(*ask));
  return serve(arguments, signals, "/" + secret + "/debug/ui/",
               [&forwarder](const Request& request, Reply reply) {
                 forwarder.answer(request, std::move(reply));
               });
}

int show_saved_page(const PageArguments& arguments, const std::string& json) {
  Signals signals;
  const std::string secret = random_name();
  if (secret.empty()) return failure("ui", kNoSecret);
  const std::string page = "/" + secret + "/";
  return serve(
      arguments, signals, page,
      [page, answer = ui::single_file_answer(json)](const Request& request, const Reply& reply) {
        reply(ready(request.path != page      ? Response{404, "404 page not found\n"}
                    : request.method != "GET" ? Response{405, "only GET\n"}
                                              : answer));
      });
}

}  // namespace plimsoll::cli
