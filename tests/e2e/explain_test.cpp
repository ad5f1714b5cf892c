// Asking a running scheduler: explain, debug dump, debug compare, SIGUSR2.

#include <gmock/gmock.h>

#include <csignal>

#include "tests/e2e/e2e_test.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ExplainE2eTest : public E2eTest {
 protected:
  struct Answer {
    int code = -1;
    std::string out;
    std::string err;
    [[nodiscard]] json parsed() const { return json::parse(out, nullptr, false); }
  };

  [[nodiscard]] std::string socket() const { return (folder_.path() / "own" / "s.sock").string(); }

  void start_with_socket() {
    start({.kubeconfig = cluster().kubeconfig_token(), .flags = {"--socket", socket()}});
  }

  Answer ask(std::vector<std::string> words) {
    words.insert(words.begin(), plimsoll_program()->string());
    words.insert(words.end(), {"--socket", socket()});
    const auto errors = folder_.path() / "stderr";
    ChildOptions options{.argv = words, .stderr_file = errors};
    auto child = ChildProcess::start(options);
    if (!child) return {-1, "", child.error().message};
    const auto status = child->wait(60s);
    return {status ? status->code : -1, child->output(), child->error_output()};
  }

  void add_nodes() {
    create(kNodes, node_object("small", {{"cpu", "2"}, {"memory", "8Gi"}, {"pods", "20"}}));
    create(kNodes, node_object("zoned", {{"cpu", "8"}, {"memory", "16Gi"}, {"pods", "20"}}));
    const Resources zone{{"cpu", "4"}, {"memory", "8Gi"}};
    create(kNrts, nrt_object({.node = "zoned", .zones = {zone, zone}}));
  }

  TempDir folder_;
};

TEST_F(ExplainE2eTest, APendingPodAndABoundOne) {
  add_nodes();
  ASSERT_NO_FATAL_FAILURE(start_with_socket());
  create_pod(
      {.name = "big", .scheduler = kScheduler, .requests = {{"cpu", "6"}, {"memory", "1Gi"}}});
  create_pod(
      {.name = "fits", .scheduler = kScheduler, .requests = {{"cpu", "1"}, {"memory", "1Gi"}}});
  const std::string message = wait_refused("big");
  ASSERT_NE(message, "");
  const std::string node = wait_bound("fits");
  ASSERT_NE(node, "");

  const Answer text = ask({"explain", ns() + "/big"});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("If it were tried now: 0 of 2 nodes fit"));
  // The event's words, to which preemption, which explain does not try, has added its own.
  const std::string words = message.substr(0, message.find(" preemption: "));
  EXPECT_THAT(text.out, HasSubstr("  " + words + "\n"));
  EXPECT_THAT(text.out, HasSubstr("Rejected last by NodeResourceTopologyMatch"));
  EXPECT_THAT(text.out, HasSubstr("cpu: need 6, best node-"));

  const Answer answer = ask({"explain", ns() + "/big", "-o", "json"});
  const json big = answer.parsed();
  ASSERT_TRUE(big.is_object()) << answer.out << answer.err;
  EXPECT_EQ(big["state"], "queued");
  EXPECT_EQ(big["placement"]["message"], words);
  EXPECT_EQ(big["placement"]["feasible"], 0);
  ASSERT_EQ(big["placement"]["refused"].size(), 2U);

  // The watch may still be on its way to the scheduler; so may the report of a node that was made
  // a moment ago.
  json fits;
  EXPECT_TRUE(eventually(60s, [&] {
    fits = ask({"explain", ns() + "/fits", "-o", "json"}).parsed();
    return fits.value("state", "") == "bound" && fits["placement"]["feasible"] == 2;
  })) << fits;
  EXPECT_EQ(fits["node"], node);
  ASSERT_EQ(fits["placement"]["fitting"].size(), 2U);
  EXPECT_THAT(fits["placement"]["fitting"][0]["scores"], ::testing::Not(IsEmpty()));

  const Answer unknown = ask({"explain", ns() + "/nobody"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("is not known here"));
}

TEST_F(ExplainE2eTest, ComparisonsWhilePodsArriveFindNothing) {
  add_nodes();
  ASSERT_NO_FATAL_FAILURE(start_with_socket());
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) {
      create_pod({.name = "p-" + std::to_string(round) + "-" + std::to_string(i),
                  .scheduler = i % 3 == 0 ? "nobody" : kScheduler,
                  .requests = {{"cpu", i % 5 == 4 ? "100" : "10m"}}});
    }
    const Answer answer = ask({"debug", "compare", "--settle", "2", "-o", "json"});
    EXPECT_EQ(answer.code, 0) << answer.out << answer.err;
    const json result = answer.parsed();
    EXPECT_EQ(result["compared"]["nodes"], 2);
    EXPECT_EQ(result["compared"]["noderesourcetopologies.v1alpha2.topology.node.k8s.io"], 1);
    remove(pods_path("p-" + std::to_string(round) + "-1"));
  }
  const Answer dump = ask({"debug", "dump"});
  ASSERT_EQ(dump.code, 0) << dump.err;
  const json state = dump.parsed();
  ASSERT_EQ(state["nodes"].size(), 2U);
  EXPECT_EQ(state["nodes"][1]["node"], "zoned");
  EXPECT_EQ(state["nodes"][1]["allocatable"]["cpu"], "8");
  EXPECT_FALSE(state["queue"].empty());
}

TEST_F(ExplainE2eTest, TwoAtOnePlaceAndNobodyThere) {
  add_nodes();
  ASSERT_NO_FATAL_FAILURE(start_with_socket());
  // A second one at the same place is refused, and the first lives on.
  auto second = start_scheduler({.kubeconfig = cluster().kubeconfig_token(),
                                 .flags = {"--socket", socket(), "--leader-elect=false"}});
  ASSERT_TRUE(second.has_value());
  const auto ended = second->wait(20s);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code, 1);
  EXPECT_THAT(second->output(), HasSubstr("another process listens on"));
  EXPECT_EQ(ask({"debug", "compare"}).code, 0);
  scheduler().kill();
  EXPECT_EQ(ask({"debug", "compare"}).code, 2);
  ASSERT_NO_FATAL_FAILURE(start_with_socket());
}

TEST_F(ExplainE2eTest, Sigusr2WritesTheStateAndTheComparisonToTheLog) {
  add_nodes();
  ASSERT_NO_FATAL_FAILURE(start_with_socket());
  create_pod({.name = "big", .scheduler = kScheduler, .requests = {{"cpu", "64"}}});
  ASSERT_NE(wait_refused("big"), "");
  scheduler().signal(SIGUSR2);
  EXPECT_TRUE(scheduler().wait_for_output("cache comparer finished", 30s)) << tail(log(), 30);
  EXPECT_TRUE(scheduler().running());
  EXPECT_EQ(lines_with(log(), {"dump of cached NodeInfo", "zoned", "cpu=8"}).size(), 1U);
  EXPECT_EQ(lines_with(log(), {"dump of scheduling queue", ns() + "/big"}).size(), 1U);
  EXPECT_EQ(lines_with(log(), {"cache comparer finished", "mismatches=0"}).size(), 1U)
      << tail(log(), 30);
  create_pod({.name = "later", .scheduler = kScheduler, .requests = {{"cpu", "1"}}});
  EXPECT_NE(wait_bound("later"), "");
}

}  // namespace
}  // namespace plimsoll::test
