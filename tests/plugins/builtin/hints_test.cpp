// Which events bring a rejected pod back to the queue.
#include <gtest/gtest.h>

#include <plimsoll/kinds.hpp>

#include "framework/api/decode/decode.hpp"
#include "tests/plugins/builtin/support.hpp"

namespace plimsoll::builtin_test {
namespace {

const PodRef kNoPod;
const NodeRef kNoNode;

TEST(Hints, NodeUnschedulable) {
  Bench bench;
  ASSERT_FALSE(bench.create("NodeUnschedulable"));
  const PodRef pod = bench.pod("p", "{}");
  const NodeRef closed = bench.node("n", R"("spec": {"unschedulable": true})");
  const NodeRef open = bench.node("n", R"("spec": {})");
  EXPECT_TRUE(bench.queues(pod, kNoNode, open));
  EXPECT_FALSE(bench.queues(pod, kNoNode, closed));
  EXPECT_TRUE(bench.queues(pod, closed, open));
  EXPECT_FALSE(bench.queues(pod, open, open));
  EXPECT_TRUE(
      bench.queues(pod, pod, bench.pod("p", R"({"tolerations": [{"operator": "Exists"}]})")));
  EXPECT_FALSE(bench.queues(pod, pod, bench.pod("p", R"({"tolerations": [{"key": "x"}]})")));
}

// Since Kubernetes 1.37 the pod's own node is the only one there is to look at.
TEST(NodeName, LooksAtThatNodeOnly) {
  Bench bench;
  ASSERT_FALSE(bench.create("NodeName"));
  const auto narrowed_to = [&](const std::string& spec) {
    const PodRef pod = bench.pod("p", spec);
    uint32_t reason = 0;
    uint32_t narrowed = 0;
    plimsoll_list names{};
    conformance::BenchCycle cycle;
    EXPECT_EQ(bench.plugin.pre_filter(bench.plugin.self, &cycle.abi(), pod.get(), &reason, &names,
                                      &narrowed),
              PLIMSOLL_SUCCESS);
    std::vector<std::string> texts;
    for (const plimsoll_str& name : sdk::Strings(names)) texts.emplace_back(view(name));
    return std::pair(narrowed != 0, texts);
  };
  EXPECT_EQ(narrowed_to("{}"), std::pair(false, std::vector<std::string>{}));
  EXPECT_EQ(narrowed_to(R"({"nodeName": "n"})"), std::pair(true, std::vector<std::string>{"n"}));
}

TEST(Hints, TaintToleration) {
  Bench bench;
  ASSERT_FALSE(bench.create("TaintToleration"));
  const PodRef pod = bench.pod("p", "{}");
  const NodeRef tainted =
      bench.node("n", R"("spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]})");
  const NodeRef clean = bench.node("n", R"("spec": {})");
  EXPECT_TRUE(bench.queues(pod, tainted, clean));
  EXPECT_FALSE(bench.queues(pod, clean, tainted));
  EXPECT_FALSE(bench.queues(pod, kNoNode, tainted));
  EXPECT_TRUE(bench.queues(pod, kNoNode, clean));
  EXPECT_FALSE(bench.queues(pod, clean, clean));
}

TEST(Hints, NodeResourcesFit) {
  Bench bench;
  ASSERT_FALSE(bench.create("NodeResourcesFit"));
  const auto asking = [&](const std::string& name, const std::string& cpu,
                          const std::string& rest) {
    return bench.pod(name, R"({"containers": [{"name": "c", "resources": {"requests": {"cpu": ")" +
                               cpu + R"("}}}])" + rest + "}");
  };
  const auto sized = [&](const std::string& cpu, const std::string& memory) {
    return bench.node("n", R"("status": {"allocatable": {"pods": "10", "cpu": ")" + cpu +
                               R"(", "memory": ")" + memory + R"("}})");
  };
  const PodRef pod = asking("p", "2", "");
  EXPECT_TRUE(bench.queues(pod, kNoNode, sized("4", "1Gi")));
  EXPECT_FALSE(bench.queues(pod, kNoNode, sized("1", "1Gi")));
  EXPECT_TRUE(bench.queues(pod, sized("3", "1Gi"), sized("4", "1Gi")));
  EXPECT_FALSE(bench.queues(pod, sized("4", "1Gi"), sized("4", "2Gi")));

  const PodRef placed = asking("o", "2", R"(, "nodeName": "n")");
  EXPECT_TRUE(bench.queues(pod, placed, kNoPod));
  EXPECT_FALSE(bench.queues(pod, asking("o", "2", ""), kNoPod));
  EXPECT_TRUE(bench.queues(pod, placed, asking("o", "1", R"(, "nodeName": "n")")));
  EXPECT_FALSE(bench.queues(pod, placed, placed));
  EXPECT_TRUE(bench.queues(pod, pod, asking("p", "1", "")));

  // What others leave on a node that is too small for the pod is of no use.
  TestNode& node = bench.add_node("n", "{}");
  const auto resize = [&](const std::string& cpu) {
    node.node = sized(cpu, "1Gi");
    node.info.node = node.node.get();
  };
  const PodRef smaller = asking("o", "1", R"(, "nodeName": "n")");
  resize("1");
  EXPECT_FALSE(bench.queues(pod, placed, kNoPod));
  EXPECT_FALSE(bench.queues(pod, placed, smaller));
  resize("2");
  EXPECT_TRUE(bench.queues(pod, placed, kNoPod));
  EXPECT_TRUE(bench.queues(pod, placed, smaller));

  // Whoever gives out what is ignored, nodes need not list it.
  ASSERT_FALSE(bench.create("NodeResourcesFit", R"({"ignoredResources": ["example.com/share"]})"));
  const PodRef sharing = bench.pod("p", R"({"containers": [{"name": "c", "resources": {"requests":
        {"cpu": "2", "example.com/share": "50", "example.com/card": "1"}}}]})");
  const PodRef only_sharing =
      bench.pod("p", R"({"containers": [{"name": "c", "resources": {"requests":
        {"cpu": "2", "example.com/share": "50"}}}]})");
  EXPECT_FALSE(bench.queues(sharing, kNoNode, sized("4", "1Gi")));
  EXPECT_TRUE(bench.queues(only_sharing, kNoNode, sized("4", "1Gi")));
  EXPECT_TRUE(bench.queues(only_sharing, sized("3", "1Gi"), sized("4", "1Gi")));
}

// Devices stand for a resource from the moment on when their class says so.
TEST(Hints, NodeResourcesFitAndDeviceClasses) {
  Bench bench;
  ASSERT_FALSE(bench.create("NodeResourcesFit"));
  const auto asking = [&](const std::string& resource) {
    return bench.pod("p", R"({"containers": [{"name": "c", "resources": {"requests": {")" +
                              resource + R"(": "1"}}}]})");
  };
  plimsoll_device_class before{}, now{};
  now.object.meta.name = str("cards");
  const auto wakes = [&](const PodRef& pod, bool is_new, std::string_view was,
                         std::string_view is) {
    before.extended_resource_name = str(was);
    now.extended_resource_name = str(is);
    plimsoll_event event{};
    event.size = sizeof event;
    event.resource = str(sdk::kDeviceClasses.resource);
    event.old_object = is_new ? nullptr : &before.object;
    event.new_object = &now.object;
    return bench.plugin.hint(bench.plugin.self, pod.get(), &event) == PLIMSOLL_HINT_QUEUE;
  };
  const PodRef by_name = asking("example.com/card");
  EXPECT_TRUE(wakes(by_name, true, "", "example.com/card"));
  EXPECT_FALSE(wakes(by_name, true, "", "example.com/other"));
  EXPECT_FALSE(wakes(by_name, true, "", ""));
  EXPECT_TRUE(wakes(by_name, false, "", "example.com/card"));
  EXPECT_FALSE(wakes(by_name, false, "example.com/card", "example.com/card"));
  EXPECT_FALSE(wakes(by_name, false, "example.com/card", ""));
  const PodRef by_class = asking("deviceclass.resource.kubernetes.io/cards");
  EXPECT_TRUE(wakes(by_class, true, "", ""));
  EXPECT_FALSE(wakes(by_class, false, "", "example.com/card")) << "it was there before";
  EXPECT_FALSE(wakes(asking("deviceclass.resource.kubernetes.io/other"), true, "", ""));
}

TEST(Hints, NodePorts) {
  Bench bench;
  ASSERT_FALSE(bench.create("NodePorts"));
  const auto with_port = [&](const std::string& port, const std::string& rest) {
    return bench.pod("p" + port, R"({"containers": [{"name": "c", "ports": [{"hostPort": )" + port +
                                     "}]}]" + rest + "}");
  };
  const PodRef pod = with_port("80", "");
  EXPECT_TRUE(bench.queues(pod, with_port("80", R"(, "nodeName": "n")"), kNoPod));
  EXPECT_FALSE(bench.queues(pod, with_port("81", R"(, "nodeName": "n")"), kNoPod));
  EXPECT_FALSE(bench.queues(pod, with_port("80", ""), kNoPod));
  EXPECT_TRUE(bench.queues(pod, kNoNode, bench.node("n", R"("spec": {})")));
}

TEST(NodePorts, ConflictOnTheSameAddressOrOnAll) {
  Bench bench;
  ASSERT_FALSE(bench.create("NodePorts"));
  const auto with_ports = [&](const std::string& ports) {
    return bench.pod(
        "p", R"({"nodeName": "n", "containers": [{"name": "c", "ports": [)" + ports + "]}]}");
  };
  const char* const kAll = R"({"hostPort": 80})";
  const char* const kLocal = R"({"hostPort": 80, "hostIP": "127.0.0.1"})";
  const char* const kOther = R"({"hostPort": 80, "hostIP": "10.0.0.1"})";
  const char* const kNext = R"({"hostPort": 81, "hostIP": "127.0.0.1"})";
  const char* const kUdp = R"({"hostPort": 80, "protocol": "UDP"})";
  const auto overlap = [&](const std::string& wanted, const std::string& taken) {
    return bench.queues(with_ports(wanted), with_ports(taken), kNoPod);
  };
  for (const char* port : {kAll, kLocal, kOther, kNext, kUdp}) {
    EXPECT_TRUE(overlap(port, port)) << port;
  }
  for (const char* port : {kLocal, kOther}) {
    EXPECT_TRUE(overlap(kAll, port)) << port;
    EXPECT_TRUE(overlap(port, kAll)) << port;
    EXPECT_TRUE(overlap(std::string(port) + "," + kNext + "," + kUdp, kAll)) << port;
    EXPECT_FALSE(overlap(port, kUdp)) << port;
    EXPECT_FALSE(overlap(port, kNext)) << port;
  }
  EXPECT_FALSE(overlap(kLocal, kOther));
  EXPECT_FALSE(overlap(std::string(kNext) + "," + kOther + "," + kUdp, kLocal));
  EXPECT_TRUE(overlap(std::string(kOther) + "," + kNext + "," + kLocal, kLocal));
}

// One of several anti-affinity terms is enough, as since Kubernetes 1.37; affinity needs all of
// them.
TEST(Hints, InterPodAffinityOfSeveralTerms) {
  Bench bench;
  ASSERT_FALSE(bench.create("InterPodAffinity"));
  const auto with_terms = [&](const std::string& kind) {
    const auto term = [](const char* app) {
      return R"({"topologyKey": "zone", "labelSelector": {"matchLabels": {")" + std::string(app) +
             R"(": "yes"}}})";
    };
    return bench.pod("p", R"({"affinity": {")" + kind +
                              R"(": {"requiredDuringSchedulingIgnoredDuringExecution": [)" +
                              term("a") + ", " + term("b") + "]}}}");
  };
  const auto on_node = [&](const std::string& labels) {
    return bench.pod("other", R"({"nodeName": "n"})", labels);
  };
  const PodRef one = on_node(R"({"a": "yes"})");
  const PodRef both = on_node(R"({"a": "yes", "b": "yes"})");
  const PodRef none = on_node(R"({"c": "yes"})");
  const PodRef repelled = with_terms("podAntiAffinity");
  EXPECT_TRUE(bench.queues(repelled, one, kNoPod));
  EXPECT_TRUE(bench.queues(repelled, one, none));
  EXPECT_FALSE(bench.queues(repelled, none, kNoPod));
  EXPECT_TRUE(bench.queues(repelled, both, one));
  EXPECT_FALSE(bench.queues(repelled, one, both));
  EXPECT_FALSE(bench.queues(repelled, one, one));
  const PodRef attracted = with_terms("podAffinity");
  EXPECT_TRUE(bench.queues(attracted, kNoPod, both));
  EXPECT_FALSE(bench.queues(attracted, kNoPod, one));
}

// A node that gains the key may attract, but nothing that kept the pod away from it is gone.
TEST(Hints, InterPodAffinityOfANodeThatGainsAKey) {
  Bench bench;
  ASSERT_FALSE(bench.create("InterPodAffinity"));
  const auto with_term = [&](const std::string& kind) {
    return bench.pod("p", R"({"affinity": {")" + kind +
                              R"(": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "a"}}}]}}})");
  };
  const auto in = [&](const std::string& labels) {
    auto decoded =
        decode_node(R"({"metadata": {"name": "n", "labels": )" + labels + "}}", bench.symbols);
    return decoded ? *decoded : kNoNode;
  };
  const NodeRef none = in("{}");
  const NodeRef one = in(R"({"rack": "1"})");
  const NodeRef two = in(R"({"rack": "2"})");
  const PodRef repelled = with_term("podAntiAffinity");
  EXPECT_FALSE(bench.queues(repelled, none, one));
  EXPECT_TRUE(bench.queues(repelled, one, none));
  EXPECT_TRUE(bench.queues(repelled, one, two));
  EXPECT_FALSE(bench.queues(repelled, one, one));
  EXPECT_TRUE(bench.queues(repelled, kNoNode, none));
  const PodRef attracted = with_term("podAffinity");
  EXPECT_TRUE(bench.queues(attracted, none, one));
  EXPECT_FALSE(bench.queues(attracted, one, none));
  EXPECT_TRUE(bench.queues(attracted, one, two));
  EXPECT_TRUE(bench.queues(attracted, kNoNode, one));
  EXPECT_FALSE(bench.queues(attracted, kNoNode, none));
}

// It holds its nominated node against the pod until it goes.
TEST(Hints, InterPodAffinityOfANominatedPod) {
  Bench bench;
  ASSERT_FALSE(bench.create("InterPodAffinity"));
  const PodRef pod = bench.pod("p", R"({"affinity": {"podAntiAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone",
      "labelSelector": {"matchLabels": {"app": "a"}}}]}}})");
  const auto other = [&](const std::string& status) {
    auto decoded = decode_pod(R"({"metadata": {"name": "other", "namespace": "ns",
        "uid": "other", "labels": {"app": "a"}}, "status": )" +
                                  status + "}",
                              bench.symbols);
    return decoded ? *decoded : kNoPod;
  };
  EXPECT_TRUE(bench.queues(pod, other(R"({"nominatedNodeName": "n"})"), kNoPod));
  EXPECT_FALSE(bench.queues(pod, other("{}"), kNoPod));
}

// What the other pod says about the waiting one keeps it away until the other goes, but perhaps
// from a smaller domain than the waiting pod's own term did.
TEST(Hints, InterPodAffinityOfTheOtherPodHidesNothing) {
  Bench bench;
  ASSERT_FALSE(bench.create("InterPodAffinity"));
  const auto against = [](const char* label, const char* key) {
    return R"({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ")" +
           std::string(key) + R"(", "labelSelector": {"matchLabels": )" + label + "}}]}}";
  };
  const PodRef pod = bench.pod("p", R"({"affinity": )" + against(R"({"app": "a"})", "zone") + "}",
                               R"({"role": "p"})");
  const auto other = [&](const std::string& labels) {
    return bench.pod("other",
                     R"({"nodeName": "n", "affinity": )" +
                         against(R"({"role": "p"})", "kubernetes.io/hostname") + "}",
                     labels);
  };
  const PodRef before = other(R"({"app": "a"})");
  const PodRef after = other(R"({"app": "b"})");
  EXPECT_TRUE(bench.queues(pod, before, after));
  EXPECT_FALSE(bench.queues(pod, after, before));
  EXPECT_TRUE(bench.queues(pod, after, kNoPod));
  EXPECT_FALSE(bench.queues(pod, kNoPod, before));
}

// A node without the key has no domain, whatever its taints are.
TEST(Hints, PodTopologySpreadOfNodes) {
  Bench bench;
  ASSERT_FALSE(bench.create("PodTopologySpread"));
  const PodRef pod = bench.pod("p", R"({"topologySpreadConstraints": [{"maxSkew": 1,
      "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
      "labelSelector": {"matchLabels": {"app": "a"}}}]})",
                               R"({"app": "a"})");
  const auto node = [&](const std::string& zone, bool tainted) {
    const std::string taints = tainted ? R"([{"key": "k", "effect": "NoSchedule"}])" : "[]";
    const std::string labels = zone.empty() ? "{}" : R"({"zone": ")" + zone + R"("})";
    auto decoded = decode_node(R"({"metadata": {"name": "n", "labels": )" + labels +
                                   R"(}, "spec": {"taints": )" + taints + "}}",
                               bench.symbols);
    return decoded ? *decoded : kNoNode;
  };
  EXPECT_TRUE(bench.queues(pod, node("a", true), node("a", false)));
  EXPECT_TRUE(bench.queues(pod, node("a", false), node("b", false)));
  EXPECT_TRUE(bench.queues(pod, node("", false), node("a", false)));
  EXPECT_TRUE(bench.queues(pod, node("a", false), node("", false)));
  EXPECT_TRUE(bench.queues(pod, kNoNode, node("a", false)));
  EXPECT_FALSE(bench.queues(pod, node("", true), node("", false)));
  EXPECT_FALSE(bench.queues(pod, node("a", false), node("a", false)));
  EXPECT_FALSE(bench.queues(pod, kNoNode, node("", false)));
}

TEST(Hints, NodeName) {
  Bench bench;
  ASSERT_FALSE(bench.create("NodeName"));
  const PodRef pod = bench.pod("p", R"({"nodeName": "n1"})");
  EXPECT_TRUE(bench.queues(pod, kNoNode, bench.node("n1", R"("spec": {})")));
  // Whichever node it is: kube-scheduler has no hint here.
  EXPECT_TRUE(bench.queues(pod, kNoNode, bench.node("n2", R"("spec": {})")));
}

}  // namespace
}  // namespace plimsoll::builtin_test
