// What `plimsoll top` and `plimsoll queue` show.

#include "cli/ask/cluster_use.hpp"
#include "cli/ask/explain_text.hpp"
#include "cli/ask/history.hpp"
#include "cli/ask/what_if.hpp"
#include "cli/line/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/ask/explain_json.hpp"
#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr size_t kAll = std::numeric_limits<size_t>::max();

TEST(TableText, ACellIsOneLineWithoutControlCharacters) {
  Table table({"POD", "WHY"});
  table.add({"a\nforged", "\x1b[2J\u202e"});
  EXPECT_EQ(table.text(), "POD        WHY\na\\nforged  \\u001b[2J\\u202e\n");
}

TEST(ExplainText, NobodysTextMakesALineOfItsOwn) {
  const json pod{{"namespace", "ns"}, {"name", "a"}, {"schedulerName", "topo"},
                 {"priority", 0},     {"uid", "u"},  {"terminating", false}};
  const json said{{"pod", pod},
                  {"profile", "topo"},
                  {"standby", false},
                  {"state", "bound"},
                  {"node", "n\nState: forged \x1b[2J"}};
  EXPECT_EQ(explain_text(said.dump(), kAll),
            "Pod ns/a (scheduler topo, priority 0, uid u)\n"
            "State: bound to n\\nState: forged \\u001b[2J\n");
}

// Who waits for long counts from the pod's creation, and who has just changed the cluster from the
// last try.
TEST(ExplainText, SaysSinceWhenAPodWaits) {
  json said{{"pod",
             {{"namespace", "ns"},
              {"name", "a"},
              {"schedulerName", "topo"},
              {"priority", 0},
              {"uid", "u"},
              {"terminating", false}}},
            {"profile", "topo"},
            {"standby", false},
            {"state", "queued"},
            {"queue",
             {{"place", "unschedulable"},
              {"podsThere", 1},
              {"attempts", 3},
              {"secondsWaiting", 1000},
              {"secondsQueued", 2},
              {"backoffSecondsLeft", 0},
              {"rejectedBy", json::array()}}}};
  EXPECT_THAT(explain_text(said.dump(), kAll),
              HasSubstr("\n  created 16 min ago; 3 attempts, the last one 2 s ago\n"));
  said["queue"]["attempts"] = 0;
  EXPECT_THAT(explain_text(said.dump(), kAll), HasSubstr("\n  created 16 min ago; 0 attempts\n"));
}

class ClusterUse : public ::testing::Test {
 protected:
  StateSnapshot snapshot() {
    StateSnapshot state;
    state.synced = true;
    state.resource_names = {"cpu", "memory"};
    for (const char* name : {"b", "a"}) {
      auto node = decode_node(json{{"metadata", {{"name", name}}}}.dump(), symbols_);
      EXPECT_TRUE(node) << node.error().message;
      if (node) state.nodes.push_back({*node, 1, {8000, int64_t{16} << 30}, {1500, 0}});
    }
    state.plugins["NodeResourceTopologyMatch"] =
        std::string(R"({"nodes":{"a":{"zones":{"node-0":{"cpu":{"allocatable":"4","free":"2500m"}},
            "node-1":{"cpu":{"allocatable":"4","free":"4"}}}},"gone":{"zones":{}}}})");
    state.plugins["NodeDevice"] =
        std::string(R"({"nodes":{"a":{"devices":{"gpu":{"heldUnknown":0,"unbounded":0,"minors":{
            "10":{"present":true,"healthy":false,"total":{"gpu-core":100},"used":{},"free":{}},
            "2":{"present":true,"healthy":true,"total":{"gpu-core":100},"used":{"gpu-core":30},
                 "free":{"gpu-core":70}}}}}}}})");
    return state;
  }
  SymbolTable symbols_;
};

TEST_F(ClusterUse, ShowsNodesZonesAndDevices) {
  const std::string use = use_json(snapshot());
  const json nodes = json::parse(use).at("nodes");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0]["node"], "a");
  EXPECT_EQ(nodes[0]["zones"]["node-0"]["cpu"], (json{{"used", 1500}, {"allocatable", 4000}}));
  EXPECT_EQ(nodes[0]["devices"]["gpu"]["2"]["free"]["gpu-core"], 70);
  EXPECT_TRUE(nodes[1]["zones"].empty());
  const std::string text = use_text(use, kAll);
  EXPECT_THAT(text, HasSubstr("NODE   ZONE    cpu    memory\n"
                              "a              1.5/8  0Gi/16Gi\n"
                              "       node-0  1.5/4  -\n"
                              "       node-1  0/4    -\n"
                              "b              1.5/8  0Gi/16Gi\n"
                              "all 2          3/16   0Gi/32Gi\n"));
  EXPECT_THAT(text, HasSubstr("NODE  DEVICE  MINOR  USED              STATE\n"
                              "a     gpu     2      gpu-core 30/100   healthy\n"
                              "a     gpu     10     gpu-core 100/100  unhealthy\n"));
  EXPECT_THAT(use_text(use, 1), AllOf(HasSubstr("\nall 2          3/16"),
                                      HasSubstr("and 1 more nodes (--limit all)")));
}

// An amount that is no whole number of Gi stands in Gi too.
TEST_F(ClusterUse, AColumnHasOneUnit) {
  StateSnapshot state = snapshot();
  state.plugins.clear();
  const int64_t gi = int64_t{1} << 30;
  state.nodes[0].allocatable = {8000, 256 * gi};
  state.nodes[0].requested = {250, 87 * gi + gi / 2 + 1};
  state.nodes[1].allocatable = {8000, 16 * gi + 4096};
  state.nodes[1].requested = {0, 500 << 20};
  EXPECT_THAT(use_text(use_json(state), kAll), HasSubstr("cpu      memory\n"
                                                         "a            0/8      0.4Gi/16Gi\n"
                                                         "b            0.25/8   87.5Gi/256Gi\n"
                                                         "all 2        0.25/16  87.9Gi/272Gi\n"));
}

// Four cards, of which shares are given of two, one is not well, and one is free.
TEST_F(ClusterUse, AWholeCardIsOneOfWhichNoShareIsGiven) {
  StateSnapshot state = snapshot();
  const int64_t gi = int64_t{1} << 30;
  state.resource_names = {"cpu", "memory", "nvidia.com/gpu", "koordinator.sh/gpu-memory"};
  for (StateSnapshot::Node& node : state.nodes) {
    node.allocatable = {8000, 16 * gi, 4, 64 * gi};
    node.requested = {0, 0, 0, 0};
  }
  state.nodes[0].requested[2] = 2;  // on a node without a Device object: as pods ask
  json minors = json::object();
  const auto minor = [&](const char* name, int64_t used, bool healthy) {
    minors[name] = {{"present", true},
                    {"healthy", healthy},
                    {"total", {{"koordinator.sh/gpu-memory", 16 * gi}}},
                    {"used", {{"koordinator.sh/gpu-memory", used}}},
                    {"free", {{"koordinator.sh/gpu-memory", healthy ? 16 * gi - used : 0}}}};
  };
  minor("0", 4 * gi, true);
  minor("1", 8 * gi, true);
  minor("2", 0, false);
  minor("3", 0, true);
  state.plugins["NodeDevice"] =
      json{{"nodes",
            {{"a",
              {{"devices",
                {{"gpu",
                  {{"wholeFree", 1}, {"wholeNames", {"nvidia.com/gpu"}}, {"minors", minors}}}}}}}}}}
          .dump();
  const json nodes = json::parse(use_json(state)).at("nodes");
  EXPECT_EQ(nodes[0]["resources"]["nvidia.com/gpu"], (json{{"used", 3}, {"allocatable", 4}}));
  EXPECT_EQ(nodes[0]["resources"]["koordinator.sh/gpu-memory"],
            (json{{"used", 28 * gi}, {"allocatable", 64 * gi}}));
  EXPECT_EQ(nodes[1]["resources"]["nvidia.com/gpu"], (json{{"used", 2}, {"allocatable", 4}}));
  EXPECT_THAT(use_text(use_json(state), kAll),
              HasSubstr("a     gpu     1      koordinator.sh/gpu-memory 8Gi/16Gi   healthy\n"));
}

TEST_F(ClusterUse, DevicesHaveOneUnitToo) {
  StateSnapshot state = snapshot();
  const auto card = [](int64_t bytes) {
    return json{{"present", true},
                {"healthy", true},
                {"total", {{"koordinator.sh/gpu-memory", bytes}}},
                {"used", json::object()},
                {"free", {{"koordinator.sh/gpu-memory", bytes / 2}}}};
  };
  const json minors{{"0", card(int64_t{16} << 30)}, {"1", card(512 << 20)}};
  state.plugins["NodeDevice"] =
      json{{"nodes", {{"a", {{"devices", {{"gpu", {{"minors", minors}}}}}}}}}}.dump();
  EXPECT_THAT(use_text(use_json(state), kAll),
              AllOf(HasSubstr("gpu-memory 8Gi/16Gi "), HasSubstr("gpu-memory 0.2Gi/0.5Gi ")));
}

// A pod of ours that its node's report counts, one that it does not count yet, one of another
// scheduler, and one whose zones nobody knows.
TEST_F(ClusterUse, SaysWhoHoldsWhat) {
  StateSnapshot state = snapshot();
  state.scheduler_names = {"topo"};
  state.took_us = 1500;
  auto node = decode_node(json{{"metadata",
                                {{"name", "a"},
                                 {"labels",
                                  {{"pool", "gpu"},
                                   {"kubernetes.io/hostname", "a"},
                                   {"feature.node.kubernetes.io/cpu-x", "true"}}}}},
                               {"spec",
                                {{"unschedulable", true},
                                 {"taints",
                                  {{{"key", "k"}, {"value", "v"}, {"effect", "NoExecute"}},
                                   {{"key", "x"}, {"effect", "NoSchedule"}}}}}}}
                              .dump(),
                          symbols_);
  ASSERT_TRUE(node) << node.error().message;
  state.nodes[1].node = *node;
  for (const auto& [name, scheduler] :
       {std::pair("bound", "topo"), {"fresh", "topo"}, {"foreign", "other"}, {"lost", "topo"}}) {
    auto pod = decode_pod(json{{"metadata", {{"namespace", "n"}, {"name", name}, {"uid", name}}},
                               {"spec", {{"nodeName", "a"}, {"schedulerName", scheduler}}}}
                              .dump(),
                          symbols_);
    ASSERT_TRUE(pod) << pod.error().message;
    state.placed.push_back({*pod, false});
  }
  const auto zoned = [](const char* name, const char* as, const char* cpus) {
    return json{
        {"pod", std::string("n/") + name}, {"state", as}, {"zones", {{"node-0", {{"cpu", cpus}}}}}};
  };
  state.plugins["NodeResourceTopologyMatch"] =
      json{{"nodes",
            {{"a",
              {{"report", "read"},
               {"uncertain", "its kubelet is away"},
               {"zones", {{"node-0", {{"cpu", {{"allocatable", "8"}, {"free", "1"}}}}}}},
               {"pods",
                {{"bound", zoned("bound", "reported", "2")},
                 {"fresh", zoned("fresh", "promised", "1500m")},
                 {"foreign", zoned("foreign", "reported", "3")},
                 {"lost", {{"pod", "n/lost"}, {"state", "no zones known"}}}}}}}}}}
          .dump();
  const json card{{"present", true},
                  {"healthy", true},
                  {"total", {{"gpu-core", 100}}},
                  {"used", {{"gpu-core", 100}}},
                  {"free", {{"gpu-core", 0}}}};
  state.plugins["NodeDevice"] =
      json{{"nodes",
            {{"a",
              {{"devices", {{"gpu", {{"minors", {{"0", card}, {"1", card}}}}}}},
               {"pods",
                {{"fresh", {{"pod", "n/fresh"}, {"devices", {{"gpu", {{{"minor", 1}}}}}}}},
                 {"bound",
                  {{"pod", "n/bound"},
                   {"assumed", true},
                   {"devices", {{"gpu", {{{"minor", 0}}, {{"minor", 7}}}}}}}}}}}}}}}
          .dump();

  const json use = json::parse(use_json(state));
  EXPECT_EQ(use["loopMilliseconds"], 1.5);
  const json& a = use["nodes"][0];
  EXPECT_EQ(a["zones"]["node-0"]["cpu"],
            (json{{"used", 7000}, {"allocatable", 8000}, {"promised", 1500}, {"foreign", 3000}}));
  EXPECT_EQ(a["devices"]["gpu"]["0"]["pods"], (json{{{"pod", "n/bound"}, {"state", "promised"}}}));
  EXPECT_EQ(a["devices"]["gpu"]["1"]["pods"], (json{{{"pod", "n/fresh"}, {"state", "bound"}}}));
  EXPECT_EQ(a["labels"], (json{{"pool", "gpu"}}));
  EXPECT_EQ(a["taints"], (json{"k=v:NoExecute", "x:NoSchedule"}));
  EXPECT_EQ(a["unschedulable"], true);
  EXPECT_EQ(a["report"], "read");
  EXPECT_EQ(a["uncertain"], "its kubelet is away");
  EXPECT_FALSE(a.contains("pods"));

  state.nodes.erase(state.nodes.begin());
  const json one = json::parse(use_json(state, true))["nodes"];
  ASSERT_EQ(one.size(), 1U);
  const json& pods = one[0]["pods"];
  ASSERT_EQ(pods.size(), 4U);
  EXPECT_EQ(pods[0], (json{{"pod", "n/bound"},
                           {"state", "bound"},
                           {"zones", {{"node-0", {{"cpu", "2"}}}}},
                           {"devices", {{"gpu", {0, 7}}}}}));
  EXPECT_EQ(pods[1]["state"], "promised");
  EXPECT_EQ(pods[2]["state"], "foreign");
  EXPECT_EQ(pods[3], (json{{"pod", "n/lost"}, {"state", "uncertain"}}));
}

TEST_F(ClusterUse, HasTheTextOfEachNode) {
  const json all = json::parse(use_json(snapshot()))["nodes"];
  const std::map<std::string, std::string> texts = use_of_nodes(snapshot());
  ASSERT_EQ(texts.size(), all.size());
  for (const json& node : all) EXPECT_EQ(json::parse(texts.at(node["node"])), node);
}

TEST_F(ClusterUse, SaysWhichClaimsHaveWhichDevices) {
  StateSnapshot state = snapshot();
  const json claim{{"claim", "team/c"}, {"state", "promised"}, {"pods", {"team/a", "team/b"}}};
  const json made{{"claim", ""}, {"state", "promised"}, {"pods", {"team/x"}}};
  const json devices{{"card-0", {{"claims", {claim}}}},
                     {"card-1", {{"claims", {made}}}},
                     {"card-2", {{"claims", json::array()}, {"taints", {"hot:NoSchedule"}}}},
                     {"card-3", {{"claims", json::array()}, {"elsewhere", true}}},
                     {"card-4", {{"claims", json::array()}}}};
  const json drivers{{"gpu.example.com", {{"pool-a", devices}}}};
  state.plugins["DynamicResources"] =
      json{{"nodes", {{"a", {{"claimDevices", drivers}}}, {"gone", {{"claimDevices", drivers}}}}}}
          .dump();
  const std::string use = use_json(state);
  const json nodes = json::parse(use)["nodes"];
  EXPECT_EQ(nodes[0]["claimDevices"], drivers);
  EXPECT_FALSE(nodes[1].contains("claimDevices"));
  EXPECT_THAT(
      use_text(use, kAll),
      HasSubstr("\nDevices of claims:\n"
                "NODE  DRIVER           POOL    DEVICE  HELD BY\n"
                "a     gpu.example.com  pool-a  card-0  team/c for team/a, team/b (promised)\n"
                "a     gpu.example.com  pool-a  card-1  for team/x (promised)\n"
                "a     gpu.example.com  pool-a  card-2  tainted\n"
                "a     gpu.example.com  pool-a  card-3  given away by NodeDevice\n"
                "a     gpu.example.com  pool-a  card-4  free\n"));
}

TEST_F(ClusterUse, NeedsNeitherPluginsNorNodes) {
  StateSnapshot state = snapshot();
  state.plugins["NodeDevice"] = std::string("no JSON");
  state.plugins["NodeResourceTopologyMatch"] = std::string("[]");
  EXPECT_THAT(use_text(use_json(state), kAll), HasSubstr("a            1.5/8  0Gi/16Gi\n"));
  state.nodes.clear();
  state.standby = true;
  EXPECT_EQ(use_text(use_json(state), kAll),
            "This replica stands by: another one leads, and only that one decides.\n"
            "There are no nodes.\n");
}

// Pods that are not there, as people paste them.
class WhatIf : public ClusterUse {
 protected:
  std::string refused(const std::string& text) {
    const auto pod = pod_of_manifest(text, symbols_);
    EXPECT_FALSE(pod);
    return pod ? "" : pod.error().message;
  }
};

TEST_F(WhatIf, APodStandsForItselfAloneAndHasNoNode) {
  const auto pod = pod_of_manifest(
      json{{"kind", "Pod"},
           {"apiVersion", "v1"},
           {"metadata",
            {{"name", "p"},
             {"namespace", "team"},
             {"uid", "of-another"},
             {"deletionTimestamp", "2026-01-01T00:00:00Z"}}},
           {"spec",
            {{"nodeName", "n"},
             {"schedulerName", "topo"},
             {"containers",
              {{{"name", "c"},
                {"resources", {{"limits", {{"cpu", "2"}}}, {"requests", {{"memory", "1Gi"}}}}}}}}}},
           {"status", {{"phase", "Running"}, {"nominatedNodeName", "n"}}}}
          .dump(),
      symbols_);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(full_name(**pod), "team/p");
  EXPECT_NE(view((**pod).meta.uid), "of-another");
  EXPECT_EQ((**pod).meta.deletion_ms, 0);
  EXPECT_EQ(view((**pod).node_name), "");
  EXPECT_EQ(view((**pod).nominated_node_name), "");
  EXPECT_EQ(view((**pod).scheduler_name), "topo");
  std::map<std::string, int64_t> requests;
  for (const plimsoll_resource& each : sdk::List<plimsoll_resource>((**pod).requests))
    requests[std::string(view(each.name))] = each.value;
  EXPECT_EQ(requests["cpu"], 2000) << "the limit stands for it";
  EXPECT_EQ(requests["memory"], int64_t{1} << 30);
}

TEST_F(WhatIf, TakesThePodThatAnObjectMakes) {
  const auto pod = pod_of_manifest(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: team}\n"
      "spec: {template: {spec: {containers: [{name: c}]}}}\n",
      symbols_);
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(full_name(**pod), "team/what-if");
  EXPECT_EQ(view((**pod).scheduler_name), "default-scheduler");
}

TEST_F(WhatIf, SaysWhatIsWrong) {
  EXPECT_THAT(refused("kind: ["), HasSubstr("not valid YAML"));
  EXPECT_THAT(refused(""), HasSubstr("one object is wanted"));
  EXPECT_THAT(refused("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n"),
              HasSubstr("a Node makes no pods"));
  const std::string pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
  EXPECT_THAT(refused(pod), HasSubstr("must be objects"));
  EXPECT_THAT(refused(pod + "spec: {containers: [{name: c, resources: {limits: {cpu: x}}}]}\n"),
              HasSubstr("cpu"));
}

TEST(QueueText, ShowsWhoWaitsAndWhy) {
  const auto pod = [](int number, const char* place, double backoff) {
    return json{{"pod", "team/p" + std::to_string(number)},
                {"uid", "u"},
                {"place", place},
                {"attempts", number},
                {"secondsWaiting", 60.0 * number},
                {"secondsQueued", 5},
                {"backoffSecondsLeft", backoff},
                {"rejectedBy", {"NodeResourcesFit", "NodeAffinity"}}};
  };
  json state{{"standby", false}, {"queue", json::array()}};
  EXPECT_EQ(queue_text(state.dump(), kAll), "No pod waits.\n");
  state["queue"] = {pod(1, "backoff", 4), pod(3, "unschedulable", 0), pod(200, "backoff", 0)};
  state["queue"][1]["nominatedNode"] = "n";
  state["queue"][2]["rejectedBy"] = json::array();
  EXPECT_EQ(queue_text(state.dump(), kAll),
            "POD        PLACE          ATTEMPTS  WAITED  LAST TRY  BACKOFF  REJECTED BY            "
            "        "
            "NOMINATED\n"
            "team/p1    backoff        1         60s     5s ago    4s       "
            "NodeResourcesFit,NodeAffinity  -\n"
            "team/p3    unschedulable  3         3m      5s ago    -        "
            "NodeResourcesFit,NodeAffinity  n\n"
            "team/p200  backoff        200       3h      5s ago    -        -                      "
            "        -\n"
            "3 pods wait: 2 backoff, 1 unschedulable\n");
  EXPECT_THAT(queue_text(state.dump(), 1), HasSubstr("and 2 more pods (--limit all)\n3 pods wait"));
}

// A pod that was made an hour ago has waited for an hour, however young the process is.
TEST_F(ClusterUse, WhoHasWaitedLongestComesFirst) {
  StateSnapshot state;
  const auto wait = [&](const char* name, int64_t waiting_ms, int64_t queued_for_ms) {
    auto pod = decode_pod(
        json{{"metadata", {{"name", name}, {"namespace", "team"}, {"uid", name}}}}.dump(),
        symbols_);
    ASSERT_TRUE(pod) << pod.error().message;
    StateSnapshot::QueuedPod& queued = state.queued.emplace_back();
    queued.pod = *pod;
    queued.group = "train";
    queued.place = "unschedulable";
    queued.waiting_ms = waiting_ms;
    queued.queued_for_ms = queued_for_ms;
  };
  wait("young", 1'000, 1'000);
  wait("old", 3'600'000, 15'000);
  wait("b", 60'000, 60'000);
  wait("a", 60'000, 2'000);
  const std::string queue = queue_json(state);
  std::vector<std::string> order;
  const json said = json::parse(queue);
  for (const json& pod : said.at("queue")) order.push_back(pod.at("pod"));
  EXPECT_THAT(order, testing::ElementsAre("team/old", "team/a", "team/b", "team/young"));
  EXPECT_EQ(said["queue"][0]["secondsWaiting"], 3600);
  EXPECT_EQ(said["queue"][0]["group"], "train");
  EXPECT_THAT(queue_text(queue, 1), HasSubstr("team/old  unschedulable  0         60m     -"));
}

// ---- each minute of the last day

TEST_F(ClusterUse, AMinuteIsKeptAsSums) {
  History history;
  StateSnapshot state = snapshot();
  state.queued.resize(2);
  state.queued[0].waiting_ms = 1500;
  state.queued[0].rejected_by = {"NodeResourcesFit", "NodePorts"};
  state.queued[1].waiting_ms = 500;
  state.queued[1].rejected_by = {"NodeResourcesFit"};
  history.take(state, 7000);
  const double gi = 1 << 30;
  EXPECT_EQ(json::parse(history.samples_json())["samples"],
            json::array({{{"at", 7000},
                          {"waiting", 2},
                          {"longest", 1.5},
                          {"refusedBy", {{"NodeResourcesFit", 2}, {"NodePorts", 1}}},
                          {"totals",
                           {{"cpu", {{"used", 3000.0}, {"allocatable", 16000.0}}},
                            {"memory", {{"used", 0.0}, {"allocatable", 32 * gi}}}}}}}));
}

TEST_F(ClusterUse, AMinuteIsNotKeptOfASchedulerThatDoesNotDecide) {
  History history;
  StateSnapshot state = snapshot();
  state.standby = true;
  history.take(state, 1);
  state.standby = state.synced = false;
  history.take(state, 2);
  EXPECT_EQ(history.samples_json(), R"({"samples":[]})");
}

// Neither time nor names of resources make it grow.
TEST_F(ClusterUse, MinutesBeyondADayGo) {
  History history;
  StateSnapshot state = snapshot();
  for (size_t i = 0; i < 3 * History::kMostResources; ++i) {
    state.resource_names.push_back("example.com/r" + std::to_string(i));
    state.nodes[0].allocatable.push_back(1);
    state.nodes[0].requested.push_back(0);
  }
  for (size_t i = 0; i < History::kMostSamples + 3; ++i)
    history.take(state, static_cast<int64_t>(i));
  const json samples = json::parse(history.samples_json())["samples"];
  ASSERT_EQ(samples.size(), History::kMostSamples);
  EXPECT_EQ(samples[0]["at"], 3);
  EXPECT_EQ(samples[0]["totals"].size(), History::kMostResources);
  EXPECT_TRUE(samples[0]["totals"].contains("cpu"));
}

}  // namespace
}  // namespace plimsoll::cli
