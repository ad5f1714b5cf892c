#include "plugins/nodedevice/allocation/explain.hpp"

#include <algorithm>

#include "plugins/nodedevice/allocation/link_choice.hpp"
#include "plugins/nodedevice/text/quantity_text.hpp"

namespace plimsoll::devices {
namespace {

std::string rate_text(int64_t bytes) {
  return binary_text(bytes) + "/s";
}

// What keeps a device from being given; empty: nothing.
std::string obstacle(const DeviceType& type, const TypeState& state, const Want& want,
                     const DeviceState& device) {
  if (!device.present) return "is not in the Device object any more, but still in use";
  if (!device.info->problem.empty()) return "cannot be read: " + device.info->problem;
  if (!device.healthy) return "is unhealthy";
  if (device.withheld && state.blocked > 0)
    return "counts as used: a pod may use any of them under another name";
  if (device.withheld) return "is withheld for a pod that does not say which devices it has";
  if (device.whole_users > 0) return "is held as a whole by another pod";
  if (const int dim = short_dim(type, want.per_device, device); dim >= 0) {
    const std::string& name = type.dims[static_cast<size_t>(dim)];
    if (!device.free.has(dim)) return "does not report " + name;
    const Amounts due = due_amounts(type, want.per_device, device);
    return "has " + name + " " + amount_text(type, dim, device.free.get(dim)) + " free, " +
           amount_text(type, dim, due.get(dim)) + " wanted";
  }
  if (!allowed(state, want, device)) return "is left out by the pod's device-allocate-hint";
  if (want.needs_vf() && free_vf(want, device) == nullptr)
    return "has no free virtual function that matches";
  return {};
}

// `whose`: empty, or whose devices these are. Adds to `missing` what the node has too few of.
std::string explain_want(const DeviceType& type, const TypeState& state, const Want& want,
                         const std::string& whose, int64_t& missing) {
  int64_t fitting = 0;
  std::string lines;
  for (const DeviceState& device : state.devices) {
    const std::string why = obstacle(type, state, want, device);
    if (why.empty())
      ++fitting;
    else
      lines += "  minor " + std::to_string(device.minor) + ": " + why + "\n";
  }
  const int64_t short_by = std::max<int64_t>(want.count - fitting, 0);
  missing += short_by;
  return type.name + whose + ": " + std::to_string(want.count) + " wanted, " +
         (short_by > 0 ? std::to_string(short_by) + " short" : "enough") + ": of " +
         std::to_string(state.devices.size()) + " devices " + std::to_string(fitting) +
         (fitting == 1 ? " fits\n" : " fit\n") + lines;
}

// A line for each container, and whether there is room for all of them together.
std::string explain_parts(const DeviceTypes& types, const NodeState& node, const PodDemand& demand,
                          const TypeRequest& request) {
  const DeviceType& type = types.type(request.type);
  std::string text;
  int64_t missing = 0;
  for (const ContainerPart& part : request.parts)
    text += explain_want(type, node.type(request.type), want_of(part, request.type, demand.hints),
                         " of container " + part.name, missing);
  if (missing > 0) return text;
  PodDemand alone;
  alone.request.types.push_back(request);
  alone.hints = demand.hints;
  alone.hints.joint.reset();
  return text + (Allocator(types, nullptr).check(node, {}, alone).fits()
                     ? type.name + ": there is room for all containers together\n"
                     : type.name + ": there is no room for all containers together\n");
}

}  // namespace

std::string explain_devices(const DeviceTypes& types, const NodeState& node,
                            const PodDemand& demand) {
  if (node.malformed) return "the node's Device object cannot be read: " + node.problem + "\n";
  if (node.gone) return "the node's Device object was deleted: no device is given without it\n";
  std::string text;
  for (const TypeRequest& request : demand.request.types) {
    int64_t missing = 0;
    text += request.parts.empty() ? explain_want(types.type(request.type), node.type(request.type),
                                                 want_of(request, demand.hints), "", missing)
                                  : explain_parts(types, node, demand, request);
  }
  for (int t = 0; t < types.count(); ++t) {
    const int64_t elsewhere = demand.elsewhere[static_cast<size_t>(t)];
    if (elsewhere == 0 || node.type(t).devices.empty()) continue;
    const ElsewhereRoom room = room_elsewhere(node.type(t));
    text += types.type(t).name + ": " +
            (elsewhere == kAnyNumber ? "any number" : "up to " + std::to_string(elsewhere)) +
            " used under another name: " + std::to_string(room.given) + " are given by minor, " +
            std::to_string(room.known ? room.left : 0) + " left\n";
  }
  return text;
}

std::string explain_links(const DeviceTypes& types, const NodeState& node,
                          const Allocation& chosen) {
  std::string text;
  for (int type = 0; type < types.count(); ++type) {
    const TypeLinks* links = node.links(type);
    std::vector<int32_t> minors;
    for (const DeviceShare& share : chosen)
      if (share.type == type && takes_all(share.amounts, *node.type(type).find(share.minor)))
        minors.push_back(share.minor);
    if (minors.empty() || links == nullptr || !links->matter() || !links->graph->is_exact())
      continue;
    const LinkRank rank = rank_by_links(node.type(type), *links, minors);
    text += types.type(type).name;
    for (const int32_t minor : minors) text += " " + std::to_string(minor);
    text += ": ";
    if (minors.size() > 1)
      text += (rank.ring > 0 ? "the fastest ring through them has " + rate_text(rank.ring)
                             : "no ring of links goes through them") +
              ", all their links " + rate_text(rank.pairs) + "; ";
    text += "to others they leave links of " + rate_text(rank.left_pairs) + "\n";
  }
  return text;
}

}  // namespace plimsoll::devices
