// Preemption from end to end in one process: the scheduler loop with the builtin plugins, and an
// API server in memory that deletes pods as a real one does.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/cycle/inspect/explain.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/objects/kinds.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "informer/http/http_extenders.hpp"
#include "plugins/builtin/builtin.hpp"
#include "plugins/builtin/events.hpp"
#include "tests/informer/scripted_server.hpp"

namespace plimsoll {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

// Who waits on Permit, and where room is on its way, as the test says.
struct Waits {
  std::mutex mutex;
  std::set<std::string> permit;   // pods; guarded by mutex
  std::set<std::string> pending;  // nodes; guarded by mutex
  std::optional<sdk::Host> host;  // of the plugin
  void add(const std::string& pod) {
    const std::lock_guard lock(mutex);
    permit.insert(pod);
  }
  bool has(std::string_view pod) {
    const std::lock_guard lock(mutex);
    return permit.contains(std::string(pod));
  }
  void set_pending(std::set<std::string> nodes) {
    const std::lock_guard lock(mutex);
    pending = std::move(nodes);
  }
  bool is_pending(std::string_view node) {
    const std::lock_guard lock(mutex);
    return pending.contains(std::string(node));
  }
};
Waits* g_waits = nullptr;

class Gatekeeper {
 public:
  static constexpr const char* kName = "Gatekeeper";
  Gatekeeper(sdk::Host host, std::string_view) : later_(host.reason("not yet")) {
    g_waits->host = host;
  }
  sdk::Status filter(const plimsoll_cycle&, sdk::Pod, sdk::Nodes nodes,
                     sdk::Verdicts verdicts) const {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (g_waits->is_pending(nodes[i].name())) verdicts.set(i, sdk::Status::pending(later_));
    }
    return sdk::Status::success();
  }
  sdk::Status permit(plimsoll_cycle&, sdk::Pod pod, sdk::Node, int64_t& timeout_ms) {
    timeout_ms = 60'000;
    return g_waits->has(pod.name()) ? sdk::Status::wait() : sdk::Status::success();
  }

 private:
  uint32_t later_;
};

// The pods of an API server, and what was written about them.
class PodStore final : public ApiWriter {
 public:
  std::function<void(Message)> post;  // to the scheduler
  SymbolTable* symbols = nullptr;
  std::atomic<bool> graceful{false};        // a deleted pod stays until finish() ...
  std::atomic<bool> no_patches{false};      // conditions and nominations wait in a queue for ever
  std::atomic<int> failing_deletes{0};      // that answer 403
  std::atomic<bool> deletes_vanish{false};  // the pod goes by itself before its deletion arrives

  void add(Json pod) {
    const std::lock_guard lock(mutex_);
    save(std::move(pod));
  }
  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    erase(name);
  }
  // The kubelets have ended what was being deleted.
  void finish() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, pod] : pods_) {
      if (pod["metadata"].contains("deletionTimestamp")) names.push_back(name);
    }
    for (const std::string& name : names) erase(name);
  }
  Json pod(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(name);
    return found == pods_.end() ? Json() : found->second;
  }
  std::string node_of(const std::string& name) {
    const Json found = pod(name);
    return found.is_null() ? "" : found["spec"].value("nodeName", "");
  }
  std::string nominated(const std::string& name) {
    const Json found = pod(name);
    return found.is_null() ? "" : found["status"].value("nominatedNodeName", "");
  }
  // The last that the scheduler asked for, carried out or not; "?": none.
  std::string asked_nomination(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = asked_nominations_.find(name);
    return found == asked_nominations_.end() ? "?" : found->second;
  }
  std::string message(const std::string& name) {
    const Json found = pod(name);
    if (found.is_null()) return "";
    for (const Json& condition : found["status"].value("conditions", Json::array())) {
      if (condition["type"] == "PodScheduled") return condition["message"];
    }
    return "";
  }
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  bool has_event(const std::string& pod, const std::string& note) {
    const std::lock_guard lock(mutex_);
    return std::any_of(events_.begin(), events_.end(), [&](const EventRecord& event) {
      return event.name == pod && event.note == note;
    });
  }

  void bind(BindRequest request, Done done) override {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(request.name);
    if (found == pods_.end()) return done(fail(ErrorCode::kNotFound, "no such pod"));
    Json pod = found->second;
    pod["spec"]["nodeName"] = request.node;
    pod["status"].erase("nominatedNodeName");
    done({});
    save(std::move(pod));
  }
  void record_event(EventRecord event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  void patch_condition(ConditionPatch patch, Done done) override {
    const std::lock_guard lock(mutex_);
    if (patch.set_nominated) asked_nominations_[patch.name] = patch.nominated_node;
    if (no_patches) return;
    if (const auto found = pods_.find(patch.name); found != pods_.end()) {
      Json pod = found->second;
      pod["status"]["conditions"] = {{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", patch.reason},
                                      {"message", patch.message}}};
      if (patch.set_nominated) {
        pod["status"]["nominatedNodeName"] = patch.nominated_node;
      }
      save(std::move(pod));
    }
    done({});
  }
  void request(ApiRequest request, Answered done) override {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request.method + " " + request.path);
    const Json body = request.body.empty() ? Json() : Json::parse(request.body);
    const std::string path = request.path.ends_with("/status")
                                 ? request.path.substr(0, request.path.size() - 7)
                                 : request.path;
    const auto found = pods_.find(path.substr(path.rfind('/') + 1));
    if (found == pods_.end()) return done(404, "{}");
    Json pod = found->second;
    if (request.method == "GET") return done(200, pod.dump());
    if (request.method == "PATCH") {
      EXPECT_EQ(body["metadata"]["uid"], pod["metadata"]["uid"]);
      pod["status"].merge_patch(body["status"]);
      save(std::move(pod));
      return done(200, "{}");
    }
    EXPECT_EQ(request.method, "DELETE");
    EXPECT_EQ(body["preconditions"]["uid"], pod["metadata"]["uid"]);
    if (failing_deletes > 0) {
      --failing_deletes;
      return done(403, "{}");
    }
    if (graceful) {
      pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
      save(std::move(pod));
    } else {
      erase(found->first);
    }
    done(deletes_vanish ? 404 : 200, "{}");
  }

 private:
  void save(Json pod) {
    pod["metadata"]["resourceVersion"] = std::to_string(++version_);
    const std::string name = pod["metadata"]["name"];
    post(PodUpserted{*decode_pod(pod.dump(), *symbols)});
    pods_[name] = std::move(pod);
  }
  void erase(std::string name) {
    const auto found = pods_.find(name);
    if (found == pods_.end()) return;
    post(PodDeleted{*decode_pod(found->second.dump(), *symbols)});
    pods_.erase(found);
  }

  std::mutex mutex_;  // guards the rest
  std::map<std::string, Json> pods_;
  std::map<std::string, std::string> asked_nominations_;  // by name of the pod
  std::vector<EventRecord> events_;
  std::vector<std::string> requests_;
  int version_ = 0;
};

class PreemptionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    g_waits = &waits_;
    modules_.add_builtin(builtin_modules());
    const std::vector<StaticModule> own{{"Gatekeeper", "1", sdk::create_fn<Gatekeeper>}};
    modules_.add_builtin(own);
    ProfileSpec profile;
    profile.scheduler_name = "topo";
    profile.at(ExtensionPoint::kPreEnqueue) = {{"SchedulingGates"}, {"DefaultPreemption"}};
    profile.at(ExtensionPoint::kQueueSort) = {{"PrioritySort"}};
    profile.at(ExtensionPoint::kPreFilter) = {{"NodePorts"}, {"UnsupportedFeatures"}};
    profile.at(ExtensionPoint::kFilter) = {{"NodeUnschedulable"},
                                           {"NodePorts"},
                                           {"NodeResourcesFit"},
                                           {"UnsupportedFeatures"},
                                           {"Gatekeeper"}};
    profile.at(ExtensionPoint::kPostFilter) = {{"DefaultPreemption"}};
    profile.at(ExtensionPoint::kPermit) = {{"Gatekeeper"}};
    profile.at(ExtensionPoint::kBind) = {{"DefaultBinder"}};
    SchedulerOptions options;
    options.queue.initial_backoff_ms = 10;
    options.queue.max_backoff_ms = 20;
    options.binder_threads = 2;
    options.profiles.push_back(profile);
    extend(options);
    auto made = Scheduler::create(std::move(options), modules_, symbols_, api_);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    scheduler_ = std::move(*made);
    api_.symbols = &symbols_;
    api_.post = [this](Message message) { scheduler_->post(std::move(message)); };
    loop_ = std::thread([this] { scheduler_->run(); });
  }
  void TearDown() override {
    if (scheduler_) scheduler_->stop();
    if (loop_.joinable()) loop_.join();
  }
  virtual void extend(SchedulerOptions&) {}
  void synced() {
    for (const char* kind : {"nodes", "poddisruptionbudgets.v1.policy", "pods"}) {
      scheduler_->post(KindSynced{kind, true});
    }
  }
  void add_node(const std::string& name, const std::string& cpu) {
    const Json node = {{"metadata", {{"name", name}}},
                       {"status", {{"allocatable", {{"cpu", cpu}, {"pods", "110"}}}}}};
    scheduler_->post(NodeUpserted{*decode_node(node.dump(), symbols_)});
  }
  Json pod(const std::string& name, const std::string& cpu, int priority,
           const std::string& node = "") {
    Json made = {
        {"metadata",
         {{"name", name}, {"namespace", "ns"}, {"uid", "u-" + name}, {"labels", {{"app", name}}}}},
        {"spec",
         {{"schedulerName", "topo"},
          {"priority", priority},
          {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}},
        {"status", Json::object()}};
    if (!node.empty()) made["spec"]["nodeName"] = node;
    return made;
  }
  void add_budget(const std::string& name, const std::string& app, int allowed) {
    const Json budget = {{"spec", {{"selector", {{"matchLabels", {{"app", app}}}}}}},
                         {"status", {{"disruptionsAllowed", allowed}}}};
    scheduler_->post(ObjectUpserted{
        decoded({"poddisruptionbudgets.v1.policy", "ns", name, "", "", budget.dump()})});
  }
  template <typename Condition>
  bool eventually(Condition condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(5ms);
    }
    return condition();
  }
  bool eventually_on(const std::string& pod, const std::string& node) {
    return eventually([&] { return api_.node_of(pod) == node; });
  }
  bool eventually_dying(const std::string& pod) {
    return eventually([&] { return api_.pod(pod)["metadata"].contains("deletionTimestamp"); });
  }
  // A nomination is written before its victims are deleted: they may have to be waited for.
  void finish_when_dying(const std::string& victim) {
    ASSERT_TRUE(eventually_dying(victim));
    api_.finish();
  }

  // Of a pod whose status names no node.
  std::string nominated_in_memory(const std::string& name) {
    std::promise<std::string> node;
    scheduler_->post(Task{[&] {
      ExplainRequest request;
      request.ns = "ns";
      request.name = name;
      node.set_value(scheduler_->explain(request).nominated_node);
    }});
    return node.get_future().get();
  }

  Waits waits_;
  SymbolTable symbols_;
  Modules modules_;
  PodStore api_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

// With an extender that says which pods may be evicted.
class ExtendedPreemptionTest : public PreemptionTest {
 protected:
  // Of the body of a call; the answer, or nothing: 500.
  using Answer = std::function<std::optional<Json>(const Json& asked)>;

  void extend(SchedulerOptions& options) override {
    ExtenderSpec extender;
    extender.url_prefix = server_.url();
    extender.preempt_verb = "preempt";
    extender.node_cache_capable = true;
    ExtenderSpec with_pods = extender;
    with_pods.preempt_verb = "with-pods";
    with_pods.node_cache_capable = false;
    with_pods.ignorable = true;
    options.extenders = {extender, with_pods};
    auto made = informer::HttpExtenders::create(options.extenders);
    ASSERT_TRUE(made.has_value()) << made.error().message;
    client_ = std::move(*made);
    options.extender_client = client_.get();
  }
  // Two nodes are full; the dry run prefers "cheap" on n2.
  void fill() {
    add_node("n1", "2");
    add_node("n2", "2");
    api_.add(pod("dear", "2", 5, "n1"));
    api_.add(pod("cheap", "2", 1, "n2"));
    synced();
    api_.add(pod("p", "2", 10));
  }
  void TearDown() override {
    PreemptionTest::TearDown();
    if (client_) client_->stop();  // no answer comes once the scheduler is gone
    scheduler_.reset();
  }

  std::mutex mutex_;
  Answer answer_;            // guarded by mutex_, as the next
  std::vector<Json> asked_;  // of the one with pods
  informer::test::ScriptedServer server_{
      [this](const informer::test::Received& request, informer::test::Exchange& exchange) {
        const std::lock_guard lock(mutex_);
        const Json body = Json::parse(request.body);
        if (request.target == "/with-pods") {
          asked_.push_back(body);
          return void(exchange.reply(500, ""));
        }
        const auto said = answer_(body);
        exchange.reply(said ? 200 : 500, said ? said->dump() : "");
      }};
  std::unique_ptr<informer::HttpExtenders> client_;
};

TEST_F(ExtendedPreemptionTest, ItLeavesOneNode) {
  answer_ = [](const Json& asked) {
    EXPECT_EQ(asked["Pod"]["metadata"]["uid"], "u-p");
    EXPECT_TRUE(asked["NodeNameToVictims"].is_null());
    EXPECT_EQ(asked["NodeNameToMetaVictims"]["n2"],
              Json::parse(R"({"NumPDBViolations": 0, "Pods": [{"UID": "u-cheap"}]})"));
    return Json{{"NodeNameToMetaVictims", {{"n1", asked["NodeNameToMetaVictims"]["n1"]}}}};
  };
  fill();
  EXPECT_TRUE(eventually_on("p", "n1"));
  EXPECT_EQ(api_.node_of("cheap"), "n2");
  EXPECT_TRUE(api_.pod("dear").is_null());
  const std::lock_guard lock(mutex_);
  ASSERT_FALSE(asked_.empty());
  EXPECT_TRUE(asked_[0]["NodeNameToMetaVictims"].is_null());
  EXPECT_EQ(asked_[0]["NodeNameToVictims"]["n1"]["Pods"][0]["metadata"]["name"], "dear");
}

class OneCandidateTest : public ExtendedPreemptionTest {
 protected:
  void extend(SchedulerOptions& options) override {
    ExtendedPreemptionTest::extend(options);
    options.profiles.front().args["DefaultPreemption"] =
        R"({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 1})";
  }
};

// Each search begins at another node, but not the one with the answers.
TEST_F(OneCandidateTest, WhatTheExtenderWasAskedAboutIsWhatCounts) {
  answer_ = [](const Json& asked) {
    EXPECT_EQ(asked["NodeNameToMetaVictims"].size(), 1U);
    return Json{{"NodeNameToMetaVictims", asked["NodeNameToMetaVictims"]}};
  };
  fill();
  EXPECT_TRUE(eventually([&] { return !api_.node_of("p").empty(); }));
  const std::lock_guard lock(mutex_);
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(ExtendedPreemptionTest, WhenItFailsNobodyIsEvicted) {
  int call = 0;
  answer_ = [&call](const Json&) -> std::optional<Json> {
    switch (call++) {
      case 0:
        return std::nullopt;
      case 1:
        return Json::parse(R"({"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "u-other"}]}}})");
      case 2:
        return Json::parse(R"({"NodeNameToMetaVictims": {"n1": {"Pods": []}}})");
      default:
        return Json::parse(R"({"NodeNameToMetaVictims": {}})");
    }
  };
  fill();
  const std::string by = "extender " + server_.url() + ": preempt: ";
  EXPECT_TRUE(eventually([&] {
    return api_.has_event(
        "p", by + "failed preempt with extender at URL " + server_.url() + "/preempt, code 500");
  }));
  EXPECT_TRUE(eventually([&] {
    return api_.has_event("p", by + "it claims to preempt pod (UID: u-other) on node n1, but "
                                    "there is no such pod of a lower priority");
  }));
  EXPECT_TRUE(eventually(
      [&] { return api_.has_event("p", by + "expected at least one victim pod on node \"n1\""); }));
  EXPECT_TRUE(eventually([&] {
    return api_.has_event("p",
                          "0/2 nodes are available: 2 Insufficient cpu. preemption: no candidate "
                          "node for preemption");
  }));
  EXPECT_EQ(api_.node_of("dear"), "n1");
  EXPECT_EQ(api_.node_of("cheap"), "n2");
}

TEST_F(PreemptionTest, AVictimMakesRoomAndIsTold) {
  api_.graceful = true;
  add_node("n", "4");
  api_.add(pod("small", "1", 0, "n"));
  api_.add(pod("big", "3", 0, "n"));
  synced();
  api_.add(pod("urgent", "2", 100));
  ASSERT_TRUE(eventually_dying("big"));
  EXPECT_TRUE(eventually([&] { return api_.nominated("urgent") == "n"; }));
  EXPECT_TRUE(
      eventually([&] { return api_.has_event("big", "Preempted by pod u-urgent on node n"); }));
  const Json condition = api_.pod("big")["status"]["conditions"][0];
  EXPECT_EQ(condition["type"], "DisruptionTarget");
  EXPECT_EQ(condition["status"], "True");
  EXPECT_EQ(condition["reason"], "PreemptionByScheduler");
  EXPECT_EQ(condition["message"], "topo: preempting to accommodate a higher priority pod");
  EXPECT_EQ(api_.message("urgent"), "0/1 nodes are available: 1 Insufficient cpu.");
  EXPECT_EQ(api_.node_of("urgent"), "");
  EXPECT_FALSE(api_.pod("small")["metadata"].contains("deletionTimestamp"));  // spared
  api_.finish();
  EXPECT_TRUE(eventually_on("urgent", "n"));
  EXPECT_EQ(api_.requests(),
            (std::vector<std::string>{"PATCH /api/v1/namespaces/ns/pods/big/status",
                                      "DELETE /api/v1/namespaces/ns/pods/big"}));
}

// While the victims die, nobody of lower or equal priority takes their room; higher ones may.
TEST_F(PreemptionTest, NominatedRoomIsKept) {
  api_.graceful = true;
  add_node("n", "4");
  api_.add(pod("old", "4", 0, "n"));
  synced();
  api_.add(pod("urgent", "3", 100));
  ASSERT_TRUE(eventually([&] { return api_.nominated("urgent") == "n"; }));
  api_.add(pod("thief", "2", 50));
  ASSERT_TRUE(eventually([&] { return !api_.message("thief").empty(); }));
  EXPECT_EQ(api_.message("thief"),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 "
            "Insufficient cpu.");
  waits_.add("urgent");  // it stays assumed: what the thief is told is not told by a bound pod
  finish_when_dying("old");
  EXPECT_TRUE(eventually([&] { return scheduler_->stats().assumed_pods == 1; }));
  EXPECT_EQ(api_.node_of("thief"), "");
}

TEST_F(PreemptionTest, HigherPriorityIgnoresTheNominationAndEndsIt) {
  api_.graceful = true;
  add_node("n", "4");
  api_.add(pod("old", "4", 0, "n"));
  synced();
  api_.add(pod("urgent", "3", 100));
  ASSERT_TRUE(eventually([&] { return api_.nominated("urgent") == "n"; }));
  api_.add(pod("king", "3", 1000));
  ASSERT_TRUE(eventually([&] { return api_.nominated("king") == "n"; }));
  finish_when_dying("old");
  EXPECT_TRUE(eventually_on("king", "n"));
  EXPECT_TRUE(eventually([&] { return api_.nominated("urgent").empty(); }));
  EXPECT_EQ(api_.node_of("urgent"), "");
}

TEST_F(PreemptionTest, AVictimThatVanishesByItselfIsEnough) {
  api_.deletes_vanish = true;
  add_node("n", "4");
  for (const char* name : {"a", "b", "c"}) api_.add(pod(name, "1", 0, "n"));
  synced();
  api_.add(pod("urgent", "4", 100));
  EXPECT_TRUE(eventually_on("urgent", "n"));
}

TEST_F(PreemptionTest, ARefusedDeletionIsTriedAgain) {
  api_.failing_deletes = 3;
  add_node("n", "4");
  for (const char* name : {"a", "b"}) api_.add(pod(name, "2", 0, "n"));
  synced();
  api_.add(pod("urgent", "4", 100));
  EXPECT_TRUE(eventually_on("urgent", "n"));
  EXPECT_EQ(api_.failing_deletes, 0);
}

TEST_F(PreemptionTest, APreemptorMayGoWhileItsVictimsDie) {
  api_.graceful = true;
  add_node("n", "4");
  api_.add(pod("old", "4", 0, "n"));
  synced();
  api_.add(pod("urgent", "3", 100));
  ASSERT_TRUE(eventually([&] { return api_.nominated("urgent") == "n"; }));
  api_.add(pod("next", "2", 50));
  ASSERT_TRUE(eventually([&] { return !api_.message("next").empty(); }));
  ASSERT_TRUE(eventually_dying("old"));
  api_.remove("urgent");
  api_.finish();
  EXPECT_TRUE(eventually_on("next", "n"));
}

// The victim is gone, but some filter sees its room only later: nobody else has to go meanwhile.
TEST_F(PreemptionTest, RoomThatIsOnItsWayIsWaitedFor) {
  api_.graceful = true;
  add_node("n1", "4");
  add_node("n2", "4");
  api_.add(pod("old", "4", 0, "n1"));
  api_.add(pod("other", "4", 5, "n2"));
  synced();
  api_.add(pod("urgent", "4", 100));
  ASSERT_TRUE(eventually([&] { return api_.nominated("urgent") == "n1"; }));
  waits_.set_pending({"n1"});
  finish_when_dying("old");
  EXPECT_TRUE(eventually([&] {
    return api_.message("urgent") ==
           "0/2 nodes are available: 1 Insufficient cpu, 1 not yet. preemption: not eligible due "
           "to room about to be free on the nominated node.";
  })) << api_.message("urgent");
  EXPECT_EQ(api_.nominated("urgent"), "n1");
  waits_.set_pending({});
  add_node("n1", "5");
  EXPECT_TRUE(eventually_on("urgent", "n1"));
  EXPECT_FALSE(api_.pod("other")["metadata"].contains("deletionTimestamp"));
}

// Two preemptors were promised the room of two pods, and the scheduler died before it had deleted
// the second. The first that goes holds nothing that the second preemptor's filter goes by.
TEST_F(PreemptionTest, TheEndOfAnothersVictimWakesWhoWaitedForIt) {
  const auto with_port = [&](const char* name, int port, int priority, const char* node = "") {
    Json made = pod(name, "1", priority, node);
    made["spec"]["containers"][0]["ports"] = {{{"containerPort", port}, {"hostPort", port}}};
    return made;
  };
  const auto marked = [](Json victim) {
    victim["status"]["conditions"] = {
        {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "PreemptionByScheduler"}}};
    return victim;
  };
  add_node("n", "8");
  Json going = marked(with_port("going", 80, 0, "n"));
  going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  api_.add(going);
  api_.add(marked(with_port("spared", 90, 0, "n")));
  synced();
  Json urgent = with_port("urgent", 90, 100);
  urgent["status"]["nominatedNodeName"] = "n";
  api_.add(urgent);
  ASSERT_TRUE(eventually([&] {
    return api_.message("urgent").ends_with(
        "preemption: not eligible due to a terminating pod on the nominated node.");
  })) << api_.message("urgent");
  EXPECT_FALSE(api_.pod("spared")["metadata"].contains("deletionTimestamp"));
  api_.remove("going");
  EXPECT_TRUE(eventually_on("urgent", "n")) << api_.message("urgent");
  EXPECT_TRUE(api_.pod("spared").is_null());
}

TEST_F(PreemptionTest, ADisruptionBudgetTurnsTheChoice) {
  add_node("n1", "4");
  add_node("n2", "4");
  api_.add(pod("guarded", "4", 0, "n1"));
  api_.add(pod("other", "4", 5, "n2"));  // of higher priority, but nothing protects it
  add_budget("b", "guarded", 0);
  synced();
  api_.add(pod("urgent", "4", 100));
  EXPECT_TRUE(eventually_on("urgent", "n2"));
  EXPECT_EQ(api_.node_of("guarded"), "n1");
}

TEST_F(PreemptionTest, ABudgetIsBrokenWhereNothingElseHelps) {
  add_node("n1", "4");
  api_.add(pod("guarded", "4", 0, "n1"));
  add_budget("b", "guarded", 0);
  synced();
  api_.add(pod("urgent", "4", 100));
  EXPECT_TRUE(eventually_on("urgent", "n1"));
  EXPECT_TRUE(api_.pod("guarded").is_null());
}

TEST_F(PreemptionTest, AVictimThatWaitsOnPermitIsTurnedBackInMemory) {
  waits_.add("waiting");
  add_node("n", "4");
  synced();
  api_.add(pod("waiting", "4", 0));
  ASSERT_TRUE(eventually([&] { return scheduler_->stats().assumed_pods == 1; }));
  api_.add(pod("urgent", "4", 100));
  EXPECT_TRUE(eventually_on("urgent", "n"));
  EXPECT_TRUE(eventually([&] {
    return api_.has_event("waiting",
                          "Preempted by pod u-urgent on node n (in kube-scheduler memory).");
  }));
  EXPECT_EQ(api_.requests(), std::vector<std::string>{});
  // It is tried again, and told the truth.
  EXPECT_TRUE(eventually([&] {
    return api_.message("waiting") ==
           "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No "
           "preemption victims found for incoming pod.";
  })) << api_.message("waiting");
}

TEST_F(PreemptionTest, WhoMustNotPreemptSaysSo) {
  add_node("n", "4");
  api_.add(pod("old", "4", 0, "n"));
  synced();
  Json polite = pod("polite", "3", 100);
  polite["spec"]["preemptionPolicy"] = "Never";
  api_.add(polite);
  EXPECT_TRUE(eventually([&] {
    return api_.message("polite") ==
           "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to "
           "preemptionPolicy=Never.";
  })) << api_.message("polite");
}

// What this scheduler cannot honour is not helped by anybody's eviction.
TEST_F(PreemptionTest, UnsupportedFeaturesPreemptNobody) {
  add_node("n", "4");
  api_.add(pod("old", "4", 0, "n"));
  synced();
  Json claims = pod("claims", "3", 100);
  claims["spec"]["resourceClaims"] = {{{"name", "c"}}};
  api_.add(claims);
  EXPECT_TRUE(eventually([&] {
    return api_.message("claims") ==
           "0/1 nodes are available: pod uses resource claims, which its profile does not "
           "allocate: enable DynamicResources. preemption: 0/1 nodes are available: 1 Preemption "
           "is not helpful for "
           "scheduling.";
  })) << api_.message("claims");
  EXPECT_EQ(api_.node_of("old"), "n");
}

// The room that is kept on one node for a pod is free once the pod has got another node.
TEST_F(PreemptionTest, APodThatGoesElsewhereLeavesTheRoomThatWasKept) {
  const auto with_port = [this](const char* name, const char* cpu, const char* node) {
    Json made = pod(name, cpu, 0, node);
    made["spec"]["containers"][0]["ports"] = {{{"containerPort", 80}, {"hostPort", 80}}};
    return made;
  };
  add_node("n", "2");
  add_node("m", "1");
  api_.add(with_port("web", "0", "n"));
  // Tried in the order of their names: "a" while "b" waits, which finds no room on "m".
  api_.add(with_port("a", "1", ""));
  Json nominated = pod("b", "2", 0);
  nominated["status"]["nominatedNodeName"] = "m";
  api_.add(nominated);
  synced();
  EXPECT_TRUE(eventually_on("b", "n"));
  EXPECT_TRUE(eventually_on("a", "m"));
  EXPECT_FALSE(api_.message("a").empty()) << "it had to wait";
}

// While its nomination waits to be written, a preemptor that is tried again sees it nevertheless:
// it takes nobody else's room, and keeps its own.
TEST_F(PreemptionTest, ANominationCountsBeforeItIsWritten) {
  api_.graceful = true;
  api_.no_patches = true;
  add_node("n", "4");
  api_.add(pod("old", "4", 0, "n"));
  synced();
  api_.add(pod("urgent", "3", 100));
  ASSERT_TRUE(eventually_dying("old"));
  api_.add(pod("other", "4", -5, "m"));  // would be the better victim
  add_node("m", "4");
  EXPECT_TRUE(eventually([&] {
    return api_.has_event("urgent",
                          "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible "
                          "due to a terminating pod on the nominated node.");
  }));
  EXPECT_FALSE(api_.pod("other")["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(nominated_in_memory("urgent"), "n");
  EXPECT_EQ(api_.asked_nomination("urgent"), "n");
  api_.finish();
  EXPECT_TRUE(eventually_on("urgent", "n"));
}

// The write may be under way: it is taken back, though the pod's status says nothing of it.
TEST_F(PreemptionTest, ANominationIsTakenBackBeforeItIsWritten) {
  api_.graceful = true;
  api_.no_patches = true;
  add_node("n", "4");
  api_.add(pod("old", "4", 0, "n"));
  synced();
  api_.add(pod("urgent", "3", 100));
  ASSERT_TRUE(eventually([&] { return api_.asked_nomination("urgent") == "n"; }));
  scheduler_->post(NodeDeleted{"n"});
  api_.add(pod("wall", "4", 1000, "full"));
  add_node("full", "4");
  EXPECT_TRUE(eventually([&] { return api_.asked_nomination("urgent").empty(); }));
  EXPECT_EQ(nominated_in_memory("urgent"), "");
}

// So it is when another preemptor ends it.
TEST_F(PreemptionTest, ANominationThatIsEndedBeforeItIsWrittenDoesNotComeBack) {
  api_.graceful = true;
  api_.no_patches = true;
  add_node("n", "6");
  api_.add(pod("old", "4", 0, "n"));
  api_.add(pod("better", "2", 10, "n"));
  synced();
  api_.add(pod("urgent", "3", 100));
  ASSERT_TRUE(eventually([&] { return api_.asked_nomination("urgent") == "n"; }));
  ASSERT_TRUE(eventually_dying("old"));
  api_.add(pod("king", "6", 1000));
  ASSERT_TRUE(eventually_dying("better"));
  EXPECT_EQ(api_.asked_nomination("urgent"), "");
  EXPECT_EQ(nominated_in_memory("urgent"), "");
  api_.finish();
  EXPECT_TRUE(eventually_on("king", "n"));
}

// A nomination that somebody else has written is honoured, and the node is looked at first.
TEST_F(PreemptionTest, ANominationFromElsewhereIsHonoured) {
  add_node("n1", "4");
  add_node("n2", "8");
  Json expected = pod("expected", "2", 0);
  expected["status"]["nominatedNodeName"] = "n1";
  api_.add(expected);
  synced();
  EXPECT_TRUE(eventually_on("expected", "n1"));
}

// Where victims were of no use because a plugin did not know yet, its word that it knows brings the
// preemptor back, although another plugin rejected the pod on the node as it is.
TEST_F(PreemptionTest, APreemptorWaitsForThePluginThatDidNotKnowYet) {
  add_node("n1", "4");
  Json low = pod("low", "3", 0);
  low["spec"]["nodeName"] = "n1";
  api_.add(low);
  waits_.set_pending({"n1"});
  api_.add(pod("high", "3", 10));
  synced();
  ASSERT_TRUE(eventually([&] { return !api_.message("high").empty(); }));
  EXPECT_NE(api_.node_of("low"), "");
  waits_.set_pending({});
  waits_.host->requeue_rejected();
  EXPECT_TRUE(eventually_on("high", "n1"));
}

// NominatedPods since Kubernetes 1.37: the room of a gated pod is kept too.
TEST_F(PreemptionTest, AGatedPodKeepsTheRoomThatItIsNominatedTo) {
  add_node("n1", "4");
  Json gated = pod("gated", "3", 10);
  gated["spec"]["schedulingGates"] = Json::parse(R"([{"name": "wait"}])");
  gated["status"]["nominatedNodeName"] = "n1";
  api_.add(gated);
  api_.add(pod("low", "2", 0));
  api_.add(pod("small", "1", 0));
  synced();
  EXPECT_TRUE(eventually_on("small", "n1"));
  EXPECT_TRUE(eventually([&] {
    return api_.has_event("low",
                          "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are "
                          "available: 1 No preemption victims found for incoming pod.");
  }));
  EXPECT_EQ(api_.node_of("low"), "");
}

}  // namespace
}  // namespace plimsoll
