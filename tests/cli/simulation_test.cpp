// When a simulation ends, and what it says of itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/informer/scripted_server.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Simulated {
  int code = -1;
  json result;  // what -o json printed
  std::string out;
  std::string err;
  [[nodiscard]] std::vector<std::string> notes() const { return result.at("notes"); }
};

constexpr const char* kPlainProfile =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n";

// `plimsoll simulate -o json` of these objects; a later -o wins. `profile`: a text, or a path that
// ends in .yaml.
Simulated simulate(const std::vector<json>& cluster, const std::vector<json>& pods = {},
                   const std::vector<std::string>& flags = {},
                   const std::string& profile = kPlainProfile) {
  const TempDir dir;
  const auto list = [&dir](const char* name, const std::vector<json>& objects) {
    std::string path = dir.path() / name;
    EXPECT_TRUE(
        write_file(path, json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}}.dump()));
    return path;
  };
  std::string config = profile;
  if (!profile.ends_with(".yaml")) {
    config = dir.path() / "profile.yaml";
    EXPECT_TRUE(write_file(config, profile));
  }
  ChildOptions options;
  options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll",
                  "simulate",
                  "--config",
                  config,
                  "--cluster",
                  list("cluster.json", cluster),
                  "-o",
                  "json"};
  if (!pods.empty()) {
    options.argv.insert(options.argv.end(), {"--pods", list("pods.json", pods)});
  }
  options.argv.insert(options.argv.end(), flags.begin(), flags.end());
  options.stderr_file = dir.path() / "stderr";
  auto process = ChildProcess::start(options);
  if (!process) return {};
  const auto status = process->wait(180s);
  Simulated done{status ? status->code : -1, {}, process->output(), process->error_output()};
  done.result = json::parse(done.out, nullptr, false);
  return done;
}

json node(const std::string& name, const json& allocatable) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}}},
          {"status", {{"allocatable", allocatable}}}};
}

// `more`: fields of the spec.
json pod(const std::string& name, const json& requests, const json& more = json::object()) {
  json made = {{"apiVersion", "v1"},
               {"kind", "Pod"},
               {"metadata", {{"name", name}, {"namespace", "d"}}},
               {"spec",
                {{"containers",
                  {{{"name", "c"},
                    {"image", "i"},
                    {"resources", {{"requests", requests}, {"limits", requests}}}}}}}}};
  made["spec"].update(more);
  return made;
}

// An extender that fails once. The pod then is in backoff for longer than a simulation waits where
// nothing can change any more.
TEST(PlimsollSimulation, GoesOnWhileAPodIsInBackoff) {
  std::atomic<bool> failed = false;
  informer::test::ScriptedServer extender([&](const auto& request, auto& exchange) {
    const auto args = nlohmann::json::parse(request.body);
    exchange.reply(failed.exchange(true) ? 200 : 500,
                   nlohmann::json{{"nodeNames", args.at("NodeNames")}}.dump());
  });
  const TempDir dir;
  const std::string profile = dir.path() / "profile.yaml";
  const std::string pods = dir.path() / "pods.yaml";
  ASSERT_TRUE(write_file(profile,
                         "apiVersion: kubescheduler.config.k8s.io/v1\n"
                         "kind: KubeSchedulerConfiguration\n"
                         "podInitialBackoffSeconds: 4\n"
                         "podMaxBackoffSeconds: 4\n"
                         "extenders:\n"
                         "- {urlPrefix: \"" +
                             extender.url() + "\", filterVerb: filter, nodeCacheCapable: true}\n"));
  ASSERT_TRUE(write_file(pods,
                         "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: default}\n"
                         "spec: {containers: [{name: c, image: i}]}\n"));
  ChildOptions options;
  options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll",
                  "simulate",
                  "--config",
                  profile,
                  "--cluster",
                  "examples/clusters/default/cluster.yaml",
                  "--pods",
                  pods,
                  "-o",
                  "json"};
  options.stderr_file = dir.path() / "stderr";
  auto process = ChildProcess::start(options);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  const auto status = process->wait(60s);
  ASSERT_TRUE(status.has_value()) << process->output();
  EXPECT_EQ(status->code, 0) << process->error_output();
  EXPECT_EQ(extender.count("POST"), 2U);
  EXPECT_EQ(nlohmann::json::parse(process->output())["bound"], 1) << process->output();
}

// An export of a cluster in which a scheduler has judged the pod already: it would write the same
// condition again, and so writes nothing.
TEST(PlimsollSimulation, EndsWhereAWaitingPodHasItsConditionAlready) {
  const json empty = node("n", {{"cpu", "1"}, {"pods", "9"}});
  json waits = pod("p", {{"cpu", "2"}});
  const json gated = pod("q", {{"cpu", "2"}}, {{"schedulingGates", {{{"name", "g"}}}}});
  const json first = simulate({empty, waits, gated}).result;
  ASSERT_TRUE(first.is_object());
  const std::string message = first.at("pods").at(0).at("message");
  waits["status"]["conditions"] = {{{"type", "PodScheduled"},
                                    {"status", "False"},
                                    {"reason", "Unschedulable"},
                                    {"message", message}}};
  const json second = simulate({empty, waits, gated}).result;
  ASSERT_TRUE(second.is_object());
  EXPECT_EQ(second.at("settled"), true);
  EXPECT_EQ(second.at("pods"), first.at("pods"));
}

TEST(PlimsollSimulation, NotesWaitingPodsOfOtherSchedulersInTheClusterFile) {
  const json cluster = node("n", {{"cpu", "8"}, {"pods", "9"}});
  json ended = pod("ended", {{"cpu", "1"}}, {{"schedulerName", "their"}});
  ended["status"]["phase"] = "Succeeded";
  const Simulated done =
      simulate({cluster, ended, pod("a", {{"cpu", "1"}}, {{"schedulerName", "their"}}),
                pod("b", {{"cpu", "1"}}, {{"schedulerName", "their"}}),
                pod("runs", {{"cpu", "1"}}, {{"schedulerName", "their"}, {"nodeName", "n"}}),
                pod("ours", {{"cpu", "1"}})});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.notes(), Contains(AllOf(HasSubstr("2 pods (d/a, ...) name scheduler \"their\""),
                                           HasSubstr("they are not scheduled"))));
}

TEST(PlimsollSimulation, NotesNodesWhoseZonesAreNotSimulated) {
  const json report = {
      {"apiVersion", "topology.node.k8s.io/v1alpha2"},
      {"kind", "NodeResourceTopology"},
      {"metadata", {{"name", "zones"}}},
      {"zones",
       {{{"name", "node-0"},
         {"type", "Node"},
         {"resources",
          {{{"name", "cpu"}, {"capacity", "8"}, {"allocatable", "8"}, {"available", "8"}}}}}}}};
  const json total = {{"cpu", "8"}, {"pods", "9"}};
  const Simulated some =
      simulate({node("zones", total), report, node("plain", total), node("bad", {{"cpu", "x"}})});
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_THAT(some.notes(), Contains(AllOf(HasSubstr("node plain has neither a machine nor"),
                                           HasSubstr("zones are not simulated"))));
  EXPECT_THAT(some.notes(), Contains(HasSubstr("node bad has no simulated kubelet")));
  const Simulated all = simulate({node("zones", total), report});
  EXPECT_THAT(all.notes(), IsEmpty());
}

TEST(PlimsollSimulation, SomeBindingsFailAndThePodsAreTriedAgain) {
  std::vector<json> pods;
  for (int i = 0; i < 20; ++i) pods.push_back(pod("p" + std::to_string(i), {{"cpu", "1"}}));
  const std::vector<json> cluster = {node("n", {{"cpu", "32"}, {"pods", "50"}})};
  const Simulated once = simulate(cluster, pods, {"--bind-failures", "0.4"});
  ASSERT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(once.result["bound"], 20) << once.out;
  EXPECT_EQ(once.result["writes"]["bindings"], 20);
  EXPECT_THAT(once.notes(), Contains(HasSubstr(" Bindings failed, as --bind-failures asks")));
  EXPECT_THAT(once.notes(), Not(Contains(HasSubstr("0 Bindings failed")))) << "none of 20 at 0.4";
  const Simulated again = simulate(cluster, pods, {"--bind-failures", "0.4"});
  EXPECT_EQ(once.notes(), again.notes());
  EXPECT_EQ(once.result["pods"], again.result["pods"]);
  EXPECT_THAT(once.err, HasSubstr("API server: http://127.0.0.1:"));
}

// The tide of both nodes is low, as objects say that come with the events, until one of them
// changes; the other node goes.
TEST(PlimsollSimulation, ObjectsOfAPluginsKindComeChangeAndGo) {
  const TempDir dir;
  const std::string file = dir.path() / "events.json";
  const auto simulate_with = [&](const std::vector<json>& events) {
    EXPECT_TRUE(
        write_file(file, json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", events}}.dump()));
    const json total = {{"cpu", "4"}, {"pods", "9"}};
    return simulate({node("a", total), node("b", total)}, {pod("p", {{"cpu", "1"}})},
                    {"--events", file, "--plugin-dir", PLIMSOLL_LINT_MODULES},
                    std::string(kPlainProfile) +
                        "profiles:\n- plugins: {multiPoint: {enabled: [{name: Tides}]}}\n");
  };
  const auto tide = [](const char* name, bool low, const char* at) {
    return json{{"apiVersion", "example.com/v1"},
                {"kind", "Tide"},
                {"metadata",
                 {{"name", name}, {"annotations", {{"sandbox.plimsoll.io/arrive-seconds", at}}}}},
                {"spec", {{"low", low}}}};
  };
  std::vector<json> events = {tide("a", true, "0"), tide("b", true, "0")};
  const Simulated low = simulate_with(events);
  ASSERT_EQ(low.code, 0) << low.err;
  EXPECT_EQ(low.result["bound"], 0) << low.out;
  EXPECT_THAT(low.result["pods"][0]["message"].get<std::string>(),
              HasSubstr("2 node(s) had low tide"));
  events.push_back(tide("b", false, "5"));
  events.push_back(
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata",
        {{"name", "a"}, {"annotations", {{"sandbox.plimsoll.io/leave-seconds", "3"}}}}}});
  const Simulated turned = simulate_with(events);
  ASSERT_EQ(turned.code, 0) << turned.err;
  EXPECT_EQ(turned.result["bound"], 1) << turned.out;
  EXPECT_EQ(turned.result["pods"][0]["node"], "b");
  EXPECT_EQ(turned.result["nodes"].size(), 1U) << turned.result["nodes"].dump(1);
}

// n3 is not ready. Of the budgets, which nobody has given a status, only the one on n1 allows that
// its pod goes, though that of n2 has a lower priority.
TEST(PlimsollSimulation, BudgetsAndTaintsAreThoseOfTheControllers) {
  const json total = {{"cpu", "2"}, {"pods", "9"}};
  json broken = node("n3", total);
  broken["status"]["conditions"] = json::parse(R"([{"type": "Ready", "status": "False"}])");
  std::vector<json> cluster{node("n1", total), node("n2", total), std::move(broken)};
  const auto add_guarded = [&](const char* name, int priority, const char* on, int available) {
    json running = pod(name, {{"cpu", "2"}}, {{"priority", priority}, {"nodeName", on}});
    running["metadata"]["labels"]["app"] = name;
    running["status"]["phase"] = "Running";
    cluster.push_back(std::move(running));
    cluster.push_back(
        {{"apiVersion", "policy/v1"},
         {"kind", "PodDisruptionBudget"},
         {"metadata", {{"name", name}, {"namespace", "d"}}},
         {"spec",
          {{"minAvailable", available}, {"selector", {{"matchLabels", {{"app", name}}}}}}}});
  };
  add_guarded("web", 20, "n1", 0);
  add_guarded("db", 10, "n2", 1);
  cluster.push_back({{"apiVersion", "apps/v1"},
                     {"kind", "ReplicaSet"},
                     {"metadata", {{"name", "web"}, {"namespace", "d"}}}});
  const Simulated done = simulate(cluster, {pod("urgent", {{"cpu", "2"}}, {{"priority", 100}})});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.result.at("pods").at(0).at("node"), "n1") << done.out;
  EXPECT_EQ(done.result.at("evicted").at(0).at("pod"), "d/web") << done.out;
  EXPECT_THAT(done.notes(), Contains("not simulated: pods made anew (ReplicaSet)"));
}

}  // namespace
}  // namespace plimsoll::test
