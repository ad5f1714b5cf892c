// Pods of a PodGroup are placed together: kube-scheduler 1.37.2's own group cycle beside ours
// (tests/vectors/gang.jsonl.gz), and what ours does better or besides.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <plimsoll/services/claimed_resources.h>
#include <plimsoll/plugin.hpp>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/base/log.hpp"
#include "framework/cycle/attempt.hpp"
#include "framework/cycle/bindings.hpp"
#include "framework/cycle/groups/group_domains.hpp"
#include "framework/cycle/groups/topology_wish.hpp"
#include "framework/cycle/inspect/explain.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/metrics/registry.hpp"
#include "framework/objects/kinds.hpp"
#include "framework/placement/group_trial.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/every_point.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "plugins/builtin/builtin.hpp"
#include "tests/conformance/vector_file.hpp"
#include "tests/support/prometheus_text.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kGroups = "podgroups.v1beta1.scheduling.k8s.io";
constexpr std::string_view kLabelledGroups = "podgroups.v1alpha1.scheduling.x-k8s.io";
constexpr std::string_view kBudgets = "poddisruptionbudgets.v1.policy";

const std::vector<std::string> kPlugins = {
    "SchedulingGates",   "PrioritySort",      "NodeName",
    "NodeUnschedulable", "TaintToleration",   "NodeAffinity",
    "NodePorts",         "NodeResourcesFit",  "PodTopologySpread",
    "InterPodAffinity",  "DefaultPreemption", "NodeResourcesBalancedAllocation",
    "ImageLocality",     "DefaultBinder",     "UnsupportedFeatures",
    "GangScheduling"};

// Lets no pod through that is labelled so, in Permit, and holds those that are labelled "wait", or
// "moment" until it has said so.
class Doorman {
 public:
  static constexpr const char* kName = "Doorman";
  explicit Doorman(sdk::Host host) : host_(std::move(host)) {
    static const plimsoll_claimed_resources kTable{
        sizeof kTable,
        0,
        nullptr,
        [](void*, const plimsoll_pod*, plimsoll_str) -> int32_t { return 0; },
        [](void*, const plimsoll_node_info*, plimsoll_str, int64_t* all, int64_t* taken) {
          *all = *taken = 0;
        },
        [](void*, const plimsoll_pod* const* pods, size_t count) -> int32_t {
          for (size_t i = 0; i < count; ++i) gave_back.emplace(view(pods[i]->meta.name));
          return claims.exchange(0);
        }};
    (void)host_.publish(PLIMSOLL_CLAIMED_RESOURCES_SERVICE, PLIMSOLL_CLAIMED_RESOURCES_VERSION,
                        &kTable);
  }
  sdk::Status permit(plimsoll_cycle&, sdk::Pod pod, sdk::Node, int64_t& timeout_ms) {
    timeout_ms = 3'600'000;
    if (pod.label("moment")) host_.allow_waiting(pod.uid());
    if (pod.label("wait") || pod.label("moment")) return sdk::Status::wait();
    return pod.label("deny") ? host_.unschedulable("not this one") : sdk::Status();
  }
  std::vector<plimsoll_event_interest> events() {
    return {{sdk::str("Node"), PLIMSOLL_ACTION_ADD, 0}};
  }
  static inline std::atomic<int32_t> claims = 0;    // that are to be given back
  static inline std::set<std::string> gave_back{};  // pods without room

 private:
  sdk::Host host_;
};

// Counts looks at nodes, of pods that are all alike to it.
class Counter {
 public:
  static constexpr const char* kName = "Counter";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_REQUESTED;
  explicit Counter(const sdk::Host&) {}
  sdk::Status filter(const plimsoll_cycle&, sdk::Pod, sdk::Nodes nodes, sdk::Verdicts) const {
    looks += nodes.size();
    return sdk::Status::success();
  }
  sdk::Status sign(sdk::Pod, sdk::Sink&) { return sdk::Status::success(); }
  static inline std::atomic<size_t> looks = 0;
};

// Takes one pod for each node; it is not told of those that a dry run puts there.
class OneEach {
 public:
  static constexpr const char* kName = "OneEach";
  explicit OneEach(const sdk::Host& host) : full_(host.reason("has one")) {}
  sdk::Status filter(const plimsoll_cycle&, sdk::Pod, sdk::Nodes nodes,
                     sdk::Verdicts verdicts) const {
    for (size_t i = 0; i < nodes.size(); ++i)
      if (taken_.contains(std::string(nodes[i].name())))
        verdicts.set(i, sdk::Status::unschedulable(full_));
    return sdk::Status::success();
  }
  sdk::Status reserve(plimsoll_cycle&, sdk::Pod, sdk::Node node) {
    taken_.insert(std::string(node.name()));
    return sdk::Status::success();
  }
  void unreserve(plimsoll_cycle&, sdk::Pod, std::string_view node) {
    taken_.erase(std::string(node));
  }

 private:
  uint32_t full_;
  std::set<std::string> taken_;
};

struct WorldOptions {
  bool stepwise = true;
  bool one_each = false;
  std::string fit_args{};
  std::string gang_args{};
  std::optional<std::string> coscheduling{};  // its args; nothing: it is not enabled
  bool counts = false;  // looks at nodes; nothing is checked by looking again then
};

// The API server: keeps pods and groups, and tells the scheduler of every change.
class World final : public ApiWriter {
 public:
  explicit World(const WorldOptions& wanted = {}) : stepwise_(wanted.stepwise) {
    modules_.add_builtin(builtin_modules());
    modules_.add_builtin(std::vector<StaticModule>{{Doorman::kName, "1", sdk::create_fn<Doorman>},
                                                   {Counter::kName, "1", sdk::create_fn<Counter>},
                                                   {OneEach::kName, "1", sdk::create_fn<OneEach>}});
    ProfileSpec& profile = profile_;
    profile.scheduler_name = "default-scheduler";
    for (const std::string& plugin : kPlugins) {
      if (auto enabled = enable_at_every_point(profile, modules_, plugin); !enabled)
        throw std::runtime_error(enabled.error().message);
    }
    if (wanted.coscheduling) {
      const auto enabled = enable_at_every_point(profile, modules_, "Coscheduling");
      if (!enabled) throw std::runtime_error(enabled.error().message);
      profile.at(ExtensionPoint::kQueueSort) = {{"Coscheduling"}};
      profile.args["Coscheduling"] = *wanted.coscheduling;
    }
    profile.at(ExtensionPoint::kPermit) = {{Doorman::kName}};
    auto& filters = profile.at(ExtensionPoint::kFilter);
    if (wanted.counts) filters.insert(filters.begin(), {Counter::kName});
    if (wanted.one_each) {
      filters.push_back({OneEach::kName});
      profile.at(ExtensionPoint::kReserve).push_back({OneEach::kName});
    }
    if (!wanted.gang_args.empty()) profile.args["GangScheduling"] = wanted.gang_args;
    if (!wanted.fit_args.empty()) profile.args["NodeResourcesFit"] = wanted.fit_args;
    for (PluginEntry& entry : profile.at(ExtensionPoint::kScore)) {
      entry.weight = entry.name == "TaintToleration" ? 3
                     : entry.name == "NodeAffinity" || entry.name == "PodTopologySpread" ||
                             entry.name == "InterPodAffinity"
                         ? 2
                         : 1;
    }
    profile.args["UnsupportedFeatures"] = R"({"resourceClaims":true,"schedulingGroups":true})";
    profile.args["DefaultPreemption"] = R"({"minCandidateNodesPercentage":100})";
    check_every_ = wanted.counts ? 0 : 1;
    start();
  }
  ~World() override { stop(); }
  // A scheduler that knows nothing yet.
  void start() {
    SchedulerOptions options;
    options.profiles.push_back(profile_);
    options.queue.max_backoff_ms = 0;
    options.queue.max_in_unschedulable_ms = int64_t{24} * 3'600'000;
    options.clock = [this] { return now_ms_.load(); };
    options.binder_threads = 1;
    options.stepwise = stepwise_;
    options.classes.check_every = check_every_;
    options.stop_grace = {};
    metrics_ = std::make_unique<metrics::Registry>();
    options.metrics = metrics_.get();
    options.group_search_ms = int64_t{3'600'000};
    // An attempt pauses wherever it may.
    if (check_every_ != 0) options.group_slice = std::chrono::nanoseconds(0);
    options.on_attempt = [this](std::string_view) {
      if (at_pause_) post_at_pause(std::exchange(at_pause_, nullptr), pause_);
    };
    auto made = Scheduler::create(std::move(options), modules_, symbols_, *this);
    if (!made) throw std::runtime_error(made.error().message);
    scheduler_ = std::move(*made);
    loop_ = std::thread([this] { scheduler_->run(); });
  }
  void stop() {
    scheduler_->stop();
    loop_.join();
  }
  void sync() {
    for (const WantedKind& kind : scheduler_->wanted_kinds())
      scheduler_->post(KindSynced{kind.resource(), true});
    scheduler_->post(KindSynced{"nodes", true});
    scheduler_->post(KindSynced{"pods", true});
    settle();
  }

  // Of a counter, or the sum of a histogram; 0: there is no such series.
  double metric(const std::string& name, const test::Labels& labels = {}) {
    return test::parse_metrics(metrics_->text()).value("scheduler_" + name, labels).value_or(0);
  }

  // ---- what fails
  // Kill -9 after so many bindings: nothing that the scheduler writes arrives any more.
  void die_after(int bindings) {
    const std::lock_guard lock(mutex_);
    bindings_left_ = bindings;
  }
  [[nodiscard]] bool is_dead() const { return is_dead_; }
  // Another scheduler, which knows what the API server has.
  void restart() {
    is_dead_ = true;
    stop();
    scheduler_ = nullptr;
    is_dead_ = false;
    bindings_left_ = INT_MAX;
    writing_ = 0;
    start();
    list();
    sync();
  }
  // The API server answers nobody, and then tells what there is.
  void lose_api() {
    is_away_ = true;
    for (const WantedKind& kind : scheduler_->wanted_kinds())
      scheduler_->post(KindFollowed{kind.resource(), false, "connection refused"});
    for (const char* kind : {"nodes", "pods"})
      scheduler_->post(KindFollowed{kind, false, "connection refused"});
    on_loop([] {});
  }
  void find_api() {
    is_away_ = false;
    {
      const std::lock_guard lock(mutex_);
      for (const Json& pod : missed_deletes_)
        scheduler_->post(PodDeleted{*decode_pod(pod.dump(), symbols_)});
      missed_deletes_.clear();
    }
    list();
    for (const WantedKind& kind : scheduler_->wanted_kinds())
      scheduler_->post(KindFollowed{kind.resource(), true, ""});
    for (const char* kind : {"nodes", "pods"}) scheduler_->post(KindFollowed{kind, true, ""});
    settle();
  }

  void add_node(const Json& node) {
    const std::lock_guard lock(mutex_);
    nodes_[node["metadata"]["name"]] = node;
    scheduler_->post(NodeUpserted{*decode_node(node.dump(), symbols_)});
  }
  void delete_node(const std::string& name) {
    const std::lock_guard lock(mutex_);
    nodes_.erase(name);
    scheduler_->post(NodeDeleted{name});
  }
  [[nodiscard]] bool has_node(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return nodes_.contains(name);
  }
  void save_pod(const Json& pod) {
    const std::lock_guard lock(mutex_);
    const std::string name = pod["metadata"]["name"];
    pods_[name] = pod;
    pods_[name]["metadata"]["resourceVersion"] = std::to_string(++version_);
    if (!is_away_) scheduler_->post(PodUpserted{*decode_pod(pods_[name].dump(), symbols_)});
  }
  void delete_pod(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(name);
    if (found == pods_.end()) return;
    if (is_away_) {
      missed_deletes_.push_back(found->second);
    } else {
      scheduler_->post(PodDeleted{*decode_pod(found->second.dump(), symbols_)});
    }
    pods_.erase(found);
  }
  void save_group(const Json& group) {
    const std::lock_guard lock(mutex_);
    put_group(group);
  }
  void save_budget(const Json& budget) {
    scheduler_->post(ObjectUpserted{decoded(
        {std::string(kBudgets), "default", budget["metadata"]["name"], "", "", budget.dump()})});
  }
  // Pods that are deleted take their time, until they are let go.
  void take_time() { takes_time_ = true; }
  std::set<std::string> evicted() {
    const std::lock_guard lock(mutex_);
    return evicted_;
  }
  std::string nominated(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    return nominated_[pod];
  }
  void post(Message message) { scheduler_->post(std::move(message)); }
  void delete_group(const std::string& name) {
    const std::lock_guard lock(mutex_);
    scheduler_->post(ObjectDeleted{object_of(groups_[name])});
    groups_.erase(name);
  }
  Json pod(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(name);
    return found == pods_.end() ? Json() : found->second;
  }
  void for_each_pod(const std::function<void(const Json&)>& visit) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, pod] : pods_) visit(pod);
  }
  std::string node_of(const std::string& name) {
    const Json known = pod(name);
    return known.is_null() ? "" : known["spec"].value("nodeName", "");
  }
  Json group(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return groups_[name];
  }
  // Of PodGroupInitiallyScheduled: "False/Unschedulable: ...".
  std::string condition(const std::string& name) {
    const Json known = group(name);
    if (!known.contains("status")) return "";
    const Json& last = known["status"]["conditions"][0];
    return last["status"].get<std::string>() + "/" + last["reason"].get<std::string>() + ": " +
           last["message"].get<std::string>();
  }
  std::string message(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    return messages_[pod];
  }
  std::string code(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    return reasons_[pod];
  }
  size_t requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  uint64_t versions() {
    const std::lock_guard lock(mutex_);
    return static_cast<uint64_t>(version_) + pods_.size();
  }
  void fail_bind(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    failing_.insert(pod);
  }
  void pass(int64_t ms) { now_ms_ += ms; }

  // Does this when the next attempt has paused so often, or has ended before.
  void at_pause(int pause, std::function<void()> what) {
    on_loop([&] {
      pause_ = pause;
      at_pause_ = std::move(what);
    });
  }
  void on_loop(const std::function<void()>& task) {
    std::promise<void> done;
    scheduler_->post(Task{[&] {
      task();
      done.set_value();
    }});
    done.get_future().wait();
  }
  // Until all that was posted, and all bindings, have ended. What the loop is at posts the next
  // thing: so nothing is to be seen for several rounds, in each of which it has handled what there
  // was.
  void settle() {
    std::vector<uint64_t> before;
    for (int still = 0; still < 4 && !is_dead_;) {
      on_loop([] {});
      on_loop([] {});
      const SchedulerStats now = scheduler_->stats();
      std::vector<uint64_t> seen{now.attempts,
                                 now.scheduled,
                                 now.assumed_pods,
                                 now.queue.active,
                                 now.queue.unschedulable,
                                 now.queue.gated,
                                 now.binding,
                                 now.inbox,
                                 requests(),
                                 versions()};
      const bool quiet =
          !now.deciding_on_group && (stepwise_ || now.queue.active + now.queue.backoff == 0);
      const bool ended =
          now.inbox == 0 && now.binding == held_binds_ && writing_ == 0 && quiet && seen == before;
      still = ended ? still + 1 : 0;
      before = std::move(seen);
      std::this_thread::yield();
    }
  }
  // The binding of the pod ends when it is let fail.
  void hold_bind(const std::string& pod) {
    const std::lock_guard lock(mutex_);
    holds_bind_ = pod;
  }
  void fail_held_bind() {
    Done done;
    {
      const std::lock_guard lock(mutex_);
      done = std::exchange(held_bind_, nullptr);
      if (done) --held_binds_;
    }
    if (done) done(fail(ErrorCode::kInternal, "no bindings today"));
  }
  // One decision, if there is anything to decide.
  void step(int times = 1) {
    for (int i = 0; i < times; ++i) {
      scheduler_->step();
      settle();
    }
  }
  [[nodiscard]] SchedulerStats stats() const { return scheduler_->stats(); }
  Explanation explain(const std::string& pod) {
    Explanation answer;
    on_loop([&] { answer = explain_now(pod); });
    return answer;
  }
  Explanation explain_now(const std::string& pod) {  // on the loop
    return scheduler_->explain({"default", pod});
  }

  // ---- ApiWriter
  void bind(BindRequest request, Done done) override {
    ++writing_;
    write(request, done);
    --writing_;
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch patch, Done done) override {
    if (is_dead_) return;
    if (!patch.reason.empty()) {
      const std::lock_guard lock(mutex_);
      messages_[patch.name] = patch.message;
      reasons_[patch.name] = patch.reason;
      if (patch.set_nominated) nominated_[patch.name] = patch.nominated_node;
    }
    done({});
  }
  void request(ApiRequest request, Answered done) override {
    if (is_dead_) return;
    const std::string begin = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups/";
    const std::string pods = "/api/v1/namespaces/default/pods/";
    if (request.method == "DELETE") {
      EXPECT_TRUE(request.path.starts_with(pods)) << request.path;
      evict(request.path.substr(pods.size()));
    } else if (request.method == "PATCH" && request.path.starts_with(begin)) {
      const size_t end = request.path.rfind("/status");
      const std::string name = request.path.substr(begin.size(), end - begin.size());
      return write_condition(name, Json::parse(request.body), done);
    } else {
      const std::lock_guard lock(mutex_);
      ++requests_;
    }
    {
      const std::lock_guard lock(mutex_);
      if (holds_answers_) return held_.push_back(std::move(done));
    }
    done(200, "{}");
  }
  // Conditions of groups are carried out when they are let go: the last first, as by retries.
  void hold_conditions() { holds_conditions_ = true; }
  void let_conditions_go() {
    holds_conditions_ = false;
    std::vector<std::function<void()>> held;
    {
      const std::lock_guard lock(mutex_);
      held.swap(held_conditions_);
    }
    for (auto last = held.rbegin(); last != held.rend(); ++last) (*last)();
  }
  // They come to nothing, for as long as the API server has trouble.
  void refuse_conditions(bool refuse) { refuses_conditions_ = refuse; }
  // Answers to other requests wait until they are let go.
  void hold_answers(bool hold) {
    std::vector<Answered> held;
    {
      const std::lock_guard lock(mutex_);
      holds_answers_ = hold;
      held.swap(held_);
    }
    for (const Answered& done : held) done(200, "{}");
  }

 private:
  void write_condition(const std::string& group, const Json& patch, const Answered& done) {
    int status = 200;
    {
      const std::lock_guard lock(mutex_);
      if (holds_conditions_)
        return held_conditions_.push_back([=, this] { write_condition(group, patch, done); });
      ++requests_;
      if (refuses_conditions_) {
        status = 503;
      } else if (!groups_.contains(group)) {
        status = 404;
      } else {
        Json changed = groups_[group];
        EXPECT_EQ(patch["metadata"]["uid"], changed["metadata"]["uid"]);
        changed["status"] = patch["status"];
        put_group(changed);
      }
    }
    done(status, "{}");
  }
  void list() {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, node] : nodes_)
      scheduler_->post(NodeUpserted{*decode_node(node.dump(), symbols_)});
    for (const auto& [name, group] : groups_) post_group(group);
    for (const auto& [name, pod] : pods_)
      scheduler_->post(PodUpserted{*decode_pod(pod.dump(), symbols_)});
  }
  void write(const BindRequest& request, const Done& done) {
    {
      const std::lock_guard lock(mutex_);
      if (is_dead_ || bindings_left_-- <= 0) {
        is_dead_ = true;
        return;
      }
      if (is_away_) return done(fail(ErrorCode::kInternal, "connection refused"));
      if (request.name == holds_bind_) {
        holds_bind_.clear();
        held_bind_ = done;
        ++held_binds_;
        return;
      }
      if (failing_.erase(request.name) != 0)
        return done(fail(ErrorCode::kInternal, "no bindings today"));
    }
    Json bound = pod(request.name);
    done({});
    if (bound.is_null()) return;
    bound["spec"]["nodeName"] = request.node;
    save_pod(bound);
  }
  void evict(const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      ++requests_;
      evicted_.insert(name);
    }
    if (!takes_time_) return delete_pod(name);
    Json going = pod(name);
    if (going.is_null()) return;
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    going["status"]["conditions"] = {
        {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "PreemptionByScheduler"}}};
    save_pod(going);
  }
  void put_group(const Json& group) {
    const std::string name = group["metadata"]["name"];
    groups_[name] = group;
    if (!is_away_) post_group(group);
  }
  void post_at_pause(std::function<void()> what, int pauses) {
    scheduler_->post(Task{[this, what = std::move(what), pauses]() mutable {
      pauses == 0 ? what() : post_at_pause(std::move(what), pauses - 1);
    }});
  }
  void post_group(const Json& group) { scheduler_->post(ObjectUpserted{object_of(group)}); }
  static RawRef object_of(const Json& group) {
    const bool labelled = group.value("apiVersion", "") == "scheduling.x-k8s.io/v1alpha1";
    return decoded({std::string(labelled ? kLabelledGroups : kGroups), "default",
                    group["metadata"]["name"], "", "", group.dump()});
  }

  const bool stepwise_;
  ProfileSpec profile_;
  uint32_t check_every_ = 1;
  std::atomic<bool> is_dead_ = false;
  std::atomic<size_t> held_binds_ = 0;
  std::atomic<bool> is_away_ = false;  // the API server
  std::function<void()> at_pause_;     // on the loop, as the next
  int pause_ = 0;
  std::atomic<int64_t> now_ms_{1'767'225'600'000};
  SymbolTable symbols_;
  Modules modules_;
  std::mutex mutex_;  // guards the next ones
  int bindings_left_ = INT_MAX;
  std::map<std::string, Json> nodes_, pods_, groups_;
  std::vector<Json> missed_deletes_;
  std::string holds_bind_;
  Done held_bind_;
  std::map<std::string, std::string> messages_, reasons_;
  std::map<std::string, std::string> nominated_;
  std::set<std::string> failing_, evicted_;
  std::vector<Answered> held_;
  bool holds_answers_ = false;
  std::vector<std::function<void()>> held_conditions_;
  std::atomic<bool> holds_conditions_ = false;
  std::atomic<bool> refuses_conditions_ = false;
  std::atomic<bool> takes_time_ = false;
  std::atomic<int> writing_ = 0;  // bindings
  size_t requests_ = 0;
  int version_ = 0;
  std::unique_ptr<metrics::Registry> metrics_;  // outlives the scheduler
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

// ---- vectors

// Without what kube-scheduler says of claims that nobody has, and of a single pod's preemption.
std::string verdict_of(std::string text) {
  const std::string claims = "deallocation and deletion of ResourceClaims completed, ";
  if (const size_t at = text.find(claims); at != text.npos) text.erase(at, claims.size());
  return text.substr(0, text.find(" preemption: found a potential placement"));
}

// Without what depends on how many are evicted, or on the order of trying without those who may go.
std::string before_preemption(const std::string& text) {
  for (const char* what : {"found a placement", "minCount"}) {
    const size_t at = text.find(", pod group preemption: " + std::string(what));
    if (at != text.npos) return text.substr(0, at + 24 + std::string(what).size());
  }
  return text;
}

bool asks_for_domain(const Json& test_case) {
  return test_case.dump().find("schedulingConstraints") != std::string::npos;
}

// Without what kube-scheduler says twice; and without what it says of topology, once that gate is
// on, about a group that asks for none.
std::string expected_text(const Json& test_case, std::string text) {
  const std::string failed = "pod group is unschedulable, ";
  const std::string placements = "0/1 placements are available, first placement status: ";
  if (const size_t at = text.find(failed + placements);
      at != text.npos && !asks_for_domain(test_case))
    text.erase(at, failed.size() + placements.size());
  if (text.starts_with(failed + failed)) text.erase(0, failed.size());
  return verdict_of(text);
}

int64_t milli(const std::string& cpu) {
  return cpu.ends_with('m') ? std::stoll(cpu) : std::stoll(cpu) * 1000;
}

// What a step came to: of each pod where it is, or why not; of each group its condition.
struct Outcome {
  std::set<std::string> bound;
  std::map<std::string, Json> refused;
  std::map<std::string, Json> conditions;
  std::set<std::string> evicted;
  bool may_evict = false;  // by exhaustive search
  bool misses = false;     // less than fits, or it ended before all were tried
};

Outcome expected_of(const Json& step) {
  Outcome outcome;
  for (const Json& cycle : step.value("cycles", Json::array())) {
    for (const auto& [name, fate] : cycle["pods"].items()) {
      outcome.refused.erase(name);
      if (fate.contains("node"))
        outcome.bound.insert(name);
      else
        outcome.refused[name] = fate;
    }
    for (const Json& name : cycle.value("evicted", Json::array())) outcome.evicted.insert(name);
    outcome.may_evict =
        outcome.may_evict ||
        (cycle.value("truth", Json::object()).contains("fewestVictimsForMinCount") &&
         cycle.dump().find("=Never") == std::string::npos);
    const std::string popped = cycle["popped"];
    if (popped.starts_with("podGroup ") && cycle.contains("condition"))
      outcome.conditions[popped.substr(9)] = cycle["condition"];
  }
  outcome.misses = step.value("cycles", Json::array()).size() == step.value("max", size_t{0});
  return outcome;
}

class Replay {
 public:
  explicit Replay(const Json& test_case) : case_(test_case) {}

  // False: the rest cannot be compared any more, since more pods were placed.
  void run() {
    for (const Json& node : case_["nodes"]) world_.add_node(node);
    for (const Json& pod : case_.value("existingPods", Json::array())) world_.save_pod(pod);
    for (const Json& group : case_.value("existingPodGroups", Json::array()))
      world_.save_group(group);
    for (const Json& budget : case_.value("pdbs", Json::array())) world_.save_budget(budget);
    world_.sync();
    const Json& steps = case_["steps"];
    for (size_t i = 0; i < steps.size(); ++i) {
      world_.pass(1000);
      if (steps[i]["op"] != "cycles") {
        change(steps[i]);
        world_.settle();
        continue;
      }
      world_.step(steps[i]["max"]);
      if (!compare(i)) return;
    }
  }

 private:
  void change(const Json& step) {
    const std::string op = step["op"];
    for (const Json& group : step.value("podGroups", Json::array())) world_.save_group(group);
    for (const Json& pod : step.value("pods", Json::array())) {
      world_.save_pod(pod);
      world_.settle();  // it has come before time passes, so none has the next one's time
      world_.pass(1);
      pods_.insert(pod["metadata"]["name"].get<std::string>());
    }
    if (op == "deletePodGroup") world_.delete_group(step["name"]);
    for (const Json& name : step.value("names", Json::array())) {
      if (op == "deletePods") {
        pods_.erase(name.get<std::string>());
        world_.delete_pod(name);
      } else {
        Json pod = world_.pod(name);
        pod["spec"].erase("schedulingGates");
        world_.save_pod(pod);
      }
    }
    if (op == "setMinCount") {
      Json group = world_.group(step["name"]);
      group["spec"]["schedulingPolicy"]["gang"]["minCount"] = step["minCount"];
      world_.save_group(group);
    }
  }

  std::set<std::string> newly_bound() {
    std::set<std::string> bound;
    for (const std::string& pod : pods_) {
      if (!world_.node_of(pod).empty() && !counted_.contains(pod)) bound.insert(pod);
    }
    counted_.insert(bound.begin(), bound.end());
    return bound;
  }

  // Nothing is given twice.
  void expect_room(const std::string& where) {
    for (const Json& node : case_["nodes"]) {
      int64_t left = milli(node["status"]["allocatable"]["cpu"]);
      world_.for_each_pod([&](const Json& pod) {
        if (pod["spec"].value("nodeName", "") != node["metadata"]["name"]) return;
        for (const Json& container : pod["spec"]["containers"])
          left -= milli(container["resources"]["requests"]["cpu"]);
      });
      EXPECT_GE(left, 0) << where << " " << node["metadata"]["name"];
    }
  }

  // Whom a step evicts. Other victims than the reference's are right if they are no more.
  void compare_victims(const Outcome& expected, const std::string& where) {
    std::set<std::string> evicted;
    std::ranges::set_difference(world_.evicted(), gone_, std::inserter(evicted, evicted.end()));
    gone_.insert(evicted.begin(), evicted.end());
    if (evicted != expected.evicted) others = true;
    if (evicted.empty() && expected.evicted.empty()) return;
    victims += evicted.size();
    reference_victims += expected.evicted.size();
    ++evictions;
    if (evicted.size() < expected.evicted.size()) ++fewer_victims;
    if (evicted.size() <= expected.evicted.size()) return;
    if (expected.evicted.empty() && case_.value("referenceMissesPreemption", false)) return;
    ++more_victims;
    std::printf("%s: %zu victims instead of %zu: %s, %s\n", where.c_str(), evicted.size(),
                expected.evicted.size(), Json(evicted).dump().c_str(),
                Json(expected.evicted).dump().c_str());
  }

  bool compare(size_t at) {
    const Outcome expected = expected_of(case_["steps"][at]);
    const std::set<std::string> bound = newly_bound();
    const std::string where = case_["id"].get<std::string>() + " step " + std::to_string(at);
    const bool tied = case_.value("tieDependent", false);
    const bool misses = case_.value("referenceMisses", false);
    expect_room(where);
    const bool may_differ = others;  // others went before
    compare_victims(expected, where);
    if (expected.may_evict && bound.empty() && !may_differ) {
      EXPECT_FALSE(world_.evicted().empty()) << where << ": evictions would help";
    }
    if (may_differ || (others && !bound.empty())) {
      EXPECT_GE(bound.size(), expected.bound.size()) << where;
      return bound == expected.bound;
    }
    if (tied) {
      size_t least = expected.bound.size();
      for (const Json& other : case_.value("alternatives", Json::array()))
        least = std::min(least, expected_of(other[at]).bound.size());
      EXPECT_GE(bound.size(), least) << where;
      return bound == expected.bound;
    }
    EXPECT_GE(bound.size(), expected.bound.size())
        << where << ": " << Json(bound) << " instead of " << Json(expected.bound);
    if (bound.size() > expected.bound.size()) {
      EXPECT_TRUE(misses || expected.misses || case_.value("nodesTied", false)) << where;
      if (misses) ++more;
      return false;
    }
    if (bound != expected.bound) {
      EXPECT_TRUE(misses || expected.misses || case_.value("nodesTied", false))
          << where << ": " << Json(bound) << " instead of " << Json(expected.bound);
      return false;
    }
    for (const auto& [name, fate] : expected.refused) {
      if (misses) break;
      std::string text = expected_text(case_, fate["message"]);
      const std::string code = fate["code"] == "Error" ? "SchedulerError" : "Unschedulable";
      EXPECT_EQ(world_.code(name), code) << where << " " << name;
      if (others) text = before_preemption(text);
      // Other nodes, or another domain, where more than one is right.
      const bool other =
          case_.value("nodesTied", false) || (asks_for_domain(case_) && !expected.bound.empty());
      if (!others && !other && fate.contains("nominatedNodeName")) {
        EXPECT_NE(world_.nominated(name), "") << where << " " << name;
      }
      if (other && text.find("nodes are available") != text.npos) continue;
      EXPECT_TRUE(world_.message(name).starts_with(text))
          << where << " " << name << ": " << world_.message(name) << "\n instead of " << text;
      ++texts;
    }
    for (const auto& [name, condition] : expected.conditions) {
      const std::string status = condition["status"];
      std::string text = status + "/" + condition["reason"].get<std::string>() + ": ";
      if (status == "False") text += expected_text(case_, condition.value("message", ""));
      if (others) text = before_preemption(text);
      EXPECT_TRUE(world_.condition(name).starts_with(text))
          << where << " " << name << ": " << world_.condition(name) << "\n instead of " << text;
      ++texts;
    }
    return true;
  }

 public:
  size_t more = 0;      // steps in which more pods were placed
  size_t texts = 0;     // that were compared
  bool others = false;  // other pods were evicted than by the reference
  size_t evictions = 0, fewer_victims = 0, more_victims = 0;  // decisions
  size_t victims = 0, reference_victims = 0;

 private:
  const Json& case_;
  World world_;
  std::set<std::string> pods_, counted_, gone_;
};

TEST(Groups, AreDecidedOnAsByKubeScheduler) {
  size_t cases = 0, more = 0, texts = 0;
  size_t evictions = 0, fewer = 0, worse = 0, victims = 0, reference_victims = 0;
  const auto read = conformance::for_each_line("tests/vectors/gang.jsonl.gz", [&](auto line) {
    const Json test_case = Json::parse(line);
    Replay replay(test_case);
    replay.run();
    ++cases;
    more += replay.more;
    texts += replay.texts;
    evictions += replay.evictions;
    fewer += replay.fewer_victims;
    worse += replay.more_victims;
    victims += replay.victims;
    reference_victims += replay.reference_victims;
    return true;
  });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(cases, 297U);
  EXPECT_GE(texts, 400U);
  EXPECT_GE(more, 5U) << "kube-scheduler misses places that are there; we find them";
  EXPECT_GE(evictions, 25U);
  EXPECT_LE(worse * 20, evictions) << "more victims than kube-scheduler's";
  RecordProperty("cases", static_cast<int>(cases));
  RecordProperty("more", static_cast<int>(more));
  std::printf("%zu cases, %zu steps with more pods placed, %zu texts\n", cases, more, texts);
  std::printf("%zu evictions, %zu with fewer victims, %zu with more; %zu victims, reference %zu\n",
              evictions, fewer, worse, victims, reference_victims);
}

// ---- one by one

class GroupTest : public ::testing::Test {
 protected:
  explicit GroupTest(const WorldOptions& options = {.stepwise = false}) : world_(options) {
    world_.sync();
  }

  void node(const std::string& name, const std::string& cpu) {
    world_.add_node({{"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
                     {"status", {{"allocatable", {{"cpu", cpu}, {"pods", "110"}}}}}});
  }
  static Json group_of(int min_count) {
    return {
        {"metadata", {{"name", "g"}, {"namespace", "default"}, {"uid", "uid-g"}}},
        {"spec", {{"priority", 0}, {"schedulingPolicy", {{"gang", {{"minCount", min_count}}}}}}}};
  }
  void group(int min_count) {
    world_.save_group(group_of(min_count));
    world_.settle();
  }
  static Json pod_of(const std::string& name, const std::string& cpu, bool member = true) {
    Json made = {
        {"metadata", {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + name}}},
        {"spec",
         {{"schedulerName", "default-scheduler"},
          {"priority", 0},
          {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}},
        {"status", {{"phase", "Pending"}}}};
    if (member) made["spec"]["schedulingGroup"] = {{"podGroupName", "g"}};
    return made;
  }
  void pod(const std::string& name, const std::string& cpu, bool member = true) {
    world_.save_pod(pod_of(name, cpu, member));
    world_.settle();
  }
  size_t bound(const std::vector<std::string>& names) {
    return static_cast<size_t>(std::ranges::count_if(
        names, [&](const std::string& name) { return !world_.node_of(name).empty(); }));
  }

  World world_;
};

TEST_F(GroupTest, ARefusedGroupHoldsNothing) {
  node("n", "4");
  group(3);
  for (const char* name : {"a", "b", "c"}) pod(name, "2");
  EXPECT_EQ(bound({"a", "b", "c"}), 0U);
  EXPECT_EQ(
      world_.condition("g"),
      "False/Unschedulable: minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, "
      "pod group preemption: No preemption victims found for incoming preemptor; c: 0/1 nodes "
      "are available: 1 Insufficient cpu.");
  EXPECT_EQ(world_.message("c"), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_EQ(world_.stats().assumed_pods, 0U);
  pod("single", "4", false);
  EXPECT_EQ(world_.node_of("single"), "n") << "the room is free to others at once";

  const Explanation why = world_.explain("a");
  ASSERT_TRUE(why.group);
  EXPECT_EQ(why.group->name, "default/g");
  EXPECT_EQ(why.group->needed, 3U);
  EXPECT_EQ(why.group->waiting, 3U);
  EXPECT_EQ(why.queue->place, "unschedulable");
  EXPECT_TRUE(why.group->said.starts_with("Unschedulable: minCount (3)")) << why.group->said;

  // The same again is not written again.
  const size_t written = world_.requests();
  node("small", "1");
  world_.settle();
  node("m", "6");  // and this is what it waited for
  world_.settle();
  EXPECT_EQ(bound({"a", "b", "c"}), 3U);
  EXPECT_EQ(world_.condition("g"), "True/Scheduled: ");
  EXPECT_LE(world_.requests(), written + 2);
}

TEST_F(GroupTest, AnOlderConditionNeverFollowsANewerOne) {
  world_.hold_conditions();
  node("n", "1");
  group(2);
  for (const char* name : {"a", "b"}) pod(name, "2");
  node("m", "4");
  world_.settle();
  EXPECT_EQ(bound({"a", "b"}), 2U);
  EXPECT_EQ(world_.condition("g"), "") << "neither has been written";
  world_.let_conditions_go();
  world_.settle();
  EXPECT_EQ(world_.condition("g"), "True/Scheduled: ");
}

TEST_F(GroupTest, AConditionIsWrittenUntilItIsTakenOrTheGroupIsGone) {
  node("n", "8");
  world_.refuse_conditions(true);
  group(2);
  for (const char* name : {"a", "b"}) pod(name, "1");
  EXPECT_EQ(bound({"a", "b"}), 2U);
  const auto tries_in = [&](int minutes) {
    const size_t before = world_.requests();
    for (int i = 0; i < 30 * minutes; ++i) {
      world_.pass(2000);
      world_.on_loop([] {});  // the turn that sees the time
      world_.on_loop([] {});
    }
    return world_.requests() - before;
  };
  EXPECT_GE(tries_in(10), 5U);
  const size_t later = tries_in(60);
  EXPECT_GE(later, 6U);
  EXPECT_LE(later, 12U) << "every 5 minutes";
  world_.refuse_conditions(false);
  EXPECT_EQ(tries_in(10), 1U);
  EXPECT_EQ(world_.condition("g"), "True/Scheduled: ");

  world_.refuse_conditions(true);
  world_.delete_group("g");
  for (const char* name : {"a", "b"}) world_.delete_pod(name);
  group(3);
  for (const char* name : {"c", "d", "e"}) pod(name, "1");
  EXPECT_EQ(bound({"c", "d", "e"}), 3U);
  EXPECT_GE(tries_in(10), 5U);
  world_.delete_group("g");
  EXPECT_EQ(tries_in(60), 0U);
}

TEST_F(GroupTest, AnotherGroupOfItsNameIsToldAgain) {
  node("n", "1");
  group(2);
  for (const char* name : {"a", "b"}) pod(name, "2");
  const std::string said = world_.condition("g");
  EXPECT_TRUE(said.starts_with("False/Unschedulable: minCount (2)")) << said;
  world_.delete_group("g");
  world_.settle();
  Json again = group_of(2);
  again["metadata"]["uid"] = "another";
  world_.save_group(again);
  world_.settle();
  EXPECT_EQ(world_.condition("g"), said);
}

TEST_F(GroupTest, PodsMayComeBeforeTheGroupAndAreHeldUntilAllAreThere) {
  node("n", "8");
  pod("a", "1");
  EXPECT_EQ(world_.explain("a").queue->rejectors.at(0).text,
            "waiting for pods's pod group \"g\" to appear in scheduling queue");
  group(3);
  pod("b", "1");
  EXPECT_EQ(world_.explain("b").queue->rejectors.at(0).text,
            "waiting for minCount pods from a gang to appear in scheduling queue: 2 of 3");
  Json gated = pod_of("c", "1");
  gated["spec"]["schedulingGates"] = {{{"name", "example.com/wait"}}};
  world_.save_pod(gated);
  world_.settle();
  EXPECT_EQ(world_.explain("a").queue->rejectors.at(0).plugin, "SchedulingGates");
  EXPECT_EQ(world_.explain("a").queue->rejectors.at(0).text,
            "waiting for scheduling gates: [example.com/wait]; of pod default/c");
  EXPECT_EQ(bound({"a", "b", "c"}), 0U);
  pod("c", "1");
  EXPECT_EQ(bound({"a", "b", "c"}), 3U);
}

TEST_F(GroupTest, WhoRunsCountsAndWhoIsBeingDeletedDoesNot) {
  node("n", "8");
  group(2);
  pod("a", "1");
  pod("b", "1");
  EXPECT_EQ(bound({"a", "b"}), 2U);
  pod("late", "1");
  EXPECT_EQ(bound({"late"}), 1U) << "beyond what it needs";
  for (const char* name : {"a", "b"}) {
    Json dying = world_.pod(name);
    dying["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    world_.save_pod(dying);
  }
  world_.delete_pod("late");
  world_.settle();
  pod("a2", "1");
  EXPECT_EQ(bound({"a2"}), 0U) << "the old ones are on their way out";
  pod("b2", "1");
  EXPECT_EQ(bound({"a2", "b2"}), 2U);
  world_.delete_pod("a2");
  pod("a3", "1");
  EXPECT_EQ(bound({"a3"}), 1U) << "a pod that was made anew has its sibling";
}

TEST_F(GroupTest, FewerThatAreNeededWakeItAndMoreChangeNothingThatRuns) {
  node("n", "2");
  group(3);
  for (const char* name : {"a", "b", "c"}) pod(name, "1");
  EXPECT_EQ(bound({"a", "b", "c"}), 0U);
  group(2);
  EXPECT_EQ(bound({"a", "b", "c"}), 2U);
  EXPECT_EQ(world_.condition("g"), "True/Scheduled: ");
  group(5);
  EXPECT_EQ(bound({"a", "b", "c"}), 2U);
  node("m", "2");
  world_.settle();
  EXPECT_EQ(bound({"c"}), 0U) << "two more have to be there";
  pod("d", "500m");
  pod("e", "500m");
  EXPECT_EQ(bound({"c", "d", "e"}), 3U);
}

TEST_F(GroupTest, WaitsWhileTheGroupIsGoneOrGoing) {
  node("n", "8");
  Json going = group_of(2);
  going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  world_.save_group(going);
  pod("a", "1");
  pod("b", "1");
  EXPECT_EQ(bound({"a", "b"}), 0U);
  world_.delete_group("g");
  world_.settle();
  EXPECT_EQ(bound({"a", "b"}), 0U);
  group(2);
  EXPECT_EQ(bound({"a", "b"}), 2U);
}

TEST_F(GroupTest, IsNotBoundWherePermitLeavesTooFew) {
  node("n", "8");
  group(3);
  pod("a", "1");
  pod("b", "1");
  Json denied = pod_of("c", "1");
  denied["metadata"]["labels"] = {{"deny", "yes"}};
  world_.save_pod(denied);
  world_.settle();
  EXPECT_EQ(bound({"a", "b", "c"}), 0U);
  EXPECT_EQ(world_.stats().assumed_pods, 0U);
  EXPECT_EQ(world_.message("c"), "0/1 nodes are available: 1 not this one.");
  pod("d", "1");
  EXPECT_EQ(bound({"a", "b", "d"}), 3U);
  EXPECT_EQ(bound({"c"}), 0U);
}

TEST_F(GroupTest, WithoutRoomItGivesBackWhatItsClaimsHave) {
  node("n", "1");
  group(2);
  Doorman::claims = 1;
  Doorman::gave_back.clear();
  pod("a", "1");
  pod("b", "1");
  EXPECT_EQ(bound({"a", "b"}), 0U);
  EXPECT_EQ(Doorman::gave_back, (std::set<std::string>{"a", "b"}));
  EXPECT_THAT(world_.condition("g"),
              testing::HasSubstr(", deallocation of ResourceClaims completed"));
}

TEST_F(GroupTest, FindsTheOrderThatFits) {
  // Small ones first spread over both nodes, and leave no room for the large one.
  node("n", "4");
  node("m", "4");
  group(5);
  for (const char* name : {"a", "b", "c", "d"}) pod(name, "1");
  pod("large", "4");
  EXPECT_EQ(bound({"a", "b", "c", "d", "large"}), 5U);
}

TEST_F(GroupTest, PlacesMoreThanNeededIfAnotherOrderDoes) {
  node("n", "4");
  node("m", "4");
  for (const char* name : {"a", "b", "c", "d"}) pod(name, "1");
  pod("large", "4");
  group(2);
  EXPECT_EQ(bound({"a", "b", "c", "d", "large"}), 5U);
}

TEST_F(GroupTest, RefusesWhatItCannotHonour) {
  node("n", "8");
  Json claims = group_of(1);
  claims["spec"]["resourceClaims"] = {{{"name", "c"}}};
  world_.save_group(claims);
  pod("a", "1");
  EXPECT_EQ(bound({"a"}), 0U);
  EXPECT_EQ(world_.message("a"),
            "the pod group has spec.resourceClaims, which this scheduler does not support yet");
  EXPECT_EQ(world_.condition("g"), "False/Unschedulable: " + world_.message("a"));
}

TEST_F(GroupTest, WaitsWhileGroupsAreNotFollowed) {
  node("n", "8");
  group(2);
  world_.post(KindFollowed{std::string(kGroups), false, "connection refused"});
  pod("a", "1");
  pod("b", "1");
  pod("single", "1", false);
  EXPECT_EQ(bound({"a", "b"}), 0U);
  EXPECT_EQ(bound({"single"}), 1U);
  EXPECT_NE(world_.message("a").find("which is not followed: connection refused"),
            std::string::npos)
      << world_.message("a");
  world_.post(KindFollowed{std::string(kGroups), true, ""});
  world_.settle();
  EXPECT_EQ(bound({"a", "b"}), 2U);
}

TEST_F(GroupTest, NothingIsLeftOfPodsAndGroupsThatWent) {
  node("n", "2");
  group(3);
  for (int round = 0; round < 20; ++round) {
    for (const char* name : {"a", "b", "c"}) pod(name, "1");
    for (const char* name : {"a", "b", "c"}) world_.delete_pod(name);
  }
  world_.settle();
  const SchedulingQueue::Sizes left = world_.stats().queue;
  EXPECT_EQ(left.active + left.backoff + left.unschedulable + left.gated + left.in_flight, 0U);
  EXPECT_EQ(world_.stats().assumed_pods, 0U);
}

// ---- evictions

class EvictionTest : public GroupTest {
 protected:
  using GroupTest::GroupTest;
  // On a node, of a group or of none.
  void running(const std::string& name, const std::string& cpu, const std::string& node,
               int priority, const std::string& group = {}, const Json& labels = Json::object()) {
    Json pod = pod_of(name, cpu, false);
    pod["metadata"]["labels"] = labels;
    pod["spec"]["nodeName"] = node;
    pod["spec"]["priority"] = priority;
    if (!group.empty()) pod["spec"]["schedulingGroup"] = {{"podGroupName", group}};
    world_.save_pod(pod);
    world_.settle();
  }
  void group(const std::string& name, int min_count, int priority, const char* mode = "single") {
    Json made = group_of(min_count);
    made["metadata"]["name"] = name;
    made["metadata"]["uid"] = "uid-" + name;
    made["spec"]["priority"] = priority;
    made["spec"]["disruptionMode"] = {{mode, Json::object()}};
    world_.save_group(made);
    world_.settle();
  }
  static Json high_of(const std::string& name, const std::string& cpu, bool member = true) {
    Json pod = pod_of(name, cpu, member);
    pod["spec"]["priority"] = 100;
    return pod;
  }
  // They come at once.
  void members(const std::vector<Json>& pods) {
    for (const Json& pod : pods) world_.save_pod(pod);
    group("g", static_cast<int>(pods.size()), 100);
  }
  static std::string names(const std::set<std::string>& pods) {
    std::string all;
    for (const std::string& pod : pods) all += pod + " ";
    return all;
  }
  std::string evicted() { return names(world_.evicted()); }
};

// InterPodAffinity has nothing to say of y until x is there.
TEST_F(EvictionTest, NobodyGoesForMembersThatRepelOneAnother) {
  node("n", "4");
  running("low", "4", "n", 10);
  Json x = high_of("x", "2");
  x["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {{"labelSelector", {{"matchLabels", {{"app", "y"}}}}},
       {"topologyKey", "kubernetes.io/hostname"}}};
  Json y = high_of("y", "2");
  y["metadata"]["labels"] = {{"app", "y"}};
  members({x, y});
  EXPECT_EQ(evicted(), "");
  EXPECT_NE(world_.condition("g").find("pod group preemption: "), std::string::npos);
}

TEST_F(EvictionTest, NobodyGoesForAGroupThatDoesNotFitThen) {
  node("n", "4");
  node("m", "3");
  running("a", "3", "n", 10);
  running("b", "3", "m", 10);
  members({high_of("x", "4"), high_of("y", "4")});
  EXPECT_EQ(evicted(), "");
  EXPECT_EQ(world_.condition("g"),
            "False/Unschedulable: minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, pod "
            "group preemption: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining; x: 0/2 "
            "nodes are available: 2 Insufficient cpu.");
}

TEST_F(EvictionTest, AsFewAsPossibleGoAndAllMembersAreNominated) {
  world_.take_time();
  for (const char* name : {"n", "m", "o"}) node(name, "4");
  for (const char* name : {"n1", "n2"}) running(name, "2", "n", 10);
  running("m1", "4", "m", 10);
  running("o1", "4", "o", 10);
  members({high_of("x", "4"), high_of("y", "4")});
  EXPECT_EQ(evicted(), "m1 o1 ");
  EXPECT_EQ(names({world_.nominated("x"), world_.nominated("y")}), "m o ");
  EXPECT_EQ(world_.condition("g"),
            "False/Unschedulable: minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, pod "
            "group preemption: found a placement for podgroup, preempting 2 victims; x: 0/3 nodes "
            "are available: 3 Insufficient cpu.");
  pod("single", "4", false);
  world_.delete_pod("m1");
  world_.settle();
  EXPECT_EQ(bound({"x", "y", "single"}), 0U) << "the room is kept";
  EXPECT_NE(world_.condition("g").find("ongoing preemption on nominated nodes"), std::string::npos)
      << world_.condition("g");
  world_.delete_pod("o1");
  world_.settle();
  EXPECT_EQ(bound({"x", "y"}), 2U);
  EXPECT_EQ(evicted(), "m1 o1 ");
  EXPECT_EQ(world_.condition("g"), "True/Scheduled: ");
  EXPECT_EQ(world_.metric("workload_preemption_victims_sum"), 2);
  EXPECT_EQ(world_.metric("preemption_workload_disruptions_count", {{"preemptor", "podgroup"}}), 0);
  const test::Labels success{{"preemptor", "podgroup"}, {"result", "success"}};
  EXPECT_EQ(world_.metric("preemption_execution_duration_seconds_count", success), 1);
}

TEST_F(EvictionTest, GroupsGoAsAWholeWhereTheySaySo) {
  for (const char* name : {"n", "m", "o"}) node(name, "4");
  group("whole", 2, 10, "all");
  running("w1", "4", "n", 10, "whole");
  running("w2", "4", "m", 10, "whole");
  running("o1", "4", "o", 10);
  members({high_of("x", "4")});
  EXPECT_EQ(evicted(), "o1 ") << "one pod is fewer than two";
  EXPECT_EQ(bound({"x"}), 1U);
  world_.save_pod(high_of("y", "4", false));
  world_.settle();
  EXPECT_EQ(bound({"y"}), 1U);
  EXPECT_EQ(evicted(), "o1 w1 w2 ") << "a pod alone evicts a group as a whole, too";
  EXPECT_EQ(world_.metric("preemption_victims_sum"), 2);
  for (const char* preemptor : {"pod", "podgroup"}) {
    const test::Labels success{{"preemptor", preemptor}, {"result", "Success"}};
    EXPECT_EQ(world_.metric("preemption_evaluation_duration_seconds_count", success), 1)
        << preemptor;
  }
}

TEST_F(EvictionTest, TheGroupsPriorityCountsNotThePods) {
  node("n", "4");
  group("high", 1, 200);
  running("a", "4", "n", 10, "high");
  members({high_of("x", "4")});
  EXPECT_EQ(evicted(), "");
  EXPECT_NE(world_.condition("g").find("No preemption victims found for incoming preemptor"),
            std::string::npos)
      << world_.condition("g");
  world_.save_pod(high_of("y", "4", false));
  world_.settle();
  EXPECT_EQ(evicted(), "");
}

TEST_F(EvictionTest, BudgetsAreBrokenLast) {
  world_.save_budget({{"metadata", {{"name", "b"}, {"namespace", "default"}}},
                      {"spec", {{"selector", {{"matchLabels", {{"app", "x"}}}}}}},
                      {"status", {{"disruptionsAllowed", 0}}}});
  for (const char* name : {"n", "m"}) node(name, "4");
  running("kept", "4", "n", 10, "", {{"app", "x"}});
  for (const char* name : {"m1", "m2"}) running(name, "2", "m", 20);
  members({high_of("x", "4")});
  EXPECT_EQ(evicted(), "m1 m2 ");
  EXPECT_EQ(bound({"x"}), 1U);
  const test::Labels podgroup{{"preemptor", "podgroup"}};
  EXPECT_EQ(world_.metric("preemption_pdb_violations_total", podgroup), 0);
  group("again", 1, 100);
  Json y = high_of("y", "4");
  y["spec"]["schedulingGroup"]["podGroupName"] = "again";
  world_.save_pod(y);
  world_.settle();
  EXPECT_EQ(evicted(), "kept m1 m2 ");
  EXPECT_EQ(bound({"y"}), 1U);
  EXPECT_EQ(world_.metric("preemption_pdb_violations_total", podgroup), 1);
}

TEST_F(EvictionTest, WhoGoesAlreadyIsWaitedForAndNobodyGoesBesideThem) {
  for (const char* name : {"n", "m", "o"}) node(name, "4");
  Json old = pod_of("old", "4", false);
  old["spec"]["nodeName"] = "n";
  old["spec"]["priority"] = 1000;
  old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  world_.save_pod(old);
  running("a", "4", "m", 10);
  running("b", "4", "o", 20);
  members({high_of("x", "4")});
  EXPECT_EQ(evicted(), "");
  EXPECT_NE(world_.condition("g").find("pods that are being deleted make room"), std::string::npos)
      << world_.condition("g");
  world_.delete_pod("old");
  world_.settle();
  EXPECT_EQ(bound({"x"}), 1U);
  EXPECT_EQ(evicted(), "");
}

// However many of a low priority wait for the same room, and whenever it comes free.
TEST_F(EvictionTest, RoomThatIsWaitedForIsKept) {
  for (const char* name : {"n", "m"}) {
    node(name, "4");
    Json old = pod_of(std::string("old-") + name, "4", false);
    old["spec"]["nodeName"] = name;
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    world_.save_pod(old);
  }
  members({high_of("x", "4"), high_of("y", "4")});
  EXPECT_EQ(evicted(), "");
  pod("single", "4", false);
  world_.delete_pod("old-n");
  world_.settle();
  EXPECT_EQ(bound({"x", "y", "single"}), 0U);
  world_.delete_pod("old-m");
  world_.settle();
  EXPECT_EQ(bound({"x", "y"}), 2U);
}

// Two nodes are made free for x and y; then the group cannot go any more.
class UselessEvictionTest : public EvictionTest {
 protected:
  UselessEvictionTest() : EvictionTest({}) {
    world_.take_time();
    for (const char* name : {"n", "m"}) {
      node(name, "4");
      running(std::string("old-") + name, "4", name, 10);
    }
    members({high_of("x", "4"), high_of("y", "4")});
    world_.step();
  }
  // Whether others may have the room.
  size_t taken_by_others() {
    world_.step();
    for (const char* name : {"old-n", "old-m"}) world_.delete_pod(name);
    for (const char* name : {"a", "b"}) pod(name, "4", false);
    for (int i = 0; i < 6; ++i) world_.step();
    return bound({"a", "b"});
  }
};

TEST_F(UselessEvictionTest, OthersGetTheRoomIfAMemberIsDeleted) {
  ASSERT_EQ(evicted(), "old-m old-n ");
  world_.delete_pod("y");
  EXPECT_EQ(taken_by_others(), 2U);
}

TEST_F(UselessEvictionTest, OthersGetTheRoomIfAMemberIsBeingDeleted) {
  Json y = world_.pod("y");
  y["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  world_.save_pod(y);
  EXPECT_EQ(taken_by_others(), 2U);
}

TEST_F(UselessEvictionTest, OthersGetTheRoomIfAMemberComesThatIsHeldBack) {
  Json z = high_of("z", "1");
  z["spec"]["schedulingGates"] = {{{"name", "later"}}};
  world_.save_pod(z);
  EXPECT_EQ(taken_by_others(), 2U);
}

TEST_F(UselessEvictionTest, RoomIsGivenUpIfAMemberComesThatDoesNotAgree) {
  Json z = high_of("z", "1");
  z["spec"]["priority"] = 99;
  world_.save_pod(z);
  EXPECT_NE(world_.nominated("x"), "");
  world_.step();
  EXPECT_EQ(world_.nominated("x") + world_.nominated("y"), "");
}

TEST_F(UselessEvictionTest, OthersGetTheRoomIfTheGroupIsDeleted) {
  world_.delete_group("g");
  EXPECT_EQ(taken_by_others(), 2U);
}

TEST_F(UselessEvictionTest, OthersDoNotGetItIfAMemberMoreThanNeededGoes) {
  world_.save_pod(high_of("z", "4"));
  world_.step();
  world_.delete_pod("z");
  EXPECT_EQ(taken_by_others(), 0U);
  EXPECT_EQ(bound({"x", "y"}), 2U);
}

// Whoever makes pods chooses their grace period.
TEST_F(EvictionTest, AVictimThatMayTakeForEverIsNotWaitedFor) {
  world_.take_time();
  for (const char* name : {"n", "m"}) node(name, "4");
  running("slow", "4", "n", 10);
  running("other", "4", "m", 20);
  members({high_of("x", "4")});
  ASSERT_EQ(evicted(), "slow ");
  Json slow = world_.pod("slow");
  slow["metadata"]["deletionTimestamp"] = "2036-01-01T00:00:00Z";
  world_.save_pod(slow);
  world_.pass(GroupTrial::kLongestWaitMs);
  world_.settle();
  EXPECT_EQ(evicted(), "other slow ");
}

TEST_F(EvictionTest, WhoDoesNotGoAtLastIsNotWaitedForForEver) {
  for (const char* name : {"n", "m"}) node(name, "4");
  Json old = pod_of("old", "4", false);
  old["spec"]["nodeName"] = "n";
  old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  world_.save_pod(old);
  running("a", "4", "m", 10);
  world_.pass(GroupTrial::kLongestWaitMs);
  members({high_of("x", "4")});
  EXPECT_EQ(evicted(), "a ");
  EXPECT_EQ(bound({"x"}), 1U);
}

class BlindEvictionTest : public EvictionTest {
 protected:
  BlindEvictionTest() : EvictionTest({.stepwise = false, .one_each = true}) {}
};

TEST_F(BlindEvictionTest, NobodyGoesWhereAPluginIsNotToldWhoComes) {
  node("n", "4");
  running("old", "4", "n", 10);
  members({high_of("x", "2"), high_of("y", "2")});
  EXPECT_EQ(evicted(), "");
}

TEST_F(BlindEvictionTest, OneWhoComesAloneIsJudged) {
  node("n", "4");
  running("old", "4", "n", 10);
  members({high_of("x", "4")});
  EXPECT_EQ(evicted(), "old ");
}

TEST_F(EvictionTest, WhoMustNotEvictDoesNot) {
  node("n", "4");
  running("a", "4", "n", 10);
  Json never = high_of("x", "4");
  never["spec"]["preemptionPolicy"] = "Never";
  members({never});
  EXPECT_EQ(evicted(), "");
  EXPECT_NE(world_.condition("g").find("not eligible due to preemptionPolicy=Never."),
            std::string::npos)
      << world_.condition("g");
}

TEST_F(EvictionTest, TheGroupIsHeldBackWhileItsVictimsAreDeleted) {
  node("n", "4");
  running("a", "4", "n", 10);
  world_.save_pod(high_of("x", "2"));
  world_.save_pod(high_of("y", "2"));
  world_.settle();
  world_.hold_answers(true);
  group("g", 2, 100);
  world_.save_pod(high_of("z", "1"));  // would wake it
  world_.settle();
  const Explanation why = world_.explain("x");
  std::string held;
  for (const auto& rejector : why.queue->rejectors) held += rejector.text;
  EXPECT_NE(held.find("waiting for the preemption for this pod group to be finished"),
            std::string::npos)
      << held;
  world_.hold_answers(false);
  world_.settle();
  EXPECT_EQ(bound({"x", "y"}), 2U);
}

TEST_F(EvictionTest, ThoseWhoAreLeftMayEvictLater) {
  node("n", "4");
  running("a", "2", "n", 10);
  for (const char* name : {"x", "y", "z", "w"}) world_.save_pod(high_of(name, "1"));
  group("g", 1, 100);
  EXPECT_EQ(bound({"x", "y", "z", "w"}), 4U);
  EXPECT_EQ(evicted(), "a ");
}

TEST_F(EvictionTest, MembersOnDifferentNodesAsTheirSpreadWants) {
  for (const char* name : {"n", "m"}) node(name, "4");
  running("a", "4", "n", 10);
  running("b", "4", "m", 10);
  std::vector<Json> pods;
  for (const char* name : {"w", "x", "y", "z"}) {
    Json pod = high_of(name, "1");
    pod["metadata"]["labels"] = {{"app", "s"}};
    pod["spec"]["topologySpreadConstraints"] = {
        {{"maxSkew", 1},
         {"topologyKey", "kubernetes.io/hostname"},
         {"whenUnsatisfiable", "DoNotSchedule"},
         {"labelSelector", {{"matchLabels", {{"app", "s"}}}}}}};
    pods.push_back(pod);
  }
  members(pods);
  EXPECT_EQ(bound({"w", "x", "y", "z"}), 4U);
}

TEST_F(EvictionTest, RoomIsMadeInOneDomain) {
  const auto node_in = [this](const char* rack, const char* name) {
    world_.add_node(
        {{"metadata",
          {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}, {"rack", rack}}}}},
         {"status", {{"allocatable", {{"cpu", "4"}, {"pods", "110"}}}}}});
  };
  node_in("a", "a1");
  node_in("a", "a2");
  node_in("b", "b1");
  node_in("b", "b2");
  running("cheap-a", "4", "a1", 10);
  running("never-a", "4", "a2", 200);
  running("cheap-b", "4", "b1", 10);
  running("dear-b", "4", "b2", 50);
  for (const char* name : {"x", "y"}) world_.save_pod(high_of(name, "4"));
  Json made = group_of(2);
  made["spec"]["priority"] = 100;
  made["spec"]["schedulingConstraints"] = {{"topology", {{{"key", "rack"}}}}};
  world_.save_group(made);
  world_.settle();
  EXPECT_EQ(evicted(), "cheap-b dear-b ");
  EXPECT_EQ(bound({"x", "y"}), 2U);
}

// A hundred pods on a hundred nodes with ten others each: a node is looked at anew once it changed.
TEST(GroupEvictions, TakeFewLooks) {
  World world({.stepwise = true, .counts = true});
  world.sync();
  const auto pod = [&](const std::string& name, int priority, const std::string& cpu) {
    return Json{
        {"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}}},
        {"spec",
         {{"schedulerName", "default-scheduler"},
          {"priority", priority},
          {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}},
        {"status", {{"phase", "Pending"}}}};
  };
  for (int i = 0; i < 100; ++i) {
    const std::string node = "n" + std::to_string(i);
    world.add_node({{"metadata", {{"name", node}}},
                    {"status", {{"allocatable", {{"cpu", "10"}, {"pods", "110"}}}}}});
    for (int k = 0; k < 10; ++k) {
      Json old = pod(node + "-" + std::to_string(k), k, "1");
      old["spec"]["nodeName"] = node;
      world.save_pod(old);
    }
    Json member = pod("m" + std::to_string(i), 100, "2");
    member["spec"]["schedulingGroup"] = {{"podGroupName", "g"}};
    world.save_pod(member);
  }
  world.save_group(
      {{"metadata", {{"name", "g"}, {"namespace", "default"}, {"uid", "g"}}},
       {"spec", {{"priority", 100}, {"schedulingPolicy", {{"gang", {{"minCount", 100}}}}}}}});
  world.settle();
  Counter::looks = 0;
  world.step();
  EXPECT_EQ(world.evicted().size(), 200U);
  EXPECT_LE(Counter::looks, 10'000U);
  world.step(2);
  EXPECT_EQ(world.condition("g"), "True/Scheduled: ");
}

// Small clusters, drawn: whoever is evicted is so for a group that runs then.
TEST(GroupsRandom, NobodyIsEvictedInVain) {
  const uint32_t first = test::test_seed();
  size_t evicting = 0, refused = 0;
  for (uint32_t seed = first; seed < first + 1000; ++seed) {
    SCOPED_TRACE("PLIMSOLL_TEST_SEED=" + std::to_string(seed));
    std::mt19937 random(seed);
    const auto draw = [&random](int low, int high) {
      return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
    };
    World world({.stepwise = false});
    world.sync();
    if (draw(0, 1) == 0) world.take_time();
    const int nodes = draw(1, 5);
    std::vector<int> left;
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      left.push_back(2 * draw(1, 4));
      world.add_node(
          {{"metadata",
            {{"name", name},
             {"labels", {{"kubernetes.io/hostname", name}, {"half", i % 2 == 0 ? "a" : "b"}}}}},
           {"status",
            {{"allocatable", {{"cpu", std::to_string(left.back() * 500) + "m"}, {"pods", "9"}}}}}});
    }
    const auto pod_of = [&](const std::string& name, int halves, int priority) {
      return Json{
          {"metadata",
           {{"name", name},
            {"namespace", "default"},
            {"uid", "uid-" + name},
            {"labels", {{"app", draw(0, 1) == 0 ? "x" : "y"}}}}},
          {"spec",
           {{"schedulerName", "default-scheduler"},
            {"priority", priority},
            {"containers",
             {{{"name", "c"},
               {"resources", {{"requests", {{"cpu", std::to_string(halves * 500) + "m"}}}}}}}}}},
          {"status", {{"phase", "Pending"}}}};
    };
    const std::vector<int> priorities{10, 20, 200};
    for (size_t i = 0; i < priorities.size(); ++i) {
      world.save_group(
          {{"metadata",
            {{"name", "v" + std::to_string(i)}, {"namespace", "default"}, {"uid", "v"}}},
           {"spec",
            {{"priority", priorities[i]},
             {"disruptionMode", {{draw(0, 1) == 0 ? "all" : "single", Json::object()}}},
             {"schedulingPolicy", {{"gang", {{"minCount", 1}}}}}}}});
    }
    for (int i = 0, many = draw(2, 12); i < many; ++i) {
      const auto on = static_cast<size_t>(draw(0, nodes - 1));
      const auto kind = static_cast<size_t>(draw(0, 3));
      const int halves = draw(1, 3);
      if (left[on] < halves) continue;
      left[on] -= halves;
      Json pod = pod_of("old-" + std::to_string(i), halves,
                        kind < 3 ? priorities[kind] : 10 * draw(1, 12));
      if (kind < 3) pod["spec"]["schedulingGroup"] = {{"podGroupName", "v" + std::to_string(kind)}};
      if (draw(0, 4) == 0)
        pod["spec"]["containers"][0]["ports"] = {{{"hostPort", 80}, {"containerPort", 80}}};
      if (pod["spec"]["containers"][0].contains("ports") && draw(0, 1) == 0)
        pod["spec"]["containers"][0].erase("ports");
      pod["spec"]["nodeName"] = "n" + std::to_string(on);
      world.save_pod(pod);
    }
    world.save_budget({{"metadata", {{"name", "b"}, {"namespace", "default"}}},
                       {"spec", {{"selector", {{"matchLabels", {{"app", "x"}}}}}}},
                       {"status", {{"disruptionsAllowed", draw(0, 2)}}}});
    const int members = draw(1, 5), needed = draw(1, members), constraint = draw(0, 5);
    for (int i = 0; i < members; ++i) {
      Json pod = pod_of("m" + std::to_string(i), draw(1, 4), 100);
      pod["spec"]["schedulingGroup"] = {{"podGroupName", "g"}};
      Json& spec = pod["spec"];
      const Json same = {{"labelSelector", {{"matchLabels", {{"app", "x"}}}}},
                         {"topologyKey", "kubernetes.io/hostname"}};
      if (constraint == 1) spec["nodeSelector"] = {{"half", i % 2 == 0 ? "a" : "b"}};
      if (constraint == 2)
        spec["containers"][0]["ports"] = {{{"hostPort", 80}, {"containerPort", 80}}};
      if (constraint == 3)
        spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
            same};
      if (constraint == 4) {
        Json spread = same;
        spread["maxSkew"] = 1;
        spread["whenUnsatisfiable"] = "DoNotSchedule";
        spec["topologySpreadConstraints"] = {spread};
      }
      world.save_pod(pod);
    }
    Json group = {
        {"metadata", {{"name", "g"}, {"namespace", "default"}, {"uid", "g"}}},
        {"spec", {{"priority", 100}, {"schedulingPolicy", {{"gang", {{"minCount", needed}}}}}}}};
    if (constraint == 5)
      group["spec"]["schedulingConstraints"] = {{"topology", {{{"key", "half"}}}}};
    world.save_group(group);
    world.settle();
    const auto bound = [&] {
      int there = 0;
      for (int i = 0; i < members; ++i)
        there += world.node_of("m" + std::to_string(i)).empty() ? 0 : 1;
      return there;
    };
    // One after the other they are gone; nobody else goes meanwhile.
    for (std::set<std::string> gone; gone != world.evicted();) {
      const std::set<std::string> going = world.evicted();
      std::vector<std::string> order(going.begin(), going.end());
      std::ranges::shuffle(order, random);
      for (const std::string& name : order) {
        EXPECT_TRUE(bound() >= needed || world.evicted() == going) << Json(world.evicted());
        world.delete_pod(name);
        world.settle();
      }
      gone = going;
    }
    const bool evicted = !world.evicted().empty();
    (evicted ? evicting : refused) += 1;
    EXPECT_TRUE(!evicted || bound() >= needed)
        << Json(world.evicted()) << " " << world.condition("g");
    if (::testing::Test::HasFailure()) break;
  }
  std::printf("%zu clusters with evictions, %zu without\n", evicting, refused);
  EXPECT_GE(evicting, 200U);
}

// ---- within one domain of the network

class TopologyTest : public GroupTest {
 protected:
  using GroupTest::GroupTest;
  static Json node_in(const std::string& rack, const std::string& name, const std::string& cpu) {
    Json node = {{"metadata", {{"name", name}, {"labels", {{"kubernetes.io/hostname", name}}}}},
                 {"status", {{"allocatable", {{"cpu", cpu}, {"pods", "110"}}}}}};
    if (!rack.empty()) node["metadata"]["labels"]["rack"] = rack;
    return node;
  }
  void node(const std::string& rack, const std::string& name, const std::string& cpu) {
    world_.add_node(node_in(rack, name, cpu));
  }
  static Json group_of(int min_count) {
    Json group = GroupTest::group_of(min_count);
    group["spec"]["schedulingConstraints"] = {{"topology", {{{"key", "rack"}}}}};
    return group;
  }
  void group(int min_count) {
    world_.save_group(group_of(min_count));
    world_.settle();
  }
  // A pod that runs, of the group or of none.
  void running(const std::string& name, const std::string& cpu, const std::string& node,
               bool member) {
    Json pod = pod_of(name, cpu, member);
    pod["spec"]["nodeName"] = node;
    world_.save_pod(pod);
    world_.settle();
  }
  std::string nodes_of(const std::vector<std::string>& names) {
    std::string nodes;
    for (const std::string& name : names) nodes += world_.node_of(name) + " ";
    return nodes;
  }
};

TEST_F(TopologyTest, TakesTheSmallestRackThenTheOneThatLeavesTheLeast) {
  for (const char* name : {"a1", "a2", "a3"}) node("a", name, "4");
  for (const char* name : {"b1", "b2"}) node("b", name, "4");
  for (const char* name : {"c1", "c2"}) node("c", name, "4");
  node("", "nowhere", "64");
  running("other", "2", "c1", false);
  group(3);
  for (const char* name : {"p0", "p1", "p2"}) pod(name, "2");
  EXPECT_EQ(bound({"p0", "p1", "p2"}), 3U);
  EXPECT_EQ(nodes_of({"p0", "p1", "p2"}), "c1 c2 c2 ") << "by index along the nodes";
  const test::Labels profile{{"profile", "default-scheduler"}};
  EXPECT_EQ(world_.metric("generated_placements_total", profile), 3);
}

TEST_F(TopologyTest, FiltersJudgeAndTheNextRackIsTried) {
  Json tainted = node_in("a", "a1", "8");
  tainted["spec"]["taints"] = {{{"key", "k"}, {"effect", "NoSchedule"}}};
  world_.add_node(tainted);
  for (const char* name : {"b1", "b2"}) node("b", name, "4");
  group(2);
  for (const char* name : {"p0", "p1"}) pod(name, "2");
  EXPECT_EQ(bound({"p0", "p1"}), 2U);
  EXPECT_TRUE(world_.node_of("p0").starts_with("b")) << world_.node_of("p0");
  for (const char* result : {"feasible", "infeasible"}) {
    const test::Labels labels{{"result", result}, {"profile", "default-scheduler"}};
    EXPECT_EQ(world_.metric("placement_evaluations_total", labels), 1) << result;
    EXPECT_EQ(world_.metric("placement_evaluation_duration_seconds_count", labels), 1) << result;
  }
  EXPECT_EQ(world_.metric("podgroup_scheduling_algorithm_duration_seconds_count"), 1);
}

TEST_F(TopologyTest, FindsTheOrderThatFitsInTheOnlyRackThatHolds) {
  for (const char* name : {"a1", "a2", "a3"}) node("a", name, "3");
  for (const char* name : {"b1", "b2"}) node("b", name, "4");
  group(5);
  for (const char* name : {"s0", "s1", "s2", "s3"}) pod(name, "1");
  pod("large", "4");
  EXPECT_EQ(bound({"s0", "s1", "s2", "s3", "large"}), 5U);
  EXPECT_TRUE(world_.node_of("large").starts_with("b")) << world_.node_of("large");
}

TEST_F(TopologyTest, TakesTheRackWithTheMostIfNoneHoldsAll) {
  node("a", "a1", "2");
  node("b", "b1", "3");
  node("c", "c1", "1");
  for (const char* name : {"p0", "p1", "p2", "p3"}) pod(name, "1");
  group(1);
  EXPECT_EQ(bound({"p0", "p1", "p2", "p3"}), 3U);
  EXPECT_EQ(nodes_of({"p0", "p1", "p2"}), "b1 b1 b1 ");
  EXPECT_EQ(world_.message("p3"), "0/1 nodes are available: 1 Insufficient cpu.");
}

TEST_F(TopologyTest, LateMembersJoinTheOthers) {
  for (const char* name : {"a1", "a2"}) node("a", name, "4");
  node("b", "b1", "64");
  running("old", "2", "a1", true);
  group(2);
  pod("p0", "4");
  pod("p1", "2");
  EXPECT_EQ(nodes_of({"p0", "p1"}), "a2 a1 ");
  pod("p2", "1");
  EXPECT_EQ(bound({"p2"}), 0U) << "there is room in another rack only";
  EXPECT_EQ(world_.message("p2"), "0/2 nodes are available: 2 Insufficient cpu.");
  EXPECT_EQ(world_.condition("g"), "True/Scheduled: ");
  world_.delete_pod("p1");
  world_.settle();
  EXPECT_EQ(nodes_of({"p2"}), "a1 ");
}

// Step by step: an error is tried again at once, since the test has no backoffs.
class TopologyStepTest : public TopologyTest {
 protected:
  TopologyStepTest() : TopologyTest({}) {}
};

TEST_F(TopologyStepTest, MembersInTwoRacksOrNoneAreAnError) {
  node("a", "a1", "4");
  node("b", "b1", "4");
  node("", "c1", "4");
  running("old-b", "1", "b1", true);
  running("old-a", "1", "a1", true);
  group(1);
  pod("p0", "1");
  world_.step();
  const std::string cannot = "cannot determine domain for already scheduled pods: ";
  EXPECT_EQ(world_.message("p0"), cannot + "more than 1 domain found for pod group: a, b");
  EXPECT_EQ(world_.condition("g"), "False/SchedulerError: " + world_.message("p0"));
  world_.delete_pod("old-b");
  running("old-c", "1", "c1", true);
  world_.step();
  EXPECT_EQ(world_.message("p0"), cannot + "no topology domain found for pod default/old-c");
  Json going = world_.pod("old-c");
  going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  world_.save_pod(going);
  world_.step();
  EXPECT_EQ(nodes_of({"p0"}), "a1 ") << "one that goes counts no more";
}

TEST_F(TopologyTest, ALabelThatComesWakesTheGroup) {
  node("", "n1", "4");
  group(2);
  for (const char* name : {"p0", "p1"}) pod(name, "2");
  EXPECT_EQ(world_.message("p0"), "no feasible placements found");
  EXPECT_EQ(world_.condition("g"), "False/Unschedulable: no feasible placements found");
  node("a", "n1", "4");
  world_.settle();
  EXPECT_EQ(nodes_of({"p0", "p1"}), "n1 n1 ");
}

TEST_F(TopologyTest, SaysWhatTheBestRackHasAndWakesForRoomInARackThatWasNotLookedAt) {
  Json tainted = node_in("a", "a1", "8");
  tainted["spec"]["taints"] = {{{"key", "k"}, {"effect", "NoSchedule"}}};
  world_.add_node(tainted);
  for (const char* name : {"b1", "b2"}) node("b", name, "4");
  running("other", "3", "b2", false);
  group(4);
  for (const char* name : {"p0", "p1", "p2", "p3"}) pod(name, "2");
  EXPECT_EQ(bound({"p0", "p1", "p2", "p3"}), 0U);
  EXPECT_EQ(world_.condition("g"),
            "False/Unschedulable: pod group is unschedulable, 0/2 placements are available, first "
            "placement status: minCount (4) cannot be satisfied: 0 scheduled, 3 remaining, pod "
            "group preemption: No preemption victims found for incoming preemptor; p0: 0/1 nodes "
            "are available: 1 node(s) had untolerated taint(s).");
  world_.delete_pod("other");
  world_.settle();
  EXPECT_EQ(nodes_of({"p0", "p1", "p2", "p3"}), "b1 b1 b2 b2 ");
}

TEST_F(TopologyTest, APodThatNamesItsNodeDecidesOnTheRack) {
  for (const char* name : {"a1", "a2"}) node("a", name, "4");
  for (const char* name : {"b1", "b2", "b3"}) node("b", name, "4");
  group(2);
  pod("p0", "2");
  Json pinned = pod_of("p1", "2");
  pinned["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
      {"nodeSelectorTerms",
       {{{"matchFields", {{{"key", "metadata.name"}, {"operator", "In"}, {"values", {"b2"}}}}}}}}};
  world_.save_pod(pinned);
  world_.settle();
  EXPECT_EQ(world_.node_of("p1"), "b2");
  EXPECT_TRUE(world_.node_of("p0").starts_with("b")) << world_.node_of("p0");
}

TEST_F(TopologyTest, PodsGoAlongTheNodesInTheOrderOfTheirIndex) {
  for (const char* name : {"n-10", "n-9", "n-2", "n-1"}) node("a", name, "4");
  std::vector<std::string> names;
  world_.save_group(group_of(12));
  for (const int index : {11, 3, 7, 0, 10, 5, 1, 9, 2, 8, 6, 4})
    world_.save_pod(pod_of("w-" + std::to_string(index), "1"));
  for (int index = 0; index < 12; ++index) names.push_back("w-" + std::to_string(index));
  world_.settle();
  EXPECT_EQ(bound(names), 12U);
  const std::vector<std::string> along{"n-1", "n-2", "n-9", "n-10"};
  size_t last = 0;
  for (const std::string& name : names) {
    const auto at =
        static_cast<size_t>(std::ranges::find(along, world_.node_of(name)) - along.begin());
    EXPECT_GE(at, last) << name << " on " << world_.node_of(name);
    last = at;
  }
}

// Blocks of racks; the racks of each block have the same names.
class LevelsTest : public TopologyTest {
 protected:
  LevelsTest()
      : TopologyTest({.stepwise = false, .gang_args = R"({"topologyLevels":["block","rack"]})"}) {
    for (const char* block : {"x", "y"}) {
      for (const char* rack : {"1", "2"}) {
        for (const char* name : {"a", "b"}) {
          Json node = node_in(rack, std::string(block) + rack + name, "4");
          node["metadata"]["labels"]["block"] = block;
          world_.add_node(node);
        }
      }
    }
  }
  // Pods of 2 CPUs. Where they are: "x1", or "x", or "" if they are in no rack, no block.
  std::string place_of(int count, const Json& annotations) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
      names.push_back("p" + std::to_string(i));
      Json pod = pod_of(names.back(), "2");
      pod["metadata"]["annotations"] = annotations;
      world_.save_pod(pod);
    }
    world_.settle();
    EXPECT_EQ(bound(names), static_cast<size_t>(count));
    std::string place = world_.node_of("p0").substr(0, 2);
    for (const std::string& name : names) {
      while (!world_.node_of(name).starts_with(place)) place.pop_back();
    }
    return place;
  }
  void wish(int min_count, const std::string& required, const std::string& preferred) {
    Json group = GroupTest::group_of(min_count);
    if (!required.empty())
      group["metadata"]["annotations"]["topology.plimsoll.io/required"] = required;
    if (!preferred.empty())
      group["metadata"]["annotations"]["topology.plimsoll.io/preferred"] = preferred;
    world_.save_group(group);
    world_.settle();
  }
};

TEST_F(LevelsTest, TheNarrowestDomainThatHoldsAllIsTakenWithinTheOneRequired) {
  running("other", "2", "y2b", false);
  wish(3, "block", "");
  EXPECT_EQ(place_of(3, {}), "y2") << "a rack of one block, the one that it fills";
}

TEST_F(LevelsTest, MoreThanARackHoldsStaysInTheBlock) {
  wish(6, "block", "");
  EXPECT_EQ(place_of(6, {}).size(), 1U);
}

TEST_F(LevelsTest, MoreThanABlockHoldsIsRefusedIfRequiredAndSpreadIfPreferred) {
  wish(9, "block", "");
  std::vector<std::string> names;
  for (int i = 0; i < 9; ++i) {
    names.push_back("p" + std::to_string(i));
    world_.save_pod(pod_of(names.back(), "2"));
  }
  world_.settle();
  EXPECT_EQ(bound(names), 0U);
  wish(9, "", "rack");
  node("", "far", "1");  // an event that may help
  world_.settle();
  EXPECT_EQ(bound(names), 9U);
}

TEST_F(LevelsTest, PreferredGoesUpLevelByLevel) {
  wish(5, "", "rack");
  EXPECT_EQ(place_of(5, {}).size(), 1U) << "no rack holds five, each block does";
}

TEST_F(LevelsTest, LateMembersOfAGroupThatPrefersJoinTheOthersIfThereIsRoom) {
  running("old", "2", "x2a", true);
  wish(1, "", "rack");
  EXPECT_EQ(place_of(2, {}), "x2");
  pod("late", "4");
  EXPECT_EQ(world_.node_of("late").substr(0, 1), "x") << "the rack is full, the block is not";
}

TEST_F(LevelsTest, KueuesAnnotationsOfPodsCount) {
  wish(4, "", "");
  EXPECT_EQ(place_of(4, {{"kueue.x-k8s.io/podset-required-topology", "rack"}}).size(), 2U);
}

// 100 racks refuse all 1,000 pods, the last takes some.
TEST_F(TopologyTest, ARackThatTakesThemIsFoundBehindManyThatDoNot) {
  for (int rack = 0; rack < 100; ++rack) {
    const std::string name = "r" + std::to_string(100 + rack);
    for (int i = 0; i < 10; ++i) {
      Json tainted = node_in(name, name + "-" + std::to_string(i), "200");
      tainted["spec"]["taints"] = {{{"key", "k"}, {"effect", "NoSchedule"}}};
      world_.add_node(tainted);
    }
  }
  node("z", "z1", "100");
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    names.push_back("p" + std::to_string(i));
    world_.save_pod(pod_of(names.back(), "1"));
  }
  group(1);
  EXPECT_EQ(bound(names), 100U) << world_.condition("g");
}

TEST(TopologyLevels, AreTriedFromTheNarrowest) {
  using Keys = std::vector<std::vector<std::string>>;
  const std::vector<std::string> levels{"block", "rack", "host"};
  EXPECT_EQ(levels_to_try({"block", ""}, levels),
            (Keys{{"block", "rack", "host"}, {"block", "rack"}, {"block"}}));
  EXPECT_EQ(levels_to_try({"host", ""}, levels), (Keys{{"block", "rack", "host"}}));
  EXPECT_EQ(levels_to_try({"", "rack"}, levels),
            (Keys{{"block", "rack", "host"}, {"block", "rack"}, {"block"}}));
  EXPECT_EQ(levels_to_try({"zone", "rack"}, levels), (Keys{{"zone", "block", "rack", "host"},
                                                           {"zone", "block", "rack"},
                                                           {"zone", "block"},
                                                           {"zone"}}));
  EXPECT_EQ(levels_to_try({"zone", "row"}, levels), (Keys{{"zone", "row"}, {"zone"}}));
  EXPECT_EQ(levels_to_try({"", "row"}, {}), (Keys{{"row"}}));
  EXPECT_EQ(levels_to_try({"zone", ""}, levels), (Keys{{"zone"}}));
}

TEST(GroupDomains, NamesAndIndicesAreComparedAsNumbers) {
  for (const auto& [a, b] : std::vector<std::pair<std::string, std::string>>{
           {"n-2", "n-10"}, {"n", "n-1"}, {"a-9-x", "a-10-a"}, {"n-02", "n-10"}, {"n-02", "n-2"}}) {
    EXPECT_TRUE(is_named_before(a, b)) << a << " " << b;
    EXPECT_FALSE(is_named_before(b, a)) << a << " " << b;
  }
  SymbolTable symbols;
  const auto pod = [&](const std::string& name, const std::string& index) {
    Json made = {{"metadata", {{"name", name}, {"namespace", "default"}}}, {"spec", {}}};
    if (!index.empty())
      made["metadata"]["labels"] = {{"batch.kubernetes.io/job-completion-index", index}};
    return *decode_pod(made.dump(), symbols);
  };
  EXPECT_TRUE(has_lower_index(*pod("w-9", ""), *pod("w-10", "")));
  EXPECT_TRUE(has_lower_index(*pod("job-x7", "2"), *pod("job-x3", "11")));
  EXPECT_TRUE(has_lower_index(*pod("w-99999999999999999999999", ""), *pod("w-abc", "")));
  const PodRef leader = *decode_pod(
      R"({"metadata":{"name":"s-2","namespace":"default",
          "labels":{"leaderworkerset.sigs.k8s.io/worker-index":"0"}}})",
      symbols);
  EXPECT_TRUE(has_lower_index(*leader, *pod("s-2-1", "")));
  EXPECT_FALSE(has_lower_index(*pod("w-abc", ""), *pod("w-7", "")));
}

// Small random clusters beside a search over all racks, which is exact for pods that are all alike.
TEST(GroupDomains, NoBetterRackIsPassedOver) {
  std::mt19937 random(1);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<uint32_t>(high - low + 1));
  };
  int in_one = 0, in_part = 0, refused = 0;
  for (int round = 0; round < 150 && !::testing::Test::HasFailure(); ++round) {
    World world({.stepwise = false});
    world.sync();
    const int wanted = draw(1, 5), needed = draw(1, wanted), each = draw(1, 4);
    std::vector<std::tuple<size_t, int, std::string>> whole;  // racks that hold all, by preference
    int most = 0;
    for (const char* rack : {"a", "b", "c"}) {
      const int nodes = draw(1, 3);
      int holds = 0, free = 0;
      for (int i = 0; i < nodes; ++i) {
        const int cpu = draw(1, 8);
        holds += cpu / each;
        free += cpu;
        world.add_node(
            {{"metadata", {{"name", rack + std::to_string(i)}, {"labels", {{"rack", rack}}}}},
             {"status", {{"allocatable", {{"cpu", std::to_string(cpu)}, {"pods", "110"}}}}}});
      }
      if (holds >= wanted) whole.emplace_back(nodes, free, rack);
      most = std::max(most, std::min(holds, wanted));
    }
    for (int i = 0; i < wanted; ++i) {
      const std::string name = "p" + std::to_string(i);
      world.save_pod(
          {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}}},
           {"spec",
            {{"schedulerName", "default-scheduler"},
             {"priority", 0},
             {"schedulingGroup", {{"podGroupName", "g"}}},
             {"containers",
              {{{"name", "c"}, {"resources", {{"requests", {{"cpu", std::to_string(each)}}}}}}}}}},
           {"status", {{"phase", "Pending"}}}});
    }
    world.save_group({{"metadata", {{"name", "g"}, {"namespace", "default"}, {"uid", "g"}}},
                      {"spec",
                       {{"priority", 0},
                        {"schedulingPolicy", {{"gang", {{"minCount", needed}}}}},
                        {"schedulingConstraints", {{"topology", {{{"key", "rack"}}}}}}}}});
    world.settle();
    std::map<std::string, int> bound;  // by rack
    int sum = 0;
    for (int i = 0; i < wanted; ++i) {
      const std::string node = world.node_of("p" + std::to_string(i));
      if (node.empty()) continue;
      ++bound[node.substr(0, 1)];
      ++sum;
    }
    EXPECT_LE(bound.size(), 1U) << round;
    EXPECT_EQ(sum, most >= needed ? most : 0) << round;
    if (!whole.empty()) {
      EXPECT_EQ(bound.begin()->first, std::get<2>(*std::ranges::min_element(whole))) << round;
    }
    (!whole.empty() ? in_one : sum != 0 ? in_part : refused) += 1;
  }
  EXPECT_GE(in_one, 50);
  EXPECT_GE(in_part, 10);
  EXPECT_GE(refused, 10);
}

// Amounts that the profile's filters do not ask for refuse no rack.
TEST(GroupDomains, WhatFiltersIgnoreDoesNotCount) {
  for (const bool ignored : {false, true}) {
    World world({.stepwise = false,
                 .fit_args = ignored ? R"({"ignoredResourceGroups":["example.com"]})" : ""});
    world.sync();
    Json node = {
        {"metadata", {{"name", "n"}, {"labels", {{"rack", "a"}}}}},
        {"status", {{"allocatable", {{"cpu", "4"}, {"pods", "110"}, {"example.com/x", "1"}}}}}};
    world.add_node(node);
    world.save_group({{"metadata", {{"name", "g"}, {"namespace", "default"}, {"uid", "g"}}},
                      {"spec",
                       {{"priority", 0},
                        {"schedulingPolicy", {{"gang", {{"minCount", 1}}}}},
                        {"schedulingConstraints", {{"topology", {{{"key", "rack"}}}}}}}}});
    world.save_pod(
        {{"metadata", {{"name", "p"}, {"namespace", "default"}, {"uid", "p"}}},
         {"spec",
          {{"schedulerName", "default-scheduler"},
           {"priority", 0},
           {"schedulingGroup", {{"podGroupName", "g"}}},
           {"containers",
            {{{"name", "c"}, {"resources", {{"requests", {{"example.com/x", "2"}}}}}}}}}},
         {"status", {{"phase", "Pending"}}}});
    world.settle();
    EXPECT_EQ(world.node_of("p"), ignored ? "n" : "");
  }
}

// Looks at nodes for a gang of eight on 200 nodes in so many racks, of which only the last takes
// it.
size_t looks_in(size_t racks, const std::function<void(Json& node)>& spoil) {
  World world({.stepwise = false, .counts = true});
  world.sync();
  for (size_t i = 0; i < 200; ++i) {
    const size_t rack = i * racks / 200;
    Json node = {
        {"metadata",
         {{"name", "n" + std::to_string(i)}, {"labels", {{"rack", "r" + std::to_string(rack)}}}}},
        {"status", {{"allocatable", {{"cpu", "4"}, {"pods", "110"}}}}}};
    if (i < 196) spoil(node);
    world.add_node(node);
  }
  world.save_group({{"metadata", {{"name", "g"}, {"namespace", "default"}, {"uid", "g"}}},
                    {"spec",
                     {{"priority", 0},
                      {"schedulingPolicy", {{"gang", {{"minCount", 8}}}}},
                      {"schedulingConstraints", {{"topology", {{{"key", "rack"}}}}}}}}});
  world.settle();
  Counter::looks = 0;
  for (int i = 0; i < 8; ++i) {
    const std::string name = "p" + std::to_string(i);
    world.save_pod(
        {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}}},
         {"spec",
          {{"schedulerName", "default-scheduler"},
           {"priority", 0},
           {"schedulingGroup", {{"podGroupName", "g"}}},
           {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", "2"}}}}}}}}}},
         {"status", {{"phase", "Pending"}}}});
  }
  world.settle();
  for (int i = 0; i < 8; ++i) EXPECT_NE(world.node_of("p" + std::to_string(i)), "");
  return Counter::looks;
}

TEST(GroupDomains, FiftyRacksCostHardlyMoreThanOne) {
  const auto full = [](Json& node) { node["status"]["allocatable"]["cpu"] = "1"; };
  const auto tainted = [](Json& node) {
    node["spec"]["taints"] = {{{"key", "k"}, {"effect", "NoSchedule"}}};
  };
  for (const auto& spoil : std::vector<std::function<void(Json&)>>{full, tainted}) {
    const size_t one = looks_in(1, spoil), fifty = looks_in(50, spoil);
    EXPECT_LE(2 * fifty, 3 * one) << fifty << " and " << one;
    EXPECT_GE(one, 200U);
  }
}

// ---- Coscheduling: groups that a label names

class CoschedulingTest : public GroupTest {
 protected:
  explicit CoschedulingTest(const std::string& args = "{}", bool stepwise = true)
      : GroupTest({.stepwise = stepwise, .coscheduling = args}) {}

  static Json labelled_group(const std::string& name, const Json& min_member, int second = 0) {
    return {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
            {"metadata",
             {{"name", name},
              {"namespace", "default"},
              {"uid", "uid-" + name},
              {"creationTimestamp", "2026-01-01T00:00:" + std::to_string(10 + second) + "Z"}}},
            {"spec", {{"minMember", min_member}}}};
  }
  void group(const std::string& name, const Json& min_member, int second = 0) {
    world_.save_group(labelled_group(name, min_member, second));
    world_.settle();
  }
  static Json labelled(const std::string& name, const std::string& cpu, const std::string& group,
                       int priority = 0) {
    Json pod = pod_of(name, cpu, false);
    if (!group.empty()) pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = group;
    pod["spec"]["priority"] = priority;
    return pod;
  }
  void pod(const std::string& name, const std::string& cpu, const std::string& group,
           int priority = 0) {
    world_.save_pod(labelled(name, cpu, group, priority));
    world_.settle();
  }
  // Until nothing is left to decide.
  void run() {
    for (int i = 0; i < 100 && world_.stats().queue.active != 0; ++i) world_.step();
    EXPECT_EQ(world_.stats().queue.active, 0U);
  }
  std::string held_by(const std::string& pod) {
    const Explanation why = world_.explain(pod);
    return why.queue->rejectors.empty() ? "" : why.queue->rejectors.front().text;
  }
  std::string bound_pods() {
    std::string all;
    world_.for_each_pod([&](const Json& pod) {
      if (pod["spec"].value("nodeName", "").empty()) return;
      all += (all.empty() ? "" : " ") + pod["metadata"]["name"].get<std::string>();
    });
    return all;
  }
};

// The cases of scheduler-plugins' own integration test (test/integration/coscheduling_test.go): one
// node with room for six.
struct UpstreamCase {
  const char* what;
  std::vector<std::pair<std::string, int>> groups;  // minMember
  const char* pods;                                 // name:size:group:priority
  const char* bound;
};

const std::vector<UpstreamCase> kUpstreamCases = {
    {"one group fits, then the other does not",
     {{"g1", 3}, {"g2", 4}},
     "a1:1:g1 a2:1:g1 a3:1:g1 b1:2:g2 b2:2:g2 b3:2:g2 b4:2:g2",
     "a1 a2 a3"},
    {"the same, in turns",
     {{"g1", 3}, {"g2", 4}},
     "a1:1:g1 b1:2:g2 a2:1:g1 b2:2:g2 a3:1:g1 b3:2:g2 b4:2:g2",
     "a1 a2 a3"},
    {"too few pods, and others beside them",
     {{"g1", 4}},
     "a1:1:g1 b:2: a2:1:g1 c:2: a3:1:g1",
     "b c"},
    {"the group of higher priority",
     {{"g1", 3}, {"g2", 3}},
     "a1:2:g1:5 a2:2:g1:5 a3:2:g1:5 b1:1:g2:10 b2:1:g2:10 b3:1:g2:10",
     "b1 b2 b3"},
    {"the same, in turns",
     {{"g1", 3}, {"g2", 3}},
     "a1:2:g1:5 b1:1:g2:10 a2:2:g1:5 b2:1:g2:10 a3:2:g1:5 b3:1:g2:10",
     "b1 b2 b3"},
    {"pods of higher priority without a group",
     {{"g1", 3}},
     "a1:1:g1:5 b:2::10 a2:1:g1:5 c:2::10 a3:1:g1:5 d:2::10",
     "b c d"},
    {"one of three groups",
     {{"g1", 3}, {"g2", 4}, {"g3", 4}},
     "a1:1:g1 b1:2:g2 c1:2:g3 a2:1:g1 b2:2:g2 c2:2:g3 a3:1:g1 b3:2:g2 c3:2:g3 b4:2:g2 c4:2:g3",
     "a1 a2 a3"},
};

class UpstreamCoschedulingTest : public CoschedulingTest,
                                 public ::testing::WithParamInterface<bool> {
 protected:
  UpstreamCoschedulingTest() : CoschedulingTest("{}", GetParam()) {}
};

// All pods are there before anything is decided on, or each is when it comes.
TEST_P(UpstreamCoschedulingTest, BindsTheSamePods) {
  node("n", "6");
  for (const UpstreamCase& each : kUpstreamCases) {
    int second = 0;
    for (const auto& [name, needed] : each.groups) group(name, needed, second++);
    std::istringstream pods(each.pods);
    std::vector<std::string> names;
    for (std::string text; pods >> text;) {
      std::istringstream fields(text);
      std::string name, size, group, priority;
      std::getline(fields, name, ':');
      std::getline(fields, size, ':');
      std::getline(fields, group, ':');
      std::getline(fields, priority, ':');
      names.push_back(name);
      pod(name, size, group, priority.empty() ? 0 : std::stoi(priority));
    }
    if (GetParam()) {
      run();
      EXPECT_EQ(bound_pods(), each.bound) << each.what;
    }
    // Where others were bound before, these had to make room.
    std::istringstream expected(each.bound);
    for (std::string name; expected >> name;) {
      EXPECT_NE(world_.node_of(name), "") << each.what << ": " << name;
    }
    EXPECT_EQ(world_.stats().assumed_pods, 0U);
    for (const std::string& name : names) world_.delete_pod(name);
    for (const auto& [name, needed] : each.groups) world_.delete_group(name);
    world_.settle();
  }
}
INSTANTIATE_TEST_SUITE_P(, UpstreamCoschedulingTest, ::testing::Bool());

TEST_F(CoschedulingTest, PodsThatHaveEndedDoNotCount) {
  node("n", "8");
  group("g", 6);
  Json ended = labelled("p1", "1", "g");
  ended["spec"]["nodeName"] = "n";
  ended["status"]["phase"] = "Succeeded";
  world_.save_pod(ended);
  for (const char* name : {"p2", "p3", "p4", "p5", "p6"}) pod(name, "1", "g");
  run();
  EXPECT_EQ(bound_pods(), "p1");
  EXPECT_EQ(held_by("p2"),
            "pre-filter pod p2 cannot find enough sibling pods, current pods number: 5, minMember "
            "of group: 6");
  pod("p7", "1", "g");
  run();
  EXPECT_EQ(bound_pods(), "p1 p2 p3 p4 p5 p6 p7");
}

TEST_F(CoschedulingTest, OneThatDoesNotFitHoldsNothingAndLetsOthersPass) {
  node("n1", "6");
  for (const char* name : {"n2", "n3", "n4"}) node(name, "2");
  group("g1", 6);
  group("g2", 1, 1);
  for (int i = 1; i <= 6; ++i) pod("a" + std::to_string(i), "4", "g1");
  pod("b", "2", "g2");
  run();
  EXPECT_EQ(bound_pods(), "b");
  EXPECT_EQ(world_.stats().assumed_pods, 0U);
  const std::string why =
      "PodGroup default/g1 gets rejected due to Pod a2 is unschedulable even after PostFilter, "
      "minMember (6) cannot be satisfied: 1 scheduled, 4 remaining";
  EXPECT_TRUE(world_.message("a1").starts_with(why)) << world_.message("a1");
  EXPECT_TRUE(world_.message("a6").starts_with(why)) << world_.message("a6");
  EXPECT_TRUE(world_.message("a2").starts_with("0/4 nodes are available"));
  const Explanation told = world_.explain("a1");
  ASSERT_TRUE(told.group);
  EXPECT_EQ(told.group->name, "default/g1");
  EXPECT_TRUE(told.group->said.starts_with("Unschedulable: " + why)) << told.group->said;
  EXPECT_EQ(world_.requests(), 0U) << "scheduler-plugins' controller writes the status";
}

TEST_F(CoschedulingTest, ThePodThatComesWithoutItsGroupWaitsForIt) {
  node("n", "8");
  pod("a", "1", "g");
  pod("single", "1", "");
  run();
  EXPECT_EQ(bound_pods(), "single");
  EXPECT_EQ(held_by("a"), "PodGroup not found: default/g");
  EXPECT_EQ(world_.explain("a").queue->rejectors.front().plugin, "Coscheduling");
  group("g", 2);
  pod("b", "1", "g");
  run();
  EXPECT_EQ(bound_pods(), "a b single");
  world_.delete_group("g");
  pod("c", "1", "g");
  run();
  EXPECT_EQ(held_by("c"), "PodGroup not found: default/g");
  group("g", 3);
  run();
  EXPECT_EQ(bound_pods(), "a b c single") << "those that run count";
}

TEST_F(CoschedulingTest, WhoIsGatedHoldsNobodyIfTheOthersAreEnough) {
  node("n", "8");
  group("g", 2);
  Json gated = labelled("a", "1", "g");
  gated["spec"]["schedulingGates"] = {{{"name", "example.com/wait"}}};
  world_.save_pod(gated);
  pod("b", "1", "g");
  run();
  EXPECT_EQ(bound_pods(), "");
  pod("c", "1", "g");
  run();
  EXPECT_EQ(bound_pods(), "b c");
  EXPECT_EQ(held_by("a"), "waiting for scheduling gates: [example.com/wait]");
  pod("a", "1", "g");
  run();
  EXPECT_EQ(bound_pods(), "a b c");
}

TEST_F(CoschedulingTest, ALabelThatChangesMovesThePod) {
  node("n", "8");
  group("g", 2);
  group("h", 2);
  pod("a", "1", "g");
  pod("b", "1", "h");
  run();
  EXPECT_EQ(bound_pods(), "");
  pod("a", "1", "h");
  run();
  EXPECT_EQ(bound_pods(), "a b");
  // One that runs goes over: it counts there, and no more here.
  pod("c", "1", "g");
  Json moved = world_.pod("a");
  moved["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "g";
  world_.save_pod(moved);
  world_.settle();
  pod("d", "1", "h");
  group("h", 3);
  run();
  EXPECT_EQ(bound_pods(), "a b c");
  EXPECT_EQ(world_.explain("d").group->placed, 1U);
  pod("d", "1", "");
  run();
  EXPECT_EQ(bound_pods(), "a b c d");
}

TEST_F(CoschedulingTest, SpecSchedulingGroupCountsFirst) {
  node("n", "8");
  world_.save_group(group_of(2));
  group("other", 1);
  Json both = labelled("a", "1", "other");
  both["spec"]["schedulingGroup"] = {{"podGroupName", "g"}};
  world_.save_pod(both);
  run();
  EXPECT_EQ(bound_pods(), "");
  GroupTest::pod("b", "1");
  run();
  EXPECT_EQ(bound_pods(), "a b");
}

TEST_F(CoschedulingTest, AnyNumberOfMembersMayBeAsked) {
  node("n", "8");
  group("zero", 0);
  group("negative", -5);
  group("huge", int64_t{1} << 31);
  world_.save_group({{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                     {"metadata", {{"name", "nothing"}, {"namespace", "default"}}}});
  for (const char* name : {"zero", "negative", "huge", "nothing"})
    pod(std::string("p-") + name, "1", name);
  run();
  EXPECT_EQ(bound_pods(), "p-negative p-nothing p-zero");
  EXPECT_TRUE(held_by("p-huge").starts_with("pod group default/huge: ")) << held_by("p-huge");
  group("huge", INT32_MAX);
  run();
  EXPECT_EQ(world_.explain("p-huge").group->needed, size_t{INT32_MAX});
  EXPECT_EQ(world_.explain("p-huge").queue->place, "gated");
}

TEST_F(CoschedulingTest, AClusterWithoutTheKindKeepsOnlyTheirPodsWaiting) {
  world_.post(KindSynced{std::string(kLabelledGroups), false});
  node("n", "8");
  pod("a", "1", "g");
  pod("single", "1", "");
  run();
  EXPECT_EQ(bound_pods(), "single");
  EXPECT_EQ(held_by("a"), "PodGroup not found: default/g");
}

TEST_F(CoschedulingTest, WhileItsKindIsNotFollowedOnlyItsPodsWait) {
  node("n", "8");
  group("g", 1);
  world_.post(KindFollowed{std::string(kLabelledGroups), false, "connection refused"});
  pod("a", "1", "g");
  pod("single", "1", "");
  run();
  EXPECT_EQ(bound_pods(), "single");
  EXPECT_NE(world_.message("a").find("which is not followed: connection refused"),
            std::string::npos)
      << world_.message("a");
  world_.post(KindFollowed{std::string(kLabelledGroups), true, ""});
  world_.settle();
  run();
  EXPECT_EQ(bound_pods(), "a single");
}

TEST_F(CoschedulingTest, StaysInOneRackIfItsAnnotationSaysSo) {
  const auto in_rack = [this](const std::string& name, const char* cpu, const char* rack) {
    world_.add_node({{"metadata", {{"name", name}, {"labels", {{"rack", rack}}}}},
                     {"status", {{"allocatable", {{"cpu", cpu}, {"pods", "110"}}}}}});
    world_.settle();
  };
  in_rack("b1", "3", "b");
  node("alone", "8");
  Json made = labelled_group("g", 2);
  made["metadata"]["annotations"]["topology.plimsoll.io/required"] = "rack";
  world_.save_group(made);
  pod("p-0", "2", "g");
  pod("p-1", "2", "g");
  run();
  EXPECT_EQ(bound_pods(), "");
  in_rack("a1", "2", "a");
  in_rack("a2", "2", "a");
  run();
  EXPECT_EQ(world_.node_of("p-0") + world_.node_of("p-1"), "a1a2");
}

TEST_F(CoschedulingTest, NobodyEvictsByThePriorityOfASibling) {
  node("n", "2");
  Json low = pod_of("low", "2", false);
  low["spec"]["nodeName"] = "n";
  low["spec"]["priority"] = 5;
  world_.save_pod(low);
  group("g", 2);
  pod("a", "1", "g", 10);
  pod("b", "1", "g", 1);
  run();
  EXPECT_EQ(world_.evicted(), std::set<std::string>());
  world_.delete_pod("b");
  pod("c", "1", "g", 9);
  run();
  EXPECT_EQ(world_.evicted(), std::set<std::string>{"low"});
  EXPECT_EQ(bound_pods(), "a c");
}

TEST_F(GroupTest, TheLabelMeansNothingWithoutCoscheduling) {
  node("n", "8");
  Json labelled = pod_of("a", "1", false);
  labelled["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = "missing";
  world_.save_pod(labelled);
  world_.settle();
  EXPECT_EQ(world_.node_of("a"), "n");
}

class CoschedulingBackoffTest : public CoschedulingTest {
 protected:
  CoschedulingBackoffTest() : CoschedulingTest(R"({"podGroupBackoffSeconds":20})") {}
};

TEST_F(CoschedulingBackoffTest, ARefusedGroupIsLeftAloneForSoLong) {
  node("n", "1");
  group("g", 2);
  for (const char* name : {"a", "b"}) pod(name, "1", "g");
  run();
  node("m", "1");
  world_.settle();
  EXPECT_EQ(world_.explain("a").queue->place, "errorBackoff");
  world_.step(3);
  EXPECT_EQ(bound_pods(), "");
  world_.pass(25'000);
  world_.step(3);
  EXPECT_EQ(bound_pods(), "a b");
}

// ---- when things fail

// One decision at a time.
class FailureTest : public EvictionTest {
 protected:
  FailureTest() : EvictionTest({}) {}
  // What was said last of the pod's group.
  std::string said(const std::string& pod) {
    const Explanation why = world_.explain(pod);
    return why.group ? why.group->said : "";
  }
  static Json in_rack(const std::string& rack, const std::string& name, const std::string& cpu) {
    return {{"metadata", {{"name", name}, {"labels", {{"rack", rack}}}}},
            {"status", {{"allocatable", {{"cpu", cpu}, {"pods", "110"}}}}}};
  }
  static Json group_in_rack(int min_count) {
    Json group = group_of(min_count);
    group["spec"]["schedulingConstraints"] = {{"topology", {{{"key", "rack"}}}}};
    return group;
  }
};

TEST_F(FailureTest, ABindingThatFailsKeepsItsPlace) {
  node("n", "2");
  for (const char* name : {"a", "b"}) world_.save_pod(pod_of(name, "1"));
  GroupTest::group(1);
  pod("single", "1", false);  // it is next, and has seen no room but that of b
  world_.fail_bind("b");
  world_.step();
  EXPECT_EQ(bound({"a"}), 1U);
  EXPECT_EQ(world_.nominated("b"), "n");
  EXPECT_TRUE(said("b").starts_with("default/b was not bound, and keeps its place on n: "))
      << said("b");
  world_.step(2);
  EXPECT_EQ(world_.node_of("b"), "n");
  EXPECT_EQ(world_.node_of("single"), "");
}

TEST_F(FailureTest, APlaceInWhichBindingsFailAgainAndAgainIsGivenUp) {
  node("n", "2");
  for (const char* name : {"a", "b"}) world_.save_pod(pod_of(name, "1"));
  GroupTest::group(2);
  for (uint32_t i = 0; i < Bindings::kMostFailuresInPlace; ++i) {
    EXPECT_EQ(world_.nominated("b"), i == 0 ? "" : "n");
    world_.fail_bind("b");
    world_.step();
  }
  EXPECT_EQ(world_.nominated("b"), "");
  EXPECT_TRUE(said("b").starts_with("default/b was not bound, and loses its place: ")) << said("b");
  world_.step();
  EXPECT_EQ(bound({"a", "b"}), 2U);
}

TEST_F(FailureTest, APlaceIsNotKeptForAGroupThatIsGoneOrNotComplete) {
  for (const bool deleted : {true, false}) {
    node("n", "2");
    for (const char* name : {"a", "b"}) world_.save_pod(pod_of(name, "1"));
    GroupTest::group(2);
    world_.fail_bind("b");
    world_.step();
    EXPECT_EQ(world_.nominated("b"), "n");
    if (deleted) world_.delete_group("g");
    if (!deleted) GroupTest::group(5);
    pod("single", "1", false);
    world_.step(2);
    EXPECT_EQ(world_.node_of("single"), "n");
    EXPECT_EQ(world_.node_of("b"), "");
    for (const char* name : {"a", "b", "single"}) world_.delete_pod(name);
    if (!deleted) world_.delete_group("g");
    world_.settle();
  }
}

TEST_F(FailureTest, AGroupWhoseRestHasNoPlaceSaysSo) {
  for (const char* name : {"n", "m", "o"}) node(name, "1");
  for (const char* name : {"a", "b", "c"}) world_.save_pod(pod_of(name, "1"));
  GroupTest::group(3);
  world_.fail_bind("c");
  world_.step();
  world_.delete_node(world_.nominated("c"));
  world_.settle();
  world_.step();
  EXPECT_EQ(bound({"a", "b", "c"}), 2U);
  EXPECT_TRUE(said("c").starts_with(
      "Unschedulable: minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"))
      << said("c");
  EXPECT_EQ(world_.message("c"), "0/2 nodes are available: 2 Insufficient cpu.");
  EXPECT_EQ(world_.condition("g"), "True/Scheduled: ") << "what has been said stays";
  node("p", "1");
  world_.settle();
  world_.step();
  EXPECT_EQ(world_.node_of("c"), "p");
}

TEST_F(FailureTest, WhatIsMissingOfAGroupGoesBeforeOthersOfItsPriority) {
  for (const char* name : {"n", "m"}) node(name, "1");
  for (const char* name : {"a", "b"}) world_.save_pod(pod_of(name, "1"));
  GroupTest::group(2);
  world_.step();
  EXPECT_EQ(bound({"a", "b"}), 2U);
  pod("single", "1", false);
  world_.step();
  const std::string dead = world_.node_of("b");
  world_.delete_node(dead);
  world_.delete_pod("b");
  pod("b2", "1");
  world_.settle();
  world_.step(2);
  EXPECT_EQ(bound({"b2", "single"}), 0U);
  node("o", "1");
  world_.settle();
  world_.step(2);
  EXPECT_EQ(world_.node_of("b2"), "o");
  EXPECT_EQ(bound({"single"}), 0U);
}

TEST_F(FailureTest, AfterAKillTheRestIsPlacedFirstAndInTheSameRack) {
  for (const char* name : {"a1", "a2"}) world_.add_node(in_rack("a", name, "2"));
  for (const char* name : {"b1", "b2", "b3"}) world_.add_node(in_rack("b", name, "2"));
  const std::vector<std::string> names{"p0", "p1", "p2", "p3"};
  for (const std::string& name : names) world_.save_pod(pod_of(name, "1"));
  world_.die_after(2);
  world_.save_group(group_in_rack(4));
  world_.settle();
  world_.step();
  ASSERT_TRUE(world_.is_dead());
  for (int i = 0; i < 10; ++i) world_.save_pod(pod_of("0-single-" + std::to_string(i), "1", false));
  world_.restart();
  EXPECT_EQ(bound(names), 2U);
  world_.step();
  EXPECT_EQ(bound(names), 4U);
  for (const std::string& name : names) EXPECT_EQ(world_.node_of(name).front(), 'a');
}

TEST_F(FailureTest, TheMemberOfADeadNodeComesBackIntoTheSameRack) {
  for (const char* name : {"a1", "a2"}) world_.add_node(in_rack("a", name, "2"));
  world_.add_node(in_rack("b", "b1", "64"));
  running("p0", "1", "a1", 0, "g");
  running("p1", "1", "a2", 0, "g");
  world_.save_group(group_in_rack(2));
  world_.delete_node("a1");  // its pods are still there
  pod("p2", "1");
  world_.step();
  EXPECT_EQ(world_.node_of("p2"), "a2") << world_.message("p2");
}

TEST_F(FailureTest, OldPodsOfAJobThatWasStartedAnewAreWaitedFor) {
  world_.take_time();
  for (const char* name : {"n", "m"}) node(name, "4");
  for (const char* name : {"old-0", "old-1"}) {
    running(name, "2", "n", 100, "g");
    Json going = world_.pod(name);
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    world_.save_pod(going);
  }
  running("low", "4", "m", 10);
  members({high_of("new-0", "2"), high_of("new-1", "2")});
  world_.step(2);
  EXPECT_EQ(bound({"new-0", "new-1"}), 0U);
  EXPECT_EQ(evicted(), "");
  for (const char* name : {"old-0", "old-1"}) world_.delete_pod(name);
  world_.settle();
  world_.step(2);
  EXPECT_EQ(world_.node_of("new-0") + world_.node_of("new-1"), "nn");
  EXPECT_EQ(evicted(), "");
}

TEST_F(FailureTest, WhoDoesNotGoInTimeStaysAndTheGroupIsTriedAgain) {
  for (const char* name : {"n", "m"}) node(name, "4");
  Json old = pod_of("old", "4", false);
  old["spec"]["nodeName"] = "n";
  old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  world_.save_pod(old);
  running("a", "4", "m", 10);
  members({high_of("x", "4")});
  world_.step(2);
  EXPECT_EQ(evicted(), "");
  world_.pass(GroupTrial::kLongestWaitMs);
  world_.settle();
  world_.step(2);
  EXPECT_EQ(evicted(), "a ");
  EXPECT_EQ(bound({"x"}), 1U);
}

TEST_F(FailureTest, AVictimThatDoesNotGoIsNotWaitedForForEver) {
  world_.take_time();
  for (const char* name : {"n", "m"}) node(name, "4");
  running("a", "4", "n", 10);
  running("b", "4", "m", 20);
  members({high_of("x", "4")});
  world_.step(2);
  EXPECT_EQ(evicted(), "a ");
  world_.pass(GroupTrial::kLongestWaitMs);
  world_.settle();
  world_.step(2);
  EXPECT_EQ(evicted(), "a b ");
  world_.delete_pod("b");
  world_.settle();
  world_.step(2);
  EXPECT_EQ(world_.node_of("x"), "m");
}

TEST_F(FailureTest, TheLastVictimStaysIfTheGroupIsDeletedMeanwhile) {
  node("n", "4");
  for (const char* name : {"a", "b"}) running(name, "2", "n", 10);
  members({high_of("x", "4")});
  world_.hold_answers(true);
  world_.step();
  world_.delete_group("g");
  world_.settle();
  world_.hold_answers(false);
  world_.settle();
  EXPECT_EQ(world_.evicted().size(), 1U) << evicted();
}

TEST_F(FailureTest, TheLastVictimStaysIfAMemberIsDeletedMeanwhile) {
  node("n", "4");
  for (const char* name : {"a", "b"}) running(name, "2", "n", 10);
  members({high_of("x", "2"), high_of("y", "2")});
  world_.hold_answers(true);
  world_.step();
  world_.delete_pod("y");
  world_.settle();
  world_.hold_answers(false);
  world_.settle();
  EXPECT_EQ(world_.evicted().size(), 1U) << evicted();
}

// Nothing else would wake the group.
TEST_F(FailureTest, TheGroupIsTriedAgainWhenThePodThatWasWrongGoes) {
  node("n", "8");
  world_.save_pod(pod_of("a", "1"));
  Json odd = pod_of("odd", "1");
  odd["spec"]["priority"] = 7;
  world_.save_pod(odd);
  group("g", 1, 0);
  world_.step();
  ASSERT_EQ(bound({"a", "odd"}), 0U) << world_.condition("g");
  world_.delete_pod("odd");
  world_.step();
  EXPECT_EQ(bound({"a"}), 1U) << world_.condition("g");
}

TEST_F(FailureTest, TwoGroupsThatNeedTheSameNodesDoNotBlockOneAnother) {
  for (const char* name : {"n", "m"}) node(name, "2");
  std::vector<std::string> names[2];
  for (int i = 0; i < 4; ++i) {
    for (const int which : {0, 1}) {
      Json pod = pod_of("p" + std::to_string(which) + std::to_string(i), "1");
      pod["spec"]["schedulingGroup"]["podGroupName"] = "g" + std::to_string(which);
      names[which].push_back(pod["metadata"]["name"]);
      world_.save_pod(pod);
    }
  }
  for (const char* name : {"g0", "g1"}) group(name, 4, 0);
  for (int i = 0; i < 4; ++i) world_.fail_bind("p0" + std::to_string(i));
  for (int i = 0; i < 4; ++i) world_.fail_bind("p1" + std::to_string(i));
  world_.step(6);
  const size_t first = bound(names[0]), second = bound(names[1]);
  EXPECT_EQ(std::max(first, second), 4U);
  EXPECT_EQ(std::min(first, second), 0U);
  for (const std::string& name : names[first == 4 ? 0 : 1]) world_.delete_pod(name);
  world_.settle();
  world_.step(6);
  EXPECT_EQ(bound(names[first == 4 ? 1 : 0]), 4U);
}

// Members that differ: nobody is bound, and it is said who it is.
TEST_F(FailureTest, MembersThatDoNotAgreeAreNamed) {
  struct Case {
    const char* what;
    std::function<void(Json& group, Json& pod)> change;
    std::string said;
    bool runs = false;  // the one that differs
  };
  const std::string same = "all pods in a single pod group should have the same ";
  const std::vector<Case> cases{
      {"another scheduler", [](Json&, Json& pod) { pod["spec"]["schedulerName"] = "another"; },
       same + R"(.spec.schedulerName set, got: "another" and "default-scheduler" (pod default/a))",
       true},
      {"another priority", [](Json&, Json& pod) { pod["spec"]["priority"] = 7; },
       same + "priority as the pod group's priority, got 7 and 0 (pod default/b)"},
      {"a group without priorityClassName, pods with one",
       [](Json& group, Json& pod) {
         group["spec"].erase("priority");
         pod["spec"]["priority"] = 100;
       },
       same + "priority as the pod group's priority, got 100 and 0 (pod default/b)"},
      {"another preemption policy",
       [](Json&, Json& pod) { pod["spec"]["preemptionPolicy"] = "Never"; },
       same + "preemption policy, got Never and PreemptLowerPriority (pod default/b)"},
  };
  node("n", "8");
  for (const Case& each : cases) {
    Json group = group_of(2), other = pod_of("b", "1");
    each.change(group, other);
    if (each.runs) other["spec"]["nodeName"] = "n";
    world_.save_group(group);
    world_.save_pod(other);
    for (const char* name : {"a", "c"}) pod(name, "1");
    world_.step();
    EXPECT_EQ(bound({"a", "c"}), 0U) << each.what;
    EXPECT_EQ(world_.condition("g"), "False/SchedulerError: " + each.said) << each.what;
    EXPECT_EQ(world_.message("a"), each.said) << each.what;
    for (const char* name : {"a", "b", "c"}) world_.delete_pod(name);
    world_.delete_group("g");
    world_.settle();
  }
}

TEST_F(FailureTest, APodThatNoNodeWillEverHoldIsNamed) {
  node("n", "4");
  pod("other", "4", false);
  world_.step();
  GroupTest::group(2);
  pod("a", "4");
  pod("b", "1");
  world_.step();
  EXPECT_TRUE(world_.condition("g").ends_with(": 0/1 nodes are available: 1 Insufficient cpu."))
      << "not now: " << world_.condition("g");
  world_.delete_pod("a");
  pod("a", "5");
  world_.step();
  EXPECT_TRUE(world_.condition("g").ends_with("; a is larger than any node, even an empty one"))
      << world_.condition("g");
}

TEST_F(FailureTest, AGroupOfTheSameNameInAnotherNamespaceIsAnotherGroup) {
  node("n", "8");
  GroupTest::group(2);
  pod("a", "1");
  Json other = pod_of("b", "1");
  other["metadata"]["namespace"] = "other";
  world_.save_pod(other);
  world_.settle();
  world_.step(2);
  EXPECT_EQ(bound({"a", "b"}), 0U);
  pod("c", "1");
  world_.step(2);
  EXPECT_EQ(bound({"a", "c"}), 2U);
  EXPECT_EQ(bound({"b"}), 0U);
}

// ---- between two slices of an attempt

class SliceTest : public FailureTest {
 protected:
  // Four members with two slots each on two of three nodes.
  void make_gang() {
    for (const char* name : {"n", "m", "o"}) node(name, "4");
    for (const char* name : {"a", "b", "c", "d"}) world_.save_pod(pod_of(name, "2"));
    GroupTest::group(4);
  }
  void clear() {
    for (const char* name : {"a", "b", "c", "d", "e"}) world_.delete_pod(name);
    world_.delete_group("g");
    world_.settle();
    EXPECT_EQ(world_.stats().assumed_pods, 0U);
    EXPECT_EQ(world_.stats().queue.in_flight, 0U);
    EXPECT_EQ(world_.stats().queue.in_flight_events, 0U);
  }
  // Each is put into its kind, has a place, is asked of Permit and is bound.
  static constexpr int kPauses = 16;
  static constexpr int kPausesBeforeEvictions = 15;  // at least, where two members need them
};

TEST_F(SliceTest, OtherWorkGoesOn) {
  node("n", "64");
  for (int i = 0; i < 64; ++i) world_.save_pod(pod_of("p" + std::to_string(i), "1"));
  GroupTest::group(64);
  std::string place;
  size_t active = 0;
  uint64_t bound_before = 1;
  world_.at_pause(180, [&] {
    const Explanation why = world_.explain_now("p7");
    if (why.queue) place = why.queue->place;
    active = world_.stats().queue.active;
    bound_before = world_.stats().scheduled;
  });
  world_.step();
  EXPECT_EQ(place, "inFlight");
  EXPECT_EQ(active, 64U) << "to whoever waits for an end, they are not decided on";
  EXPECT_EQ(bound_before, 0U);
  EXPECT_EQ(world_.stats().scheduled, 64U);
}

TEST_F(SliceTest, WhatIsHeardOfAPodWaitsForTheEnd) {
  for (int pause = 0; pause <= kPauses; ++pause) {
    SCOPED_TRACE(pause);
    make_gang();
    world_.at_pause(pause, [&] { world_.delete_pod("b"); });
    world_.step();
    EXPECT_EQ(bound({"a", "c", "d"}), 3U);
    world_.save_pod(pod_of("e", "2"));
    world_.settle();
    world_.step();
    EXPECT_EQ(bound({"e"}), 1U) << "the room of the one that went is free";
    clear();
  }
}

TEST_F(SliceTest, WhatIsHeardOfTheGroupWaitsForTheEnd) {
  for (int pause = 0; pause <= kPauses; ++pause) {
    SCOPED_TRACE(pause);
    make_gang();
    world_.at_pause(pause, [&] {
      pause % 2 == 0 ? world_.delete_group("g") : world_.save_group(group_of(5));
      world_.save_pod(pod_of("e", "2"));
    });
    world_.step();
    EXPECT_EQ(bound({"a", "b", "c", "d"}), 4U);
    EXPECT_EQ(bound({"e"}), 0U);
    if (pause % 2 == 0) world_.save_group(group_of(4));
    world_.settle();
    world_.step();
    EXPECT_EQ(bound({"e"}), 1U);
    clear();
  }
}

TEST_F(SliceTest, ANodeThatGoesOrComesBeginsItAnew) {
  // What is posted at a pause is heard at the next, and those that are being bound go on.
  for (int pause = 0; pause < kPauses - 5; ++pause) {
    SCOPED_TRACE(pause);
    make_gang();
    world_.at_pause(pause, [&] {
      world_.delete_node("o");
      world_.delete_node(pause % 2 == 0 ? "n" : "m");
      node("q", "4");
    });
    world_.step();
    EXPECT_EQ(bound({"a", "b", "c", "d"}), 4U);
    for (const char* name : {"a", "b", "c", "d"})
      EXPECT_TRUE(world_.has_node(world_.node_of(name))) << world_.node_of(name);
    clear();
    world_.delete_node("q");
  }
}

TEST_F(SliceTest, RoomThatComesFreeMeanwhileIsNotMissed) {
  for (int pause = 0; pause <= kPauses; ++pause) {
    SCOPED_TRACE(pause);
    world_.save_pod(pod_of("single", "3", false));
    make_gang();
    for (const char* gone : {"m", "o"}) world_.delete_node(gone);
    world_.settle();
    world_.step(2);
    ASSERT_EQ(world_.node_of("single"), "n");
    for (const char* name : {"a", "b"}) world_.delete_pod(name);
    GroupTest::group(2);
    world_.at_pause(pause, [&] { world_.delete_pod("single"); });
    world_.step();
    world_.settle();
    world_.step();
    EXPECT_EQ(bound({"c", "d"}), 2U);
    clear();
  }
}

TEST_F(SliceTest, WhoIsLetGoBeforeItWaitsDoesNotWait) {
  node("n", "4");
  for (const char* name : {"a", "b", "c", "d"}) {
    Json pod = pod_of(name, "1");
    pod["metadata"]["labels"] = {{"moment", "yes"}};
    world_.save_pod(pod);
  }
  GroupTest::group(4);
  world_.step();
  EXPECT_EQ(bound({"a", "b", "c", "d"}), 4U);
}

TEST_F(SliceTest, NobodyGoesForAGroupThatWasDeletedMeanwhile) {
  int pause = 0;
  for (; evicted().empty(); ++pause) {
    node("n", "4");
    running("low", "4", "n", 0);
    members({high_of("a", "2"), high_of("b", "2")});
    world_.at_pause(pause, [&] {
      world_.delete_group("g");
      for (const char* name : {"a", "b"}) world_.delete_pod(name);
    });
    world_.step(3);
    world_.delete_pod("low");
    world_.settle();
  }
  EXPECT_EQ(evicted(), "low ") << "that is done before it is heard";
  EXPECT_GT(pause, kPausesBeforeEvictions);
}

TEST_F(SliceTest, PluginsDoNotOvertakeWhatWaitsWhileVictimsAreSought) {
  node("n", "4");
  std::vector<std::string> order;
  bool waited = false;
  for (int pause = 0; pause < 2 * kPausesBeforeEvictions && !waited; ++pause) {
    SCOPED_TRACE(pause);
    running("low", "4", "n", 0);
    members({high_of("a", "2"), high_of("b", "2")});
    order.clear();
    world_.at_pause(pause, [&] {
      world_.post(Task{[&] { order.emplace_back("plugin"); }, true});
      world_.post(Task{[&] { order.emplace_back("question"); }});
    });
    world_.step();
    ASSERT_THAT(order, testing::UnorderedElementsAre("plugin", "question"));
    waited = order.front() == "question";
    ASSERT_TRUE(pause > 0 || !waited) << "nobody sought victims yet";
    clear();
    world_.delete_pod("low");
    world_.settle();
  }
  EXPECT_TRUE(waited);
}

TEST_F(SliceTest, NobodyGoesIfThereIsRoomBeforeVictimsAreFound) {
  node("n", "4");
  node("m", "4");
  running("low", "4", "m", 0);
  int pause = 0;
  for (; evicted().empty(); ++pause) {
    SCOPED_TRACE(pause);
    world_.hold_bind("single");
    world_.save_pod(pod_of("single", "4", false));
    world_.settle();
    world_.step();
    members({high_of("a", "2"), high_of("b", "2")});
    world_.at_pause(pause, [&] { world_.fail_held_bind(); });
    world_.step(2);
    if (evicted().empty()) {
      EXPECT_EQ(bound({"a", "b"}), 2U);
    }
    world_.delete_pod("single");
    clear();
  }
  EXPECT_GT(pause, kPausesBeforeEvictions);
}

TEST_F(SliceTest, AStopInTheMiddleLeavesNothing) {
  for (int pause = 0; pause <= kPauses; ++pause) {
    SCOPED_TRACE(pause);
    make_gang();
    world_.at_pause(pause, [&] { world_.die_after(0); });
    world_.step();
    world_.restart();
    world_.step();
    EXPECT_EQ(bound({"a", "b", "c", "d"}), 4U);
    clear();
  }
}

// ---- a campaign: everything at once

// Gangs of equal pods on nodes in racks, and the controllers that make their pods anew.
class Campaign {
 public:
  Campaign(uint32_t seed, size_t gangs, int least, int most) : random_(seed) {
    int pods = 0;
    for (size_t i = 0; i < gangs; ++i) {
      Gang gang{"g" + std::to_string(i), draw(least, most)};
      gang.needed = draw(0, 3) == 0 ? gang.size / 2 + 1 : gang.size;
      gang.in_rack = draw(0, 2) == 0;
      if (seed % 2 == 0) gang.priority = 10 * draw(0, 1);
      pods += gang.size;
      gangs_.push_back(gang);
    }
    // They ask for one and a half times what there is.
    const int nodes = std::max(pods * 2 / 3 / kSlots, 2 * ((most + kSlots - 1) / kSlots) + 1);
    for (int i = 0; i < nodes; ++i) add_node(i % 2 == 0 ? "a" : "b");
    world_.sync();
  }

  void run() {
    size_t turns = 0;
    while (
        std::ranges::any_of(gangs_, [](const Gang& gang) { return gang.fate != Fate::kEnded; })) {
      ASSERT_LE(++turns, 60 * gangs_.size()) << "it does not come to an end";
      turn();
      if (::testing::Test::HasFailure()) return;
    }
    std::printf(
        "%zu turns; %zu kills, %zu nodes lost, %zu bindings failed, the API server away %zu "
        "times, %zu evicted\n",
        turns, kills_, nodes_lost_, failed_, losses_, world_.evicted().size());
  }

 private:
  static constexpr int kSlots = 8;  // of a node; a pod takes one
  enum class Fate { kToCome, kThere, kEnded };
  struct Gang {
    std::string name;
    int size;
    int needed = 0;
    bool in_rack = false;
    int priority = 0;
    Fate fate = Fate::kToCome;
    bool hurt = false;  // it has lost pods, and was not whole since
    std::set<std::string> pods{};
  };

  int draw(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<uint32_t>(high - low + 1));
  }
  bool one_in(int many) { return draw(1, many) == 1; }

  void add_node(const std::string& rack) {
    const std::string name = "n" + std::to_string(nodes_made_++);
    nodes_[name] = rack;
    world_.add_node(
        {{"metadata", {{"name", name}, {"labels", {{"rack", rack}}}}},
         {"status", {{"allocatable", {{"cpu", std::to_string(kSlots)}, {"pods", "110"}}}}}});
  }
  Json new_pod(Gang& gang) {
    const std::string name = gang.name + "-" + std::to_string(pods_made_++);
    gang.pods.insert(name);
    return {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name}}},
            {"spec",
             {{"schedulerName", "default-scheduler"},
              {"priority", gang.priority},
              {"schedulingGroup", {{"podGroupName", gang.name}}},
              {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}},
            {"status", {{"phase", "Pending"}}}};
  }

  void turn() {
    if (one_in(8)) {
      ++losses_;
      arrive();
      world_.lose_api();
      one_in(4) ? end_one() : arrive();
      world_.find_api();
    } else {
      if (one_in(2)) world_.die_after(draw(0, 4));
      const int what = draw(0, 8);
      what < 6 ? arrive() : what < 8 ? lose_node() : end_one();
    }
    rest();
    control();
    check();
  }

  // Until nothing moves, whatever dies meanwhile.
  void rest() {
    world_.settle();
    while (world_.is_dead()) {
      ++kills_;
      world_.restart();
      if (one_in(2)) world_.die_after(draw(0, 12));
      world_.settle();
    }
    world_.die_after(INT_MAX);
  }

  // Pods may come before their group, and not all at once.
  void arrive() {
    const auto next = std::ranges::find(gangs_, Fate::kToCome, &Gang::fate);
    if (next == gangs_.end()) return end_one();
    Gang& gang = *next;
    gang.fate = Fate::kThere;
    Json group = {{"metadata", {{"name", gang.name}, {"namespace", "default"}, {"uid", gang.name}}},
                  {"spec",
                   {{"priority", gang.priority},
                    {"disruptionMode", {{"all", Json::object()}}},
                    {"schedulingPolicy", {{"gang", {{"minCount", gang.needed}}}}}}}};
    if (gang.in_rack) group["spec"]["schedulingConstraints"] = {{"topology", {{{"key", "rack"}}}}};
    const int when = draw(0, gang.size);
    for (int i = 0; i < gang.size; ++i) {
      if (i == when) world_.save_group(group);
      const Json pod = new_pod(gang);
      if (one_in(6)) {
        ++failed_;
        world_.fail_bind(pod["metadata"]["name"]);
      }
      world_.save_pod(pod);
    }
    if (when == gang.size) world_.save_group(group);
  }

  void lose_node() {
    auto lost = nodes_.begin();
    std::advance(lost, draw(0, static_cast<int>(nodes_.size()) - 1));
    ++nodes_lost_;
    const std::string rack = lost->second;
    world_.delete_node(lost->first);
    nodes_.erase(lost);
    if (one_in(2)) {
      rest();
      control();
      rest();
      check();
    }
    add_node(rack);
  }

  // A gang that runs has done its work.
  void end_one() {
    std::vector<Gang*> running;
    for (Gang& gang : gangs_) {
      if (gang.fate == Fate::kThere && placed(gang) >= gang.needed) running.push_back(&gang);
    }
    if (running.empty()) return;
    Gang& gang = *running[static_cast<size_t>(draw(0, static_cast<int>(running.size()) - 1))];
    for (const std::string& name : gang.pods) world_.delete_pod(name);
    gang.pods.clear();
    gang.fate = Fate::kEnded;
  }

  // The pods of nodes that are gone go, and others come in their place, and in that of the evicted.
  void control() {
    const size_t evicted = world_.evicted().size();
    for (Gang& gang : gangs_) {
      if (gang.fate != Fate::kThere) continue;
      const std::set<std::string> pods = gang.pods;
      for (const std::string& name : pods) {
        const bool is_evicted = world_.pod(name).is_null();
        const std::string node = world_.node_of(name);
        if (!is_evicted && (node.empty() || world_.has_node(node))) continue;
        world_.delete_pod(name);
        gang.pods.erase(name);
        gang.hurt = true;
      }
      while (static_cast<int>(gang.pods.size()) < gang.size) world_.save_pod(new_pod(gang));
    }
    rest();
    if (world_.evicted().size() != evicted) control();
  }

  int placed(const Gang& gang) {
    return static_cast<int>(std::ranges::count_if(
        gang.pods, [&](const std::string& name) { return !world_.node_of(name).empty(); }));
  }

  void check() {
    std::map<std::string, int> left;
    for (const auto& [name, rack] : nodes_) left[name] = kSlots;
    std::map<std::string, std::set<std::string>> racks;  // of gangs
    world_.for_each_pod([&](const Json& pod) {
      const std::string node = pod["spec"].value("nodeName", "");
      if (node.empty()) return;
      EXPECT_GE(--left[node], 0) << node << " is given twice";
      racks[pod["spec"]["schedulingGroup"]["podGroupName"]].insert(nodes_[node]);
    });
    std::map<std::string, int> room;  // by rack; "": all
    for (const auto& [node, slots] : left) {
      room[nodes_[node]] += slots;
      room[""] += slots;
    }
    for (Gang& gang : gangs_) {
      if (gang.fate != Fate::kThere) continue;
      const int there = placed(gang);
      if (there >= gang.needed) gang.hurt = false;
      EXPECT_TRUE(there == 0 || there >= gang.needed || gang.hurt)
          << gang.name << " runs in part: " << there << " of " << gang.needed;
      if (gang.in_rack) {
        EXPECT_LE(racks[gang.name].size(), 1U) << gang.name;
      }
      if (there == gang.size) continue;
      int most = room[""];
      if (gang.in_rack) {
        most = there > 0 ? room[*racks[gang.name].begin()] : std::max(room["a"], room["b"]);
      }
      EXPECT_LT(most, std::max(1, gang.needed - there))
          << gang.name << " waits with " << there << " of " << gang.size << ", of which "
          << gang.needed << " are needed: " << world_.condition(gang.name);
    }
  }

  std::mt19937 random_;
  World world_{{.stepwise = false}};
  std::vector<Gang> gangs_;
  std::map<std::string, std::string> nodes_;  // their racks
  int nodes_made_ = 0, pods_made_ = 0;
  size_t kills_ = 0, nodes_lost_ = 0, failed_ = 0, losses_ = 0;
};

TEST(GroupsRandom, NoGangIsLeftInPartWhateverFails) {
  set_log_level(LogLevel::kError);
  const bool is_long = std::getenv("PLIMSOLL_LONG") != nullptr;
  const uint32_t first = test::test_seed();
  for (uint32_t seed = first; seed < first + (is_long ? 8 : 6); ++seed) {
    SCOPED_TRACE("PLIMSOLL_TEST_SEED=" + std::to_string(seed));
    Campaign campaign(seed, is_long ? 40 : 10, is_long ? 8 : 2, is_long ? 64 : 9);
    campaign.run();
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace plimsoll
