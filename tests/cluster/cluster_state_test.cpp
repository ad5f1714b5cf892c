#include "framework/cluster/cluster_state.hpp"

#include <gtest/gtest.h>
#include <plimsoll/plugin_abi.h>

#include <map>
#include <random>
#include <string>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll {
namespace {

class ClusterStateTest : public ::testing::Test {
 protected:
  NodeRef node(const std::string& name, const std::string& cpu = "8",
               const std::string& labels = "{}") {
    auto decoded =
        decode_node(R"({"metadata":{"name":")" + name + R"(","labels":)" + labels +
                        R"(},"status":{"allocatable":{"cpu":")" + cpu + R"(","pods":"110"}}})",
                    symbols_);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    return *decoded;
  }
  PodRef pod(const std::string& name, const std::string& node_name, const std::string& cpu = "1",
             int port = 0) {
    const std::string ports =
        port == 0 ? "" : R"(,"ports":[{"hostPort":)" + std::to_string(port) + "}]";
    auto decoded =
        decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" + name +
                       R"("},"spec":{"nodeName":")" + node_name +
                       R"(","containers":[{"name":"c","resources":{"requests":{"cpu":")" + cpu +
                       R"("}})" + ports + "}]}}",
                   symbols_);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().message;
    return *decoded;
  }
  int64_t cpu_requested(const std::string& name) {
    const NodeInfo* info = cluster_.node(name);
    return info == nullptr ? -1 : info->abi()->requested[PLIMSOLL_RESOURCE_CPU];
  }

  SymbolTable symbols_;
  ClusterState cluster_;
};

// Sums stay at their limit, and what they were below it comes back when the large pod goes.
TEST_F(ClusterStateTest, APodThatAsksForAllThereIsLeavesNothingBehind) {
  cluster_.upsert_node(node("n"));
  cluster_.upsert_pod(pod("a", "n", "1500m"));
  cluster_.upsert_pod(pod("large", "n", "9223372036854775807"));
  cluster_.upsert_pod(pod("larger", "n", "9223372036854775807"));
  EXPECT_EQ(cpu_requested("n"), INT64_MAX);
  cluster_.upsert_pod(pod("b", "n", "250m"));
  EXPECT_TRUE(cluster_.remove_pod("large"));
  EXPECT_EQ(cpu_requested("n"), INT64_MAX);
  EXPECT_TRUE(cluster_.remove_pod("larger"));
  EXPECT_EQ(cpu_requested("n"), 1750);
  EXPECT_EQ(cluster_.node("n")->abi()->nonzero_cpu, 1750);
  EXPECT_TRUE(cluster_.remove_pod("a"));
  EXPECT_EQ(cpu_requested("n"), 250);
}

// A node's arrays reach as far as what it declares and its pods use, not to what others name.
TEST_F(ClusterStateTest, ResourcesOfNoNodeMakeNoNodeLarger) {
  std::string many = R"({"metadata":{"name":"many","uid":"many"},"spec":{"nodeName":"n",
      "containers":[{"name":"c","resources":{"requests":{"cpu":"1")";
  for (int i = 0; i < 5'000; ++i) many += ",\"example.com/r" + std::to_string(i) + "\":\"1\"";
  const PodRef large = *decode_pod(many + "}}}]}}", symbols_);
  cluster_.upsert_node(node("n"));
  cluster_.upsert_pod(large);
  EXPECT_LE(cluster_.node("n")->abi()->resource_count, SymbolTable::kMostOfPods);
  EXPECT_EQ(cpu_requested("n"), 1000);
  cluster_.upsert_node(*decode_node(
      R"({"metadata":{"name":"m"},"status":{"allocatable":{"example.com/own":"1"}}})", symbols_));
  EXPECT_LE(cluster_.node("m")->abi()->resource_count, SymbolTable::kMostOfPods + 1);
}

TEST_F(ClusterStateTest, PodsAreCountedOnTheirNode) {
  cluster_.upsert_node(node("n"));
  EXPECT_EQ(cluster_.upsert_pod(pod("a", "n", "1500m")), PodChange::kAdded);
  EXPECT_EQ(cluster_.upsert_pod(pod("b", "n", "500m")), PodChange::kAdded);
  EXPECT_EQ(cpu_requested("n"), 2000);
  EXPECT_EQ(cluster_.upsert_pod(pod("b", "n", "250m")), PodChange::kUpdated);
  EXPECT_EQ(cpu_requested("n"), 1750);
  EXPECT_TRUE(cluster_.remove_pod("a"));
  EXPECT_FALSE(cluster_.remove_pod("a"));
  EXPECT_EQ(cpu_requested("n"), 250);
  EXPECT_EQ(cluster_.node("n")->abi()->pod_count, 1U);
}

TEST_F(ClusterStateTest, AssumedPodIsConfirmedForgottenOrMoved) {
  cluster_.upsert_node(node("n"));
  cluster_.upsert_node(node("m"));
  EXPECT_TRUE(cluster_.assume(pod("a", "n")));
  EXPECT_FALSE(cluster_.assume(pod("a", "m"))) << "a UID is in one place";
  EXPECT_TRUE(cluster_.is_assumed("a"));
  EXPECT_EQ(cluster_.upsert_pod(pod("a", "n")), PodChange::kConfirmed);
  EXPECT_FALSE(cluster_.forget("a")) << "a confirmed pod is the API server's";
  EXPECT_TRUE(cluster_.assume(pod("b", "n")));
  EXPECT_TRUE(cluster_.forget("b"));
  EXPECT_TRUE(cluster_.assume(pod("c", "n")));
  EXPECT_EQ(cluster_.upsert_pod(pod("c", "m")), PodChange::kMoved);
  EXPECT_EQ(cpu_requested("n"), 1000);
  EXPECT_EQ(cpu_requested("m"), 1000);
  EXPECT_EQ(cluster_.assumed_count(), 0U);
}

TEST_F(ClusterStateTest, ASlotIsOnlyLikely) {
  cluster_.upsert_node(node("n"));
  cluster_.upsert_node(node("m"));
  const uint32_t slot = cluster_.node("n")->slot();
  EXPECT_EQ(cluster_.node("n", slot), cluster_.node("n"));
  EXPECT_EQ(cluster_.node("m", slot), cluster_.node("m")) << "it is another node's";
  EXPECT_EQ(cluster_.node("m", 1000), cluster_.node("m"));
  EXPECT_TRUE(cluster_.assume(pod("a", "m"), slot));
  EXPECT_EQ(cpu_requested("m"), 1000);
  cluster_.remove_node("n");
  EXPECT_EQ(cluster_.node("n", slot), nullptr) << "it is free";
  cluster_.upsert_node(node("o"));
  EXPECT_EQ(cluster_.node("n", slot), nullptr);
  EXPECT_EQ(cluster_.node("o", slot)->name(), "o");
}

TEST_F(ClusterStateTest, NodeThatVanishesKeepsItsPods) {
  cluster_.upsert_node(node("n"));
  cluster_.upsert_pod(pod("a", "n"));
  const uint32_t slot = cluster_.node("n")->slot();
  EXPECT_TRUE(cluster_.remove_node("n"));
  EXPECT_FALSE(cluster_.remove_node("n"));
  EXPECT_EQ(cluster_.node("n"), nullptr);
  EXPECT_TRUE(cluster_.rows().empty());
  cluster_.upsert_node(node("n"));
  EXPECT_EQ(cluster_.node("n")->slot(), slot);
  EXPECT_EQ(cpu_requested("n"), 1000);
  cluster_.remove_node("n");
  cluster_.remove_pod("a");
  cluster_.upsert_node(node("other"));
  EXPECT_EQ(cluster_.node("other")->slot(), slot) << "the slot is free once the last pod is gone";
  EXPECT_EQ(cpu_requested("other"), 0);
}

TEST_F(ClusterStateTest, PodOfANodeThatIsNotKnownYet) {
  cluster_.upsert_pod(pod("a", "later"));
  EXPECT_EQ(cluster_.node("later"), nullptr);
  cluster_.upsert_node(node("later"));
  EXPECT_EQ(cpu_requested("later"), 1000);
}

TEST_F(ClusterStateTest, ChangesNameTheirAspects) {
  EXPECT_NE(cluster_.upsert_node(node("n")), 0U);
  EXPECT_EQ(cluster_.upsert_node(node("n")), 0U) << "nothing that is read has changed";
  EXPECT_EQ(cluster_.upsert_node(node("n", "9")), uint32_t{PLIMSOLL_ASPECT_ALLOCATABLE});
  EXPECT_EQ(cluster_.upsert_node(node("n", "9", R"({"a":"b"})")), uint32_t{PLIMSOLL_ASPECT_LABELS});
  const uint64_t before = cluster_.log_end();
  const uint64_t generation = cluster_.node("n")->abi()->generation;
  cluster_.upsert_pod(pod("a", "n", "1", 80));
  ASSERT_EQ(cluster_.log_end(), before + 1);
  EXPECT_EQ(cluster_.log_at(before).slot, cluster_.node("n")->slot());
  EXPECT_NE(cluster_.log_at(before).aspects & PLIMSOLL_ASPECT_PORTS, 0U);
  EXPECT_NE(cluster_.log_at(before).aspects & PLIMSOLL_ASPECT_REQUESTED, 0U);
  EXPECT_GT(cluster_.node("n")->abi()->generation, generation);
}

TEST_F(ClusterStateTest, PortsLeaveWithTheirPod) {
  cluster_.upsert_node(node("n"));
  cluster_.upsert_pod(pod("a", "n", "1", 80));
  cluster_.upsert_pod(pod("b", "n", "1", 443));
  EXPECT_EQ(cluster_.node("n")->abi()->host_ports.count, 2U);
  cluster_.remove_pod("a");
  const plimsoll_list& ports = cluster_.node("n")->abi()->host_ports;
  ASSERT_EQ(ports.count, 1U);
  EXPECT_EQ(sdk::List<plimsoll_host_port>(ports)[0].port, 443);
}

TEST_F(ClusterStateTest, LowestPriorityIsThatOfThePodsThatAreLeft) {
  const auto with_priority = [&](const std::string& name, int priority) {
    return *decode_pod(R"({"metadata":{"name":")" + name + R"(","uid":")" + name +
                           R"("},"spec":{"nodeName":"n","priority":)" + std::to_string(priority) +
                           "}}",
                       symbols_);
  };
  const auto lowest = [&] { return cluster_.node("n")->lowest_priority(); };
  cluster_.upsert_node(node("n"));
  EXPECT_EQ(lowest(), INT32_MAX);
  cluster_.upsert_pod(with_priority("a", 5));
  cluster_.upsert_pod(with_priority("b", 3));
  cluster_.assume(with_priority("c", 3));
  EXPECT_EQ(lowest(), 3);
  cluster_.upsert_pod(with_priority("c", 3));  // confirmed: it leaves and comes again
  EXPECT_EQ(lowest(), 3);
  cluster_.remove_pod("b");
  EXPECT_EQ(lowest(), 3);
  NodeInfo copy(*cluster_.node("n"));
  EXPECT_TRUE(copy.remove_pod("c"));
  EXPECT_EQ(copy.lowest_priority(), 5);
  EXPECT_EQ(lowest(), 3);
  cluster_.remove_pod("c");
  EXPECT_EQ(lowest(), 5);
  cluster_.upsert_pod(with_priority("d", 5));
  cluster_.remove_pod("a");
  EXPECT_EQ(lowest(), 5);
  cluster_.remove_pod("d");
  EXPECT_EQ(lowest(), INT32_MAX);
}

TEST_F(ClusterStateTest, WhatIfCopyIsIndependent) {
  cluster_.upsert_node(node("n"));
  cluster_.upsert_pod(pod("a", "n", "1", 80));
  NodeInfo copy(*cluster_.node("n"));
  copy.add_pod(pod("b", "n", "2", 81));
  EXPECT_TRUE(copy.remove_pod("a"));
  EXPECT_EQ(copy.abi()->requested[PLIMSOLL_RESOURCE_CPU], 2000);
  EXPECT_EQ(copy.abi()->host_ports.count, 1U);
  EXPECT_EQ(cpu_requested("n"), 1000);
  EXPECT_EQ(cluster_.node("n")->abi()->pod_count, 1U);
}

// After any sequence of events the state equals one built from scratch out of what is left.
TEST_F(ClusterStateTest, RandomEventsEqualARebuild) {
  std::mt19937 random(test::test_seed());
  std::map<std::string, NodeRef> nodes;
  std::map<std::string, PodRef> pods;
  for (int step = 0; step < 5000; ++step) {
    const std::string node_name = "n" + std::to_string(random() % 6);
    const std::string pod_name = "p" + std::to_string(random() % 30);
    switch (random() % 6) {
      case 0: {
        const NodeRef made = node(node_name, std::to_string(1 + random() % 64));
        cluster_.upsert_node(made);
        nodes[node_name] = made;
        break;
      }
      case 1:
        cluster_.remove_node(node_name);
        nodes.erase(node_name);
        break;
      case 2:
      case 3: {
        const PodRef made =
            pod(pod_name, node_name, std::to_string(random() % 9), static_cast<int>(random() % 3));
        cluster_.upsert_pod(made);
        pods[pod_name] = made;
        break;
      }
      case 4: {
        const PodRef made = pod(pod_name, node_name);
        if (cluster_.assume(made)) {
          pods[pod_name] = made;
          if (random() % 2 == 0 && cluster_.forget(pod_name)) pods.erase(pod_name);
        }
        break;
      }
      case 5:
        cluster_.remove_pod(pod_name);
        pods.erase(pod_name);
        break;
    }
  }
  ClusterState rebuilt;
  for (const auto& [name, made] : nodes) rebuilt.upsert_node(made);
  for (const auto& [name, made] : pods) rebuilt.upsert_pod(made);
  ASSERT_EQ(cluster_.rows().size(), nodes.size());
  ASSERT_EQ(cluster_.pod_count(), pods.size());
  for (const auto& [name, made] : nodes) {
    const plimsoll_node_info& left = *cluster_.node(name)->abi();
    const plimsoll_node_info& right = *rebuilt.node(name)->abi();
    EXPECT_EQ(left.pod_count, right.pod_count);
    EXPECT_EQ(left.allocatable[PLIMSOLL_RESOURCE_CPU], right.allocatable[PLIMSOLL_RESOURCE_CPU]);
    EXPECT_EQ(left.requested[PLIMSOLL_RESOURCE_CPU], right.requested[PLIMSOLL_RESOURCE_CPU]);
    EXPECT_EQ(left.nonzero_cpu, right.nonzero_cpu);
    EXPECT_EQ(left.host_ports.count, right.host_ports.count);
  }
}

}  // namespace
}  // namespace plimsoll
