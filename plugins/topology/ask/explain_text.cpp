#include "plugins/topology/ask/explain_text.hpp"

#include <algorithm>

#include <plimsoll/join.hpp>
#include <plimsoll/views.hpp>

#include "plugins/topology/report/nrt_object.hpp"

namespace plimsoll::topology {

std::string amount_text(std::string_view resource, int64_t amount) {
  if (resource == "cpu") {
    return amount % 1000 == 0 ? std::to_string(amount / 1000) : std::to_string(amount) + "m";
  }
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  static constexpr const char* kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti"};
  size_t suffix = 0;
  while (bytes && amount != 0 && amount % 1024 == 0 && suffix < 4) {
    amount /= 1024;
    ++suffix;
  }
  return std::to_string(amount) + kSuffixes[suffix];
}

namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

std::string text_without_report() {
  return std::string(message_of(Verdict::kNoReport)) +
         " (it was deleted, or the argument withoutReport is Wait)";
}

std::string text_of_age(const plimsoll_numa_node& node, int64_t now_ms) {
  const int64_t age = std::max<int64_t>(0, now_ms - node.reported_ms) / 1000;
  return "report " + std::to_string(age) + " s old; " + std::to_string(node.promises) +
         " in flight";
}

// Why the node may be in more than one state.
std::string text_of_doubt(const LikelyState& likely, int64_t now_ms) {
  std::string text;
  if (likely.since_ms != 0) {
    const int64_t seconds = std::max<int64_t>(0, now_ms - likely.since_ms) / 1000;
    text += "for " + std::to_string(seconds) + " s; ";
  }
  if (likely.under_way > 0) text += std::to_string(likely.under_way) + " bindings under way; ";
  if (likely.unplaced > 0) {
    text += std::to_string(likely.unplaced) + " pods in zones that are not known; ";
  }
  if (likely.grows) text += "some of it may come free at any time; ";
  if (likely.outlived) text += "its report is that of an earlier Node with its name; ";
  if (likely.away) text += "its kubelet is away; ";
  if (likely.stopped) text += "its kubelet has refused a pod; ";
  if (text.empty()) text = "its kubelet has refused such a pod; ";
  return text;
}

// What one resource that is short has left where most of it is.
std::string text_of_shortage(const plimsoll_pod& object, const kubelet::PodDemand& pod,
                             const kubelet::NodeModel& model, const kubelet::NodeState& state,
                             uint32_t container, uint32_t resource) {
  const bool one = container < pod.containers.size();
  const auto in = [&](const kubelet::Needs& needs) -> int64_t {
    for (const kubelet::Need& need : needs) {
      if (need.resource == resource) return need.amount;
    }
    return 0;
  };
  const std::string name(resource_name(object, resource));
  int64_t need = 0;
  int64_t unit = 1;
  std::vector<int64_t> free;
  uint32_t zones = 1;
  const auto look = [&](std::span<const int64_t> cells, const kubelet::Totals& totals,
                        int64_t of_container, int64_t of_pod) {
    need = one ? of_container : of_pod;
    free.assign(cells.begin(), cells.end());
    if (model.managers.policy != Policy::kSingleNumaNode) {
      zones = totals.fewest(need, model.zones());
    }
  };
  if (resource == kubelet::kCpuResource) {
    unit = 1000;
    look(state.cpu(model), model.cpu, one ? pod.containers[container].whole_cpus() : 0,
         pod.totals.cpus);
  } else if (const uint32_t row = model.memory_row(resource); row != kubelet::kNoResourceRow) {
    look(state.memory(model, row), model.memory_by_type[row],
         one ? in(pod.containers[container].memory) : 0, in(pod.totals.memory));
  } else if (const uint32_t device = model.device_row(resource);
             device != kubelet::kNoResourceRow) {
    look(state.devices(model, device), model.device_facts[device].totals,
         one ? in(pod.containers[container].devices) : 0, in(pod.totals.devices));
  }
  if (free.empty()) return name + ": no zone has it";
  std::vector<uint32_t> order(free.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return free[a] > free[b]; });
  int64_t best = 0;
  for (uint32_t i = 0; i < zones && i < order.size(); ++i)
    best += std::max<int64_t>(0, free[order[i]]);
  std::string text = name + ": need " + amount_text(name, need * unit);
  text += zones <= 1 ? ", best node-" + std::to_string(model.zone_ids[order[0]]) + " has "
                     : ", best " + std::to_string(zones) + " zones have ";
  text += amount_text(name, best * unit);
  if (best >= need) text += ", but not together with the rest";
  return text;
}

// What a pod needs of a resource that the node aligns, and the fewest zones that can have it.
struct ZonesFor {
  uint32_t resource;
  const kubelet::Totals* totals;
  int64_t need;
  uint32_t zones;
};

std::vector<ZonesFor> zones_for(const kubelet::PodDemand& pod, const kubelet::NodeModel& model,
                                uint32_t container) {
  const kubelet::ContainerDemand* one =
      container < pod.containers.size() ? &pod.containers[container] : nullptr;
  std::vector<ZonesFor> all;
  const auto add = [&](uint32_t resource, const kubelet::Totals& totals, int64_t need) {
    if (need <= 0 || totals.count == 0) return;
    all.push_back({resource, &totals, need, totals.fewest(need, totals.count)});
  };
  if (model.cpu_static && pod.guaranteed) {
    add(kubelet::kCpuResource, model.cpu, one != nullptr ? one->whole_cpus() : pod.totals.cpus);
  }
  const kubelet::Needs& memory = one != nullptr ? one->memory : pod.totals.memory;
  for (const kubelet::Need& need :
       model.memory_static&& pod.guaranteed ? memory : kubelet::Needs()) {
    const uint32_t row = model.memory_row(need.resource);
    if (row != kubelet::kNoResourceRow) add(need.resource, model.memory_by_type[row], need.amount);
  }
  for (const kubelet::Need& need : one != nullptr ? one->devices : pod.totals.devices) {
    const uint32_t row = model.device_row(need.resource);
    if (row != kubelet::kNoResourceRow)
      add(need.resource, model.device_facts[row].totals, need.amount);
  }
  return all;
}

// How many zones each resource needs at least, if that differs: "cpu needs 3 zones and memory 2".
// Then no zones are the best for all of them. Empty: it does not differ.
std::string text_of_unequal_zones(const plimsoll_pod& object, const std::vector<ZonesFor>& all) {
  if (std::ranges::adjacent_find(all, std::ranges::not_equal_to(), &ZonesFor::zones) == all.end())
    return {};
  return sdk::join(all, ", ", [&](const ZonesFor& one) {
    return std::string(resource_name(object, one.resource)) + " needs " +
           std::to_string(one.zones) + (one.zones == 1 ? " zone" : " zones");
  });
}

// From how much CPU and memory on each resource needs as many zones as the others, if the node
// takes the pod then: "cpu from 97 and memory from 1003Gi".
std::string text_of_what_fits(const plimsoll_pod& object, const kubelet::PodDemand& pod,
                              const kubelet::NodeModel& model, kubelet::NodeState state,
                              uint32_t container, const std::vector<ZonesFor>& all) {
  if (pod.pod_level || all.empty()) return {};
  const uint32_t most = std::ranges::max(all, {}, &ZonesFor::zones).zones;
  kubelet::PodDemand larger = pod;
  kubelet::ContainerDemand& raised = container < larger.containers.size()
                                         ? larger.containers[container]
                                         : larger.containers.back();
  std::vector<std::string> from;
  for (const ZonesFor& one : all) {
    if (one.zones == most) continue;
    const bool cpu = one.resource == kubelet::kCpuResource;
    const int64_t unit = cpu ? 1 : kGiB;
    const int64_t least = (one.totals->largest[most - 2] / unit + 1) * unit;
    const int64_t more = least - one.need;
    const auto memory = std::ranges::find(raised.memory, one.resource, &kubelet::Need::resource);
    if (cpu) {
      raised.cpu_milli += more * 1000;
      raised.cpu_limit_milli += more * 1000;
    } else if (memory != raised.memory.end()) {
      memory->amount += more;
      if (one.resource == PLIMSOLL_RESOURCE_MEMORY) raised.memory_limit += more;
    } else {
      return {};  // nobody wants more devices than that
    }
    const std::string_view name = resource_name(object, one.resource);
    from.push_back(std::string(name) + " from " + amount_text(name, cpu ? least * 1000 : least));
  }
  larger.prepare();
  kubelet::Scratch scratch;
  if (from.empty() || !kubelet::admit(model, state, larger, scratch).admitted()) return {};
  return sdk::join(from, " and ");
}

}  // namespace

std::string_view resource_name(const plimsoll_pod& object, uint32_t resource) {
  for (const plimsoll_list& containers : {object.init_containers, object.containers}) {
    for (const plimsoll_container& container : sdk::List<plimsoll_container>(containers)) {
      for (const plimsoll_list& list : {container.requests, container.limits}) {
        for (const plimsoll_resource& one : sdk::List<plimsoll_resource>(list)) {
          if (one.index == resource) return sdk::view(one.name);
        }
      }
    }
  }
  return {};
}

std::string explain_judgement(const plimsoll_pod& object, const kubelet::PodDemand& pod,
                              const LikelyState& likely, const plimsoll_numa_node* view,
                              Verdict verdict, int64_t now_ms) {
  if (verdict == Verdict::kInvalidTopology) {
    return std::string(message_of(verdict)) +
           " (its NodeResourceTopology cannot be read; the log says why)";
  }
  if (verdict == Verdict::kNoReport) return text_without_report();
  if (view == nullptr || likely.model == nullptr) {
    return "the node has no NodeResourceTopology: not checked";
  }
  const kubelet::NodeModel& model = *likely.model;
  const std::string about = std::string(to_string(model.managers.policy)) + ", scope " +
                            std::string(to_string(model.managers.scope));
  if (verdict == Verdict::kFits) return "fits (" + about + ")";
  std::string text(message_of(verdict));
  if (verdict == Verdict::kUncertain) {
    return text + " (" + about + "; " + text_of_doubt(likely, now_ms) + text_of_age(*view, now_ms) +
           ")";
  }
  kubelet::NodeState state = *likely.state;
  kubelet::Scratch scratch;
  const kubelet::Admission refusal = kubelet::admit(model, state, pod, scratch);
  const bool by_container =
      model.managers.scope == Scope::kContainer && refusal.container < pod.containers.size();
  if (by_container) text += " " + pod.containers[refusal.container].name;
  text += " (" + about + "; ";
  const uint32_t short_of = refusal.stage == kubelet::Stage::kDevice
                                ? refusal.resource
                                : short_resource(model, state, pod);
  if (refusal.admitted()) {
    text += "not as the node is now";  // what the question supposed has changed it
  } else if (refusal.reason == kubelet::Reason::kSmtAlignmentError) {
    text +=
        "cpu: need " + std::to_string(refusal.need) + ", " +
        (refusal.fault == kubelet::Fault::kNotWholeCores ? "cores have " : "whole cores have ") +
        std::to_string(refusal.have);
  } else if (refusal.fault == kubelet::Fault::kNotInt64) {
    text += "a kubelet that pins memory refuses a request that is no whole number of bytes";
  } else {
    const uint32_t container = by_container ? refusal.container : kubelet::kWholePod;
    const std::vector<ZonesFor> zones = zones_for(pod, model, container);
    std::string unequal = text_of_unequal_zones(object, zones);
    if (!unequal.empty()) unequal += ": the policy wants zones that are the fewest for each";
    const std::string fits = text_of_what_fits(object, pod, model, *likely.state, container, zones);
    if (!fits.empty()) {
      text += unequal + "; what would fit: " + fits;
    } else if (short_of != Judgement::kNoResource) {
      text += text_of_shortage(object, pod, model, state, container, short_of);
    } else {
      text += unequal.empty() ? "no zones have everything that is asked for at once" : unequal;
    }
  }
  return text + "; " + text_of_age(*view, now_ms) + ")";
}

std::string explain_text(const PodRequest& pod, const plimsoll_numa_node* node,
                         const NodeAllocatable& allocatable, Verdict verdict, int64_t now_ms,
                         Scratch& scratch) {
  if (verdict == Verdict::kInvalidTopology) {
    return std::string(message_of(verdict)) +
           " (its NodeResourceTopology cannot be read; the log says why)";
  }
  if (verdict == Verdict::kNoReport) return text_without_report();
  if (node == nullptr) return "the node has no NodeResourceTopology: not checked";
  const std::string about = std::string(to_string(static_cast<Policy>(node->policy))) + ", scope " +
                            std::string(to_string(static_cast<Scope>(node->scope)));
  if (verdict == Verdict::kFits) return "fits (" + about + ")";
  std::string text(message_of(verdict));
  const Shortage shortage = explain_shortage(pod, *node, allocatable, scratch);
  if (!shortage.container.empty()) text += " " + std::string(shortage.container);
  text += " (" + about + "; ";
  const std::string name(shortage.resource);
  const std::string need = name + ": need " + amount_text(name, shortage.need);
  if (name.empty()) {
    text += "init containers and sidecars leave no zone for those after them";
  } else if (!shortage.on_node) {
    text += need + ", the node has none";
  } else if (!shortage.listed) {
    text += need + ", no zone has it";
  } else {
    text += need + ", best node-" + std::to_string(shortage.best_zone) + " has " +
            amount_text(name, shortage.best_free);
    if (!shortage.alone) text += ", but not in a zone that has the rest";
  }
  return text + "; " + text_of_age(*node, now_ms) + ")";
}

}  // namespace plimsoll::topology
