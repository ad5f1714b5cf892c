#include "bench/peers/contest.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "bench/bindings/binding_loop.hpp"
#include "bench/bindings/binding_watch.hpp"
#include "bench/bindings/process_meter.hpp"
#include "tests/support/child_process.hpp"

namespace plimsoll::bench {
namespace {

using namespace std::chrono_literals;
using Clock = BindingWatch::Clock;

constexpr auto kPatience = 60s;
// How long to wait for the events of a scheduler after its last binding.
constexpr auto kEventsPatience = 3s;
constexpr int kCreators = 8;
// The annotation that NodeResourceTopologyMatch writes into the bindings of these pods.
const std::pair<std::string, std::string> kZones{"topology.plimsoll.io/zones",
                                                 R"({"main":{"cpu":[0],"memory":[0]}})"};

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// The last lines of a scheduler's output, for error messages.
std::string tail(const std::string& text) {
  constexpr std::size_t kMost = 2'000;
  return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost);
}

class Contest {
 public:
  Contest(const Load& load, Contestant contestant, const Programs& programs)
      : load_(load), contestant_(contestant), programs_(programs) {
    pods_ = load.fleet.pods;
    if (contestant == Contestant::kPeer && load.peer_pods) {
      pods_ = std::min(pods_, *load.peer_pods);
    }
    measure_.pods = pods_;
  }

  Result<Measure> run() {
    auto cluster = test::KubeCluster::start({});
    if (!cluster) return fail(cluster.error());
    cluster_ = std::move(*cluster);
    const auto ran = prepare().and_then([this] {
      return contestant_ == Contestant::kCeiling ? run_ceiling()
             : load_.arrival > 0                 ? run_arrival()
                                                 : run_waiting();
    });
    if (!ran) return fail(ran.error().within(load_.name));
    return measure_;
  }

 private:
  Result<void> prepare() {
    FleetShape fleet = load_.fleet;
    fleet.pods = load_.arrival > 0 ? 0 : pods_;
    return create_shaped(*cluster_, load_.shape, fleet).and_then([this]() -> Result<void> {
      auto watch = BindingWatch::start(*cluster_);
      if (!watch) return fail(watch.error());
      watch_ = std::move(*watch);
      server_ = child_named("kube-apiserver");
      return {};
    });
  }

  Result<void> start_scheduler() {
    const std::filesystem::path config = cluster_->dir() / "profile.yaml";
    std::ofstream(config) << profile_head(cluster_->kubeconfig().string())
                          << (load_.profile == Profile::kTopology ? topology_plugins() : "");
    test::ChildOptions command;
    if (contestant_ == Contestant::kPlimsoll || contestant_ == Contestant::kSilent) {
      command.argv = {
          programs_.plimsoll.string(), "run",    "--config", config.string(), "--plugin-dir",
          programs_.plugins.string(),  "--port", "0",        "--socket",      "none"};
      if (contestant_ == Contestant::kSilent)
        command.argv.insert(command.argv.end(), {"--scheduled-events", "never"});
    } else {
      const char* program =
          load_.profile == Profile::kTopology ? "kube-scheduler-nrt" : "kube-scheduler";
      command.argv = {(programs_.peers / program).string(), "--config", config.string(),
                      "--secure-port", "0"};
    }
    start_marks();
    auto child = test::ChildProcess::start(command);
    if (!child) return fail(child.error());
    scheduler_.emplace(std::move(*child));
    return {};
  }

  void start_marks() {
    started_ = Clock::now();
    server_cpu_ = cpu_seconds(server_);
    scheduler_cpu_ = scheduler_ ? cpu_seconds(scheduler_->pid()) : 0;
  }

  // Fails at once if the scheduler has ended, instead of waiting for bindings that cannot come.
  Result<void> wait_bound(std::size_t count) {
    while (!watch_->wait(count, 2s)) {
      if (!watch_->failure().empty()) return fail(ErrorCode::kInternal, watch_->failure());
      if (!scheduler_->running()) {
        return fail(ErrorCode::kInternal, "the scheduler ended:\n" + tail(scheduler_->output()));
      }
      const auto seen = watch_->bound();
      Clock::time_point last = started_;
      for (const auto& [name, at] : seen) last = std::max(last, at);
      if (Clock::now() - last > kPatience) break;
    }
    return {};
  }

  // Events follow the bindings and cost CPU too.
  Result<void> wait_events(int wanted) {
    test::KubeClient client(cluster_->admin());
    long before = -1;
    last_event_ = Clock::now();
    while (Clock::now() - last_event_ < kEventsPatience) {
      const auto count = count_events(client);
      if (!count) return fail(count.error());
      measure_.events = static_cast<double>(*count);
      if (*count != before) last_event_ = Clock::now();
      if (*count >= wanted) break;
      before = *count;
      std::this_thread::sleep_for(50ms);
    }
    return {};
  }

  void end_marks(double scheduler_cpu) {
    const auto pods = static_cast<double>(std::max(1, measure_.bound));
    measure_.cpu_ms = scheduler_cpu / pods * 1e3;
    measure_.server_cpu_ms = (cpu_seconds(server_) - server_cpu_) / pods * 1e3;
  }

  void rates() {
    auto bound = watch_->bound();
    bound.erase("pod-" + std::to_string(pods_));  // the one of start_and_try()
    Clock::time_point first = Clock::time_point::max();
    Clock::time_point last = Clock::time_point::min();
    for (const auto& [name, at] : bound) {
      first = std::min(first, at);
      last = std::max(last, at);
    }
    measure_.bound = static_cast<int>(bound.size());
    if (bound.size() < 2) return;
    measure_.per_second = static_cast<double>(bound.size() - 1) / seconds(last - first);
    measure_.per_second_from_start = static_cast<double>(bound.size()) / seconds(last - started_);
    measure_.first_binding = seconds(first - started_);
    const Clock::time_point end = std::max(last, last_event_);
    measure_.with_events_per_second = static_cast<double>(bound.size()) / seconds(end - first);
  }

  Result<void> run_waiting() {
    return start_scheduler()
        .and_then([this] { return wait_bound(static_cast<std::size_t>(pods_)); })
        .and_then([this] { return wait_events(contestant_ == Contestant::kSilent ? 0 : pods_); })
        .map([this] {
          rates();
          finish();
        });
  }

  void finish() {
    end_marks(cpu_seconds(scheduler_->pid()) - scheduler_cpu_);
    measure_.peak_mib = peak_mib(scheduler_->pid());
    scheduler_->stop();
  }

  Result<void> run_ceiling() {
    const auto pods = list_pods(*cluster_);
    if (!pods) return fail(pods.error());
    start_marks();
    const double own = cpu_seconds(::getpid());
    LoopOptions options;
    options.writes.protobuf = true;  // the default of clientConnection.contentType
    if (load_.profile == Profile::kTopology) options.annotations = {kZones};
    if (has_claims(load_.shape)) {
      options.before = [this](std::size_t i, const PodName& pod, const std::string& node) {
        return claim_writes(load_.shape, i, pod, node, load_.fleet.nodes);
      };
    }
    const auto written = write_bindings(*cluster_, *pods, load_.fleet.nodes, options);
    last_event_ = Clock::now();
    if (!written) return fail(written.error());
    if (written->bind_failures > 0) {
      return fail(ErrorCode::kInternal,
                  std::to_string(written->bind_failures) + " bindings were refused");
    }
    if (!watch_->wait(pods->size(), 10s)) {
      return fail(ErrorCode::kInternal, "not all pods were seen bound: " + watch_->failure());
    }
    rates();
    end_marks(cpu_seconds(::getpid()) - own);
    measure_.events = static_cast<double>(pods_ - written->event_failures);
    return {};
  }

  // Schedules one pod first, so that the measurement does not include the start.
  Result<void> start_and_try() {
    return start_scheduler().and_then([this]() -> Result<void> {
      const test::KubeObject first = pod(pods_);
      const auto reply =
          test::KubeClient(cluster_->admin()).request("POST", first.path, first.body);
      if (!reply.ok()) return fail(ErrorCode::kInternal, "creating a pod: " + reply.body);
      return wait_bound(1);
    });
  }

  Result<void> run_arrival() {
    return start_and_try()
        .and_then([&]() -> Result<void> {
          start_marks();
          return create_steadily();
        })
        .and_then([&] { return wait_bound(static_cast<std::size_t>(pods_) + 1); })
        .and_then([&] { return wait_events(pods_ + 1); })
        .map([&] {
          latencies();
          finish();
        });
  }

  // Pod i is due at its time; several connections share the work, so that a slow answer does not
  // delay the next pod.
  Result<void> create_steadily() {
    sent_.resize(static_cast<std::size_t>(pods_));
    std::atomic<int> next{0};
    std::atomic<int> refused{0};
    const Clock::time_point begin = Clock::now();
    std::vector<std::jthread> creators;
    for (int creator = 0; creator < kCreators; ++creator) {
      creators.emplace_back([&] {
        test::KubeClient client(cluster_->admin());
        for (int i = next++; i < pods_; i = next++) {
          const test::KubeObject object = pod(i);
          std::this_thread::sleep_until(
              begin + std::chrono::duration_cast<Clock::duration>(
                          std::chrono::duration<double>(static_cast<double>(i) / load_.arrival)));
          sent_[static_cast<std::size_t>(i)] = Clock::now();
          if (!client.request("POST", object.path, object.body).ok()) ++refused;
        }
      });
    }
    creators.clear();  // joins
    if (refused > 0) {
      return fail(ErrorCode::kInternal, std::to_string(refused) + " pods were not created");
    }
    return {};
  }

  void latencies() {
    const auto bound = watch_->bound();
    std::vector<double> took;
    for (int i = 0; i < pods_; ++i) {
      const auto at = bound.find("pod-" + std::to_string(i));
      if (at == bound.end()) continue;
      took.push_back(seconds(at->second - sent_[static_cast<std::size_t>(i)]) * 1e3);
    }
    measure_.bound = static_cast<int>(took.size());
    if (took.empty()) return;
    std::sort(took.begin(), took.end());
    const auto at = [&](double part) {
      return took[static_cast<std::size_t>(part * static_cast<double>(took.size() - 1))];
    };
    measure_.latency_p50 = at(0.5);
    measure_.latency_p99 = at(0.99);
  }

  const Load& load_;
  const Contestant contestant_;
  const Programs& programs_;
  int pods_ = 0;
  Measure measure_;
  std::unique_ptr<test::KubeCluster> cluster_;
  std::unique_ptr<BindingWatch> watch_;
  std::optional<test::ChildProcess> scheduler_;
  pid_t server_ = -1;
  Clock::time_point started_;
  Clock::time_point last_event_;
  double server_cpu_ = 0;
  double scheduler_cpu_ = 0;
  std::vector<Clock::time_point> sent_;
};

}  // namespace

std::string profile_head(const std::string& kubeconfig) {
  const std::string qps = std::to_string(kPeerQps);
  return "apiVersion: kubescheduler.config.k8s.io/v1\n"
         "kind: KubeSchedulerConfiguration\n"
         "leaderElection: {leaderElect: false}\n"
         "clientConnection: {kubeconfig: \"" +
         kubeconfig + "\", qps: " + qps + ", burst: " + qps +
         "}\n"
         "profiles:\n"
         "- schedulerName: " +
         kSchedulerName + "\n";
}

std::string topology_plugins(const std::string& also, const std::string& other_points) {
  return "  plugins:\n    multiPoint: {enabled: [{name: NodeResourceTopologyMatch}" + also +
         "]}\n" + other_points +
         "  pluginConfig:\n"
         "  - name: NodeResourceTopologyMatch\n"
         "    args:\n"
         "      scoringStrategy: {type: LeastAllocated}\n"
         "      discardReservedNodes: false\n"
         "      cacheResyncPeriodSeconds: 5\n"
         "      cache: {foreignPodsDetect: OnlyExclusiveResources, resyncMethod: Autodetect,\n"
         "              informerMode: Dedicated}\n";
}

Result<std::filesystem::path> find_peers() {
  const auto found = test::run({.argv = {PLIMSOLL_SOURCE_DIR "/bench/peers/build", "--if-present"},
                                .stderr_file = "/dev/null"});
  if (!found) return fail(found.error());
  if (found->status != test::ExitStatus::exited(0)) {
    return fail(ErrorCode::kNotFound, "no kube-scheduler to compare with: run bench/peers/build");
  }
  return std::filesystem::path(found->out.substr(0, found->out.find('\n')));
}

Result<Measure> run_contest(const Load& load, Contestant contestant, const Programs& programs) {
  return Contest(load, contestant, programs).run();
}

}  // namespace plimsoll::bench
