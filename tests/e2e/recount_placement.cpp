#include "tests/e2e/recount_placement.hpp"

#include <algorithm>
#include <set>

namespace plimsoll::test {
namespace {

const PlacedNode* node_of_pod(const Placement& placement, const PlacedPod& pod) {
  const auto found = placement.nodes.find(pod.facts.node);
  return found == placement.nodes.end() ? nullptr : &found->second;
}

bool same_namespace(const PlacedPod& one, const PlacedPod& other) {
  const auto ns = [](const PlacedPod& pod) {
    return pod.facts.name.substr(0, pod.facts.name.find('/'));
  };
  return ns(one) == ns(other);
}

// Counts bound pods; says whether a pod may be on a node, it being counted or not.
class Judge {
 public:
  explicit Judge(const Placement& placement) : placement_(placement) {
    for (const PlacedPod& pod : placement.pods) {
      const PlacedNode* node = node_of_pod(placement, pod);
      if (node == nullptr) continue;
      add(held_[pod.facts.node], pod.facts.requests);
      ++pods_on_[pod.facts.node];
      for (const std::string& claim : pod.claims) {
        const std::string driver = driver_of(claim);
        if (!driver.empty()) attached_[pod.facts.node][driver].insert(claim);
      }
    }
  }

  [[nodiscard]] const std::map<std::string, std::map<std::string, std::set<std::string>>>&
  attached() const {
    return attached_;
  }

  [[nodiscard]] std::map<std::string, std::int64_t> domains(const PlacedPod& pod,
                                                            const SpreadRule& rule) const {
    auto counts = empty_domains(pod, rule, placement_);
    for (const PlacedPod& other : placement_.pods) {
      if (!counts_for(pod, rule.selector, other)) continue;
      const PlacedNode* node = node_of_pod(placement_, other);
      if (node == nullptr) continue;
      const std::string domain = counted_domain(pod, rule, *node);
      if (!domain.empty()) ++counts[domain];
    }
    return counts;
  }

  [[nodiscard]] std::int64_t waiting(const PlacedPod& pod, const SpreadRule& rule) const {
    return std::ranges::count_if(placement_.pods, [&](const PlacedPod& other) {
      return other.facts.node.empty() && counts_for(pod, rule.selector, other);
    });
  }

  // Other bound pods that the rule selects: anywhere, and in the node's domain.
  struct Neighbours {
    std::size_t anywhere = 0;
    std::vector<std::string> here;
  };
  [[nodiscard]] Neighbours neighbours(const PlacedPod& pod, const NeighbourRule& rule,
                                      const PlacedNode& node) const {
    Neighbours found;
    const std::string domain = domain_of(node, rule.key);
    for (const PlacedPod& other : placement_.pods) {
      if (&other == &pod || !counts_for(pod, rule.selector, other)) continue;
      const PlacedNode* there = node_of_pod(placement_, other);
      if (there == nullptr) continue;
      ++found.anywhere;
      if (!domain.empty() && domain_of(*there, rule.key) == domain) {
        found.here.push_back(other.facts.name);
      }
    }
    return found;
  }

  [[nodiscard]] bool takes(const PlacedPod& pod, const PlacedNode& node) const {
    return node_selected(pod, node) && taints_tolerated(pod, node) && has_room(pod, node) &&
           spreads(pod, node) && neighbours_take(pod, node) && volumes_take(pod, node);
  }

 private:
  static bool counts_for(const PlacedPod& pod, const Labels& selector, const PlacedPod& other) {
    return selects(selector, other.labels) && same_namespace(pod, other);
  }

  [[nodiscard]] bool has_room(const PlacedPod& pod, const PlacedNode& node) const {
    const std::string& name = node.facts.name;
    const auto held = held_.find(name);
    const auto pods = pods_on_.find(name);
    const Amounts left =
        left_of(node.facts.stock.all, held == held_.end() ? Amounts{} : held->second);
    return fits(pod.facts.requests, left) &&
           (pods == pods_on_.end() ? 0 : pods->second) < get(node.facts.stock.all, "pods");
  }

  [[nodiscard]] bool spreads(const PlacedPod& pod, const PlacedNode& node) const {
    return std::ranges::all_of(pod.spread, [&](const SpreadRule& rule) {
      const std::string domain = domain_of(node, rule.key);
      if (domain.empty()) return false;
      const auto counts = domains(pod, rule);
      std::int64_t least = counts.empty() ? 0 : counts.begin()->second;
      for (const auto& [each, count] : counts) least = std::min(least, count);
      const auto here = counts.find(domain);
      const std::int64_t after =
          (here == counts.end() ? 0 : here->second) + (selects(rule.selector, pod.labels) ? 1 : 0);
      return after - least <= rule.max_skew;
    });
  }

  [[nodiscard]] bool neighbours_take(const PlacedPod& pod, const PlacedNode& node) const {
    for (const NeighbourRule& rule : pod.affinity) {
      if (domain_of(node, rule.key).empty()) return false;
      const Neighbours found = neighbours(pod, rule, node);
      const bool first = found.anywhere == 0 && selects(rule.selector, pod.labels);
      if (found.here.empty() && !first) return false;
    }
    for (const NeighbourRule& rule : pod.anti_affinity) {
      if (!neighbours(pod, rule, node).here.empty()) return false;
    }
    return std::ranges::none_of(placement_.pods, [&](const PlacedPod& other) {
      if (other.anti_affinity.empty()) return false;
      const PlacedNode* there = node_of_pod(placement_, other);
      return there != nullptr && keeps_away(other, *there, pod, node);
    });
  }
  static bool keeps_away(const PlacedPod& other, const PlacedNode& there, const PlacedPod& pod,
                         const PlacedNode& node) {
    return std::ranges::any_of(other.anti_affinity, [&](const NeighbourRule& rule) {
      const std::string domain = domain_of(node, rule.key);
      return counts_for(other, rule.selector, pod) && !domain.empty() &&
             domain_of(there, rule.key) == domain;
    });
  }

  [[nodiscard]] bool volumes_take(const PlacedPod& pod, const PlacedNode& node) const {
    std::map<std::string, std::set<std::string>> wanted;
    for (const std::string& name : pod.claims) {
      if (!claim_usable(name, node)) return false;
      wanted[driver_of(name)].insert(name);
    }
    for (const auto& [driver, limit] : node.limits) {
      if (!wanted.contains(driver)) continue;
      const auto on_node = attached_.find(node.facts.name);
      const std::size_t used = on_node != attached_.end() && on_node->second.contains(driver)
                                   ? on_node->second.at(driver).size()
                                   : 0;
      if (static_cast<std::int64_t>(used + wanted[driver].size()) > limit) return false;
    }
    return true;
  }
  [[nodiscard]] bool claim_usable(const std::string& name, const PlacedNode& node) const {
    const auto claim = placement_.claims.find(name);
    if (claim == placement_.claims.end()) return false;
    if (!claim->second.volume.empty()) {
      const auto volume = placement_.volumes.find(claim->second.volume);
      return volume != placement_.volumes.end() && usable_on(volume->second, node);
    }
    const auto of = placement_.classes.find(claim->second.storage_class);
    if (of == placement_.classes.end() || !of->second.waits) return false;
    if (of->second.provisioner != "kubernetes.io/no-provisioner") return true;
    return std::ranges::any_of(placement_.volumes, [&](const auto& each) {
      const VolumeFacts& volume = each.second;
      const bool free =
          volume.claim == name || (volume.claim.empty() && volume.phase == "Available");
      return free && volume.storage_class == claim->second.storage_class && usable_on(volume, node);
    });
  }

  // Of the claim's volume, or of the one that will be made for it.
  [[nodiscard]] std::string driver_of(const std::string& name) const {
    const auto claim = placement_.claims.find(name);
    if (claim == placement_.claims.end()) return {};
    if (const auto volume = placement_.volumes.find(claim->second.volume);
        volume != placement_.volumes.end()) {
      return volume->second.driver;
    }
    const auto of = placement_.classes.find(claim->second.storage_class);
    return of == placement_.classes.end() ? std::string() : of->second.provisioner;
  }

  const Placement& placement_;
  std::map<std::string, Amounts> held_;                                           // by node
  std::map<std::string, std::int64_t> pods_on_;                                   // by node
  std::map<std::string, std::map<std::string, std::set<std::string>>> attached_;  // node, driver
};

}  // namespace

std::string counted_domain(const PlacedPod& pod, const SpreadRule& rule, const PlacedNode& node) {
  if (!node_selected(pod, node)) return {};
  if (rule.honors_taints && !taints_tolerated(pod, node)) return {};
  for (const SpreadRule& each : pod.spread) {
    if (domain_of(node, each.key).empty()) return {};
  }
  return domain_of(node, rule.key);
}

std::map<std::string, std::int64_t> empty_domains(const PlacedPod& pod, const SpreadRule& rule,
                                                  const Placement& placement) {
  std::map<std::string, std::int64_t> domains;
  for (const auto& [name, node] : placement.nodes) {
    const std::string domain = counted_domain(pod, rule, node);
    if (!domain.empty()) domains[domain] = 0;
  }
  return domains;
}

namespace {

class Checker {
 public:
  explicit Checker(const Placement& placement) : placement_(placement), judge_(placement) {}

  std::vector<std::string> run() {
    for (const PlacedPod& pod : placement_.pods) {
      const PlacedNode* node = node_of_pod(placement_, pod);
      if (pod.facts.node.empty()) continue;
      if (node == nullptr) {
        fault(pod, "is on a node that is not there");
        continue;
      }
      if (!node_selected(pod, *node)) fault(pod, "is not on a node of its nodeSelector");
      if (!taints_tolerated(pod, *node)) fault(pod, "does not tolerate its node's taints");
      check_neighbours(pod, *node);
      check_spread(pod, *node);
      for (const std::string& claim : pod.claims) check_claim(pod, *node, claim);
    }
    check_pairs();
    check_single_users();
    check_limits();
    return std::move(faults_);
  }

 private:
  void fault(std::string text) { faults_.push_back(std::move(text)); }
  void fault(const PlacedPod& pod, const std::string& text) {
    fault(pod.facts.name + " on " + pod.facts.node + " " + text);
  }

  void check_neighbours(const PlacedPod& pod, const PlacedNode& node) {
    for (const NeighbourRule& rule : pod.anti_affinity) {
      const auto found = judge_.neighbours(pod, rule, node);
      if (!found.here.empty()) fault(pod, "is too near to " + found.here.front());
    }
    for (const NeighbourRule& rule : pod.affinity) {
      const auto found = judge_.neighbours(pod, rule, node);
      const bool first = found.anywhere == 0 && selects(rule.selector, pod.labels);
      if (found.here.empty() && !first) fault(pod, "has no neighbour by " + rule.key);
    }
  }

  void check_spread(const PlacedPod& pod, const PlacedNode& node) {
    for (const SpreadRule& rule : pod.spread) {
      const std::string domain = counted_domain(pod, rule, node);
      if (domain.empty()) continue;  // said already, or the node lost the label
      const auto counts = judge_.domains(pod, rule);
      std::int64_t least = counts.begin()->second;
      for (const auto& [each, count] : counts) least = std::min(least, count);
      const std::int64_t here = counts.at(domain);
      if (here - least - judge_.waiting(pod, rule) <= rule.max_skew) continue;
      fault(pod, "is one of " + std::to_string(here) + " in " + domain + "; elsewhere by " +
                     rule.key + " there are " + std::to_string(least));
    }
  }

  void check_claim(const PlacedPod& pod, const PlacedNode& node, const std::string& name) {
    const auto claim = placement_.claims.find(name);
    if (claim == placement_.claims.end()) return fault(pod, "has no claim " + name);
    if (claim->second.phase != "Bound") {
      return fault(pod, "has claim " + name + ", which is " + claim->second.phase);
    }
    const auto volume = placement_.volumes.find(claim->second.volume);
    if (volume == placement_.volumes.end()) {
      return fault(pod, "has claim " + name + " without a volume");
    }
    if (!usable_on(volume->second, node)) fault(pod, "cannot use volume " + volume->first);
    if (volume->second.claim != name || volume->second.claim_uid != claim->second.uid) {
      fault(pod, "has claim " + name + ", but its volume is of " + volume->second.claim);
    }
  }

  void check_pairs() {
    std::map<std::string, std::string> claim_of;   // by volume
    std::map<std::string, std::string> volume_of;  // by claim
    for (const auto& [name, claim] : placement_.claims) {
      if (claim.volume.empty()) {
        if (!claim.selected_node.empty()) {
          fault(name + " is left for " + claim.selected_node + " without a volume");
        }
        continue;
      }
      const auto [first, fresh] = claim_of.emplace(claim.volume, name);
      if (!fresh) fault(claim.volume + " is named by " + first->second + " and " + name);
    }
    for (const auto& [name, volume] : placement_.volumes) {
      if (volume.claim.empty()) continue;
      const auto [first, fresh] = volume_of.emplace(volume.claim, name);
      if (!fresh) fault(volume.claim + " is named by " + first->second + " and " + name);
    }
  }

  void check_single_users() {
    std::map<std::string, std::string> user_of;  // by claim
    for (const PlacedPod& pod : placement_.pods) {
      if (pod.facts.node.empty()) continue;
      for (const std::string& name : pod.claims) {
        const auto claim = placement_.claims.find(name);
        if (claim == placement_.claims.end() || !claim->second.of_one_pod) continue;
        const auto [first, fresh] = user_of.emplace(name, pod.facts.name);
        if (!fresh) fault(name + " is used by " + first->second + " and " + pod.facts.name);
      }
    }
  }

  void check_limits() {
    for (const auto& [name, drivers] : judge_.attached()) {
      const auto& limits = placement_.nodes.at(name).limits;
      for (const auto& [driver, claims] : drivers) {
        const auto limit = limits.find(driver);
        if (limit == limits.end() || std::ssize(claims) <= limit->second) continue;
        std::string text = name;
        text += " has " + std::to_string(claims.size()) + " volumes of ";
        text += driver;
        text += " and attaches " + std::to_string(limit->second);
        fault(std::move(text));
      }
    }
  }

  const Placement& placement_;
  Judge judge_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> placement_faults(const Placement& placement) {
  return Checker(placement).run();
}

std::vector<std::string> kept_waiting(const Placement& placement, const std::string& scheduler) {
  const Judge judge(placement);
  std::vector<std::string> kept;
  for (const PlacedPod& pod : placement.pods) {
    if (!pod.facts.node.empty() || pod.facts.scheduler != scheduler) continue;
    const auto node = std::ranges::find_if(
        placement.nodes, [&](const auto& each) { return judge.takes(pod, each.second); });
    if (node != placement.nodes.end()) kept.push_back(pod.facts.name + " fits " + node->first);
  }
  return kept;
}

}  // namespace plimsoll::test
