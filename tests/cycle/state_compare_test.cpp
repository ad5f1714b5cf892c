#include "framework/cycle/inspect/state_compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kNrt = "noderesourcetopologies.v1alpha2.topology.node.k8s.io";

// Both sides of one small cluster, equal at first: pods a (on n1), w (waiting), x (of another
// scheduler, on n2), nodes n1 and n2, an NRT for n1.
class StateCompareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    here_.synced = true;
    here_.scheduler_names = {"topo"};
    for (const char* name : {"n1", "n2"}) {
      here_.nodes.push_back({node(name, "1"), 0, {}, {}});
      api_.nodes.push_back({"", name, std::string("u-") + name, "1"});
    }
    here_.placed.push_back({pod("a", "n1", "1"), false});
    here_.placed.push_back({pod("x", "n2", "1", "other"), false});
    here_.queued.push_back({pod("w", "", "1"), {}, "active", 0, 0, 0, 0, {}});
    api_.pods = {listed("a", "n1"), listed("x", "n2", "other"), listed("w", "")};
    here_.kinds[kNrt] = {
        "topology.node.k8s.io", "v1alpha2", "noderesourcetopologies", true, {"/n1"}};
    api_.kinds[kNrt] = {"/n1"};
  }

  NodeRef node(const std::string& name, const std::string& version) {
    return *decode_node(R"({"metadata":{"name":")" + name + R"(","uid":"u-)" + name +
                            R"(","resourceVersion":")" + version + R"("}})",
                        symbols_);
  }
  PodRef pod(const std::string& name, const std::string& on, const std::string& version,
             const std::string& scheduler = "topo") {
    return *decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" +
                           name + R"(","resourceVersion":")" + version +
                           R"("},"spec":{"nodeName":")" + on + R"(","schedulerName":")" +
                           scheduler + R"("}})",
                       symbols_);
  }
  static ApiListing::Pod listed(const std::string& name, const std::string& on,
                                const std::string& scheduler = "topo") {
    ApiListing::Pod pod;
    pod.ns = "ns";
    pod.name = name;
    pod.uid = "u-" + name;
    pod.resource_version = "1";
    pod.node = on;
    pod.scheduler_name = scheduler;
    return pod;
  }
  std::vector<std::string> differences() const { return texts(compare_state(here_, api_)); }
  static std::vector<std::string> texts(const std::vector<StateDifference>& all) {
    std::vector<std::string> result;
    for (const StateDifference& one : all) {
      result.push_back(one.kind + " " + one.object + " " + std::string(to_string(one.problem)) +
                       " [" + one.here + "] [" + one.api + "]");
    }
    return result;
  }

  SymbolTable symbols_;
  StateSnapshot here_;
  ApiListing api_;
};

TEST_F(StateCompareTest, EqualStatesHaveNoDifference) {
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_F(StateCompareTest, MissedAndRedundantNodes) {
  here_.nodes[0].node = node("n3", "4");
  EXPECT_THAT(differences(), ElementsAre("Node n1 missed [] [resourceVersion 1]",
                                         "Node n3 redundant [resourceVersion 4] []"));
}

TEST_F(StateCompareTest, MissedAndRedundantPods) {
  here_.placed[0].pod = pod("z", "n1", "1");
  here_.queued.clear();
  EXPECT_THAT(differences(),
              ElementsAre("Pod ns/a missed [] [on n1]", "Pod ns/w missed [] [without a node]",
                          "Pod ns/z redundant [on n1] []"));
}

TEST_F(StateCompareTest, ARecreatedPodIsAnother) {
  api_.pods[0].uid = "u-a2";
  EXPECT_THAT(differences(),
              ElementsAre("Pod ns/a redundant [on n1] []", "Pod ns/a missed [] [on n1]"));
}

TEST_F(StateCompareTest, PodsOnAnotherNode) {
  api_.pods[0].node = "n2";
  api_.pods[2].node = "n2";
  EXPECT_THAT(differences(), ElementsAre("Pod ns/a elsewhere [on n1] [on n2]",
                                         "Pod ns/w elsewhere [in the queue] [on n2]"));
  here_.placed[0].assumed = true;
  EXPECT_EQ(differences()[0], "Pod ns/a elsewhere [assumed on n1] [on n2]");
  api_.pods[0].node = "";
  here_.placed[0].assumed = false;
  EXPECT_EQ(differences()[0], "Pod ns/a elsewhere [on n1] [without a node]");
}

TEST_F(StateCompareTest, AnAssumedPodIsUnderWay) {
  here_.placed[0].assumed = true;
  api_.pods[0].node = "";
  api_.pods[0].resource_version = "7";
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_F(StateCompareTest, OldVersions) {
  api_.nodes[1].resource_version = "8";
  api_.pods[0].resource_version = "9";
  api_.pods[2].resource_version = "3";
  EXPECT_THAT(differences(),
              ElementsAre("Node n2 stale [resourceVersion 1] [resourceVersion 8]",
                          "Pod ns/a stale [on n1, resourceVersion 1] [resourceVersion 9]",
                          "Pod ns/w stale [in the queue, resourceVersion 1] [resourceVersion 3]"));
}

TEST_F(StateCompareTest, WhatIsNotKeptHereIsNotMissed) {
  api_.pods.push_back(listed("foreign", "", "other"));
  ApiListing::Pod dying = listed("dying", "");
  dying.terminating = true;
  api_.pods.push_back(dying);
  api_.pods.push_back(listed("broken", "n1"));
  api_.unreadable = {"u-broken", "u-a"};
  api_.pods[0].resource_version = "5";
  EXPECT_THAT(differences(), IsEmpty());
}

TEST_F(StateCompareTest, FurtherKinds) {
  api_.kinds[kNrt] = {"/n2"};
  EXPECT_THAT(differences(), ElementsAre(std::string(kNrt) + " n1 redundant [known] []",
                                         std::string(kNrt) + " n2 missed [] [there]"));
  here_.kinds[kNrt].synced = false;
  EXPECT_THAT(differences(), IsEmpty()) << "it is still being read";
}

TEST_F(StateCompareTest, OnlyWhatStaysAndDoesNotMoveHereCounts) {
  api_.pods[0].resource_version = "9";  // a: an event is on its way
  api_.pods[1].node = "n1";             // x: really wrong
  api_.pods.push_back(listed("new", "n1"));
  const auto before = compare_state(here_, api_);
  EXPECT_EQ(before.size(), 3U);
  here_.placed[0].pod = pod("a", "n1", "9");  // it came, and the next one is on its way
  api_.pods[0].resource_version = "12";
  here_.placed.push_back({pod("new", "n1", "1"), false});
  EXPECT_THAT(texts(persisting(before, compare_state(here_, api_))),
              ElementsAre("Pod ns/x elsewhere [on n2] [on n1]"));
}

}  // namespace
}  // namespace plimsoll
