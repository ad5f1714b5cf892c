// When a simulation ends.

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
  const TempDir dir;
  const std::string profile = dir.path() / "profile.yaml";
  const std::string cluster = dir.path() / "cluster.json";
  ASSERT_TRUE(write_file(profile,
                         "apiVersion: kubescheduler.config.k8s.io/v1\n"
                         "kind: KubeSchedulerConfiguration\n"));
  const auto simulate = [&](const std::vector<nlohmann::json>& objects) {
    EXPECT_TRUE(write_file(
        cluster,
        nlohmann::json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}}.dump()));
    ChildOptions options;
    options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll",
                    "simulate",
                    "--config",
                    profile,
                    "--cluster",
                    cluster,
                    "-o",
                    "json"};
    options.stderr_file = dir.path() / "stderr";
    auto process = ChildProcess::start(options);
    if (!process) return nlohmann::json();
    const auto status = process->wait(180s);
    EXPECT_TRUE(status && status->code == 0) << process->error_output();
    return nlohmann::json::parse(process->output(), nullptr, false);
  };
  const nlohmann::json node = {{"apiVersion", "v1"},
                               {"kind", "Node"},
                               {"metadata", {{"name", "n"}}},
                               {"status", {{"allocatable", {{"cpu", "1"}, {"pods", "9"}}}}}};
  nlohmann::json pod = nlohmann::json::parse(R"({"apiVersion": "v1", "kind": "Pod",
      "metadata": {"name": "p", "namespace": "d"},
      "spec": {"containers": [{"name": "c", "image": "i",
                               "resources": {"requests": {"cpu": "2"}}}]}})");
  nlohmann::json gated = pod;
  gated["metadata"]["name"] = "q";
  gated["spec"]["schedulingGates"] = {{{"name", "g"}}};
  const nlohmann::json first = simulate({node, pod, gated});
  ASSERT_TRUE(first.is_object());
  const std::string message = first.at("pods").at(0).at("message");
  pod["status"]["conditions"] = {{{"type", "PodScheduled"},
                                  {"status", "False"},
                                  {"reason", "Unschedulable"},
                                  {"message", message}}};
  const nlohmann::json second = simulate({node, pod, gated});
  ASSERT_TRUE(second.is_object());
  EXPECT_EQ(second.at("settled"), true);
  EXPECT_EQ(second.at("pods"), first.at("pods"));
}

}  // namespace
}  // namespace plimsoll::test
