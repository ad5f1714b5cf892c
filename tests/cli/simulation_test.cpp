// When a simulation ends, and what it says of itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/informer/scripted_server.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

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

// A NodeResourceTopology of zones with so many CPUs each, of which all are free.
json topology(const std::string& name, const std::vector<int>& cpus) {
  json zones = json::array();
  for (const int count : cpus) {
    const std::string all = std::to_string(count);
    zones.push_back(
        {{"name", "node-" + std::to_string(zones.size())},
         {"type", "Node"},
         {"resources",
          {{{"name", "cpu"}, {"capacity", all}, {"allocatable", all}, {"available", all}}}}});
  }
  return {{"apiVersion", "topology.node.k8s.io/v1alpha2"},
          {"kind", "NodeResourceTopology"},
          {"metadata", {{"name", name}}},
          {"zones", zones}};
}

const json kTotal = {{"cpu", "8"}, {"memory", "64Gi"}, {"pods", "99"}};

json pinned(const std::string& name, int cpus, const char* arrives, const char* runs) {
  json made = pod(name, {{"cpu", std::to_string(cpus)}, {"memory", "1Gi"}});
  made["metadata"]["annotations"] = {{"sandbox.plimsoll.io/arrive-seconds", arrives},
                                     {"sandbox.plimsoll.io/run-seconds", runs}};
  return made;
}

TEST(PlimsollSimulation, TheSamePlacementsHaveTheSameAverages) {
  const std::vector<json> cluster{node("n", kTotal), topology("n", {8})};
  const std::vector<json> pods{pinned("a", 2, "100", "300"), pinned("b", 2, "110", "300"),
                               pinned("c", 1, "120", "300")};
  const json report = simulate(cluster, pods, {"--report"}).result.at("report");
  EXPECT_EQ(report.at("window"), json({{"from", 100.0}, {"to", 120.0}, {"end", "last arrival"}}));
  const json& cpu = report.at("zones").at("cpu");
  EXPECT_DOUBLE_EQ(cpu.at("mean"), 3000) << "2 CPUs for 10 s and 4 for as long";
  EXPECT_EQ(cpu.at("peak"), 5000);
  EXPECT_DOUBLE_EQ(report.at("hours").at("cpu").at("used"), (2 * 20 + 2 * 10) / 3600.0);
  EXPECT_DOUBLE_EQ(report.at("hours").at("cpu").at("allocatable"), 8 * 20 / 3600.0);

  // Because it waits the run goes on until the others have ended.
  std::vector<json> and_one = pods;
  and_one.push_back(pinned("never", 99, "110", "1"));
  const Simulated with_one = simulate(cluster, and_one, {"--report"});
  EXPECT_GT(with_one.result.at("simulatedSeconds"), 400);
  const json& same = with_one.result.at("report");
  EXPECT_EQ(same.at("window"), report.at("window"));
  EXPECT_EQ(same.at("hours"), report.at("hours"));
  for (const char* key : {"mean", "peak", "spread"}) {
    EXPECT_EQ(same.at("zones").at("cpu").at(key), cpu.at(key)) << key;
  }
  EXPECT_THAT(
      simulate(cluster, pods, {"--report", "-o", "text"}).out,
      AllOf(HasSubstr("from the first arrival of a pod (100 s) to the last arrival (120 s)"),
            HasSubstr("CPU hours: 0.0 of 0.0 (37.5 %)")));
}

TEST(PlimsollSimulation, GoesOnUntilItIsToldTo) {
  const std::vector<json> cluster{node("n", kTotal), topology("n", {8})};
  const std::vector<json> pods{pinned("a", 8, "0", "1799.8"), pinned("late", 1, "9999", "1")};
  const Simulated done = simulate(cluster, pods, {"--report", "--until", "3600"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.result.at("simulatedSeconds"), 3600);
  EXPECT_EQ(done.result.at("pods").size(), 1U) << "the other one comes later";
  const json& report = done.result.at("report");
  EXPECT_EQ(report.at("window"), json({{"from", 0.0}, {"to", 3600.0}, {"end", "until"}}));
  EXPECT_NEAR(report.at("hours").at("cpu").at("used"), 4, 0.001);
  EXPECT_DOUBLE_EQ(report.at("hours").at("cpu").at("allocatable"), 8);
  EXPECT_NEAR(report.at("zones").at("cpu").at("mean"), 4000, 0.1);
  // Nothing moves, and no pod came.
  const json still = simulate(cluster, {}, {"--report", "--until", "7"}).result;
  EXPECT_EQ(still.at("simulatedSeconds"), 7);
  EXPECT_TRUE(still.at("report").at("window").is_null());
}

TEST(PlimsollSimulation, SaysWhenEachPodCameWasTriedBoundAndEnded) {
  const std::vector<json> cluster{node("n", kTotal), topology("n", {8})};
  const std::vector<json> pods{pinned("first", 8, "0", "99.8"), pinned("second", 8, "10", "50")};
  const json result = simulate(cluster, pods).result;
  const json& first = result.at("pods").at(0);
  EXPECT_EQ(first.at("pod"), "d/first");
  EXPECT_EQ(first.at("created"), 0);
  EXPECT_EQ(first.at("tried"), 0);
  EXPECT_EQ(first.at("bound"), 0);
  EXPECT_EQ(first.at("tries"), 1);
  EXPECT_NEAR(first.at("ended"), 100, 0.01) << "it began after 0.2 s";
  const json& second = result.at("pods").at(1);
  EXPECT_EQ(second.at("created"), 10);
  EXPECT_EQ(second.at("tried"), 10);
  EXPECT_EQ(second.at("tries"), 2);
  EXPECT_NEAR(second.at("lastTried"), 100, 0.01);
  EXPECT_NEAR(second.at("bound"), 100, 0.01);
  EXPECT_FALSE(second.contains("ended")) << "nothing waits for its end";
  const json& run = result.at("runs").at(0);
  EXPECT_EQ(run.at("pod"), "d/first");
  EXPECT_EQ(run.at("node"), "n");
  EXPECT_EQ(run.at("from"), 0);
  EXPECT_NEAR(run.at("to"), 100, 0.01);
  EXPECT_EQ(run.at("requests").at("cpu"), 8000);
  EXPECT_EQ(run.at("zones"), json({{"c", {0}}}));
}

TEST(PlimsollSimulation, SaysWhatItWasMadeOf) {
  const json result =
      simulate({node("n", kTotal)}, {}, {"--seed", "7", "--report-loss", "0.1"}).result;
  EXPECT_FALSE(result.at("version").get<std::string>().empty());
  EXPECT_EQ(result.at("seed"), 7);
  EXPECT_EQ(result.at("flags").at("--report-loss"), json({"0.1"}));
  EXPECT_FALSE(result.at("flags").contains("--report-jitter"));
  // As sha256sum says.
  const TempDir dir;
  const std::string profile = dir.path() / "p.yaml";
  ASSERT_TRUE(write_file(profile, kPlainProfile));
  const std::string events = dir.path() / "events.yaml";
  ASSERT_TRUE(write_file(events, "{apiVersion: v1, kind: Namespace, metadata: {name: later}}\n"));
  const json inputs =
      simulate({node("n", kTotal)}, {}, {"--events", events}, profile).result.at("inputs");
  EXPECT_EQ(inputs.at("config"),
            json({{"file", profile},
                  {"sha256", "9e91dbbd26a3ea0bf6455e0b7aac18e9b133b8a6058abf53bfa86b9ffcbe9cf8"}}));
  EXPECT_EQ(inputs.at("cluster").at("sha256").get<std::string>().size(), 64U);
  EXPECT_EQ(inputs.at("events").at("sha256").get<std::string>().size(), 64U);
  EXPECT_FALSE(inputs.contains("pods"));
}

// Every key that is printed stands in the schema, and is of its type.
TEST(PlimsollSimulation, TheSchemaHasWhatIsPrinted) {
  constexpr const char* kCheck = R"(
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open('docs/simulation.schema.json'))
Draft202012Validator.check_schema(schema)
def close(part):
    if isinstance(part, dict):
        if 'properties' in part and part.get('type') != 'string':
            part.setdefault('additionalProperties', False)
        for inner in part.values(): close(inner)
close(schema)
for path in sys.argv[1:]:
    for error in Draft202012Validator(schema).iter_errors(json.load(open(path))):
        print(path, error.json_path, error.message)
)";
  const TempDir dir;
  ChildOptions options;
  options.argv = {"/usr/bin/env", "python3", "-W", "ignore", "-c", kCheck};
  const auto add = [&](const char* name, const Simulated& done) {
    ASSERT_TRUE(done.result.is_object()) << name << done.err;
    ASSERT_TRUE(write_file((dir.path() / name).string(), done.out));
    options.argv.push_back((dir.path() / name).string());
  };
  const auto sample = [](const std::string& name, const std::string& profile) {
    const std::string folder = "examples/clusters/" + name + "/";
    return simulate({}, {},
                    {"--cluster", folder + "cluster.yaml", "--pods", folder + "pods.yaml",
                     "--report", "--explain", "default/none"},
                    "examples/profiles/" + profile);
  };
  add("machines", sample("machines", "topology.yaml"));
  add("preemption", sample("preemption", "topology.yaml"));
  add("hami", sample("hami", "hami.yaml"));
  add("waits", simulate({node("n", kTotal), topology("n", {8})},
                        {pinned("a", 8, "0", "5"), pinned("b", 9, "1", "1")}, {"--report"}));
  add("nothing", simulate({node("n", kTotal)}, {}, {"--report", "--until", "1"}));
  // A key that the schema does not have is found.
  auto check = ChildProcess::start(options);
  ASSERT_TRUE(check.has_value());
  auto status = check->wait(60s);
  ASSERT_TRUE(status && status->code == 0) << check->error_output();
  EXPECT_EQ(check->output(), "");
  Simulated changed = simulate({node("n", kTotal)});
  changed.result["nodes"][0]["new"] = 1;
  changed.out = changed.result.dump();
  add("changed", changed);
  check = ChildProcess::start(options);
  ASSERT_TRUE(check.has_value());
  status = check->wait(60s);
  EXPECT_THAT(check->output(), AllOf(HasSubstr("$.nodes[0]"), HasSubstr("new")));
}

// One file that has what -o json, top, queue and explain say.
TEST(PlimsollSimulation, WritesAPage) {
  const TempDir dir;
  const std::string file = dir.path() / "run.html";
  const Simulated done = simulate({node("n", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "10"}})},
                                  {pod("fits", {{"cpu", "1"}}), pod("waits", {{"cpu", "9"}})},
                                  {"--html", file, "--explain", "d/fits"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, EndsWith("file://" + file + " in a browser\n"));
  const auto page = read_file(file);
  ASSERT_TRUE(page);
  const std::string begin = "id=\"data\">";
  const std::size_t at = page->find(begin) + begin.size();
  const json view = json::parse(page->substr(at, page->find('<', at) - at));
  EXPECT_EQ(view["apiVersion"], "plimsoll.io/view/v1");
  json simulation = view["simulation"];
  EXPECT_TRUE(simulation.contains("report"));
  simulation.erase("report");
  EXPECT_EQ(simulation, done.result);
  const json& there = view["top"]["nodes"][0];
  EXPECT_EQ(there["resources"]["cpu"], (json{{"used", 1000}, {"allocatable", 4000}}));
  EXPECT_EQ(there["pods"], (json{{{"pod", "d/fits"}, {"state", "bound"}}}));
  ASSERT_EQ(view["queue"]["queue"].size(), 1U);
  EXPECT_THAT(view["queue"]["queue"][0]["message"].get<std::string>(),
              HasSubstr("Insufficient cpu"));
  ASSERT_EQ(view["explanations"].size(), 2U);
  EXPECT_EQ(view["explanations"][0]["pod"], "d/fits");
  EXPECT_EQ(view["explanations"][0]["result"]["state"], "bound");
  EXPECT_EQ(view["explanations"][1]["pod"], "d/waits");
  EXPECT_EQ(view["explanations"][1]["result"]["placement"]["feasible"], 0);

  const Simulated failed =
      simulate({node("n", {{"cpu", "4"}})}, {}, {"--html", (dir.path() / "no/a").string()});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("cannot write " + (dir.path() / "no/a").string()));
}

TEST(PlimsollSimulation, WritesPodsAsCsv) {
  json closed = node("closed", kTotal);
  closed["spec"]["unschedulable"] = true;
  const Simulated done =
      simulate({node("n", kTotal), closed},
               {pod("a", {{"cpu", "1"}}), pod("waits", {{"cpu", "9"}})}, {"-o", "csv"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out,
              StartsWith("pod,node,phase,created,tried,lastTried,bound,ended,tries,zones,devices,"
                         "failure,reason,message\n"
                         "d/a,n,Running,0.000,0.000,0.000,0.000,,1,,,,,\n"
                         "d/waits,,Pending,0.000,0.000,0.000,,,1,,,,Unschedulable,"
                         "\"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were "
                         "unschedulable."));
  EXPECT_THAT(done.out, EndsWith("\"\n"));
  EXPECT_THAT(done.err, HasSubstr("note: 2 nodes (closed, ...) have neither"));
}

TEST(PlimsollSimulation, WritesFiguresAsCsv) {
  const Simulated done =
      simulate({node("n", kTotal)},
               {pod("a", {{"cpu", "1"}}), pod("b", {{"cpu", "1"}}), pod("c", {{"cpu", "9"}})},
               {"-o", "csv", "--report"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, StartsWith("figure,value\npods,3\nbound,2\nrefusedByKubelets,0\nevicted,0\n"
                                   "waitedSeconds50,0.000000\nwaitedSeconds90,0.000000\n"
                                   "waitedSeconds99,0.000000\nhours cpu,"));
  EXPECT_THAT(done.out, HasSubstr("\nhoursThere cpu,"));
  EXPECT_THAT(simulate({node("n", kTotal)}, {}, {"-o", "csv", "--report"}).out,
              HasSubstr("\nwaitedSeconds50,\n"))
      << "nobody waited";
}

TEST(PlimsollSimulation, TakesPodsOfOtherSchedulers) {
  const std::string profile = std::string(kPlainProfile) +
                              "profiles: [{schedulerName: one}, "
                              "{schedulerName: two}]\n";
  const std::vector<json> cluster{node("n", kTotal),
                                  pod("a", {{"cpu", "1"}}, {{"schedulerName", "their"}})};
  const std::vector<json> pods{pod("b", {{"cpu", "1"}}, {{"schedulerName", "their"}}),
                               pod("c", {{"cpu", "1"}}),
                               pod("d", {{"cpu", "1"}}, {{"schedulerName", "one"}})};
  const auto taken = [&](const std::vector<std::string>& flags) {
    const Simulated done = simulate(cluster, pods, flags, profile);
    EXPECT_EQ(done.code, 0) << done.err;
    std::vector<std::string> names;
    for (const json& one : done.result.at("pods")) names.push_back(one.at("pod"));
    return names;
  };
  EXPECT_EQ(taken({}), std::vector<std::string>({"d/d"}));
  EXPECT_EQ(taken({"--as-scheduler", "their"}), std::vector<std::string>({"d/a", "d/b", "d/d"}));
  EXPECT_EQ(taken({"--as-scheduler", "two"}),
            std::vector<std::string>({"d/a", "d/b", "d/c", "d/d"}));
}

// Not for want of a place.
TEST(PlimsollSimulation, FailsIfAPodCouldNotBeJudged) {
  informer::test::ScriptedServer extender(
      [](const auto&, auto& exchange) { exchange.reply(500, "{}"); });
  const Simulated done =
      simulate({node("n", kTotal)}, {pod("a", {{"cpu", "1"}})}, {},
               std::string(kPlainProfile) + "extenders:\n- {urlPrefix: \"" + extender.url() +
                   "\", filterVerb: filter, nodeCacheCapable: true}\n");
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("pod d/a could not be judged, because of an error"));
  EXPECT_EQ(done.result.at("pods").at(0).at("reason"), "SchedulerError");
}

TEST(PlimsollSimulation, NotesNodesWhoseZonesAreNotSimulated) {
  const Simulated some = simulate({node("zones", kTotal), topology("zones", {8}),
                                   node("plain", kTotal), node("bad", {{"cpu", "x"}})});
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_THAT(some.notes(), Contains(AllOf(HasSubstr("node plain has neither a machine nor"),
                                           HasSubstr("zones are not simulated"))));
  EXPECT_THAT(some.notes(), Contains(HasSubstr("status.allocatable[cpu]: expected a quantity")));
  const Simulated all = simulate({node("zones", kTotal), topology("zones", {8})});
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

TEST(PlimsollSimulation, NotesWhatAMachineHides) {
  json gpus = node("gpus", {{"cpu", "4"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "8"}});
  gpus["metadata"]["annotations"] = {
      {"sandbox.plimsoll.io/machine",
       R"({"hwlocSynthetic": "pack:1 [numa(memory=1GiB)] core:4 pu:1"})"}};
  const Simulated done = simulate({gpus});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.notes(), ElementsAre(AllOf(HasSubstr("node gpus: Node.status has 8"),
                                              HasSubstr("nvidia.com/gpu"),
                                              HasSubstr("the machine describes 0"))));
}

// Of two zones with 8 CPUs a pod has 4, and no report shows where.
TEST(PlimsollSimulation, BoundsWhatFitsBesidePodsInUnknownZones) {
  json zones = topology("n", {8, 8});
  zones["attributes"] = {{{"name", "topologyManagerPolicy"}, {"value", "single-numa-node"}}};
  json runs = pod("runs", {{"cpu", "4"}, {"memory", "1Gi"}}, {{"nodeName", "n"}});
  runs["status"]["phase"] = "Running";
  json total = kTotal;
  total["cpu"] = "16";
  const auto place_of = [&](const char* cpus, const std::string& unknown, const char* says) {
    const Simulated done =
        simulate({node("n", total), zones, runs}, {pod("p", {{"cpu", cpus}, {"memory", "1Gi"}})},
                 {"--unknown-zones", unknown, "--as-scheduler", "default-scheduler"},
                 "examples/profiles/topology.yaml");
    EXPECT_EQ(done.code, 0) << done.err;
    EXPECT_THAT(done.notes(),
                ElementsAre(AllOf(HasSubstr("the running pod d/runs on n"), HasSubstr(says))));
    EXPECT_EQ(done.result.at("kubelets").at("rejected"), 0);
    return done.result.at("pods").at(0).at("node");
  };
  EXPECT_EQ(place_of("6", "optimistic", "upper bound"), "n");
  EXPECT_EQ(place_of("6", "pessimistic", "lower bound"), "");
  EXPECT_EQ(place_of("4", "pessimistic", "lower bound"), "n");
}

// CPUs that drivers give away through claims (KEP-5517), as single CPUs and as shares of a zone,
// beside CPUs that pods request: each counts once.
TEST(PlimsollSimulation, CountsCpusOfClaimsOnce) {
  const json cpu = {{"mapping", {{"deviceMultiplier", "1"}}}};
  const json share = {{"mapping", {{"capacityKey", "dra.cpu/cpu"}, {"capacityMultiplier", "1"}}}};
  const auto device_class = [](const char* name, const char* expression) -> json {
    return {{"apiVersion", "resource.k8s.io/v1"},
            {"kind", "DeviceClass"},
            {"metadata", {{"name", name}}},
            {"spec", {{"selectors", {{{"cel", {{"expression", expression}}}}}}}}};
  };
  std::vector<json> cluster{device_class("shares", "device.allowMultipleAllocations"),
                            device_class("singles", "!device.allowMultipleAllocations")};
  for (int i = 0; i < 20; ++i) {
    const std::string name = "n" + std::to_string(i);
    cluster.push_back(node(name, {{"cpu", "32"}, {"memory", "64Gi"}, {"pods", "110"}}));
    json devices = json::array();
    for (int k = 0; k < (i % 2 == 0 ? 2 : 32); ++k) {
      json& device = devices.emplace_back(json{{"name", "d" + std::to_string(k)}});
      device["nodeAllocatableResources"]["cpu"] = i % 2 == 0 ? share : cpu;
      if (i % 2 != 0) continue;
      device["allowMultipleAllocations"] = true;
      device["capacity"]["dra.cpu/cpu"]["value"] = "16";
    }
    cluster.push_back({{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceSlice"},
                       {"metadata", {{"name", name}}},
                       {"spec",
                        {{"driver", "dra.cpu"},
                         {"nodeName", name},
                         {"pool", {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}}},
                         {"devices", devices}}}});
  }
  std::vector<json> pods;
  std::map<std::string, int64_t> wanted;  // by pod
  std::set<std::string> of_shares;
  std::mt19937 random(test_seed());
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int i = 0; i < 220; ++i) {
    const std::string name = "p" + std::to_string(i);
    const int own = pick(0, 3), claimed = pick(0, 4);
    json made = pod(name, {{"cpu", std::to_string(own)}});
    wanted["d/" + name] = (own + claimed) * 1000;
    if (claimed > 0) {
      json exactly = {{"deviceClassName", "shares"}};
      if (pick(0, 1) == 0) {
        exactly = {{"deviceClassName", "singles"}, {"count", claimed}};
      } else {
        exactly["capacity"]["requests"]["dra.cpu/cpu"] = std::to_string(claimed);
        of_shares.insert("d/" + name);
      }
      pods.push_back(
          {{"apiVersion", "resource.k8s.io/v1"},
           {"kind", "ResourceClaim"},
           {"metadata", {{"name", name}, {"namespace", "d"}}},
           {"spec", {{"devices", {{"requests", {{{"name", "r"}, {"exactly", exactly}}}}}}}}});
      made["spec"]["resourceClaims"] = {{{"name", "c"}, {"resourceClaimName", name}}};
    }
    pods.push_back(made);
  }
  const Simulated done =
      simulate(cluster, pods, {"--nodes", "all"},
               std::string(kPlainProfile) +
                   "profiles:\n- pluginConfig:\n  - name: DynamicResources\n"
                   "    args: {featureGates: {DRANodeAllocatableResources: true}}\n");
  ASSERT_TRUE(done.result.is_object()) << done.err;
  std::map<std::string, int64_t> used;
  std::vector<std::string> waiting;
  for (const json& each : done.result["pods"]) {
    const int64_t amount = wanted.at(each["pod"]);
    const std::string where = each.value("node", "");
    where.empty() ? waiting.push_back(each["pod"]) : static_cast<void>(used[where] += amount);
  }
  int64_t all = 0;
  std::map<bool, int64_t> most_free;  // on nodes with shares, and with singles
  for (const json& each : done.result["nodes"]) {
    const json& cpus = each["resources"]["cpu"];
    const std::string name = each["node"];
    EXPECT_EQ(cpus["used"], used[name]) << name;
    const int64_t left = cpus["allocatable"].get<int64_t>() - used[name];
    EXPECT_GE(left, 0) << name;
    int64_t& most = most_free[std::stoi(name.substr(1)) % 2 == 0];
    most = std::max(most, left);
    all += used[name];
  }
  EXPECT_GT(all, 20 * 32'000 * 8 / 10) << "the cluster is nearly full";
  // Nothing is lost. Of shares one must be of one zone, so a sum does not tell.
  for (const std::string& each : waiting) {
    if (of_shares.contains(each)) continue;
    EXPECT_GT(wanted[each], most_free[false]) << each;
  }
}

// Of a node's 4 CPUs a pod has 2 while another wants 3, two of them by its claim: that one is told
// when the first has ended, though no claim is given back.
TEST(PlimsollSimulation, WhoWaitsForCpusOfItsClaimIsToldWhenAnyPodEnds) {
  const json mapping = {{"mapping", {{"capacityKey", "dra.cpu/cpu"}}}};
  const json device{{"name", "d"},
                    {"allowMultipleAllocations", true},
                    {"capacity", {{"dra.cpu/cpu", {{"value", "4"}}}}},
                    {"nodeAllocatableResources", {{"cpu", mapping}}}};
  const std::vector<json> cluster{
      node("n", {{"cpu", "4"}, {"memory", "1Gi"}, {"pods", "9"}}),
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "DeviceClass"},
       {"metadata", {{"name", "any"}}},
       {"spec", json::object()}},
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceSlice"},
       {"metadata", {{"name", "n"}}},
       {"spec",
        {{"driver", "dra.cpu"},
         {"nodeName", "n"},
         {"pool", {{"name", "n"}, {"generation", 1}, {"resourceSliceCount", 1}}},
         {"devices", {device}}}}}};
  json first = pod("first", {{"cpu", "2"}});
  first["metadata"]["annotations"] = {{"sandbox.plimsoll.io/run-seconds", "5"}};
  const json exactly{{"deviceClassName", "any"},
                     {"capacity", {{"requests", {{"dra.cpu/cpu", "2"}}}}}};
  const json claim{
      {"apiVersion", "resource.k8s.io/v1"},
      {"kind", "ResourceClaim"},
      {"metadata", {{"name", "c"}, {"namespace", "d"}}},
      {"spec", {{"devices", {{"requests", {{{"name", "r"}, {"exactly", exactly}}}}}}}}};
  const json second = pod("second", {{"cpu", "1"}},
                          {{"resourceClaims", {{{"name", "c"}, {"resourceClaimName", "c"}}}}});
  const Simulated done =
      simulate(cluster, {first, claim, second}, {"--until", "60"},
               std::string(kPlainProfile) +
                   "profiles:\n- pluginConfig:\n  - name: DynamicResources\n"
                   "    args: {featureGates: {DRANodeAllocatableResources: true}}\n");
  ASSERT_TRUE(done.result.is_object()) << done.err;
  const json& waited = done.result["pods"][1];
  EXPECT_EQ(waited["node"], "n") << waited;
  EXPECT_EQ(waited["tries"], 2) << "once when it came, and once when there was room";
}

// Three nodes with a device and three CPUs each. Pods of a CPU each name one claim for a device.
TEST(PlimsollSimulation, AGangThatSharesAClaimGetsOneAllocationOrNone) {
  std::vector<json> cluster{{{"apiVersion", "resource.k8s.io/v1"},
                             {"kind", "DeviceClass"},
                             {"metadata", {{"name", "any"}}},
                             {"spec", json::object()}}};
  for (const char* name : {"n1", "n2", "n3"}) {
    cluster.push_back(node(name, {{"cpu", "3"}, {"pods", "9"}}));
    cluster.push_back({{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceSlice"},
                       {"metadata", {{"name", name}}},
                       {"spec",
                        {{"driver", "d.example.com"},
                         {"nodeName", name},
                         {"pool", {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}}},
                         {"devices", {{{"name", "d"}}}}}}});
  }
  std::vector<json> pods;
  const auto add_claim = [&](const std::string& name) {
    const json ask{{"name", "r"}, {"exactly", {{"deviceClassName", "any"}}}};
    pods.push_back({{"apiVersion", "resource.k8s.io/v1"},
                    {"kind", "ResourceClaim"},
                    {"metadata", {{"name", name}, {"namespace", "d"}}},
                    {"spec", {{"devices", {{"requests", {ask}}}}}}});
    return json{{{"name", "c"}, {"resourceClaimName", name}}};
  };
  // The first needs more CPUs than any node has, so it gets nothing and holds nothing.
  for (const auto& [group, size] : {std::pair("wide", 4), std::pair("whole", 3)}) {
    pods.push_back({{"apiVersion", "scheduling.k8s.io/v1beta1"},
                    {"kind", "PodGroup"},
                    {"metadata", {{"name", group}, {"namespace", "d"}}},
                    {"spec", {{"schedulingPolicy", {{"gang", {{"minCount", size}}}}}}}});
    const json claims = add_claim(group);
    for (int i = 0; i < size; ++i) {
      pods.push_back(
          pod(group + std::to_string(i), {{"cpu", "1"}},
              {{"resourceClaims", claims}, {"schedulingGroup", {{"podGroupName", group}}}}));
    }
  }
  for (const char* name : {"alone0", "alone1"})
    pods.push_back(pod(name, {{"cpu", "1"}}, {{"resourceClaims", add_claim(name)}}));

  const Simulated done = simulate(cluster, pods);
  ASSERT_TRUE(done.result.is_object()) << done.err;
  std::map<std::string, std::set<std::string>> nodes;
  for (const json& each : done.result["pods"]) {
    std::string of = each["pod"];
    of.pop_back();
    nodes[of].insert(each.value("node", ""));
  }
  EXPECT_EQ(nodes["d/wide"], std::set<std::string>{""}) << done.out;
  EXPECT_EQ(nodes["d/whole"].size(), 1U) << done.out;
  EXPECT_FALSE(nodes["d/whole"].contains("")) << done.out;
  EXPECT_EQ(nodes["d/alone"].size(), 2U) << done.out;
  EXPECT_FALSE(nodes["d/alone"].contains("")) << done.out;
}

}  // namespace
}  // namespace plimsoll::test
