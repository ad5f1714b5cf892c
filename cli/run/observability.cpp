#include "cli/run/observability.hpp"

#include <array>
#include <optional>
#include <utility>

#include "cli/run/access_reviews.hpp"
#include "cli/run/profile_reload.hpp"
#include "cli/run/wiring.hpp"
#include "framework/base/log.hpp"
#include "framework/metrics/process_metrics.hpp"
#include "serving/endpoints.hpp"
#include "serving/health.hpp"
#include "serving/local_names.hpp"
#include "serving/socket_place.hpp"

#ifndef PLIMSOLL_VERSION
#define PLIMSOLL_VERSION "dev"
#endif

namespace plimsoll::cli {
namespace {

using metrics::Counter;
using metrics::Family;
using metrics::Gauge;
using metrics::Registry;

constexpr std::array<std::string_view, informer::kWriteClasses> kWriteNames{"bind", "status",
                                                                            "event", "other"};

double as_double(std::uint64_t value) {
  return static_cast<double>(value);
}

// One watched kind.
class KindMetrics {
 public:
  explicit KindMetrics(Registry& r)
      : objects_(r.gauges({"plimsoll_objects", "Objects known of a kind.", {"kind"}})),
        synced_(r.gauges(
            {"plimsoll_kind_synced", "1 once the first list of a kind is complete.", {"kind"}})),
        watching_(r.gauges({"plimsoll_kind_watching",
                            "1 while a kind is watched; 0: it is listed, not served or refused, or "
                            "the API server is not reachable.",
                            {"kind"}})),
        followed_(r.gauges({"plimsoll_kind_followed",
                            "1 while nothing of a kind is missing: its list is complete and its "
                            "watch open, or it is not served. 0: pods that rest on it wait.",
                            {"kind"}})),
        delivered_(r.counters({"plimsoll_objects_delivered_total",
                               "Changes and deletions handed to the scheduler.",
                               {"kind"}})),
        malformed_(r.counters({"plimsoll_malformed_objects_total",
                               "Objects that could not be read, or only in part.",
                               {"kind"}})),
        unreadable_(r.gauges({"plimsoll_unreadable_objects",
                              "Objects that are there and could be read only in part: nothing is "
                              "placed beside such a pod.",
                              {"kind"}})),
        decoding_(r.counters({"plimsoll_decode_seconds_total",
                              "Time spent on reading objects as they came.",
                              {"kind"}})),
        longest_(r.gauges({"plimsoll_decode_longest_seconds",
                           "The longest time that one object took to read.",
                           {"kind"}})),
        lists_(r.counters(
            {"plimsoll_lists_total", "Lists begun; all but the first are relists.", {"kind"}})),
        watches_(r.counters({"plimsoll_watches_total",
                             "Watches begun; all but the first are restarts.",
                             {"kind"}})),
        failures_(r.counters({"plimsoll_watch_failures_total",
                              "Lists and watches that failed and were tried again.",
                              {"kind"}})) {}

  void show(const informer::KindStatus& kind) const {
    const std::string_view name = kind.resource;
    objects_.with({name}).set(as_double(kind.objects));
    synced_.with({name}).set(kind.synced ? 1 : 0);
    watching_.with({name}).set(kind.state == informer::ReflectorState::kWatching ? 1 : 0);
    followed_.with({name}).set(kind.followed ? 1 : 0);
    delivered_.with({name}).raise_to(as_double(kind.delivered));
    malformed_.with({name}).raise_to(as_double(kind.malformed));
    unreadable_.with({name}).set(as_double(kind.unreadable));
    decoding_.with({name}).raise_to(kind.decode_seconds);
    longest_.with({name}).set(kind.decode_longest);
    lists_.with({name}).raise_to(as_double(kind.lists));
    watches_.with({name}).raise_to(as_double(kind.watches));
    failures_.with({name}).raise_to(as_double(kind.failures));
  }

 private:
  Family<Gauge> objects_, synced_, watching_, followed_;
  Family<Counter> delivered_, malformed_;
  Family<Gauge> unreadable_;
  Family<Counter> decoding_;
  Family<Gauge> longest_;
  Family<Counter> lists_, watches_, failures_;
};

class WriteMetrics {
 public:
  explicit WriteMetrics(Registry& r)
      : writes_(r.counters({"plimsoll_api_writes_total",
                            "Writes to the API server that ended, by class (bind, status, event, "
                            "other) and outcome (done, failed).",
                            {"class", "outcome"}})),
        retries_(r.counters(
            {"plimsoll_api_write_retries_total", "Further tries of writes, by class.", {"class"}})),
        events_dropped_(r.counters({"plimsoll_events_dropped_total",
                                    "Events that were not written because too many waited.",
                                    {}})
                            .with({})),
        binds_recovered_(r.counters({"plimsoll_binds_recovered_total",
                                     "Binds whose answer was lost and which turned out to have "
                                     "been carried out.",
                                     {}})
                             .with({})),
        window_(r.gauges({"plimsoll_api_write_window",
                          "Writes that may be under way at a time, by class; it goes by what the "
                          "API server carries out.",
                          {"class"}})),
        in_flight_(r.gauges(
            {"plimsoll_api_writes_in_flight", "Writes that are under way, by class.", {"class"}})),
        waiting_(r.gauges({"plimsoll_api_writes_waiting",
                           "Writes that wait for room in the window, or for their next try, by "
                           "class.",
                           {"class"}})) {}

  void show(const Session& session) const {
    const informer::WriteStats& stats = session.writes();
    for (std::size_t i = 0; i < informer::kWriteClasses; ++i) {
      writes_.with({kWriteNames[i], "done"}).raise_to(as_double(stats.done[i].load()));
      writes_.with({kWriteNames[i], "failed"}).raise_to(as_double(stats.failed[i].load()));
      retries_.with({kWriteNames[i]}).raise_to(as_double(stats.retried[i].load()));
      const informer::WriteLoad load = session.write_load(static_cast<informer::WriteClass>(i));
      window_.with({kWriteNames[i]}).set(as_double(load.window));
      in_flight_.with({kWriteNames[i]}).set(as_double(load.in_flight));
      waiting_.with({kWriteNames[i]}).set(as_double(load.waiting));
    }
    events_dropped_.raise_to(as_double(stats.events_dropped.load()));
    binds_recovered_.raise_to(as_double(stats.binds_recovered.load()));
  }

 private:
  Family<Counter> writes_, retries_;
  Counter events_dropped_, binds_recovered_;
  Family<Gauge> window_, in_flight_, waiting_;
};

void show_plugins(Registry& registry, const Modules& modules) {
  const auto info = registry.gauges({"plimsoll_plugin_info",
                                     "1 for each plugin that is loaded.",
                                     {"plugin", "version", "source"}});
  const auto refused = registry
                           .gauges({"plimsoll_plugins_refused",
                                    "Plugin files that were refused at the start; the log "
                                    "says why.",
                                    {}})
                           .with({});
  for (const auto& module : modules.records()) {
    if (!module->loaded) {
      refused.add(1);
    } else {
      info.with({module->name, module->version, module->path.empty() ? "builtin" : "file"}).set(1);
    }
  }
}

// kube-scheduler's names of its checks.
std::vector<serving::HealthCheck> leader_checks(const Session& session) {
  const Leadership* leadership = session.leadership();
  if (leadership == nullptr) return {};
  return {{"leaderElection", [leadership]() -> std::optional<std::string> {
             if (!leadership->elector().overdue()) return std::nullopt;
             return "failed election to renew leadership on lease";
           }}};
}

// A replica to which the lease is refused could not lead: another must not make way for it.
std::vector<serving::HealthCheck> lease_checks(const Session& session) {
  const Leadership* leadership = session.leadership();
  if (leadership == nullptr) return {};
  return {{"lease-accepted", [leadership]() -> std::optional<std::string> {
             const std::string refusal = leadership->elector().status().refusal;
             if (refusal.empty()) return std::nullopt;
             return "the leader lease is refused to this process: " + refusal;
           }}};
}

// Whoever reaches a loopback address is on this machine, where the API server's users mean little.
bool asks_who(const ServingArguments& arguments) {
  return arguments.secure_loopback || !serving::is_loopback(arguments.bind_address);
}

serving::ServerOptions server_options(const ServingArguments& arguments, Registry& registry) {
  serving::ServerOptions options;
  options.address = arguments.bind_address;
  options.port = arguments.port;
  options.metrics = serving::ServingMetrics(registry);
  const serving::TlsOptions& tls = arguments.tls;
  const bool has_certificate =
      !tls.cert_file.empty() || !tls.private_key_file.empty() || !tls.cert_dir.empty();
  if (has_certificate || asks_who(arguments)) options.tls = tls;
  return options;
}

void add_questions(serving::Endpoints& endpoints, Inspection& inspection) {
  endpoints.question_paths = Inspection::paths();
  endpoints.questions = [&inspection](const serving::Request& request, serving::Reply reply) {
    inspection.answer(request, std::move(reply));
  };
}

// Everything is served there, to this user and root. Null: no socket is wanted, or the default one
// is in use: two schedulers may run side by side.
Result<std::unique_ptr<serving::HttpServer>> serve_locally(const std::string& socket,
                                                           serving::Endpoints endpoints,
                                                           Inspection& inspection) {
  if (socket == "none") return nullptr;
  endpoints.change_level = true;
  add_questions(endpoints, inspection);
  serving::ServerOptions options;
  options.local_socket = socket.empty() ? serving::default_socket_path() : socket;
  options.gate = serving::require_own_user;
  auto server =
      serving::HttpServer::start(std::move(options), serving::make_handler(std::move(endpoints)));
  if (server) {
    log_info("answering explain and debug", {{"socket", (*server)->url()}});
  } else if (socket.empty()) {
    log_warn("explain and debug are not answered", {{"error", server.error().message}});
    return nullptr;
  }
  return server;
}

}  // namespace

std::vector<Registry::Collector> add_session_metrics(Registry& registry, const Session& session,
                                                     const Modules& modules,
                                                     const std::string& lease_name) {
  registry.gauges({"plimsoll_build_info", "1, with the version of the program.", {"version"}})
      .with({PLIMSOLL_VERSION})
      .set(1);
  show_plugins(registry, modules);
  const ProfileMetrics profile(registry);
  std::vector<Registry::Collector> collectors;
  collectors.push_back(metrics::add_process_metrics(registry));
  collectors.push_back(registry.on_collect(
      [kinds = KindMetrics(registry), writes = WriteMetrics(registry), &session] {
        if (session.watches())
          for (const informer::KindStatus& kind : session.kinds()) kinds.show(kind);
        writes.show(session);
      }));
  const auto waiting =
      registry
          .gauges({"plimsoll_pods_waiting_for_extenders",
                   "Pods that wait for the answers of HTTP extenders, or for their turn.",
                   {}})
          .with({});
  collectors.push_back(registry.on_collect([waiting, &session] {
    waiting.set(as_double(session.scheduler().stats().waiting_for_extenders));
  }));
  const auto master = registry.gauges({"leader_election_master_status",
                                       "[ALPHA] 1 while this process holds the lease, 0 otherwise.",
                                       {"name"}});
  if (session.leadership() != nullptr) {
    collectors.push_back(registry.on_collect([master, lease_name, &session] {
      const bool leads = session.leadership()->elector().status().leading;
      master.with({lease_name}).set(leads ? 1 : 0);
    }));
  }
  return collectors;
}

Result<std::unique_ptr<Observability>> Observability::start(const ServingArguments& arguments,
                                                            const config::Validation& configuration,
                                                            const informer::ServerAccess& access,
                                                            Registry& registry, Session& session,
                                                            const Modules& modules,
                                                            const std::string& socket) {
  std::unique_ptr<Observability> made(new Observability);
  serving::Endpoints endpoints;
  if (arguments.port != 0) {
    made->collectors_ = add_session_metrics(registry, session, modules,
                                            configuration.config.leader_election.resource_name);
    endpoints.registry = &registry;
  }
  endpoints.configz = R"({"kubescheduler.config.k8s.io":)" + configuration.effective_json() + "}";
  endpoints.change_level = configuration.config.enable_profiling;
  endpoints.healthz = leader_checks(session);
  endpoints.readyz = leader_checks(session);
  for (serving::HealthCheck& check : lease_checks(session)) {
    endpoints.readyz.push_back(std::move(check));
  }
  const serving::HealthCheck loop{"scheduler-loop", [&session] { return session.loop_problem(); }};
  for (auto* group : {&endpoints.healthz, &endpoints.livez, &endpoints.readyz}) {
    group->push_back(loop);
  }
  endpoints.readyz.push_back({"shutdown", [stopping = made->stopping_] {
                                return *stopping
                                           ? std::optional<std::string>("process is shutting down")
                                           : std::nullopt;
                              }});
  // A rollout of a broken profile must not go on: this replica schedules, by the profile from
  // before.
  endpoints.readyz.push_back({"profile", [&session]() -> std::optional<std::string> {
                                if (session.profile_refusal().empty()) return std::nullopt;
                                return "the last good profile is in force: " +
                                       session.profile_refusal();
                              }});
  endpoints.readyz.push_back({"sched-handler-sync", [&session]() -> std::optional<std::string> {
                                if (session.scheduler().stats().synced || !session.watches())
                                  return std::nullopt;
                                return "handlers are not fully synchronized";
                              }});
  endpoints.readyz.push_back({"writes-accepted", [&session] { return session.write_refusal(); }});
  endpoints.readyz.push_back({"kinds-followed", [&session]() -> std::optional<std::string> {
                                if (!session.scheduler().stats().blind) return std::nullopt;
                                return "pods or nodes are not followed: nothing is scheduled";
                              }});
  auto local = serve_locally(socket, endpoints, session.inspection());
  if (!local) return fail(local.error());
  made->local_ = std::move(*local);
  if (arguments.port == 0) return made;
  auto options = server_options(arguments, registry);
  if (!asks_who(arguments) && !arguments.tls.client_ca_file.empty()) {
    return fail(ErrorCode::kInvalid,
                "--client-ca-file has no effect on a loopback address, where nobody is asked who "
                "he is; add --secure-loopback");
  }
  if (asks_who(arguments)) {
    auto reviewer = make_reviewer(access, &registry);
    if (!reviewer) return fail(reviewer.error());
    auto control =
        serving::AccessControl::create({.always_allow_paths = arguments.always_allow_paths},
                                       std::move(*reviewer), options.metrics);
    if (!control) return fail(control.error());
    made->access_ = std::move(*control);
    options.gate = [control = made->access_.get()](const serving::Request& request,
                                                   serving::Reply done) {
      control->check(request, std::move(done));
    };
    if (configuration.config.enable_profiling) add_questions(endpoints, session.inspection());
  }
  if (!asks_who(arguments)) options.gate = serving::require_local_name;
  auto server =
      serving::HttpServer::start(std::move(options), serving::make_handler(std::move(endpoints)));
  if (!server) return fail(server.error());
  made->server_ = std::move(*server);
  log_info("serving metrics and health",
           {{"url", made->server_->url()},
            {"access", made->access_ ? "by the API server's reviews" : "everybody"}});
  return made;
}

}  // namespace plimsoll::cli
