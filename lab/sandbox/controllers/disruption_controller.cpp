#include <plimsoll/kinds.hpp>
#include <plimsoll/views.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/api/selectors.hpp"
#include "framework/base/json_path.hpp"
#include "framework/objects/kinds.hpp"
#include "lab/sandbox/controllers/controller.hpp"
#include "lab/sandbox/store/simulated_clock.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

// An eviction that the API server has granted counts so long, if the pod does not go
// (DeletionTimeout).
constexpr std::chrono::minutes kEvictionTime{2};

// The reference to the controller of an object, or null.
const json& controller_of(const json& object) {
  static const json kNone;
  for (const json& owner : value_at(object, {"metadata", "ownerReferences"})) {
    if (value_at(owner, {"controller"}) == true) return owner;
  }
  return kNone;
}

// An int32, as in the API, whatever the file has.
std::int64_t count_in(const json& number) {
  return std::clamp<std::int64_t>(number.get<std::int64_t>(), INT32_MIN, INT32_MAX);
}

// Nothing: neither a number nor a percentage (GetScaledValueFromIntOrPercent, rounded up).
std::optional<std::int64_t> scaled(const json& value, std::int64_t total) {
  if (value.is_number_integer()) return count_in(value);
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  std::int64_t percent = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, percent);
  const bool valid = read.ec == std::errc() && read.ptr + 1 == end && *read.ptr == '%' &&
                     percent >= 0 && percent <= 100;
  if (!valid) return std::nullopt;
  return (percent * total + 99) / 100;
}

class DisruptionController : public Controller {
 public:
  explicit DisruptionController(ObjectStore& store) : store_(store) {}

  [[nodiscard]] std::vector<ResourceName> kinds() const override {
    return {kDisruptionBudgets, kPods};
  }

  void changed(const ResourceName& kind, const StoreEvent& event) override {
    kind == kPods ? pod_changed(event) : budget_changed(event);
  }

  void settle() override {
    for (const ObjectKey& key : std::exchange(dirty_, {})) update(key);
  }

 private:
  struct Pod {
    bool healthy = false;
    json controller;  // the reference to it, or null
  };
  struct Scale {
    json reference;
    std::int64_t pods = 0;
    std::int64_t most = 0;  // that there were at a time
  };
  struct Budget {
    ObjectRef object;                          // with the selector
    std::map<std::string, Pod> pods;           // that it selects, by name
    std::map<std::string, Scale> controllers;  // of these, by UID
    std::int64_t healthy = 0;
    bool valid = false;  // it can be read
  };

  static const plimsoll_disruption_budget& decoded(const ObjectRef& object) {
    return *reinterpret_cast<const plimsoll_disruption_budget*>(object.get());
  }

  void budget_changed(const StoreEvent& event) {
    const ObjectKey& key = event.object->key;
    auto& budgets = budgets_[key.ns];
    if (event.type == EventType::kDeleted) {
      budgets.erase(key.name);
      if (budgets.empty()) budgets_.erase(key.ns);
      return;
    }
    dirty_.insert(key);
    ObjectRef object =
        decode_object(sdk::kDisruptionBudgets.resource, key.ns, key.name, event.object->text);
    Budget& budget = budgets[key.name];
    const auto known = std::exchange(budget.object, std::move(object));
    if (known != nullptr && selector_of(known) == selector_of(budget.object)) return;
    budget.valid = decoded(budget.object).object.unreadable.len == 0 &&
                   validate(decoded(budget.object).selector).has_value();
    budget.pods.clear();
    budget.controllers.clear();
    budget.healthy = 0;
    const auto pods = store_.list(kPods, key.ns);
    if (!pods) return;
    for (const ObjectPtr& pod : pods->objects) {
      if (selects(budget, *pod)) join(budget, *pod);
    }
  }

  static std::string selector_of(const ObjectRef& object) {
    const plimsoll_label_selector& selector = decoded(object).selector;
    return std::to_string(selector.present) + selector_text(selector);
  }

  static bool selects(const Budget& budget, const StoredObject& pod) {
    std::vector<plimsoll_label> labels;
    for (const auto& [key, value] : pod.labels) labels.push_back({sdk::str(key), sdk::str(value)});
    const std::span<const plimsoll_label> all = labels;
    return budget.valid &&
           matches(decoded(budget.object).selector, sdk::list_of<plimsoll_label>(all));
  }

  void pod_changed(const StoreEvent& event) {
    const ObjectKey& key = event.object->key;
    const auto budgets = budgets_.find(key.ns);
    if (budgets == budgets_.end()) return;
    for (auto& [name, budget] : budgets->second) {
      const bool knew = leave(budget, key.name);
      const bool has = event.type != EventType::kDeleted && selects(budget, *event.object);
      if (has) join(budget, *event.object);
      if (knew || has) dirty_.insert({key.ns, name});
    }
  }

  static void join(Budget& budget, const StoredObject& object) {
    const json pod = object.parse();
    Pod& joined = budget.pods[object.key.name];
    joined.controller = controller_of(pod);
    joined.healthy = is_healthy(pod);
    if (joined.healthy) ++budget.healthy;
    if (joined.controller.is_null()) return;
    Scale& scale = budget.controllers[text_in(joined.controller, {"uid"})];
    scale.reference = joined.controller;
    scale.most = std::max(scale.most, ++scale.pods);
  }

  static bool leave(Budget& budget, const std::string& name) {
    const auto pod = budget.pods.find(name);
    if (pod == budget.pods.end()) return false;
    if (pod->second.healthy) --budget.healthy;
    if (!pod->second.controller.is_null()) {
      --budget.controllers.at(text_in(pod->second.controller, {"uid"})).pods;
    }
    budget.pods.erase(pod);
    return true;
  }

  // A running pod of a file that says nothing of its readiness is ready.
  static bool is_healthy(const json& pod) {
    if (!value_at(pod, {"metadata", "deletionTimestamp"}).is_null()) return false;
    for (const json& condition : value_at(pod, {"status", "conditions"})) {
      if (text_in(condition, {"type"}) == "Ready") return text_in(condition, {"status"}) == "True";
    }
    return text_in(pod, {"status", "phase"}) == "Running";
  }

  // Which controller it is, and how many pods that is to have. Nothing: it has no number, as a
  // DaemonSet. What the files do not have is as large as it was at most: nobody here makes pods
  // anew.
  [[nodiscard]] std::optional<std::pair<std::string, std::int64_t>> replicas(
      const Scale& scale, const std::string& ns) const {
    const std::string kind = text_in(scale.reference, {"kind"});
    if (kind == "DaemonSet" || kind == "Job" || kind == "Node") return std::nullopt;
    json object = owner(scale.reference, ns);
    std::string uid = text_in(scale.reference, {"uid"});
    if (kind == "ReplicaSet") {
      if (json above = owner(controller_of(object), ns); !above.is_null()) {
        uid = text_in(above, {"metadata", "uid"});
        object = std::move(above);
      }
    }
    const json& number = value_at(object, {"spec", "replicas"});
    return std::pair(std::move(uid), number.is_number_integer() ? count_in(number) : scale.most);
  }

  // The object of a reference, or null.
  [[nodiscard]] json owner(const json& reference, const std::string& ns) const {
    const std::string group = split_api_version(text_in(reference, {"apiVersion"})).group;
    for (const KindInfo& kind : store_.kinds()) {
      if (kind.kind != text_in(reference, {"kind"}) || kind.resource.group != group) continue;
      const auto found = store_.get(kind.resource, {ns, text_in(reference, {"name"})});
      if (found) return (*found)->parse();
    }
    return nullptr;
  }

  // Kubernetes: getExpectedScale. Pods without a controller do not count.
  [[nodiscard]] std::optional<std::int64_t> expected_scale(const Budget& budget,
                                                           const std::string& ns) const {
    std::map<std::string, std::int64_t> scales;
    for (const auto& [uid, scale] : budget.controllers) {
      if (scale.pods == 0) continue;
      auto each = replicas(scale, ns);
      if (!each) return std::nullopt;
      scales.insert(*std::move(each));
    }
    std::int64_t expected = 0;
    for (const auto& [uid, number] : scales) expected += number;
    return expected;
  }

  struct Counts {
    std::int64_t expected = 0;
    std::int64_t desired = 0;
  };
  // Kubernetes: getExpectedPodCount. Nothing: it cannot be said.
  [[nodiscard]] std::optional<Counts> counts_of(const Budget& budget, const json& spec,
                                                const std::string& ns) const {
    if (!budget.valid) return std::nullopt;
    const json& unavailable = value_at(spec, {"maxUnavailable"});
    const json& available = value_at(spec, {"minAvailable"});
    if (unavailable.is_null() && available.is_null()) return Counts{};
    if (unavailable.is_null() && available.is_number_integer()) {
      return Counts{static_cast<std::int64_t>(budget.pods.size()), count_in(available)};
    }
    const auto expected = expected_scale(budget, ns);
    if (!expected) return std::nullopt;
    const auto number = scaled(unavailable.is_null() ? available : unavailable, *expected);
    if (!number) return std::nullopt;
    if (unavailable.is_null()) return Counts{*expected, *number};
    return Counts{*expected, std::max<std::int64_t>(0, *expected - *number)};
  }

  // Those of status.disruptedPods that may still go. They are not healthy any more.
  static json disrupted(const Budget& budget, const json& status, std::int64_t& healthy) {
    json still = json::object();
    const std::string since = timestamp_now(kEvictionTime);
    for (const auto& [name, time] : value_at(status, {"disruptedPods"}).items()) {
      const auto pod = budget.pods.find(name);
      if (pod == budget.pods.end() || !pod->second.healthy || !time.is_string() || time < since) {
        continue;
      }
      still[name] = time;
      --healthy;
    }
    return still;
  }

  void update(const ObjectKey& key) {
    const auto budgets = budgets_.find(key.ns);
    if (budgets == budgets_.end() || !budgets->second.contains(key.name)) return;
    const Budget& budget = budgets->second.at(key.name);
    (void)store_.modify(kDisruptionBudgets, key, {}, [&](json& now) -> ApiResult<void> {
      json& status = now["status"];
      if (!status.is_object()) status = json::object();
      const auto counts = counts_of(budget, value_at(now, {"spec"}), key.ns);
      if (!counts) {
        status["disruptionsAllowed"] = 0;
        return {};
      }
      std::int64_t healthy = budget.healthy;
      json going = disrupted(budget, status, healthy);
      status["currentHealthy"] = healthy;
      status["desiredHealthy"] = counts->desired;
      status["expectedPods"] = counts->expected;
      status["disruptionsAllowed"] =
          counts->expected <= 0 ? 0 : std::max<std::int64_t>(0, healthy - counts->desired);
      if (going.empty())
        status.erase("disruptedPods");
      else
        status["disruptedPods"] = std::move(going);
      status["observedGeneration"] = value_at(now, {"metadata", "generation"});
      return {};
    });
  }

  ObjectStore& store_;
  std::map<std::string, std::map<std::string, Budget>> budgets_;  // by namespace, by name
  std::set<ObjectKey> dirty_;
};

}  // namespace

std::unique_ptr<Controller> disruption_controller(ObjectStore& store) {
  return std::make_unique<DisruptionController>(store);
}

}  // namespace plimsoll::sandbox
