#include "cli/run/leadership.hpp"

#include <plimsoll/duration.hpp>

#include <utility>

#include "config/leader_election.hpp"
#include "config/text/fields.hpp"
#include "framework/base/log.hpp"

namespace plimsoll::cli {

Result<config::LeaderElection> leader_election_settings(config::LeaderElection from_file,
                                                        const LeaderElectionArguments& arguments) {
  config::LeaderElection settings = std::move(from_file);
  std::string errors;
  const auto note = [&errors](const std::string& text) {
    errors += (errors.empty() ? "" : "\n") + text;
  };
  const auto text = [](const std::optional<std::string>& given, std::string& into) {
    if (given && !given->empty()) into = *given;
  };
  const auto duration = [&](const char* flag, const std::optional<std::string>& given,
                            std::chrono::nanoseconds& into) {
    if (!given) return;
    if (const auto parsed = sdk::parse_duration(*given)) {
      into = *parsed;
    } else {
      note(std::string(flag) + ": \"" + *given +
           "\" is not a duration such as \"15s\" or \"1m30s\"");
    }
  };
  if (arguments.leader_elect) settings.leader_elect = *arguments.leader_elect;
  duration("--leader-elect-lease-duration", arguments.lease_duration, settings.lease_duration);
  duration("--leader-elect-renew-deadline", arguments.renew_deadline, settings.renew_deadline);
  duration("--leader-elect-retry-period", arguments.retry_period, settings.retry_period);
  text(arguments.resource_lock, settings.resource_lock);
  text(arguments.resource_name, settings.resource_name);
  text(arguments.resource_namespace, settings.resource_namespace);
  for (const config::LeaderElectionProblem& problem : config::leader_election_problems(settings)) {
    note("leaderElection." + problem.field + ": " + problem.text);
  }
  if (!errors.empty()) return fail(ErrorCode::kInvalid, errors);
  return settings;
}

Result<void> check_beside_kube_scheduler(const config::SchedulerConfig& config,
                                         bool no_kube_scheduler) {
  const config::LeaderElection& election = config.leader_election;
  const bool shares_the_lease = election.leader_elect &&
                                election.resource_name == config::kKubeSchedulerLease &&
                                election.resource_namespace == config::kKubeSchedulerNamespace;
  if (no_kube_scheduler || shares_the_lease || !config::serves_default_scheduler(config)) return {};
  return fail(
      ErrorCode::kInvalid,
      "a profile serves the pods of default-scheduler, and so does kube-scheduler: both would bind "
      "the same pods, since " +
          (election.leader_elect
               ? "the lease here is " + election.resource_namespace + "/" + election.resource_name
               : std::string("leader election is off here")) +
          ". Elect the leader by kube-scheduler's own lease, kube-system/kube-scheduler "
          "(leaderElection.resourceNamespace and resourceName, or the flags --leader-elect-...), "
          "or, if no kube-scheduler runs in this cluster, say so with --without-kube-scheduler");
}

Leadership::Leadership(const config::LeaderElection& settings)
    : identity_(informer::election_identity()),
      fence_(settings.lease_duration - settings.renew_deadline) {}

Result<std::unique_ptr<Leadership>> Leadership::create(
    const config::LeaderElection& settings, const informer::ServerAccess& access,
    std::shared_ptr<informer::CredentialSource> credentials, OnExchange on_exchange) {
  std::unique_ptr<Leadership> made(new Leadership(settings));
  informer::HttpClientOptions options;
  options.thread_name = "plimsoll-lease";
  options.on_exchange = std::move(on_exchange);
  options.unacknowledged_timeout = std::chrono::seconds(10);  // long enough for several renewals
  auto client = informer::HttpClient::create(access, std::move(credentials), options);
  if (!client) return fail(client.error());
  made->client_ = std::move(*client);
  made->lease_ = std::make_unique<informer::ApiServerLease>(
      *made->client_, settings.resource_namespace, settings.resource_name);
  informer::LeaderElectionOptions election;
  election.identity = made->identity_;
  election.lease = made->lease_name_ = settings.resource_namespace + "/" + settings.resource_name;
  election.lease_duration = settings.lease_duration;
  election.renew_deadline = settings.renew_deadline;
  election.retry_period = settings.retry_period;
  informer::LeaderElectionCallbacks callbacks;
  callbacks.on_leading = [own = made.get()] { own->on_leading_(); };
  callbacks.unfit = [own = made.get()] { return own->unfit_(); };
  callbacks.on_holder = [own = made.get()](const std::string& holder) {
    if (holder.empty() || holder == own->identity_) return;
    log_info("another replica leads", {{"lease", own->lease_name_}, {"holder", holder}});
  };
  made->elector_ = std::make_unique<informer::LeaderElector>(
      *made->lease_, made->fence_, std::move(election), std::move(callbacks));
  return made;
}

Leadership::~Leadership() {
  stop(false, false);
}

void Leadership::start(OnLeading on_leading, OnLost on_lost, Unfit unfit) {
  on_leading_ = std::move(on_leading);
  unfit_ = std::move(unfit);
  thread_ = std::jthread(
      [this, on_lost = std::move(on_lost)](const std::stop_token& stop) { elect(stop, on_lost); });
}

void Leadership::elect(const std::stop_token& stop, const OnLost& on_lost) {
  try {
    if (elector_->run(stop) == informer::LeaderElector::End::kLost) on_lost(elector_->loss());
  } catch (const std::exception& error) {
    fence_.close();
    on_lost(error.what());
  }
}

void Leadership::stop(bool ended, bool earlier_ended) {
  if (stopped_) return;
  stopped_ = true;
  fence_.close();
  thread_.request_stop();
  if (!ended && client_) client_->stop();  // ends a request under way
  if (thread_.joinable()) thread_.join();
  if (ended && elector_ && (earlier_ended || elector_->took_free_lease())) {
    if (const auto released = elector_->release(); !released) {
      log_warn("the leader lease was not released: the next replica waits for its end",
               {{"error", released.error().message}});
    }
  }
  if (client_) client_->stop();
}

}  // namespace plimsoll::cli
