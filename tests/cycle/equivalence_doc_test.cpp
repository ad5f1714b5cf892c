// The two tables of docs/equivalence.md, derived from what the code does: which aspects an event
// writes to the change log, and which plugins declare that they rest on them.

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "framework/api/decode/decode.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "framework/runtime/every_point.hpp"
#include "plugins/builtin/builtin.hpp"
#include "tests/runtime/support.hpp"

namespace plimsoll {
namespace {

using Json = nlohmann::json;

struct Aspect {
  uint32_t bit;
  const char* name;
};
constexpr std::array kAspects = {Aspect{PLIMSOLL_ASPECT_ALLOCATABLE, "allocatable"},
                                 Aspect{PLIMSOLL_ASPECT_REQUESTED, "requested"},
                                 Aspect{PLIMSOLL_ASPECT_LABELS, "labels"},
                                 Aspect{PLIMSOLL_ASPECT_TAINTS, "taints"},
                                 Aspect{PLIMSOLL_ASPECT_PORTS, "ports"},
                                 Aspect{PLIMSOLL_ASPECT_IMAGES, "images"},
                                 Aspect{PLIMSOLL_ASPECT_VOLUMES, "volumes"},
                                 Aspect{PLIMSOLL_ASPECT_CONDITIONS, "conditions"},
                                 Aspect{PLIMSOLL_ASPECT_ANNOTATIONS, "annotations"},
                                 Aspect{PLIMSOLL_ASPECT_FEATURES, "features"},
                                 Aspect{PLIMSOLL_ASPECT_PODS, "pods"},
                                 Aspect{PLIMSOLL_ASPECT_NOMINATED, "nominated"},
                                 Aspect{PLIMSOLL_ASPECT_PLUGIN, "plugin"}};
constexpr uint32_t kEvery = [] {
  uint32_t all = 0;
  for (const Aspect& aspect : kAspects) all |= aspect.bit;
  return all;
}();

std::string names_of(uint32_t aspects) {
  if (aspects == 0) return "nothing";
  std::string text;
  for (const Aspect& aspect : kAspects) {
    if ((aspects & aspect.bit) != 0) text += (text.empty() ? "" : ", ") + std::string(aspect.name);
  }
  return text;
}

Json node_json() {
  return {{"metadata", {{"name", "n"}, {"labels", {{"a", "b"}}}}},
          {"spec", Json::object()},
          {"status", {{"allocatable", {{"cpu", "8"}, {"pods", "10"}}}}}};
}
Json pod_json() {
  return {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "u"}}},
          {"spec",
           {{"nodeName", "n"},
            {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}};
}

// What `event` writes about a node that is there.
uint32_t logged_by(const std::function<void(ClusterState&, SymbolTable&)>& before,
                   const std::function<void(ClusterState&, SymbolTable&)>& event) {
  ClusterState cluster;
  SymbolTable symbols;
  cluster.upsert_node(*decode_node(node_json().dump(), symbols));
  before(cluster, symbols);
  uint32_t aspects = 0;
  const uint64_t from = cluster.log_end();
  event(cluster, symbols);
  for (uint64_t at = from; at < cluster.log_end(); ++at) {
    const uint32_t logged = cluster.log_at(at).aspects;
    aspects |= logged == 0 ? kEvery : logged;
  }
  return aspects;
}

std::string event_table() {
  std::string table = "| event | aspects of the node |\n| --- | --- |\n";
  const auto nothing = [](ClusterState&, SymbolTable&) {};
  const auto row = [&](const std::string& event, uint32_t aspects) {
    table += "| " + event + " | " + (aspects == kEvery ? "all" : names_of(aspects)) + " |\n";
  };
  const auto node_change = [&](const std::string& event, const char* pointer, const Json& value) {
    row(event, logged_by(nothing, [&](ClusterState& cluster, SymbolTable& symbols) {
          Json node = node_json();
          node[Json::json_pointer(pointer)] = value;
          cluster.upsert_node(*decode_node(node.dump(), symbols));
        }));
  };
  const auto put = [](const Json& pod) {
    return [pod](ClusterState& cluster, SymbolTable& symbols) {
      cluster.upsert_pod(*decode_pod(pod.dump(), symbols));
    };
  };
  row("node added, or another in its place",
      logged_by(nothing, [](ClusterState& cluster, SymbolTable& symbols) {
        Json node = node_json();
        node["metadata"]["name"] = "other";
        cluster.upsert_node(*decode_node(node.dump(), symbols));
      }));
  row("node removed",
      logged_by(nothing, [](ClusterState& cluster, SymbolTable&) { cluster.remove_node("n"); }));
  node_change("node: allocatable", "/status/allocatable/cpu", "9");
  node_change("node: labels", "/metadata/labels/a", "c");
  node_change("node: taints", "/spec/taints",
              Json::array({{{"key", "k"}, {"value", "v"}, {"effect", "NoSchedule"}}}));
  node_change("node: unschedulable", "/spec/unschedulable", true);
  node_change("node: images", "/status/images",
              Json::array({{{"names", {"i"}}, {"sizeBytes", 1}}}));
  node_change("node: conditions", "/status/conditions",
              Json::array({{{"type", "Ready"}, {"status", "False"}}}));
  node_change("node: annotations", "/metadata/annotations", {{"a", "b"}});
  node_change("node: declared features", "/status/declaredFeatures", {"F"});
  node_change("node: anything else", "/metadata/resourceVersion", "2");
  Json with_port = pod_json();
  with_port["spec"]["containers"][0]["ports"] = {{{"containerPort", 1}, {"hostPort", 80}}};
  Json with_volume = pod_json();
  with_volume["spec"]["volumes"] = {
      {{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "c"}}}}};
  row("pod assumed on it, or assigned by anybody", logged_by(nothing, put(pod_json())));
  row("the same of a pod with host ports", logged_by(nothing, put(with_port)));
  row("the same of a pod with volumes", logged_by(nothing, put(with_volume)));
  Json terminating = pod_json();
  terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  row("pod on it changed, or the watch shows what was assumed",
      logged_by(put(pod_json()), put(terminating)));
  Json resized = pod_json();
  resized["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2";
  row("the same of a pod that takes something else now", logged_by(put(pod_json()), put(resized)));
  row("pod on it ended, deleted or forgotten",
      logged_by(put(pod_json()),
                [](ClusterState& cluster, SymbolTable&) { cluster.remove_pod("u"); }));
  row("pod nominated to it, or no longer",
      logged_by(nothing, [](ClusterState& cluster, SymbolTable&) {
        cluster.touch(0, PLIMSOLL_ASPECT_NOMINATED);
      }));
  row("`touch_node` of a plugin (a report of zones or devices, a promise, its end)",
      logged_by(nothing, [](ClusterState& cluster, SymbolTable&) {
        cluster.touch(0, PLIMSOLL_ASPECT_PLUGIN);
      }));
  return table;
}

std::string plugin_table() {
  testing::World world;
  world.modules.add_builtin(builtin_modules());
  const char* folder = std::getenv("PLIMSOLL_PLUGIN_DIR");
  EXPECT_NE(folder, nullptr) << "PLIMSOLL_PLUGIN_DIR is not set";
  if (folder == nullptr) return {};
  for (const char* file : {"NodeResourceTopologyMatch", "TopologyScore", "NodeDevice"}) {
    const ModuleRecord& record =
        world.modules.load_file(std::filesystem::path(folder) / (std::string(file) + ".so"));
    EXPECT_TRUE(record.loaded) << record.refusal;
  }
  ProfileSpec spec;
  spec.scheduler_name = "all";
  for (const char* plugin : {"PrioritySort",
                             "UnsupportedFeatures",
                             "NodeUnschedulable",
                             "NodeName",
                             "TaintToleration",
                             "NodeAffinity",
                             "NodePorts",
                             "NodeResourcesFit",
                             "NodeResourcesBalancedAllocation",
                             "ImageLocality",
                             "NodeDeclaredFeatures",
                             "PodTopologySpread",
                             "InterPodAffinity",
                             "VolumeRestrictions",
                             "NodeVolumeLimits",
                             "VolumeBinding",
                             "VolumeZone",
                             "DynamicResources",
                             "DefaultBinder",
                             "NodeResourceTopologyMatch",
                             "TopologyScore",
                             "NodeDevice"}) {
    EXPECT_TRUE(enable_at_every_point(spec, world.modules, plugin).has_value()) << plugin;
  }
  const Framework& framework = world.make(spec);
  std::string table =
      "| plugin | filter rests on | score rests on | scores are normalised |\n"
      "| --- | --- | --- | --- |\n";
  const auto part = [](const Framework& of, ExtensionPoint point, PluginIndex plugin,
                       uint32_t aspects) -> std::string {
    for (const Framework::Slot& slot : of.at(point)) {
      if (slot.plugin != plugin) continue;
      if (aspects == 0) return "unknown: asked each time";
      if ((aspects & PLIMSOLL_ASPECT_CLUSTER) != 0) return "the cluster: asked each time";
      return names_of(aspects);
    }
    return "-";
  };
  std::map<std::string_view, PluginIndex> by_name;
  for (PluginIndex plugin = 0; plugin < framework.plugin_count(); ++plugin) {
    by_name.emplace(framework.plugin_name(plugin), plugin);
  }
  for (const auto& [name, plugin] : by_name) {
    const std::string filter =
        part(framework, ExtensionPoint::kFilter, plugin, framework.filter_aspects(plugin));
    const std::string score =
        part(framework, ExtensionPoint::kScore, plugin, framework.score_aspects(plugin));
    if (filter == "-" && score == "-") continue;
    table += "| " + std::string(name) + " | " + filter + " | " + score + " | " +
             (score == "-"                               ? "-"
              : !framework.has_normalize(plugin)         ? "no"
              : framework.normalizes_by_extremes(plugin) ? "by the extremes"
                                                         : "over all") +
             " |\n";
  }
  return table;
}

std::string page() {
  std::ifstream file("docs/equivalence.md");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string section(const std::string& text, const std::string& name) {
  const std::string begin = "<!-- derived: " + name + " -->\n";
  const size_t from = text.find(begin);
  const size_t to = text.find("<!-- end -->", from);
  if (from == std::string::npos || to == std::string::npos) return "no section " + name;
  return text.substr(from + begin.size(), to - from - begin.size());
}

TEST(EquivalencePage, SaysWhatEventsChange) {
  const std::string derived = event_table();
  EXPECT_EQ(section(page(), "events"), derived) << "put into docs/equivalence.md:\n" << derived;
}

TEST(EquivalencePage, SaysWhatPluginsRestOn) {
  const std::string derived = plugin_table();
  EXPECT_EQ(section(page(), "plugins"), derived) << "put into docs/equivalence.md:\n" << derived;
}

}  // namespace
}  // namespace plimsoll
