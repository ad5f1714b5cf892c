#include "sandbox/node_admission.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "framework/base/log.hpp"
#include "sandbox/pod_amounts.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

constexpr std::int64_t kMilli = 1000;

std::string uid_of(const json& pod) {
  const json metadata = pod.value("metadata", json::object());
  return metadata.value("uid", metadata.value("namespace", "") + "/" + metadata.value("name", ""));
}

bool is_memory(const std::string& resource) {
  return resource == "memory" || resource.starts_with("hugepages-");
}

// Simplified static managers: whole CPUs and memory of Guaranteed pods, devices of all pods.
class ZoneAdmission : public NodeAdmission {
 public:
  explicit ZoneAdmission(const NodeDescription& node) : node_(node) {
    for (const ZoneDescription& zone : node_.zones) {
      free_.push_back(zone.available);
      Amounts used;
      for (const auto& [name, total] : zone.allocatable) {
        used[name] = total - amount_of(zone.available, name);
        // An exporter writes zeros where a manager is off: that constrains nothing.
        if (total > 0) tracked_[name] = true;
      }
      unexplained_.push_back(std::move(used));
    }
  }

  AdmissionDecision admit(const json& pod) override {
    const auto amounts = pod_amounts(pod);
    if (!amounts) {
      return {false, "UnexpectedAdmissionError", amounts.error().message};
    }
    Held held{amounts->requests, std::vector<Amounts>(free_.size()), false};
    AdmissionDecision decision = allocate(*amounts, held);
    if (decision.admitted) decision = fits(*amounts);
    if (!decision.admitted) {
      give_back(held);
      return decision;
    }
    keep(uid_of(pod), std::move(held));
    return decision;
  }

  void restore(const json& pod) override {
    const auto amounts = pod_amounts(pod);
    if (!amounts) {
      log_warn("a running pod is not accounted for",
               {{"node", node_.name}, {"why", amounts.error().message}});
      return;
    }
    Held held{amounts->requests, std::vector<Amounts>(free_.size()), false};
    const std::vector<Amounts> needs = needs_of(*amounts);
    const Amounts peak = peak_of(amounts->containers, needs);
    // What the last report shows as used is explained by the pods that run here; what it does
    // not show yet is taken from what is free, as far as there is any.
    for (std::vector<Amounts>* pool : {&unexplained_, &free_}) {
      if (take_from_one_zone(*pool, peak, held)) {
        keep(uid_of(pod), std::move(held));
        return;
      }
    }
    for (const auto& [name, amount] : peak) {
      std::int64_t rest = take_spread(unexplained_, name, amount, held);
      (void)take_spread(free_, name, rest, held);
    }
    keep(uid_of(pod), std::move(held));
  }

  void release(const std::string& uid) override {
    const auto found = held_.find(uid);
    if (found == held_.end()) return;
    give_back(found->second);
    for (const auto& [name, amount] : found->second.requests) requested_[name] -= amount;
    held_.erase(found);
  }

  bool holds_exclusively(const std::string& uid) const override {
    const auto found = held_.find(uid);
    return found != held_.end() && found->second.exclusive;
  }

  std::vector<ZoneAvailability> available() const override {
    std::vector<ZoneAvailability> zones;
    for (std::size_t i = 0; i < free_.size(); ++i) zones.push_back({node_.zones[i].id, free_[i]});
    return zones;
  }

 private:
  struct Held {
    Amounts requests;
    std::vector<Amounts> zones;  // what was taken from each
    bool exclusive = false;
  };

  // The resources of a container that some zone accounts for.
  Amounts need_of(const PodAmounts& pod, const ContainerAmounts& container) const {
    Amounts need;
    for (const auto& [name, tracked] : tracked_) {
      std::int64_t amount = 0;
      if (name == "cpu") {
        amount = pod.guaranteed ? amount_of(container.requests, name) : 0;
        if (amount % kMilli != 0) amount = 0;  // fractional CPUs come from the shared pool
      } else if (is_memory(name)) {
        amount = pod.guaranteed ? amount_of(container.requests, name) : 0;
      } else {
        amount = amount_of(container.limits, name);
      }
      if (amount > 0) need[name] = amount;
    }
    return need;
  }

  std::vector<Amounts> needs_of(const PodAmounts& pod) const {
    std::vector<Amounts> needs;
    for (const ContainerAmounts& container : pod.containers) {
      needs.push_back(need_of(pod, container));
    }
    return needs;
  }

  void take(std::vector<Amounts>& pool, std::size_t zone, const std::string& name,
            std::int64_t amount, Held& held) {
    pool[zone][name] -= amount;
    held.zones[zone][name] += amount;
    held.exclusive = held.exclusive || amount > 0;
  }

  bool take_from_one_zone(std::vector<Amounts>& pool, const Amounts& need, Held& held) {
    for (std::size_t zone = 0; zone < pool.size(); ++zone) {
      const bool fits_here = std::all_of(need.begin(), need.end(), [&](const auto& entry) {
        return amount_of(pool[zone], entry.first) >= entry.second;
      });
      if (!fits_here) continue;
      for (const auto& [name, amount] : need) take(pool, zone, name, amount, held);
      return true;
    }
    return false;
  }

  // Takes from the lowest zones on; gives what could not be had.
  std::int64_t take_spread(std::vector<Amounts>& pool, const std::string& name, std::int64_t amount,
                           Held& held) {
    for (std::size_t zone = 0; zone < pool.size() && amount > 0; ++zone) {
      const std::int64_t part = std::min(amount, amount_of(pool[zone], name));
      if (part <= 0) continue;
      take(pool, zone, name, part, held);
      amount -= part;
    }
    return amount;
  }

  // One container of scope container: the lowest zone where its need fits, counting what an
  // earlier init container of the pod left to it there.
  bool place_container(const Amounts& need, ContainerAmounts::Role role,
                       std::vector<Amounts>& reusable, Held& held) {
    for (std::size_t zone = 0; zone < free_.size(); ++zone) {
      const bool fits_here = std::all_of(need.begin(), need.end(), [&](const auto& entry) {
        const auto& [name, amount] = entry;
        // Reusable CPUs and devices are part of every hint: their zone is the only choice.
        for (std::size_t other = 0; other < free_.size() && !is_memory(name); ++other) {
          if (other != zone && amount_of(reusable[other], name) > 0) return false;
        }
        return amount_of(free_[zone], name) + amount_of(reusable[zone], name) >= amount;
      });
      if (!fits_here) continue;
      for (const auto& [name, amount] : need) {
        std::int64_t& reuse = reusable[zone][name];
        const std::int64_t extra = std::max<std::int64_t>(0, amount - reuse);
        take(free_, zone, name, extra, held);
        const bool init = role == ContainerAmounts::Role::kInit;
        reuse = init ? std::max(reuse, amount) : std::max<std::int64_t>(0, reuse - amount);
      }
      return true;
    }
    return false;
  }

  AdmissionDecision allocate(const PodAmounts& pod, Held& held) {
    if (free_.empty()) return {true, "", ""};
    const AdmissionDecision refused{false, "TopologyAffinityError",
                                    "Resources cannot be allocated with Topology locality"};
    const std::vector<Amounts> needs = needs_of(pod);
    if (node_.policy == "single-numa-node" && node_.scope == "pod") {
      const Amounts peak = peak_of(pod.containers, needs);
      if (peak.empty() || take_from_one_zone(free_, peak, held)) return {true, "", ""};
      return refused;
    }
    if (node_.policy == "single-numa-node") {
      std::vector<Amounts> reusable(free_.size());
      for (std::size_t i = 0; i < needs.size(); ++i) {
        if (needs[i].empty()) continue;
        if (!place_container(needs[i], pod.containers[i].role, reusable, held)) return refused;
      }
      return {true, "", ""};
    }
    for (const auto& [name, amount] : peak_of(pod.containers, needs)) {
      if (const std::int64_t missing = take_spread(free_, name, amount, held); missing > 0) {
        return {false, "UnexpectedAdmissionError",
                "Allocate failed due to not enough " + name +
                    " available to satisfy request: requested=" + format_amount(name, amount) +
                    ", available=" + format_amount(name, amount - missing) +
                    ", which is unexpected"};
      }
    }
    return {true, "", ""};
  }

  // The kubelet's NodeResourcesFit predicate. Extended resources that the node does not have are
  // not its business (removeMissingExtendedResources).
  AdmissionDecision fits(const PodAmounts& pod) const {
    const auto short_of = [](const std::string& name, std::int64_t asked, std::int64_t used,
                             std::int64_t capacity) {
      return AdmissionDecision{
          false, "OutOf" + name,
          "Node didn't have enough resource: " + name + ", requested: " + std::to_string(asked) +
              ", used: " + std::to_string(used) + ", capacity: " + std::to_string(capacity)};
    };
    if (const auto pods = node_.allocatable.find("pods"); pods != node_.allocatable.end()) {
      const auto used = static_cast<std::int64_t>(held_.size());
      if (used + 1 > pods->second) return short_of("pods", 1, used, pods->second);
    }
    for (const auto& [name, asked] : pod.requests) {
      const auto total = node_.allocatable.find(name);
      if (asked == 0) continue;
      const bool native = name == "cpu" || is_memory(name) || name == "ephemeral-storage";
      if (total == node_.allocatable.end() && !native) continue;
      const std::int64_t capacity = total == node_.allocatable.end() ? 0 : total->second;
      const std::int64_t used = amount_of(requested_, name);
      if (asked > capacity - used) return short_of(name, asked, used, capacity);
    }
    return {true, "", ""};
  }

  void keep(const std::string& uid, Held held) {
    release(uid);
    add_amounts(requested_, held.requests);
    held_[uid] = std::move(held);
  }

  void give_back(const Held& held) {
    for (std::size_t zone = 0; zone < free_.size(); ++zone)
      add_amounts(free_[zone], held.zones[zone]);
  }

  NodeDescription node_;
  std::map<std::string, bool> tracked_;  // resources that the zones account for
  std::vector<Amounts> free_;            // by zone
  std::vector<Amounts> unexplained_;     // used before the simulation by pods not yet restored
  Amounts requested_;                    // by all pods of the node
  std::map<std::string, Held> held_;     // by pod uid
};

}  // namespace

std::unique_ptr<NodeAdmission> make_node_admission(const NodeDescription& node) {
  return std::make_unique<ZoneAdmission>(node);
}

}  // namespace plimsoll::sandbox
