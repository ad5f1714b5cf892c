// Whoever may write a NodeResourceTopology may write a megabyte of anything into it: reading costs
// as much as the text is long, whichever list grows, and nothing of it stays when the object is
// gone. The same of what a pod asks for.

#include <gtest/gtest.h>
#include <functional>
#include <map>
#include <string>

#include "plugins/topology/kubelet/pod_demand.hpp"
#include "plugins/topology/ledger/ledger.hpp"
#include "tests/plugins/topology/topology_scene.hpp"
#include "tests/support/growth.hpp"

namespace plimsoll::topology {
namespace {

// Entries one after the other, with commas.
std::string list(int count, const std::function<std::string(int)>& entry,
                 const std::string& separator = ",") {
  std::string text;
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : separator) + entry(i);
  return text;
}

std::string resource(const std::string& name) {
  return R"({"name":")" + name + R"(","capacity":"8","allocatable":"8","available":"4"})";
}
std::string zone(int id, const std::string& resources, const std::string& costs = "") {
  return R"({"name":"node-)" + std::to_string(id) + R"(","type":"Node","costs":[)" + costs +
         R"(],"resources":[)" + resources + "]}";
}
const std::string kTwoZones =  // NOLINT(cert-err58-cpp)
    zone(0, resource("cpu") + "," + resource("a.b/x")) + "," +
    zone(1, resource("cpu") + "," + resource("a.b/x"));

struct Parts {
  std::string zones = kTwoZones;
  std::string attributes = {};
  std::string policies = {};
  std::string fields = {};
  std::string annotations = {};
};

std::string object(const Parts& parts) {
  return R"({"metadata":{"name":"n1","resourceVersion":"1","annotations":{)" + parts.annotations +
         R"(},"managedFields":[)" + parts.fields + R"(]},"topologyPolicies":[)" + parts.policies +
         R"(],"attributes":[{"name":"topologyManagerPolicy","value":"single-numa-node"})" +
         parts.attributes + R"(],"zones":[)" + parts.zones + "]}";
}

// With newlines as JSON has them.
Parts facts(std::string_view key, const std::string& lines) {
  return {.annotations =
              R"("topology.plimsoll.io/)" + std::string(key) + R"(":"v1.0\n)" + lines + "\""};
}

// By name of the list: an object in which it has so many entries.
const std::map<std::string, std::function<Parts(int)>>& lists() {
  const auto name = [](int i) { return "a.b/r" + std::to_string(i); };
  static const std::map<std::string, std::function<Parts(int)>> kLists = {
      {"resources of one zone",
       [=](int n) { return Parts{zone(0, list(n, [&](int i) { return resource(name(i)); }))}; }},
      {"resources in 60 zones, all different",
       [=](int n) {
         const auto in_zone = [&](int z) {
           return zone(z, list(n / 60, [&](int i) { return resource(name(60 * i + z)); }));
         };
         return Parts{list(60, in_zone)};
       }},
      {"resources in 60 zones, the same in each",
       [=](int n) {
         const auto in_zone = [&](int z) {
           return zone(z, list(n / 60, [&](int i) { return resource(name(i % 200)); }));
         };
         return Parts{list(60, in_zone)};
       }},
      {"one resource again and again",
       [](int n) { return Parts{zone(0, list(n, [](int) { return resource("cpu"); }))}; }},
      {"zones of another kind",
       [](int n) {
         const auto other = [](int i) {
           return R"({"name":"s)" + std::to_string(i) + R"(","type":"Socket"})";
         };
         return Parts{kTwoZones + "," + list(n, other)};
       }},
      {"costs",
       [](int n) {
         const auto cost = [](int i) {
           return R"({"name":"node-)" + std::to_string(i % 60) + R"(","value":10})";
         };
         return Parts{list(60, [&](int z) { return zone(z, "", list(n / 60, cost)); })};
       }},
      {"attributes",
       [](int n) {
         const auto one = [](int i) {
           return R"({"name":"a)" + std::to_string(i) + R"(","value":"v"})";
         };
         return Parts{.attributes = "," + list(n, one)};
       }},
      {"attributes that are wrong",
       [](int n) {
         const auto one = [](int) { return R"({"name":"cpuManagerPolicy","value":"v"})"; };
         return Parts{.attributes = "," + list(n, one)};
       }},
      {"options in an attribute",
       [](int n) {
         return Parts{.attributes =
                          R"(,{"name":"cpuManagerPolicyOptions","value":")" +
                          list(n, [](int i) { return "o" + std::to_string(i) + "=true"; }) + "\"}"};
       }},
      {"topologyPolicies",
       [](int n) { return Parts{.policies = list(n, [](int) { return R"("Restricted")"; })}; }},
      {"managedFields",
       [](int n) {
         return Parts{.fields = list(n, [](int) { return R"({"time":"2026-01-01T00:00:00Z"})"; })};
       }},
      {"annotations",
       [](int n) {
         return Parts{.annotations =
                          list(n, [](int i) { return R"("k)" + std::to_string(i) + R"(":"v")"; })};
       }},
      {"lines of CPUs",
       [](int n) {
         return facts("machine",
                      list(
                          n, [](int i) { return "cpus 0/0/0 " + std::to_string(i); }, R"(\n)"));
       }},
      {"CPUs in a line",
       [](int n) {
         return facts("machine", "cpus 0/0/0 " + list(n, [](int i) { return std::to_string(i); }));
       }},
      {"lines of devices",
       [](int n) {
         return facts("machine",
                      list(
                          n, [](int i) { return "devices a.b/d" + std::to_string(i) + " 0:*4096"; },
                          R"(\n)"));
       }},
      {"devices in a line",
       [](int n) {
         return facts("machine",
                      "devices a.b/x 0:" + list(n, [](int i) { return "d" + std::to_string(i); }));
       }},
      {"runs of devices in a line",
       [](int n) {
         return facts("machine", "devices a.b/x " + list(
                                                        n, [](int) { return "0:d"; }, " "));
       }},
      {"lines of another kind",
       [](int n) {
         return facts("machine", list(
                                     n, [](int) { return "later x"; }, R"(\n)"));
       }},
      {"lines of free zones",
       [](int n) {
         return facts("free", list(
                                  n, [](int i) { return "zone " + std::to_string(i); }, R"(\n)"));
       }},
      {"memory of a free zone",
       [](int n) {
         return facts(
             "free",
             "zone 0 " +
                 list(
                     n, [](int i) { return "hugepages-" + std::to_string(i) + "=0"; }, " "));
       }},
      {"free CPUs",
       [](int n) {
         return facts("free", "cpus " + list(n, [](int i) { return std::to_string(i); }));
       }},
      {"lines of free devices",
       [](int n) {
         return facts(
             "free",
             list(
                 n, [](int i) { return "devices a.b/d" + std::to_string(i) + " 0-3"; }, R"(\n)"));
       }},
      {"free devices in a line",
       [](int n) {
         return facts("free", "devices a.b/x " + list(n, [](int i) { return std::to_string(i); }));
       }},
      {"lines of pods",
       [](int n) {
         return facts("free", "cpus -\\npods " + std::to_string(n) + "\\n" +
                                  list(
                                      n, [](int i) { return "uid-" + std::to_string(i) + " x=1"; },
                                      R"(\n)"));
       }},
      {"words of a pod",
       [](int n) {
         return facts("free", "pods 1\\nuid-1 " +
                                  list(
                                      n, [](int i) { return "x=" + std::to_string(i); }, " "));
       }},
  };
  return kLists;
}

// Not kept: how the scheduler numbers names is its own affair.
uint32_t index_of(std::string_view name) {
  if (name == "cpu") return PLIMSOLL_RESOURCE_CPU;
  if (name == "memory") return PLIMSOLL_RESOURCE_MEMORY;
  return 1000 + static_cast<uint32_t>(std::hash<std::string_view>{}(name) % 1'000'000'000);
}

class ReportGrowth : public ::testing::TestWithParam<std::string> {
 protected:
  // As the plugin takes it.
  void report(const std::string& json) {
    const auto nrt = parse_nrt(json);
    if (nrt)
      ledger_.report(*nrt, ++now_ms_);
    else
      ledger_.report_malformed("n1");
    (void)ledger_.take_notes();
    (void)ledger_.take_changes();
  }
  void drop() {
    ledger_.report_deleted("n1");
    (void)ledger_.take_changes();
  }

  Ledger ledger_{index_of};
  int64_t now_ms_ = 0;
};

TEST_P(ReportGrowth, CostsWhatItIsLongAndLeavesNothing) {
  ledger_.node_added("n1", 0);
  plimsoll::test::expect_linear(GetParam(), [&](size_t entries, size_t round) {
    Parts parts = lists().at(GetParam())(static_cast<int>(entries));
    // No two are the same.
    parts.attributes +=
        R"(,{"name":"cpuManagerPolicyOptions","value":")" + std::to_string(round) + "\"}";
    const std::string json = object(parts);
    return plimsoll::test::Growing{[this, json] { report(json); }, [this] { drop(); }};
  });
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name;
  for (const char c : info.param)
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, made] : lists()) all.push_back(name);
  return all;
}

// A kubelet that is away neither takes pods nor refuses them, whoever binds them to its node. Each
// that comes or goes has all of them played through once more; they are not compared in pairs.
TEST(PodGrowth, PodsThatAKubeletDoesNotTakeCostEachAsMuchAsThereAre) {
  TopologyScene scene;
  Ledger ledger(scene.index());
  ledger.node_added("n1", 0);
  ledger.report(scene.nrt(cpu_report(1, {"16", "16"}, fingerprint_of({}), "single-numa-node")),
                kYear2026Ms);
  PodSpec started = guaranteed("started", 1);
  started.start_seconds = 1;
  ledger.pod_assigned(*scene.pod(started), "n1", kYear2026Ms);
  int64_t now = kYear2026Ms;
  plimsoll::test::GrowthLimits limits;
  limits.few = 100;
  limits.many = 1'500;
  limits.cpu_ratio = 600;  // 225, and 3,375 if pairs were compared each time
  plimsoll::test::expect_linear(
      "pods of one node",
      [&](size_t entries, size_t round) {
        const auto pods = std::make_shared<std::vector<PodRef>>();
        for (size_t i = 0; i < entries; ++i)
          pods->push_back(scene.pod(guaranteed(
              "p" + std::to_string(round) + "-" + std::to_string(i), 1 + static_cast<int>(i % 2))));
        return plimsoll::test::Growing{[&ledger, &now, pods] {
                                         for (const PodRef& pod : *pods)
                                           ledger.pod_assigned(*pod, "n1", now += 100);
                                       },
                                       [&ledger, &now, pods] {
                                         for (const PodRef& pod : *pods)
                                           ledger.pod_removed(*pod, now);
                                       }};
      },
      limits);
}

INSTANTIATE_TEST_SUITE_P(Lists, ReportGrowth, ::testing::ValuesIn(names()), test_name);

// Whoever may create a pod may name as many resources as fit into it.
TEST(DemandGrowth, ResourcesOfAPod) {
  kubelet::PodDemand demand;
  test::expect_linear("resources of a pod", [&](size_t entries, size_t round) {
    kubelet::ContainerDemand container;
    for (size_t i = 0; i < entries; ++i) {
      container.devices.push_back({static_cast<uint32_t>(round * 100'000 + i), 1});
      container.memory.push_back({static_cast<uint32_t>(round * 100'000 + i), 1});
    }
    return test::Growing{[&demand, container]() mutable {
                           demand.guaranteed = true;
                           demand.containers = {container, container};
                           demand.containers[0].kind = kubelet::ContainerKind::kInit;
                           demand.prepare();
                           EXPECT_EQ(demand.totals.devices.size(), container.devices.size());
                         },
                         [&demand] { demand = {}; }};
  });
}

}  // namespace
}  // namespace plimsoll::topology
