#include "cli/run/running_mark.hpp"

#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll::cli {

RunningMark::RunningMark(const std::string& ns, const std::string& name,
                         std::unique_ptr<informer::HttpClient> client)
    : identity_(informer::election_identity()),
      client_(std::move(client)),
      lease_(*client_, ns, name),
      mark_(lease_, identity_, ns + "/" + name) {}

Result<std::unique_ptr<RunningMark>> RunningMark::create(
    const std::string& ns, const std::string& name, const informer::ServerAccess& access,
    std::shared_ptr<informer::CredentialSource> credentials,
    std::function<void(const informer::HttpExchange&)> on_exchange) {
  informer::HttpClientOptions options;
  options.thread_name = "plimsoll-mark";
  options.on_exchange = std::move(on_exchange);
  auto client = informer::HttpClient::create(access, std::move(credentials), options);
  if (!client) return fail(client.error());
  return std::unique_ptr<RunningMark>(new RunningMark(ns, name, std::move(*client)));
}

RunningMark::~RunningMark() {
  stop(false);
}

void RunningMark::start(std::function<void(bool ended_well)> on_taken,
                        std::function<void(const std::string& holder)> on_lost) {
  thread_ = std::jthread([this, on_taken = std::move(on_taken),
                          on_lost = std::move(on_lost)](const std::stop_token& stop) {
    const auto ended_well = mark_.take(stop);
    if (!ended_well) return;
    on_taken(*ended_well);
    if (!mark_.taken()) return;
    if (const auto holder = mark_.wait_for_another(stop)) on_lost(*holder);
  });
}

void RunningMark::stop(bool release) {
  if (stopped_) return;
  stopped_ = true;
  thread_.request_stop();
  if (!release) client_->stop();  // ends a request under way
  if (thread_.joinable()) thread_.join();
  if (release) {
    if (const auto released = mark_.release(); !released) {
      log_warn("the mark of a clean stop was not written: the next start is as after a crash",
               {{"error", released.error().message}});
    }
  }
  client_->stop();
}

}  // namespace plimsoll::cli
