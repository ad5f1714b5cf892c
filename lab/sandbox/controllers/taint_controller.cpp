#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/json_path.hpp"
#include "lab/sandbox/controllers/controller.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr const char* kUnschedulable = "node.kubernetes.io/unschedulable";

struct ConditionTaint {
  std::string_view type;
  std::string_view status;
  const char* taint;
  bool evicts;  // it has a taint with the effect NoExecute, too
};
constexpr std::array<ConditionTaint, 6> kTaints{{
    {"Ready", "False", "node.kubernetes.io/not-ready", true},
    {"Ready", "Unknown", "node.kubernetes.io/unreachable", true},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure", false},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure", false},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure", false},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable", false},
}};

// Adds or takes away one taint.
void set_taint(json& taints, const char* key, const char* effect, bool wanted) {
  const auto is_it = [&](const json& taint) {
    return text_in(taint, {"key"}) == key && text_in(taint, {"effect"}) == effect;
  };
  auto& list = taints.get_ref<json::array_t&>();
  const auto found = std::find_if(list.begin(), list.end(), is_it);
  if (wanted && found == list.end()) list.push_back({{"key", key}, {"effect", effect}});
  if (!wanted) std::erase_if(list, is_it);
}

void set_taints(json& node) {
  std::map<std::string, std::string> conditions;  // status, by type
  for (const json& condition : value_at(node, {"status", "conditions"})) {
    conditions[text_in(condition, {"type"})] = text_in(condition, {"status"});
  }
  json taints = value_at(node, {"spec", "taints"});
  if (!taints.is_array()) taints = json::array();
  const std::size_t before = taints.size();
  for (const ConditionTaint& each : kTaints) {
    const auto condition = conditions.find(std::string(each.type));
    if (condition == conditions.end()) continue;
    const bool holds = condition->second == each.status;
    set_taint(taints, each.taint, "NoSchedule", holds);
    if (each.evicts) set_taint(taints, each.taint, "NoExecute", holds);
  }
  set_taint(taints, kUnschedulable, "NoSchedule",
            value_at(node, {"spec", "unschedulable"}) == true);
  if (before != 0 || !taints.empty()) node["spec"]["taints"] = std::move(taints);
}

class TaintController : public Controller {
 public:
  explicit TaintController(ObjectStore& store) : store_(store) {}

  [[nodiscard]] std::vector<ResourceName> kinds() const override { return {kNodes}; }

  void changed(const ResourceName&, const StoreEvent& event) override {
    if (event.type == EventType::kDeleted) return;
    (void)store_.modify(kNodes, event.object->key, {}, [](json& now) -> ApiResult<void> {
      set_taints(now);
      return {};
    });
  }

 private:
  ObjectStore& store_;
};

}  // namespace

std::unique_ptr<Controller> taint_controller(ObjectStore& store) {
  return std::make_unique<TaintController>(store);
}

}  // namespace plimsoll::sandbox
