// When a simulation ends.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace plimsoll::test
