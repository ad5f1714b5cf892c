// Pods that differ from another in a few fields, hold it, and share all else with it.

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "framework/api/arena.hpp"
#include "framework/api/decode/decode.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll {
namespace {

// A pod that differs from another in one name. It holds the other pod and shares all else with it.
struct Renamed {
  PodRef original;
  plimsoll_pod pod;
  std::string node_name;
};

PodRef with_node(const PodRef& pod, plimsoll_str plimsoll_pod::*which, std::string_view node_name) {
  auto copy = std::make_shared<Renamed>(Renamed{pod, *pod, std::string(node_name)});
  copy->pod.*which = str(copy->node_name);
  return {copy, &copy->pod};
}

}  // namespace

PodRef assigned_copy(const PodRef& pod, std::string_view node_name) {
  return with_node(pod, &plimsoll_pod::node_name, node_name);
}

PodRef nominated_copy(const PodRef& pod, std::string_view node_name) {
  return with_node(pod, &plimsoll_pod::nominated_node_name, node_name);
}

PodRef with_claim_amounts(const PodRef& pod, const plimsoll_list& amounts, SymbolTable& symbols) {
  struct Amended {
    PodRef original;
    plimsoll_pod pod;
    Arena arena;
  };
  auto made = std::make_shared<Amended>();
  made->original = pod;
  made->pod = *pod;
  const auto kept_text = [&](const plimsoll_str& text) {
    const plimsoll_list bytes = made->arena.list(std::span<const char>(text.data, text.len));
    return plimsoll_str{static_cast<const char*>(bytes.data), text.len, PLIMSOLL_SYMBOL_NONE};
  };
  std::map<std::string_view, int64_t> change;  // by resource
  const auto count = [&](const plimsoll_claim_amount& amount, int64_t sign) {
    change[view(amount.resource)] += sign * (amount.mapped + amount.overhead);
  };
  for (const auto& own : items<plimsoll_claim_amount>(pod->claim_amounts)) count(own, -1);
  std::vector<plimsoll_claim_amount> kept;
  for (plimsoll_claim_amount amount : items<plimsoll_claim_amount>(amounts)) {
    amount.claim = kept_text(amount.claim);
    amount.resource = kept_text(amount.resource);
    count(amount, 1);
    kept.push_back(amount);
  }
  made->pod.claim_amounts = made->arena.list(kept);
  for (const auto& by_pod : items<plimsoll_resource>(pod->pod_requests)) {
    change.erase(view(by_pod.name));  // the pod's own request covers its claims
  }
  for (plimsoll_list* list : {&made->pod.requests, &made->pod.used}) {
    const auto all = items<plimsoll_resource>(*list);
    std::vector<plimsoll_resource> sums(all.begin(), all.end());
    for (const auto& [name, amount] : change) {
      const SymbolTable::Resource known = symbols.resource_of_pod(name);
      if (known.index == PLIMSOLL_RESOURCE_OF_NO_NODE) continue;
      const auto same = [&](const plimsoll_resource& each) { return each.index == known.index; };
      const auto found = std::find_if(sums.begin(), sums.end(), same);
      if (found == sums.end()) {
        sums.push_back({known.name, amount, known.index, 0});
      } else {
        found->value += amount;
      }
    }
    std::sort(sums.begin(), sums.end(), comes_before);
    *list = made->arena.list(sums);
  }
  made->pod.nonzero_cpu += change["cpu"];
  made->pod.nonzero_memory += change["memory"];
  return {made, &made->pod};
}

namespace {

bool is_placed(const plimsoll_resource& resource) {
  return resource.index != PLIMSOLL_RESOURCE_OF_NO_NODE;
}

// Checks the last resource only: resources without a position come last.
bool all_placed(const plimsoll_list& resources) {
  const auto all = items<plimsoll_resource>(resources);
  return all.empty() || is_placed(all[all.size() - 1]);
}

// Visits all resource lists of a pod until `visit` stops it. `Pod` is plimsoll_pod, const or not.
template <typename Pod, typename Visit>
bool any_resources(Pod& pod, const Visit& visit) {
  for (auto* list : {&pod.overhead, &pod.pod_requests, &pod.pod_limits, &pod.requests, &pod.used}) {
    if (visit(*list)) return true;
  }
  for (const plimsoll_list* containers : {&pod.init_containers, &pod.containers}) {
    for (const plimsoll_container& container : items<plimsoll_container>(*containers)) {
      using Container =
          std::conditional_t<std::is_const_v<Pod>, const plimsoll_container, plimsoll_container>;
      auto& mine = const_cast<Container&>(container);
      if (visit(mine.requests) || visit(mine.limits)) return true;
    }
  }
  return false;
}

// A pod whose resources have new positions. It holds the other pod and shares all else with it.
struct Reindexed {
  PodRef original;
  plimsoll_pod pod;
  Arena arena;
};

}  // namespace

bool has_unplaced(const plimsoll_pod& pod) {
  return any_resources(pod, [](const plimsoll_list& list) { return !all_placed(list); });
}

PodRef reindexed(const PodRef& pod, SymbolTable& symbols) {
  const auto now_known = [&](const plimsoll_resource& resource) {
    return !is_placed(resource) && symbols.resource_known(view(resource.name));
  };
  const bool any = any_resources(*pod, [&](const plimsoll_list& list) {
    if (all_placed(list)) return false;
    const auto all = items<plimsoll_resource>(list);
    return std::any_of(all.begin(), all.end(), now_known);
  });
  if (!any) return pod;
  auto made = std::make_shared<Reindexed>();
  made->original = pod;
  made->pod = *pod;
  for (plimsoll_list* containers : {&made->pod.init_containers, &made->pod.containers}) {
    const auto all = items<plimsoll_container>(*containers);
    *containers = made->arena.list(std::vector<plimsoll_container>(all.begin(), all.end()));
  }
  any_resources(made->pod, [&](plimsoll_list& list) {
    if (all_placed(list)) return false;
    const auto all = items<plimsoll_resource>(list);
    std::vector<plimsoll_resource> resources(all.begin(), all.end());
    for (plimsoll_resource& resource : resources) {
      if (!now_known(resource)) continue;
      const SymbolTable::Resource known = symbols.resource(view(resource.name));
      resource.name = known.name;
      resource.index = known.index;
    }
    std::sort(resources.begin(), resources.end(), comes_before);
    list = made->arena.list(resources);
    return false;
  });
  return {made, &made->pod};
}

std::string full_name(const plimsoll_pod& pod) {
  return std::string(view(pod.meta.ns)) + "/" + std::string(view(pod.meta.name));
}

}  // namespace plimsoll
