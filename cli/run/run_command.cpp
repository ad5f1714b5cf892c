#include <plimsoll/join.hpp>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <mutex>
#include <stop_token>
#include <thread>

#include "cli/line/failure.hpp"
#include "cli/line/running_calls.hpp"
#include "cli/line/signals.hpp"
#include "cli/run/commands.hpp"
#include "cli/run/observability.hpp"
#include "cli/run/profile_reload.hpp"
#include "cli/run/wiring.hpp"
#include "framework/base/log.hpp"
#include "framework/runtime/plugin/running_call.hpp"
#include "informer/http/http_extenders.hpp"

namespace plimsoll::cli {
namespace {

// Contacts the server once, so that a wrong address or a rejected credential is reported at once
// and clearly. A server that cannot be reached may start later (control planes start in any order):
// that is only a warning. Ends early, with kCancelled, once `stop` is requested.
Result<void> check_server(const informer::ServerAccess& access, const std::stop_token& stop) {
  informer::HttpClientOptions options;
  options.connect_timeout = std::chrono::seconds(5);
  auto client = informer::HttpClient::create(
      access, std::make_shared<informer::CredentialSource>(access), options);
  if (!client) return fail(client.error());
  informer::HttpRequest request;
  request.path = "/api/v1/nodes?limit=1";
  request.timeout = std::chrono::seconds(10);
  const Result<informer::HttpResponse> result = informer::call(**client, std::move(request), stop);
  (*client)->stop();
  Error error;
  if (result && result->ok()) return {};
  error = result ? informer::response_error("reading nodes", *result) : result.error();
  if (error.code == ErrorCode::kCancelled) return fail(error);
  if (error.code != ErrorCode::kUnauthorized) {
    log_warn("the API server does not answer yet; trying again until it does",
             {{"server", access.server}, {"error", error.message}});
    return {};
  }
  return fail(error.code,
              "the API server " + access.server + " refuses us (" + access.source +
                  "): " + error.message +
                  "; check the credential's expiry and its RBAC role (deploy/base/rbac.yaml)");
}

// How often it is looked whether the profile file has changed.
constexpr std::chrono::seconds kProfileLook{1};

// Another replica may already lead and promise the same resources: exit at once, whatever is still
// running. Nothing waits to be written: the fence is closed.
[[noreturn]] void lost_leadership(bool elected, const std::string& why) {
  log_error(elected
                ? "lost the leader lease; ending, so that another replica can lead"
                : "another scheduler of this name was started, and none elects a leader; ending",
            {{"reason", why}});
  std::_Exit(1);
}

// --write-config-to, as in kube-scheduler.
int write_configuration(const std::string& path, const std::string& yaml) {
  if (path == "-") {
    std::cout << yaml << std::flush;
    return std::cout ? 0
                     : failure("run", "the configuration could not be written to standard output");
  }
  std::ofstream file(path, std::ios::trunc);
  file << yaml << std::flush;
  if (!file) return failure("run", "cannot write the configuration to " + path);
  log_info("wrote the configuration", {{"file", path}});
  return 0;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Why this process starts with the last good profile; empty: it starts with the profile file. That
// is checked as a changed one is, so that not even a plugin that it crashes ends this process.
std::string profile_refusal(const RunArguments& arguments, const std::stop_token& stop) {
  std::error_code error;
  const bool is_run = arguments.write_config_to.empty();
  if (!is_run || !std::filesystem::exists(arguments.fallback_config, error)) return {};
  const ProfileCheck check = check_profile_file({}, stop);
  if (check.result != ProfileCheck::Result::kRefused) return {};
  log_error("the profile file is refused; starting with the last good one",
            {{"file", arguments.config},
             {"last_good", arguments.fallback_config},
             {"reason", check.reason}});
  return check.reason;
}

// Whether the profile file as it is now is to be taken into use. `in_force`: the meaning of the one
// that runs.
bool usable(const std::string& file, const std::string& in_force, const ProfileMetrics& metrics,
            Session& session, const std::stop_token& stop) {
  using Result = ProfileCheck::Result;
  const ProfileCheck check = check_profile_file(in_force, stop);
  if (check.result == Result::kStopped) return false;
  metrics.count(check.result);
  if (check.result == Result::kUsable) {
    log_info("taking the changed profile file into use", {{"file", file}});
    session.tell(false, "ProfileReload", "taking the changed profile file into use");
    const std::string left_out = schedulers_left_out(in_force, check.meaning);
    if (!left_out.empty()) {
      log_warn("no profile serves these schedulers any more: pods that name them wait",
               {{"schedulers", left_out}});
      session.tell(
          true, "ProfileReload",
          "no profile serves these schedulers any more, and pods that name them wait: " + left_out);
    }
  } else if (check.result == Result::kUnchanged) {
    log_info("the profile file means what it meant before", {{"file", file}});
  } else {
    log_error("the changed profile file is refused; the one from before stays in force",
              {{"file", file}, {"reason", check.reason}});
    session.tell(true, "ProfileRefused",
                 "the profile file from before stays in force: " + check.reason);
  }
  return check.result == Result::kUsable;
}

struct RunEnd {
  int status = 0;
  bool again = false;  // with the profile file as it is now
};

// Returns when a signal ends it (false), or a changed profile file is to be taken into use.
bool serve(Signals& signals, FileWatch& watch, const std::function<bool()>& usable,
           Session& session) {
  HangReminder hang;
  while (true) {
    const int signal = signals.next(kProfileLook);
    if (hang.due(session.scheduler().busy_for(), kLoopHangsAfter)) {
      if (const auto problem = session.loop_problem()) log_error(*problem);
    }
    if (signal == SIGINT || signal == SIGTERM) return false;
    // Like kube-scheduler: writes the state and its comparison to the log.
    if (signal == SIGUSR2) session.inspection().write_to_log();
    if ((signal == SIGHUP || watch.changed()) && usable()) return true;
  }
}

// Also while plugins are made, and while the end waits for the last bindings.
std::jthread watch_hanging_calls() {
  return std::jthread([](const std::stop_token& ended) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    while (!ended.stop_requested()) {
      never.wait_for(lock, ended, kProfileLook, [] { return false; });
      for (const std::string& call : hanging_calls(kLoopHangsAfter)) log_warn(call);
    }
  });
}

RunEnd run_once(const RunArguments& arguments, Signals& signals) {
  const std::jthread hanging_calls_watch = watch_hanging_calls();
  FileWatch watch(arguments.config);  // before it is read
  log_info("plimsoll starts", {{"version", PLIMSOLL_VERSION},
                               {"build", PLIMSOLL_BUILD},
                               {"profile", arguments.config},
                               {"flags", arguments.given}});
  const std::string refusal = profile_refusal(arguments, signals.start_given_up());
  const std::string& file = refusal.empty() ? arguments.config : arguments.fallback_config;
  const auto modules = load_modules(arguments.plugin_directories);
  if (!modules) return {failure("run", modules.error().message)};
  SymbolTable symbols;
  metrics::Registry registry;
  metrics::Registry* const measured = arguments.serving.port != 0 ? &registry : nullptr;
  auto plugins = std::make_unique<PreparedPlugins>(symbols, measured);
  const bool keeps = !arguments.keep_config_in.empty();
  std::string profile = keeps ? text_of(file) : std::string();
  auto configuration = load_configuration(file, *modules, plugins.get());
  if (!configuration)
    return {failure("run", "the profile file is not usable:\n" + configuration.error().message)};
  auto election =
      leader_election_settings(configuration->config.leader_election, arguments.leader_election);
  if (!election)
    return {failure("run", "leader election cannot be set up:\n" + election.error().message)};
  configuration->config.leader_election = std::move(*election);
  if (auto safe =
          check_beside_kube_scheduler(configuration->config, arguments.without_kube_scheduler);
      !safe)
    return {failure("run", safe.error().message)};

  const bool is_run = arguments.write_config_to.empty();
  if (!is_run && !arguments.as_a_reload)
    return {write_configuration(arguments.write_config_to, configuration->effective_yaml())};

  informer::KubeconfigOptions kubeconfig;
  kubeconfig.path = arguments.kubeconfig.empty()
                        ? configuration->config.client_connection.kubeconfig
                        : arguments.kubeconfig;
  kubeconfig.context = arguments.context;
  const auto access = informer::load_server_access(kubeconfig);
  if (!access) return {failure("run", access.error().message)};
  if (!is_run) {
    const auto extenders = informer::HttpExtenders::create(configuration->config.extenders);
    if (!extenders) return {failure("run", extenders.error().message)};
    return {write_configuration(arguments.write_config_to, meaning_of(*configuration))};
  }
  if (auto usable = check_server(*access, signals.start_given_up()); !usable) {
    if (usable.error().code == ErrorCode::kCancelled) return {};
    return {failure("run", usable.error().message)};
  }
  SessionChoices choices;
  choices.classes.enabled = !arguments.no_classes;
  choices.classes.check_every = arguments.class_check;
  choices.scheduled_events = arguments.scheduled_events;
  // A file that changed while it was read is read again soon: what is kept stays until then.
  const bool unread = keeps && text_of(file) != profile;
  if (!unread) choices.keep_profile_in = arguments.keep_config_in;
  if (keeps && has_private_key(*configuration)) {
    log_warn(
        "this profile is not kept for replicas that start while the file is broken: an extender "
        "has keyData, and a ConfigMap is no place for a key; name a keyFile instead",
        {{"config_map", arguments.keep_config_in}});
  } else if (keeps) {
    choices.profile = std::move(profile);
  }
  choices.profile_refusal = refusal;
  auto session =
      Session::create(*configuration, *modules, *access, measured, Session::Mode::kSchedule, {},
                      choices, &symbols, std::move(plugins));
  if (!session) return {failure("run", session.error().message)};
  if (!signals.started()) return {};
  auto observability = Observability::start(arguments.serving, *configuration, *access, registry,
                                            **session, *modules, arguments.socket);
  if (!observability) return {failure("run", observability.error().message)};
  (*session)->start([elected = (*session)->leadership() != nullptr](const std::string& why) {
    lost_leadership(elected, why);
  });
  const ProfileMetrics profile_metrics(registry);
  if (!refusal.empty()) profile_metrics.count(ProfileCheck::Result::kRefused);
  // A file that is good again is taken into use, whatever it means.
  const auto usable_now = [&, in_force =
                                  refusal.empty() ? meaning_of(*configuration) : std::string()] {
    return usable(arguments.config, in_force, profile_metrics, **session, signals.ending());
  };
  const bool again = serve(signals, watch, usable_now, **session);
  (*observability)->shutting_down();
  (*session)->stop();
  const SchedulerStats stats = (*session)->scheduler().stats();
  log_info("stopped", {{"bound", stats.scheduled}, {"attempts", stats.attempts}});
  return {0, again && !signals.ending().stop_requested()};
}

}  // namespace

int run(const RunArguments& arguments) {
  Signals signals;  // before any other thread is created
  const RunEnd end = run_once(arguments, signals);
  if (!end.again) return end.status;
  return failure("run", "cannot start anew with the changed profile file: " + start_anew());
}

}  // namespace plimsoll::cli
