#include "bench/groups/contest.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "bench/bindings/binding_loop.hpp"
#include "bench/bindings/binding_watch.hpp"
#include "informer/http/credentials.hpp"
#include "informer/http/http_client.hpp"
#include "informer/write/api_writer.hpp"
#include "tests/kube/kube_objects.hpp"
#include "tests/support/child_process.hpp"

namespace plimsoll::bench {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using Clock = BindingWatch::Clock;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kGroups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";
constexpr const char* kLabelled = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups";
constexpr const char* kGroupLabel = "scheduling.x-k8s.io/pod-group";
constexpr const char* kPodCpus = "4";
// Leaves too little of a node's 64 CPUs for one pod of a gang.
constexpr const char* kFillerCpus = "62";
// The plugin of scheduler-plugins charges a pod to every zone of its node until it is reported, so
// it sees room for 8 pods on a node; some have one of the first gang. Twice as many as it needs.
constexpr int kPodsOfFreedNode = 4;
constexpr int kConnections = 8;
const std::vector<std::string> kServerFlags{"--feature-gates=GenericWorkload=true",
                                            "--runtime-config=scheduling.k8s.io/v1beta1=true"};

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string pod_name(const std::string& gang, int index) {
  return gang + "-" + std::to_string(index);
}

std::string profile_text(GangContestant contestant, const std::string& kubeconfig) {
  if (contestant == GangContestant::kKubeScheduler) return profile_head(kubeconfig);
  if (contestant != GangContestant::kCoscheduling)
    return profile_head(kubeconfig) + topology_plugins();
  return profile_head(kubeconfig) +
         topology_plugins(
             ", {name: Coscheduling}",
             "    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}\n");
}

bool is_refused(const json& pod) {
  for (const json& condition : pod.value("/status/conditions"_json_pointer, json::array())) {
    if (condition["type"] != "PodScheduled" || condition["status"] != "False") continue;
    // Coscheduling's word on pods that come before the others.
    return condition.value("message", "").find("cannot find enough sibling pods") ==
           std::string::npos;
  }
  return false;
}

// All writes of a refusal, without a decision.
class Refuser {
 public:
  static Result<std::unique_ptr<Refuser>> make(const test::KubeCluster& cluster) {
    const auto access = server_access(cluster);
    if (!access) return fail(access.error());
    const auto proof = std::make_shared<informer::CredentialSource>(*access);
    auto refuser = std::make_unique<Refuser>();
    for (auto* client : {&refuser->binds_, &refuser->others_}) {
      auto made = informer::HttpClient::create(*access, proof, {});
      if (!made) return fail(made.error());
      *client = std::move(*made);
    }
    refuser->writer_ = std::make_unique<informer::ServerWriter>(*refuser->binds_, *refuser->others_,
                                                                LoopOptions::as_run());
    return refuser;
  }
  ~Refuser() {
    if (writer_) writer_->stop();
    if (binds_) binds_->stop();
    if (others_) others_->stop();
  }

  // Returns when all are answered; the seconds until the group and until all pods were.
  Result<std::pair<double, double>> refuse(const std::string& gang,
                                           const std::vector<PodName>& pods) {
    const Clock::time_point began = Clock::now();
    const json condition{{"type", "PodGroupInitiallyScheduled"},
                         {"status", "False"},
                         {"reason", "Unschedulable"},
                         {"message", "minCount cannot be satisfied"},
                         {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
    writer_->request(
        {"PATCH", std::string(kGroups) + "/" + gang + "/status", "application/merge-patch+json",
         json{{"status", {{"conditions", {condition}}}}}.dump()},
        [this](int status, std::string_view) { end(status >= 200 && status < 300); });
    const auto told = wait(1, began);
    for (const PodName& pod : pods) {
      ConditionPatch patch;
      patch.ns = "default";
      patch.name = pod.name;
      patch.uid = pod.uid;
      patch.reason = "Unschedulable";
      patch.message = "minCount cannot be satisfied: 0/500 nodes are available: Insufficient cpu.";
      writer_->patch_condition(patch, [this](const Result<void>& done) { end(done.has_value()); });
      writer_->record_event({.warning = true,
                             .ns = "default",
                             .name = pod.name,
                             .uid = pod.uid,
                             .resource_version = pod.resource_version,
                             .scheduler_name = kSchedulerName,
                             .reason = "FailedScheduling",
                             .action = "Scheduling",
                             .note = patch.message});
    }
    const double all = wait(pods.size() + 1, began);
    if (!writer_->drain(5min)) return fail(ErrorCode::kUnavailable, "events are still waiting");
    if (failed_ > 0) return fail(ErrorCode::kInternal, std::to_string(failed_) + " writes failed");
    return std::pair(told, all);
  }

 private:
  void end(bool ok) {
    const std::lock_guard lock(mutex_);
    if (!ok) ++failed_;
    ++answered_;
    ended_.notify_all();
  }
  double wait(std::size_t count, Clock::time_point began) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return answered_ >= count; });
    return seconds(Clock::now() - began);
  }

  std::unique_ptr<informer::HttpClient> binds_;
  std::unique_ptr<informer::HttpClient> others_;
  std::unique_ptr<informer::ServerWriter> writer_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t answered_ = 0;
  std::size_t failed_ = 0;
};

class GangContest {
 public:
  GangContest(const GangLoad& load, GangContestant contestant, const Programs& programs)
      : load_(load), contestant_(contestant), programs_(programs) {}

  Result<GangMeasure> run() {
    auto cluster = test::KubeCluster::start({.apiserver_flags = kServerFlags});
    if (!cluster) return fail(cluster.error());
    cluster_ = std::move(*cluster);
    client_.emplace(cluster_->admin());
    const auto ran =
        prepare().and_then([this] { return is_loop() ? run_loop() : run_scheduler(); });
    if (!ran) return fail(ran.error().within(name_of(contestant_)));
    return measure_;
  }

 private:
  [[nodiscard]] bool is_loop() const { return contestant_ == GangContestant::kLoop; }
  [[nodiscard]] bool is_labelled() const { return contestant_ == GangContestant::kCoscheduling; }

  Result<void> prepare() {
    if (is_labelled()) {
      const auto made = client_->post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                                      test::coscheduling_crd());
      if (!made.ok()) return fail(ErrorCode::kInternal, made.body);
      if (!until([this] { return client_->get(kLabelled).ok(); }))
        return fail(ErrorCode::kInternal, "PodGroups are not served");
    }
    return create_nodes(*cluster_, {.nodes = load_.nodes, .pods = 0, .zones = load_.zones})
        .and_then([this]() -> Result<void> {
          auto watch = BindingWatch::start(*cluster_);
          if (!watch) return fail(watch.error());
          watch_ = std::move(*watch);
          return {};
        });
  }

  // Returns when the last pod is there.
  Result<void> create_gang(const std::string& name) {
    const auto made =
        is_labelled() ? client_->post(kLabelled, {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                                                  {"kind", "PodGroup"},
                                                  {"metadata", {{"name", name}}},
                                                  {"spec", {{"minMember", load_.pods}}}})
                      : client_->post(kGroups, group_object(name));
    if (!made.ok()) return fail(ErrorCode::kInternal, "creating a group: " + made.body);
    std::vector<test::KubeObject> pods;
    for (int i = 0; i < load_.pods; ++i) {
      json pod = test::pod_object({.name = pod_name(name, i),
                                   .scheduler = kSchedulerName,
                                   .requests = {{"cpu", kPodCpus}, {"memory", "1Gi"}}});
      if (is_labelled()) {
        pod["metadata"]["labels"][kGroupLabel] = name;
      } else {
        pod["spec"]["schedulingGroup"] = {{"podGroupName", name}};
      }
      pods.push_back({kPods, pod.dump()});
    }
    return test::create_all(cluster_->admin(), pods, kConnections);
  }
  [[nodiscard]] json group_object(const std::string& name) const {
    return {{"apiVersion", "scheduling.k8s.io/v1beta1"},
            {"kind", "PodGroup"},
            {"metadata", {{"name", name}}},
            {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", load_.pods}}}}}}}};
  }

  // A pod on each node that leaves no room for a gang's.
  Result<void> fill() {
    std::vector<test::KubeObject> pods;
    for (int i = 0; i < load_.nodes; ++i) {
      json pod = test::pod_object({.name = pod_name("filler", i),
                                   .scheduler = kSchedulerName,
                                   .requests = {{"cpu", kFillerCpus}},
                                   .guaranteed = false});
      pod["spec"]["nodeName"] = node_name(i);
      pods.push_back({kPods, pod.dump()});
    }
    return test::create_all(cluster_->admin(), pods, kConnections);
  }
  Result<void> free_room() {
    const int freed = std::min(load_.nodes, load_.pods / kPodsOfFreedNode + 1);
    std::atomic<int> next{0};
    std::atomic<int> refused{0};
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < kConnections; ++writer) {
      writers.emplace_back([&] {
        test::KubeClient client(cluster_->admin());
        for (int i = next++; i < freed; i = next++) {
          const std::string path = std::string(kPods) + "/" + pod_name("filler", i);
          if (!client.del(path, {{"gracePeriodSeconds", 0}}).ok()) ++refused;
        }
      });
    }
    writers.clear();  // joins
    if (refused == 0) return {};
    return fail(ErrorCode::kInternal, std::to_string(refused) + " pods were not deleted");
  }

  Result<void> start_scheduler() {
    const std::filesystem::path config = cluster_->dir() / "profile.yaml";
    std::ofstream(config) << profile_text(contestant_, cluster_->kubeconfig().string());
    test::ChildOptions command;
    if (contestant_ == GangContestant::kPlimsoll) {
      command.argv = {
          programs_.plimsoll.string(), "run",    "--config", config.string(), "--plugin-dir",
          programs_.plugins.string(),  "--port", "0",        "--socket",      "none"};
    } else {
      command.argv = {(programs_.peers / (is_labelled() ? "kube-scheduler-nrt" : "kube-scheduler")),
                      "--config", config.string(), "--secure-port", "0"};
      if (!is_labelled()) command.argv.emplace_back("--feature-gates=GenericWorkload=true");
    }
    auto child = test::ChildProcess::start(command);
    if (!child) return fail(child.error());
    scheduler_.emplace(std::move(*child));
    // One pod first, so that no start is measured.
    const test::KubeObject first = pod(0);
    const auto reply = client_->request("POST", first.path, first.body);
    if (!reply.ok()) return fail(ErrorCode::kInternal, "creating a pod: " + reply.body);
    if (bound_within("pod-", 1).has_value()) return {};
    return fail(ErrorCode::kInternal, "nothing is scheduled:\n" + scheduler_->output());
  }

  Result<void> run_scheduler() {
    return start_scheduler()
        .and_then([this] { return create_gang("first"); })
        .and_then([this] {
          measure_.bound = bound_within("first-", load_.pods);
          return fill();
        })
        .and_then([this] { return create_gang("second"); })
        .and_then([this]() -> Result<void> {
          wait_told();
          std::this_thread::sleep_for(load_.hold);
          return free_room();
        })
        .map([this] {
          measure_.room_used = bound_within("second-", load_.pods);
          scheduler_->stop();
        });
  }

  Result<void> run_loop() {
    return create_gang("first")
        .and_then([this] { return bind_gang("first", measure_.bound); })
        .and_then([this] { return create_gang("second"); })
        .and_then([this]() -> Result<void> {
          const auto pods = pods_of("second");
          if (!pods) return fail(pods.error());
          const auto refuser = Refuser::make(*cluster_);
          if (!refuser) return fail(refuser.error());
          const auto took = (*refuser)->refuse("second", *pods);
          if (!took) return fail(took.error());
          measure_.told = took->first;
          measure_.all_told = took->second;
          return bind_gang("second", measure_.room_used);
        });
  }

  Result<std::vector<PodName>> pods_of(const std::string& gang) {
    auto pods = list_pods(*cluster_);
    if (!pods) return pods;
    std::erase_if(*pods, [&](const PodName& pod) { return !pod.name.starts_with(gang + "-"); });
    return pods;
  }
  Result<void> bind_gang(const std::string& gang, std::optional<double>& took) {
    const auto pods = pods_of(gang);
    if (!pods) return fail(pods.error());
    mark_ = Clock::now();
    LoopOptions options;
    const auto written = write_bindings(*cluster_, *pods, load_.nodes, options);
    if (!written) return fail(written.error());
    if (written->bind_failures > 0) return fail(ErrorCode::kInternal, "bindings were refused");
    took = bound_since(gang + "-", load_.pods);
    return {};
  }

  // Seconds from now until so many pods with names that begin so are bound.
  std::optional<double> bound_within(const std::string& prefix, int count) {
    mark_ = Clock::now();
    return bound_since(prefix, count);
  }
  std::optional<double> bound_since(const std::string& prefix, int count) {
    Clock::time_point last{};
    const bool done = until([&] {
      int seen = 0;
      last = mark_;
      for (const auto& [name, at] : watch_->bound()) {
        if (!name.starts_with(prefix)) continue;
        ++seen;
        last = std::max(last, at);
      }
      return seen >= count;
    });
    if (!done) return std::nullopt;
    return seconds(last - mark_);
  }

  // The group's condition, or for Coscheduling a pod's; then all pods'.
  void wait_told() {
    mark_ = Clock::now();
    const bool told =
        until([this] { return is_labelled() ? refused_pods() > 0 : is_group_told(); });
    if (!told) return;
    measure_.told = seconds(Clock::now() - mark_);
    if (until([this] { return refused_pods() >= load_.pods; }, load_.patience_for_all))
      measure_.all_told = seconds(Clock::now() - mark_);
  }
  bool is_group_told() {
    const json group = client_->get(std::string(kGroups) + "/second").json();
    if (!group.is_object()) return false;
    for (const json& each : group.value("/status/conditions"_json_pointer, json::array())) {
      if (each["type"] == "PodGroupInitiallyScheduled") return each["status"] == "False";
    }
    return false;
  }
  int refused_pods() {
    const auto pods = client_->list(kPods, "fieldSelector=spec.nodeName%3D");
    if (!pods) return 0;
    return static_cast<int>(std::count_if(pods->begin(), pods->end(), is_refused));
  }

  template <typename Check>
  bool until(const Check& check) {
    return until(check, load_.patience);
  }
  template <typename Check>
  bool until(const Check& check, Clock::duration patience) {
    const Clock::time_point end = Clock::now() + patience;
    while (!check()) {
      if (Clock::now() > end || !watch_failure().empty()) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }
  [[nodiscard]] std::string watch_failure() const { return watch_ ? watch_->failure() : ""; }

  const GangLoad& load_;
  const GangContestant contestant_;
  const Programs& programs_;
  GangMeasure measure_;
  std::unique_ptr<test::KubeCluster> cluster_;
  std::optional<test::KubeClient> client_;
  std::unique_ptr<BindingWatch> watch_;
  std::optional<test::ChildProcess> scheduler_;
  Clock::time_point mark_;
};

}  // namespace

const char* name_of(GangContestant contestant) {
  switch (contestant) {
    case GangContestant::kPlimsoll:
      return "Plimsoll";
    case GangContestant::kKubeScheduler:
      return "kube-scheduler, GenericWorkload";
    case GangContestant::kCoscheduling:
      return "kube-scheduler with Coscheduling";
    case GangContestant::kLoop:
      return "the loop";
  }
  return "?";
}

Result<GangMeasure> run_gang_contest(const GangLoad& load, GangContestant contestant,
                                     const Programs& programs) {
  return GangContest(load, contestant, programs).run();
}

}  // namespace plimsoll::bench
