#include "plugins/dynamicresources/allocator/allocator.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "plugins/dynamicresources/allocator/search.hpp"

namespace plimsoll::dra {
namespace {

// A claim's configuration: of the classes, then its own.
class Configs {
 public:
  Configs(const Plan& plan, const Plan::ClaimOf& of, const std::vector<uint32_t>& chosen)
      : plan_(plan), of_(of), chosen_(chosen) {}

  std::vector<AllocatedConfig> made() {
    add_classes();
    for (const ClaimConfig& config : of_.claim->config) {
      if (config.requests.empty() || any_request(config.requests)) {
        made_.push_back({false, config.requests, config.opaque});
      }
    }
    for (AllocatedConfig& config : made_) {
      if (all_requests(config.requests)) config.requests.clear();
    }
    return std::move(made_);
  }

 private:
  void add_classes() {
    std::map<std::string_view, std::pair<size_t, size_t>> ranges;  // of a class's configs
    for (uint32_t request = of_.first_request; request < of_.end_request; ++request) {
      const Plan::Alternative& alternative = plan_.alternatives[chosen_[request]];
      const DeviceClass& device_class = *alternative.device_class;
      const auto [range, is_new] = ranges.try_emplace(device_class.name, made_.size(), 0);
      if (is_new) {
        for (const OpaqueConfig& config : device_class.config) made_.push_back({true, {}, config});
        range->second.second = made_.size();
      }
      for (size_t at = range->second.first; at < range->second.second; ++at) {
        made_[at].requests.push_back(alternative.name);
      }
    }
  }

  // Whether `names` has the request, by its own name or by that of the chosen subrequest.
  [[nodiscard]] bool covers(const std::set<std::string_view>& names, uint32_t request) const {
    const std::string& own = of_.claim->requests[request - of_.first_request].name;
    return names.contains(own) || names.contains(plan_.alternatives[chosen_[request]].name);
  }
  [[nodiscard]] bool any_request(const std::vector<std::string>& list) const {
    const std::set<std::string_view> names(list.begin(), list.end());
    for (uint32_t request = of_.first_request; request < of_.end_request; ++request) {
      if (covers(names, request)) return true;
    }
    return false;
  }
  [[nodiscard]] bool all_requests(const std::vector<std::string>& list) const {
    const std::set<std::string_view> names(list.begin(), list.end());
    for (uint32_t request = of_.first_request; request < of_.end_request; ++request) {
      if (!covers(names, request)) return false;
    }
    return true;
  }

  const Plan& plan_;
  const Plan::ClaimOf& of_;
  const std::vector<uint32_t>& chosen_;
  std::vector<AllocatedConfig> made_;
};

void add_new(const std::vector<NodeRequirement>& from, std::vector<NodeRequirement>& to) {
  for (const NodeRequirement& one : from) {
    const std::set<std::string_view> values(one.values.begin(), one.values.end());
    const bool known = std::any_of(to.begin(), to.end(), [&](const NodeRequirement& other) {
      return other.key == one.key && other.op == one.op &&
             std::set<std::string_view>(other.values.begin(), other.values.end()) == values;
    });
    if (!known) to.push_back(one);
  }
}

// createNodeSelector: where the claim may be used. Slices have one term each.
void narrow(const KnownDevice& known, std::string_view node, bool& is_on_one,
            std::optional<NodeSelector>& selector) {
  if (is_on_one) return;
  const Slice& slice = known.slice->spec;
  const Device& device = *known.device;
  const bool own = slice.per_device_nodes;
  if ((own ? device.node_name : slice.node_name) || device.binds_to_node) {
    is_on_one = true;
    NodeRequirement here{"metadata.name", NodeRequirement::Op::kIn, {std::string(node)}};
    selector = NodeSelector{{{{}, {std::move(here)}}}};
    return;
  }
  const auto& from = own ? device.node_selector : slice.node_selector;
  if (!from || from->terms.empty()) return;
  const NodeSelectorTerm& term = from->terms.front();
  if (term.expressions.empty() && term.fields.empty()) return;
  if (!selector) selector = NodeSelector{{{}}};
  add_new(term.fields, selector->terms[0].fields);
  add_new(term.expressions, selector->terms[0].expressions);
}

}  // namespace

Allocator::Allocator(Inventory& inventory, const Allocated& allocated, const ClassLister& classes,
                     const std::vector<const Claim*>& claims, uint64_t most_work)
    : inventory_(inventory),
      plan_(make_plan(inventory, classes, claims)),
      search_(std::make_unique<Search>(inventory, allocated, plan_, most_work)) {}

Allocator::~Allocator() = default;

std::string Allocator::why(const Node& node) {
  return search_->why(inventory_.on(node));
}

Outcome Allocator::allocate(const Node& node) {
  return search_->run(inventory_.on(node), /*with_picks=*/true);
}

Outcome Allocator::judge(const Node& node) {
  return search_->run(inventory_.on(node), /*with_picks=*/false);
}

Outcome Allocator::allocate_near(const Node& node, const Away& is_away, uint32_t most) {
  Outcome first = allocate(node);
  if (first.kind != Outcome::Kind::kAllocated) return first;
  for (const Outcome::Pick& pick : first.picks) {
    const bool counts = !plan_.alternatives[pick.alternative].asked->admin_access;
    if (counts && is_away(*pick.device)) ++first.away;
  }
  for (uint32_t allowed = 0; allowed < first.away && allowed <= most; ++allowed) {
    Outcome nearer =
        search_->run(inventory_.on(node), /*with_picks=*/true, Search::Near{&is_away, allowed});
    nearer.away = allowed;
    if (nearer.kind == Outcome::Kind::kAllocated) return nearer;
    if (nearer.kind == Outcome::Kind::kTimedOut) break;
  }
  if (first.away > most) first.kind = Outcome::Kind::kNone;
  return first;
}

std::vector<Allocation> Allocator::allocations(
    const Outcome& outcome, std::string_view node,
    const std::function<std::string()>& new_share_id) const {
  std::vector<Allocation> made(plan_.claims.size());
  std::vector<bool> is_on_one(made.size(), false);
  for (const Outcome::Pick& pick : outcome.picks) {
    const Plan::Alternative& alternative = plan_.alternatives[pick.alternative];
    const Device& device = *pick.device->device;
    const Slice& slice = pick.device->slice->spec;
    Allocation& allocation = made[alternative.claim];
    DeviceResult& result = allocation.results.emplace_back();
    result.request = alternative.name;
    result.driver = slice.driver;
    result.pool = slice.pool;
    result.device = device.name;
    result.admin_access = alternative.asked->admin_access;
    result.tolerations = alternative.asked->tolerations;
    result.binding_conditions = device.binding_conditions;
    result.binding_failure_conditions = device.binding_failure_conditions;
    if (device.allow_multiple_allocations) {
      result.share_id = new_share_id();
      size_t at = 0;
      for (const auto& [name, capacity] : device.capacity) {
        result.consumed_capacity.emplace(name, pick.consumption->amounts[at++]);
      }
    }
    bool on_one = is_on_one[alternative.claim];
    narrow(*pick.device, node, on_one, allocation.node_selector);
    is_on_one[alternative.claim] = on_one;
  }
  for (size_t index = 0; index < made.size(); ++index) {
    made[index].config = Configs(plan_, plan_.claims[index], outcome.chosen).made();
  }
  return made;
}

}  // namespace plimsoll::dra
