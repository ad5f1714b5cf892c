#include "lab/sandbox/controllers/not_simulated.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/json_path.hpp"
#include "lab/sandbox/admission/pod_rules.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

struct Unsimulated {
  const char* effect;
  const char* group;
  std::vector<std::string_view> kinds;
};

const std::array<Unsimulated, 6>& all_unsimulated() {
  static const std::array<Unsimulated, 6> kAll{{
      {"pods made anew", "apps", {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}},
      {"pods made anew", "", {"ReplicationController"}},
      {"pods made anew", "batch", {"CronJob", "Job"}},
      {"replicas that change", "autoscaling", {"HorizontalPodAutoscaler"}},
      {"requests that change", "autoscaling.k8s.io", {"VerticalPodAutoscaler"}},
      {"nodes that are added", "karpenter.sh", {"NodeClaim", "NodePool"}},
  }};
  return kAll;
}

std::string joined(const std::set<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kShown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

// Nodes with a taint NoExecute on which pods run.
std::set<std::string> nodes_that_evict(const ObjectStore& store) {
  std::set<std::string> tainted;
  std::set<std::string> evict;
  const auto nodes = store.list(kNodes);
  const auto pods = store.list(kPods);
  if (!nodes || !pods) return evict;
  for (const ObjectPtr& node : nodes->objects) {
    if (node->text.find("NoExecute") == std::string::npos) continue;
    const json read = node->parse();
    for (const json& taint : value_at(read, {"spec", "taints"})) {
      if (text_in(taint, {"effect"}) == "NoExecute") tainted.insert(node->key.name);
    }
  }
  for (const ObjectPtr& pod : pods->objects) {
    const std::string node = pod->field("spec.nodeName");
    if (tainted.contains(node) && !is_terminal(*pod)) evict.insert(node);
  }
  return evict;
}

}  // namespace

std::string not_simulated(const ObjectStore& store) {
  std::vector<std::pair<std::string, std::set<std::string>>> found;  // by effect
  const auto add = [&](const char* effect, const std::string& name) {
    if (found.empty() || found.back().first != effect) found.push_back({effect, {}});
    found.back().second.insert(name);
  };
  const std::vector<KindInfo> kinds = store.kinds();
  for (const Unsimulated& each : all_unsimulated()) {
    for (const KindInfo& kind : kinds) {
      const bool is_named =
          kind.resource.group == each.group &&
          std::find(each.kinds.begin(), each.kinds.end(), kind.kind) != each.kinds.end();
      if (is_named && store.count(kind.resource) != 0) add(each.effect, kind.kind);
    }
  }
  for (const std::string& node : nodes_that_evict(store)) {
    add("pods evicted by NoExecute taints", node);
  }
  std::string text;
  for (const auto& [effect, names] : found) {
    text += (text.empty() ? "not simulated: " : "; ") + effect + " (" + joined(names) + ")";
  }
  return text;
}

}  // namespace plimsoll::sandbox
