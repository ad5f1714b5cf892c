#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"

#include <gtest/gtest.h>

#include <plimsoll/state_source.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <plimsoll/fake_host.hpp>

#include "plugins/topology/record/zones_annotation.hpp"
#include "plugins/topologyscore/topologyscore.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/support/kept_state.hpp"

namespace plimsoll::topology {
namespace {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePlugin;
using sdk::Hint;
using sdk::ObjectEvent;
using sdk::Pod;

using Match = NodeResourceTopologyMatch;

class MatchTest : public ::testing::Test {
 protected:
  MatchTest() {
    for (FakeNode* node : {&n1_, &n2_}) {
      node->allocatable("cpu", 32'000).allocatable("memory", int64_t{128} << 30);
      host_.add(*node);
    }
    host_.now = kYear2026Ms;
  }

  void add_nodes(Match& plugin) {
    plugin.node_event(sdk::NodeEvent::kAdded, sdk::Node(&n1_.get()), 0);
    plugin.node_event(sdk::NodeEvent::kAdded, sdk::Node(&n2_.get()), 0);
  }
  static ReportSpec zones(const std::string& node, const std::string& version,
                          const std::string& cpu0, const std::string& cpu1) {
    ReportSpec spec;
    spec.node = node;
    spec.version = version;
    spec.fingerprint = fingerprint_of({});
    spec.zones = {{0, {{"cpu", cpu0}, {"memory", "64Gi"}}},
                  {1, {{"cpu", cpu1}, {"memory", "64Gi"}}}};
    return spec;
  }
  template <typename Plugin>
  static void upsert(Plugin& plugin, const std::string& name, const std::string& json,
                     std::string_view resource = kNrtResource) {
    plugin.object_event(ObjectEvent{ObjectEvent::kUpsert, resource, name, "", json});
  }
  static constexpr const char* kNoReport =
      "cannot align pod without the node's NodeResourceTopology";
  static void delete_report(Match& plugin, const std::string& name,
                            std::string_view resource = kNrtResource) {
    plugin.object_event(ObjectEvent{ObjectEvent::kDelete, resource, name, "", ""});
  }
  static void not_served(Match& plugin, std::string_view resource) {
    plugin.object_event(ObjectEvent{ObjectEvent::kSynced, resource, "", "", R"({"served":false})"});
  }
  // v1alpha1: 4 CPUs in one zone; the policy is a name, or it is not said.
  static std::string old_json(const std::string& node, const std::string& policy) {
    std::string json = R"({"metadata":{"name":")" + node + R"(","resourceVersion":"1"},)";
    if (!policy.empty()) json += R"("topologyPolicies":[")" + policy + R"("],)";
    return json + R"("zones":[{"name":"node-0","type":"Node","resources":[
        {"name":"cpu","capacity":"4","allocatable":"4","available":"4"},
        {"name":"memory","capacity":"4Gi","allocatable":"4Gi","available":"4Gi"}]}]})";
  }
  bool logged(std::string_view text) const {
    return std::any_of(host_.logs.begin(), host_.logs.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  std::string explain(FakePlugin<Match>& plugin, const PodRef& pod, FakeNode& node) {
    std::string text;
    const auto put = [](void* sink, const void* data, size_t length) {
      static_cast<std::string*>(sink)->append(static_cast<const char*>(data), length);
    };
    plugin.slots().explain(plugin.slots().self, cycle_.get(), pod.get(), &node.get(), put, &text);
    return text;
  }

  TopologyScene scene_;
  FakeHost host_;
  FakeNode n1_{"n1", 0};
  FakeNode n2_{"n2", 1};
  FakeCycle cycle_;
};

TEST_F(MatchTest, RefusesNodesWhereNoZoneHoldsThePod) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  EXPECT_EQ(host_.watched, std::vector<std::string>{std::string(kNrtResource)});
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "4", "8")));
  const PodRef pod = scene_.pod(guaranteed("p", 10));
  const auto verdict = plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get()));
  EXPECT_EQ(verdict.code, PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(verdict.reasons, "cannot align container (cpu)");
  host_.now += 12'000;
  EXPECT_EQ(explain(plugin, pod, n1_),
            "cannot align container c0 (single-numa-node, scope container; cpu: need 10, best "
            "node-1 has 8; report 12 s old; 0 in flight)");
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(explain(plugin, pod, n2_), "the node has no NodeResourceTopology: not checked");
}

// A memory manager that pins cannot represent 1.1Gi, whatever is free.
TEST_F(MatchTest, RefusesMemoryThatAKubeletCannotPin) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "4", "8")));
  const PodRef pod = scene_.pod(guaranteed("p", 2, "1.1Gi"));
  const sdk::Node node(&n1_.get());
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), node).code, PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(
      explain(plugin, pod, n1_),
      "cannot give memory of NUMA zones c0 (single-numa-node, scope container; a kubelet that pins "
      "memory refuses a request that is no whole number of bytes; report 0 s old; 0 in "
      "flight)");
  const PodRef whole = scene_.pod(guaranteed("q", 2, "1127Mi"));
  EXPECT_EQ(plugin.filter(cycle_, Pod(whole.get()), node).code, PLIMSOLL_SUCCESS);
}

TEST_F(MatchTest, SaysThatTheKubeletIsAway) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  std::string report = nrt_json(zones("n1", "1", "8", "8"));
  const std::string list = R"("attributes":[)";
  report.insert(report.find(list) + list.size(), R"({"name":"kubeletState","value":"away"},)");
  upsert(plugin.plugin(), "n1", report);
  const PodRef pod = scene_.pod(guaranteed("p", 2));
  const auto verdict = plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get()));
  EXPECT_EQ(verdict.code, PLIMSOLL_PENDING);
  const std::string text = explain(plugin, pod, n1_);
  EXPECT_NE(text.find("its kubelet is away"), std::string::npos) << text;
  EXPECT_EQ(text.find("refused"), std::string::npos) << text;
}

// Only pods that a kubelet ties to zones wait while no reports come.
TEST_F(MatchTest, PodsTiedToZonesRestOnReports) {
  const Match match(host_.handle(), "{}");
  const TopologyScore score(host_.handle(), "{}");
  const PodRef tied = scene_.pod(guaranteed("tied", 4));
  PodSpec shared = guaranteed("shared", 4);
  shared.burstable = true;
  const PodRef burstable = scene_.pod(shared);
  const auto check = [&](const auto& plugin) {
    for (const std::string_view resource : {kNrtResource, kOldNrtResource}) {
      EXPECT_TRUE(plugin.rests_on(Pod(tied.get()), resource)) << resource;
      EXPECT_FALSE(plugin.rests_on(Pod(burstable.get()), resource)) << resource;
    }
    EXPECT_FALSE(plugin.rests_on(Pod(tied.get()), "devices.v1alpha1.scheduling.koordinator.sh"));
  };
  check(match);
  check(score);
}

TEST_F(MatchTest, ReservePromisesTheZoneAndWritesIt) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "4", "8")));
  host_.touched.clear();
  const PodRef pod = scene_.pod(guaranteed("p", 6));
  EXPECT_EQ(plugin.reserve(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(cycle_.annotations.at(std::string(kZonesAnnotation)),
            R"({"c0":{"cpu":[1],"memory":[1]}})");
  ASSERT_EQ(host_.touched.size(), 1u);
  EXPECT_EQ(host_.touched[0].first, 0u);

  const PodRef second = scene_.pod(guaranteed("q", 6));
  const auto refused = plugin.reserve(cycle_, Pod(second.get()), sdk::Node(&n1_.get()));
  EXPECT_EQ(refused.code, PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(refused.reasons, "cannot align container (cpu)");
  plugin.unreserve(cycle_, Pod(pod.get()), "n1");
  plugin.unreserve(cycle_, Pod(pod.get()), "n1");
  EXPECT_EQ(host_.requeued, 0) << "the scheduler tells of it, as of a deleted pod";
  EXPECT_EQ(plugin.reserve(cycle_, Pod(second.get()), sdk::Node(&n1_.get())).code,
            PLIMSOLL_SUCCESS);
}

// As `plimsoll debug dump` has it.
TEST_F(MatchTest, ShowsItsPromises) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "4", "8")));
  const PodRef pod = scene_.pod(guaranteed("p", 6));
  ASSERT_EQ(plugin.reserve(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  sdk::FakePod on_node("ns/p");
  n1_.add(on_node);

  const auto* source = static_cast<const plimsoll_state_source*>(host_.table()->find_service(
      host_.table()->ctx, sdk::str("plimsoll.io/state/NodeResourceTopologyMatch"), 1));
  ASSERT_NE(source, nullptr);
  std::string text;
  source->describe(
      source->self,
      [](void* sink, const void* bytes, size_t length) {
        static_cast<std::string*>(sink)->append(static_cast<const char*>(bytes), length);
      },
      &text);
  const auto dump = nlohmann::json::parse(text, nullptr, false);
  const nlohmann::json& node = dump["nodes"]["n1"];
  EXPECT_EQ(node["report"], "read") << text;
  EXPECT_EQ(node["promises"], 1);
  EXPECT_EQ(node["zones"]["node-1"]["cpu"]["free"], "2");
  EXPECT_EQ(node["zones"]["node-0"]["memory"]["free"], "64Gi");
  EXPECT_EQ(node["pods"]["uid-p"],
            nlohmann::json::parse(R"({"pod":"ns/p","state":"promised","bound":false,
                                      "zones":{"node-1":{"cpu":"6","memory":"1Gi"}}})"));
  EXPECT_FALSE(dump["nodes"].contains("n2")) << "it has no report and no pod that pins anything";

  const auto of_slots = [&](const std::vector<uint32_t>& slots) {
    return nlohmann::json::parse(kept_state(*source, slots), nullptr, false);
  };
  EXPECT_EQ(of_slots({n1_.slot(), n2_.slot(), 99}), dump);
  EXPECT_EQ(of_slots({n2_.slot()}), nlohmann::json::parse(R"({"nodes":{}})"));
}

// What passes Filter, Reserve can place: the reference looks at sidecars one by one.
TEST_F(MatchTest, SidecarsAreNotOverlooked) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  ReportSpec report = zones("n1", "1", "8", "8");
  report.scope = "pod";
  upsert(plugin.plugin(), "n1", nrt_json(report));
  PodSpec spec = guaranteed("p", 6);
  spec.sidecars = {R"({"cpu":"6","memory":"1Gi"})"};
  const PodRef pod = scene_.pod(spec);
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).reasons,
            "cannot align pod (cpu)");
}

// The reference lets every pod through under other policies, and Reserve follows it.
TEST_F(MatchTest, TheTwoAdmissionModelsDifferUnderOtherPolicies) {
  FakePlugin<Match> plugin(host_);
  FakePlugin<Match> reference(host_, R"({"admissionModel":"Reference"})");
  add_nodes(plugin.plugin());
  ReportSpec report = zones("n1", "1", "4", "4");
  report.policy = "restricted";
  report.allocatable = "64Gi";
  upsert(plugin.plugin(), "n1", nrt_json(report));
  const PodRef pod = scene_.pod(guaranteed("p", 6));
  const sdk::Node node(&n1_.get());
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), node).reasons, "cannot align container (cpu)");
  EXPECT_EQ(plugin.reserve(cycle_, Pod(pod.get()), node).code, PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(reference.filter(cycle_, Pod(pod.get()), node).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(reference.reserve(cycle_, Pod(pod.get()), node).code, PLIMSOLL_SUCCESS);
  EXPECT_FALSE(cycle_.annotations.contains(std::string(kZonesAnnotation)))
      << "nobody knows what its kubelet does with it";
  EXPECT_EQ(
      explain(plugin, scene_.pod(guaranteed("q", 6)), n1_),
      "cannot align container c0 (restricted, scope container; cpu: need 6, best node-1 has 2; "
      "report 0 s old; 1 in flight)");
  const PodRef burstable = [&] {
    PodSpec spec = guaranteed("b", 6);
    spec.burstable = true;
    return scene_.pod(spec);
  }();
  EXPECT_EQ(plugin.pre_filter(cycle_, Pod(burstable.get())).code, PLIMSOLL_SKIP);
}

TEST_F(MatchTest, AMalformedReportLeavesTheLastGoodOne) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "4", "4")));
  upsert(plugin.plugin(), "n1", R"({"metadata":{"name":"n1"},"zones":3})");
  EXPECT_TRUE(
      logged("NodeResourceTopology n1 cannot be read, its last good report stays: zones: "
             "must be a list (1 so far)"));
  const PodRef pod = scene_.pod(guaranteed("p", 10));
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);
  delete_report(plugin.plugin(), "n1");
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).reasons, kNoReport);
}

// After a restart nothing good may have come before it: the node has zones, nobody knows which.
TEST_F(MatchTest, AMalformedFirstReportKeepsPodsThatNeedAlignmentOff) {
  FakePlugin<Match> plugin(host_);
  const std::string broken = R"({"metadata":{"name":"n1"},"zones":3})";
  upsert(plugin.plugin(), "n1", broken);  // before the node
  add_nodes(plugin.plugin());
  host_.touched.clear();
  upsert(plugin.plugin(), "n1", broken);
  upsert(plugin.plugin(), "n1", broken);
  EXPECT_TRUE(host_.touched.empty());
  EXPECT_EQ(host_.logs, std::vector<std::string>{
                            "NodeResourceTopology n1 cannot be read, pods that need alignment stay "
                            "off the node until it can: zones: must be a list (1 so far)"});
  upsert(plugin.plugin(), "n1", R"({"metadata":{"name":"n1"},"zones":[1]})");
  EXPECT_EQ(host_.logs.size(), 2u);  // another text

  const PodRef pod = scene_.pod(guaranteed("p", 3));
  const auto refused = plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get()));
  EXPECT_EQ(refused.code, PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(refused.reasons, "invalid node topology data");
  EXPECT_EQ(plugin.reserve(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(explain(plugin, pod, n1_),
            "invalid node topology data (its NodeResourceTopology cannot be read; the log says "
            "why)");
  PodSpec best_effort;
  best_effort.apps = {"{}"};
  const PodRef any = scene_.pod(best_effort);
  EXPECT_EQ(plugin.filter(cycle_, Pod(any.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).code, PLIMSOLL_SUCCESS);

  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "4", "4")));
  EXPECT_FALSE(host_.touched.empty());
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  upsert(plugin.plugin(), "n1", broken);  // a good one came before: it stays, and that is said
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_TRUE(logged("its last good report stays"));

  upsert(plugin.plugin(), "n2", R"({"metadata":{"name":"n2"},"zones":3})");
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);
  delete_report(plugin.plugin(), "n2");
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).reasons, kNoReport);
}

// As when a CRD is deleted: the objects go first, one by one, and then the kind. Their nodes have
// the zones that they had.
TEST_F(MatchTest, ANodeWhoseReportIsDeletedIsNoNodeWithoutOne) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "16", "16")));
  const PodRef pod = scene_.pod(guaranteed("p", 20));
  const sdk::Node node(&n1_.get());
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), node).code, PLIMSOLL_UNSCHEDULABLE);
  delete_report(plugin.plugin(), "n1");
  const auto waits = [&] {
    const auto verdict = plugin.filter(cycle_, Pod(pod.get()), node);
    return verdict.code == PLIMSOLL_PENDING && verdict.reasons == kNoReport;
  };
  const auto gone_nodes = [&] { return host_.metrics.at("numa_uncertain_nodes{gone}"); };
  EXPECT_TRUE(waits());
  EXPECT_EQ(plugin.reserve(cycle_, Pod(pod.get()), node).code, PLIMSOLL_PENDING);
  EXPECT_EQ(explain(plugin, pod, n1_),
            std::string(kNoReport) + " (it was deleted, or the argument withoutReport is Wait)");
  EXPECT_EQ(gone_nodes(), std::vector<double>{1});
  for (const std::string_view kind : {kNrtResource, kOldNrtResource}) {
    not_served(plugin.plugin(), kind);
  }
  EXPECT_TRUE(waits()) << "nor when the kind is gone";
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).code, PLIMSOLL_SUCCESS)
      << "n2 never had one";
  PodSpec best_effort;
  best_effort.apps = {"{}"};
  const PodRef any = scene_.pod(best_effort);
  EXPECT_EQ(plugin.filter(cycle_, Pod(any.get()), node).code, PLIMSOLL_SUCCESS)
      << "no kubelet ties it to zones";

  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "2", "16", "16")));
  EXPECT_EQ(gone_nodes(), std::vector<double>{0});
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), node).code, PLIMSOLL_UNSCHEDULABLE);
  // Somebody says that it has no zones any more.
  delete_report(plugin.plugin(), "n1");
  upsert(plugin.plugin(), "n1", R"({"metadata":{"name":"n1","resourceVersion":"3"},"zones":[]})");
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), node).code, PLIMSOLL_SUCCESS);
  // A Node that is made anew is another one.
  delete_report(plugin.plugin(), "n1");
  plugin.plugin().node_event(sdk::NodeEvent::kRemoved, node, 0);
  plugin.plugin().node_event(sdk::NodeEvent::kAdded, node, 0);
  EXPECT_EQ(gone_nodes(), std::vector<double>{0});
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), node).code, PLIMSOLL_SUCCESS);
  // A report that goes after its Node leaves nothing.
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "4", "16", "16")));
  plugin.plugin().node_event(sdk::NodeEvent::kRemoved, node, 0);
  delete_report(plugin.plugin(), "n1");
  plugin.plugin().node_event(sdk::NodeEvent::kAdded, node, 0);
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), node).code, PLIMSOLL_SUCCESS);
}

TEST_F(MatchTest, WithoutReportSaysWhatPodsDo) {
  for (const std::string model : {"Kubelet", "Reference"}) {
    const auto with = [&](const std::string& what) {
      return R"({"admissionModel":")" + model + R"(","withoutReport":")" + what + R"("})";
    };
    FakeHost host;
    host.now = kYear2026Ms;
    for (FakeNode* node : {&n1_, &n2_}) host.add(*node);
    FakePlugin<Match> gone(host, with("WaitIfGone"));
    FakePlugin<Match> wait(host, with("Wait"));  // shares the ledger
    FakePlugin<Match> pass(host, with("Pass"));
    add_nodes(gone.plugin());
    upsert(gone.plugin(), "n1", nrt_json(zones("n1", "1", "4", "4")));
    delete_report(gone.plugin(), "n1");
    const PodRef pod = scene_.pod(guaranteed("p", 10));
    const auto code = [&](FakePlugin<Match>& plugin, FakeNode& node) {
      return plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&node.get())).code;
    };
    SCOPED_TRACE(model);
    EXPECT_EQ(code(gone, n1_), PLIMSOLL_PENDING);
    EXPECT_EQ(code(gone, n2_), PLIMSOLL_SUCCESS);
    EXPECT_EQ(code(wait, n1_), PLIMSOLL_PENDING);
    EXPECT_EQ(code(wait, n2_), PLIMSOLL_PENDING);
    EXPECT_EQ(wait.reserve(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).code, PLIMSOLL_PENDING);
    EXPECT_EQ(code(pass, n1_), PLIMSOLL_SUCCESS);
    EXPECT_EQ(code(pass, n2_), PLIMSOLL_SUCCESS);
    EXPECT_EQ(pass.reserve(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  }
}

TEST_F(MatchTest, WithoutTheCrdEverythingPassesAndThatIsSaidOnce) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  for (int i = 0; i < 2; ++i) {
    not_served(plugin.plugin(), kNrtResource);
    not_served(plugin.plugin(), kOldNrtResource);
  }
  EXPECT_EQ(std::count_if(host_.logs.begin(), host_.logs.end(),
                          [](const std::string& l) { return l.find("not installed") != l.npos; }),
            1);
  const PodRef pod = scene_.pod(guaranteed("p", 10));
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
}

TEST_F(MatchTest, OldVersionServesWhereTheNewOneIsMissing) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  not_served(plugin.plugin(), kNrtResource);
  not_served(plugin.plugin(), kNrtResource);
  EXPECT_EQ(host_.watched,
            (std::vector<std::string>{std::string(kNrtResource), std::string(kOldNrtResource)}));
  upsert(plugin.plugin(), "n1", old_json("n1", "SingleNUMANodePodLevel"), kOldNrtResource);
  const PodRef pod = scene_.pod(guaranteed("p", 10));
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).reasons,
            "cannot align pod (cpu)");
  delete_report(plugin.plugin(), "n1", kOldNrtResource);
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).reasons, kNoReport);
}

// An API server gives the same objects in both versions, in v1alpha1 without the attributes.
TEST_F(MatchTest, NewVersionTakesOverWhenItIsServedLater) {
  FakePlugin<Match> plugin(host_, R"({"admissionModel":"Reference"})");
  add_nodes(plugin.plugin());
  not_served(plugin.plugin(), kNrtResource);
  const PodRef pod = scene_.pod(guaranteed("p", 10));
  upsert(plugin.plugin(), "n1", old_json("n1", ""), kOldNrtResource);
  upsert(plugin.plugin(), "n2", old_json("n2", "SingleNUMANodePodLevel"), kOldNrtResource);
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);

  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "4", "4")));
  plugin.plugin().object_event(ObjectEvent{ObjectEvent::kSynced, kNrtResource, "", "", ""});
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).reasons,
            kNoReport);  // gone in the meantime
  // From here on the old version has no say, whatever comes of it.
  upsert(plugin.plugin(), "n1", old_json("n1", ""), kOldNrtResource);
  upsert(plugin.plugin(), "n2", old_json("n2", "SingleNUMANodePodLevel"), kOldNrtResource);
  plugin.plugin().object_event(ObjectEvent{ObjectEvent::kDelete, kOldNrtResource, "n1", "", ""});
  plugin.plugin().object_event(
      ObjectEvent{ObjectEvent::kSynced, kOldNrtResource, "", "", R"({"served":false})"});
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);
  EXPECT_EQ(plugin.filter(cycle_, Pod(pod.get()), sdk::Node(&n2_.get())).reasons, kNoReport);
  EXPECT_FALSE(logged("not installed"));
}

TEST_F(MatchTest, AHostThatCannotWatchGetsNoHalfMadeLedger) {
  plimsoll_host table = *host_.table();
  table.watch = [](plimsoll_host_ctx*, plimsoll_str, plimsoll_str, plimsoll_str) -> int32_t {
    return PLIMSOLL_ERROR;
  };
  EXPECT_THROW(LedgerAccess(sdk::Host(&table, "test")), std::runtime_error);
  EXPECT_TRUE(host_.services.empty());
}

TEST_F(MatchTest, OneLedgerForAllInstances) {
  FakePlugin<TopologyScore> score(host_);
  FakePlugin<Match> first(host_);
  FakePlugin<Match> second(host_);
  EXPECT_EQ(host_.services.size(), 4u)
      << "the ledger, its owner, its forecasts, and what it shows of itself";
  EXPECT_EQ(host_.watched.size(), 1u);
  for (FakeNode* node : {&n1_, &n2_}) {
    score.plugin().node_event(sdk::NodeEvent::kAdded, sdk::Node(&node->get()), 0);
  }
  add_nodes(first.plugin());
  const std::string json = nrt_json(zones("n1", "1", "4", "8"));
  upsert(score.plugin(), "n1", json);
  upsert(first.plugin(), "n1", json);
  const PodRef a = scene_.pod(guaranteed("a", 8));
  const PodRef b = scene_.pod(guaranteed("b", 8));
  EXPECT_EQ(first.reserve(cycle_, Pod(a.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(second.reserve(cycle_, Pod(b.get()), sdk::Node(&n1_.get())).code,
            PLIMSOLL_UNSCHEDULABLE);
}

TEST_F(MatchTest, ScoresByTheLedgersView) {
  FakePlugin<Match> plugin(host_, R"({"scoringStrategy": {"type": "LeastAllocated",
      "resources": [{"name": "cpu", "weight": 1}]}})");
  add_nodes(plugin.plugin());
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "8", "8")));
  upsert(plugin.plugin(), "n2", nrt_json(zones("n2", "2", "8", "8")));
  PodSpec spec;
  spec.apps = {R"({"cpu":"4","memory":"32Gi"})"};
  const PodRef pod = scene_.pod(spec);
  EXPECT_EQ(plugin.score(cycle_, Pod(pod.get()), {&n1_, &n2_}), (std::vector<int64_t>{50, 50}));
  const PodRef other = scene_.pod(guaranteed("other", 4));
  EXPECT_EQ(plugin.reserve(cycle_, Pod(other.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  const auto scores = plugin.score(cycle_, Pod(pod.get()), {&n1_, &n2_});
  EXPECT_LT(scores[0], scores[1]);
}

// The names are those of docs/operations.md.
TEST_F(MatchTest, TheLedgersCountsAreMetrics) {
  FakePlugin<Match> plugin(host_);
  add_nodes(plugin.plugin());
  upsert(plugin.plugin(), "n1", nrt_json(zones("n1", "1", "8", "8")));
  EXPECT_EQ(host_.metrics.at("numa_reports_total{read}"), std::vector<double>{1});
  EXPECT_EQ(host_.metrics.at("numa_uncertain_nodes{order}"), std::vector<double>{0});
  EXPECT_EQ(host_.metrics.at("numa_pods_refused_total{SMTAlignmentError}"), std::vector<double>{0})
      << "an alert sees the first of them";
  const PodRef pod = scene_.pod(guaranteed("p", 6));
  ASSERT_EQ(plugin.reserve(cycle_, Pod(pod.get()), sdk::Node(&n1_.get())).code, PLIMSOLL_SUCCESS);
  EXPECT_EQ(host_.metrics.at("numa_promises"), std::vector<double>{1});
  PodSpec bound = guaranteed("p", 6);
  bound.node = "n1";
  const PodRef seen = scene_.pod(bound);
  plugin.plugin().pod_event(sdk::PodEvent::kAssigned, Pod(seen.get()), "n1");
  ReportSpec next = zones("n1", "2", "2", "8");
  next.fingerprint = fingerprint_of({"p"});
  upsert(plugin.plugin(), "n1", nrt_json(next));
  EXPECT_EQ(host_.metrics.at("numa_promises_settled_total{fingerprint}"), std::vector<double>{1});
  EXPECT_EQ(host_.metrics.at("numa_promises"), std::vector<double>{0});
}

TEST_F(MatchTest, SignaturesHoldWhatFilterAndScoreRead) {
  FakePlugin<Match> plugin(host_);
  const PodRef a = scene_.pod(guaranteed("a", 4));
  const PodRef b = scene_.pod(guaranteed("b", 4));
  const PodRef c = scene_.pod(guaranteed("c", 5));
  PodSpec with_init = guaranteed("d", 4);
  with_init.init = {R"({"cpu":"1","memory":"1Gi"})"};
  const PodRef d = scene_.pod(with_init);
  EXPECT_EQ(plugin.sign(Pod(a.get())), plugin.sign(Pod(b.get())));
  EXPECT_NE(plugin.sign(Pod(a.get())), plugin.sign(Pod(c.get())));
  EXPECT_NE(plugin.sign(Pod(a.get())), plugin.sign(Pod(d.get())));
}

std::vector<std::string> match_warnings(std::string_view json) {
  std::vector<std::string> out;
  static_cast<void>(parse_match_args(json, [&](std::string_view text) { out.emplace_back(text); }));
  return out;
}

TEST(MatchArgsTest, DefaultsAndAllEightFields) {
  for (const char* json : {"", "null", "{}"}) {
    const MatchArgs args = parse_match_args(json);
    EXPECT_EQ(args.scoring.type, Strategy::kLeastAllocated);
    EXPECT_EQ(args.scoring.resources.size(), 2u);
    EXPECT_EQ(args.admission, AdmissionModel::kKubelet);
    EXPECT_EQ(args.without_report, WithoutReport::kWaitIfGone);
  }
  EXPECT_EQ(parse_match_args(R"({"admissionModel": "Reference"})").admission,
            AdmissionModel::kReference);
  const MatchArgs args = parse_match_args(R"({
    "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeResourceTopologyMatchArgs",
    "scoringStrategy": {"type": "LeastNUMANodes", "resources": [{"name": "cpu", "weight": 0}]},
    "cacheResyncPeriodSeconds": 5, "discardReservedNodes": true,
    "cache": {"foreignPodsDetect": "OnlyExclusiveResources", "resyncMethod": "All",
              "informerMode": "Shared", "resyncScope": "OnlyResources"},
    "preemptionMode": "Enabled"})");
  EXPECT_EQ(args.scoring.type, Strategy::kLeastNumaNodes);
  EXPECT_EQ(args.scoring.weight_of("cpu"), 1);
}

TEST(MatchArgsTest, FieldsWithoutEffectAreNamedUnlessTheySayTheDefault) {
  EXPECT_EQ(match_warnings(R"({"cacheResyncPeriodSeconds": 0, "discardReservedNodes": false,
      "preemptionMode": "Disabled",
      "cache": {"foreignPodsDetect": "All", "resyncMethod": "Autodetect",
                "informerMode": "Dedicated", "resyncScope": "All"},
      "scoringStrategy": {"type": "LeastAllocated"}})"),
            std::vector<std::string>{});
  std::vector<std::string> fields;
  for (const std::string& warning : match_warnings(R"({"cacheResyncPeriodSeconds": 5,
      "discardReservedNodes": true, "preemptionMode": "Enabled",
      "cache": {"foreignPodsDetect": "None", "resyncMethod": "All", "informerMode": "Shared",
                "resyncScope": "OnlyResources"}})"))
    fields.push_back(warning.substr(0, warning.find(": has no effect: ")));
  EXPECT_EQ(fields,
            (std::vector<std::string>{"args.cacheResyncPeriodSeconds", "args.discardReservedNodes",
                                      "args.cache.foreignPodsDetect", "args.cache.resyncMethod",
                                      "args.cache.informerMode", "args.cache.resyncScope",
                                      "args.preemptionMode"}));
  EXPECT_EQ(
      match_warnings(R"({"cache": {"resyncMethod": "all"}})"),
      std::vector<std::string>{"args.cache.resyncMethod: \"all\" is not known and has no effect"});
}

TEST(MatchArgsTest, EveryProblemWithItsPath) {
  const std::pair<const char*, const char*> kCases[] = {
      {"[]", "args must be an object, not a list"},
      {R"({"scoringStrategy": {}})", "scoringStrategy.type: must be given"},
      {R"({"scoringStrategy": {"type": "x"}, "preemptionMode": "y"})",
       "scoringStrategy.type: must be LeastAllocated, MostAllocated, BalancedAllocation or "
       "LeastNUMANodes, not \"x\"\n"
       "preemptionMode: must be Enabled or Disabled, not \"y\""},
      {R"({"scoringStrategy": {"type": "PreserveLargeZones"}})",
       "scoringStrategy.type: is PreserveLargeZones, and only TopologyScore has it"},
      {R"({"admissionModel": "kubelet"})",
       "admissionModel: must be Kubelet or Reference, not \"kubelet\", did you mean \"Kubelet\"?"},
      {R"({"kubeconfigpath": "/x"})", "kubeconfigpath: unknown field"},
      {R"({"cache": {"foo": 1}})", "cache.foo: unknown field"},
      {R"({"cache": {"foreignPodDetect": "All"}})",
       "cache.foreignPodDetect: unknown field, did you mean \"foreignPodsDetect\"?"},
      {R"({"cacheResyncPeriodSeconds": "5"})",
       "cacheResyncPeriodSeconds: must be a whole number, not \"5\""},
      {R"({"kind": "TopologyScoreArgs"})",
       "kind: must be NodeResourceTopologyMatchArgs, not \"TopologyScoreArgs\""},
      {R"({"scoringStrategy": {"type": "LeastAllocated", "resources": [{"weight": 1}]}})",
       "scoringStrategy.resources[0].name: must be given"},
      {R"({"scoringStrategy": {"type": "LeastAllocated",
                               "resources": [{"name": "cpu", "weight": null}]}})",
       "scoringStrategy.resources[0].weight: must be a whole number, not null"},
  };
  for (const auto& [json, error] : kCases) {
    try {
      static_cast<void>(parse_match_args(json));
      ADD_FAILURE() << json;
    } catch (const std::runtime_error& e) {
      EXPECT_EQ(std::string(e.what()), error) << json;
    }
  }
}

}  // namespace
}  // namespace plimsoll::topology
