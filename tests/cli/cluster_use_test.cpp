// What `plimsoll top` and `plimsoll queue` show.

#include "cli/cluster_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "framework/api/decode.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr size_t kAll = std::numeric_limits<size_t>::max();

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
        R"({"nodes":{"a":{"zones":{"node-0":{"cpu":{"allocatable":"4","free":"2500m"}},
            "node-1":{"cpu":{"allocatable":"4","free":"4"}}}},"gone":{"zones":{}}}})";
    state.plugins["NodeDevice"] =
        R"({"nodes":{"a":{"devices":{"gpu":{"heldUnknown":0,"unbounded":0,"minors":{
            "10":{"present":true,"healthy":false,"total":{"gpu-core":100},"used":{},"free":{}},
            "2":{"present":true,"healthy":true,"total":{"gpu-core":100},"used":{"gpu-core":30},
                 "free":{"gpu-core":70}}}}}}}})";
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
  EXPECT_THAT(text, HasSubstr("NODE  ZONE    cpu      memory\n"
                              "a             1500m/8  0/16Gi\n"
                              "      node-0  1500m/4  -\n"
                              "      node-1  0/4      -\n"
                              "b             1500m/8  0/16Gi\n"));
  EXPECT_THAT(text, HasSubstr("NODE  DEVICE  MINOR  USED              STATE\n"
                              "a     gpu     2      gpu-core 30/100   healthy\n"
                              "a     gpu     10     gpu-core 100/100  unhealthy\n"));
  EXPECT_THAT(use_text(use, 1), HasSubstr("and 1 more nodes"));
}

TEST_F(ClusterUse, NeedsNeitherPluginsNorNodes) {
  StateSnapshot state = snapshot();
  state.plugins = {{"NodeDevice", "no JSON"}, {"NodeResourceTopologyMatch", "[]"}};
  EXPECT_THAT(use_text(use_json(state), kAll), HasSubstr("a           1500m/8  0/16Gi\n"));
  state.nodes.clear();
  state.standby = true;
  EXPECT_EQ(use_text(use_json(state), kAll),
            "This replica stands by: another one leads, and only that one decides.\n"
            "There are no nodes.\n");
}

TEST(QueueText, ShowsWhoWaitsAndWhy) {
  const auto pod = [](int number, const char* place, double backoff) {
    return json{{"pod", "team/p" + std::to_string(number)},
                {"uid", "u"},
                {"place", place},
                {"attempts", number},
                {"secondsQueued", 60.0 * number},
                {"backoffSecondsLeft", backoff},
                {"rejectedBy", {"NodeResourcesFit", "NodeAffinity"}}};
  };
  json state{{"standby", false}, {"queue", json::array()}};
  EXPECT_EQ(queue_text(state.dump(), kAll), "No pod waits.\n");
  state["queue"] = {pod(1, "backoff", 4), pod(3, "unschedulable", 0), pod(200, "backoff", 0)};
  state["queue"][1]["nominatedNode"] = "n";
  state["queue"][2]["rejectedBy"] = json::array();
  EXPECT_EQ(
      queue_text(state.dump(), kAll),
      "POD        PLACE          ATTEMPTS  WAITED  BACKOFF  REJECTED BY                    "
      "NOMINATED\n"
      "team/p1    backoff        1         60s     4s       NodeResourcesFit,NodeAffinity  -\n"
      "team/p3    unschedulable  3         3m      -        NodeResourcesFit,NodeAffinity  n\n"
      "team/p200  backoff        200       3h      -        -                              -\n"
      "3 pods wait: 2 backoff, 1 unschedulable\n");
  EXPECT_THAT(queue_text(state.dump(), 1), HasSubstr("and 2 more pods (--limit all)\n3 pods wait"));
}

}  // namespace
}  // namespace plimsoll::cli
