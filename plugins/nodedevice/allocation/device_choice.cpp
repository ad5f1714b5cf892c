#include "plugins/nodedevice/allocation/device_choice.hpp"

#include <algorithm>
#include <tuple>

namespace plimsoll::devices {
namespace {

// A set of candidates that share a switch, a zone or the node.
struct Group {
  Positions members;
  int used_ancestors = 0;  // this group and those around it, as far as they are in use
};

// Groups in order of zone and PCIe id, members by minor.
std::vector<Group> group_by(const TypeState& state, Scope level, const Positions& candidates) {
  Positions ordered = candidates;
  std::stable_sort(ordered.begin(), ordered.end(), [&](int a, int b) {
    const DeviceState& x = state.at(a);
    const DeviceState& y = state.at(b);
    return std::tie(x.numa, x.pcie) < std::tie(y.numa, y.pcie);
  });
  std::vector<Group> groups;
  for (int position : ordered) {
    const bool joins = !groups.empty() &&
                       same_group(level, state.at(groups.back().members[0]), state.at(position));
    if (!joins) groups.push_back({{}, used_ancestors(state, level, state.at(position))});
    groups.back().members.push_back(position);
  }
  for (Group& group : groups) std::sort(group.members.begin(), group.members.end());
  return groups;
}

int64_t score_of(const TypeState& state, const Want& want, const Scorer* scorer, int position) {
  if (scorer == nullptr || !want.is_shared) return 0;
  const DeviceState& device = state.at(position);
  return scorer->score_device(want.type, want.per_device, device.total, device.free);
}

}  // namespace

Amounts due_amounts(const DeviceType& type, const Amounts& per_device, const DeviceState& device) {
  Amounts due = amounts_on_device(type, per_device, device.total);
  if (type.ratio_dim >= 0 && due.has(type.ratio_dim) && !per_device.has(type.ratio_dim))
    due.set(type.ratio_dim, std::min(due.get(type.ratio_dim), device.free.get(type.ratio_dim)));
  return due;
}

int short_dim(const DeviceType& type, const Amounts& per_device, const DeviceState& device) {
  const Amounts due = due_amounts(type, per_device, device);
  for (int dim = 0; dim < kMaxDims; ++dim)
    if (due.has(dim) && (!device.free.has(dim) || due.get(dim) > device.free.get(dim))) return dim;
  return -1;
}

bool takes_all(const Amounts& amounts, const DeviceState& device) {
  for (int dim = 0; dim < kMaxDims; ++dim)
    if (amounts.get(dim) > 0 && amounts.get(dim) >= device.total.get(dim)) return true;
  return false;
}

bool fits(const DeviceType& type, const Want& want, const DeviceState& device) {
  return device.available && !device.total.is_zero() &&
         short_dim(type, want.per_device, device) < 0;
}

const VirtualFunction* free_vf(const Want& want, const DeviceState& device) {
  if (device.info == nullptr || !want.needs_vf()) return nullptr;
  const auto& groups = device.info->vf_groups;
  std::vector<bool> matching;
  matching.reserve(groups.size());
  for (const Labels& labels : groups) matching.push_back(want.hint->vf_selector->matches(labels));
  for (const VirtualFunction& vf : device.info->vfs)
    if (matching[vf.group] &&
        !std::binary_search(device.vfs_in_use.begin(), device.vfs_in_use.end(), vf.bus_id))
      return &vf;
  return nullptr;
}

bool allowed(const TypeState& state, const Want& want, const DeviceState& device) {
  if (want.hint == nullptr) return true;
  if (device.info == nullptr) return false;
  if (want.hint->selector && !want.hint->selector->matches(device.info->labels)) return false;
  if (want.hint->exclusive != TypeHint::Exclusive::kPcie || device.pcie < 0) return true;
  return std::none_of(state.devices.begin(), state.devices.end(), [&](const DeviceState& other) {
    return other.in_use && other.pcie == device.pcie;
  });
}

Verdict too_few(const DeviceType& type, const TypeState& state, const Want& want) {
  const bool by_tree =
      type.is_topology_aware && state.has_tree && !(want.is_shared && want.count > 1);
  return refuse(by_tree ? Reason::kInsufficientGpu : Reason::kInsufficientDevices, want.type);
}

bool same_group(Scope level, const DeviceState& a, const DeviceState& b) {
  if (level == Scope::kNode) return true;
  if (a.numa != b.numa) return false;
  return level == Scope::kNuma || a.pcie == b.pcie;
}

int used_ancestors(const TypeState& state, Scope level, const DeviceState& member) {
  int used = 0;
  for (Scope scope : {Scope::kPcie, Scope::kNuma, Scope::kNode}) {
    if (scope < level) continue;
    used += std::any_of(state.devices.begin(), state.devices.end(), [&](const DeviceState& other) {
      return other.in_use && other.present && same_group(scope, member, other);
    });
  }
  return used;
}

Positions choose_by_topology(const TypeState& state, const Want& want, const Positions& candidates,
                             const Scorer* scorer) {
  const auto count = static_cast<size_t>(want.count);
  const Scope widest = want.scope() == Scope::kUnset ? Scope::kNode : want.scope();
  for (Scope level : {Scope::kPcie, Scope::kNuma, Scope::kNode}) {
    if (level > widest) break;
    std::vector<Group> groups = group_by(state, level, candidates);
    const Group* best = nullptr;
    int64_t best_score = 0;
    for (Group& group : groups) {
      if (group.members.size() < count) continue;
      std::stable_sort(group.members.begin(), group.members.end(), [&](int a, int b) {
        return score_of(state, want, scorer, a) > score_of(state, want, scorer, b);
      });
      const int64_t score = score_of(state, want, scorer, group.members[0]);
      if (best == nullptr ||
          std::tie(group.used_ancestors, score) > std::tie(best->used_ancestors, best_score)) {
        best = &group;
        best_score = score;
      }
    }
    if (best == nullptr) continue;
    Positions chosen(best->members.begin(), best->members.begin() + static_cast<ptrdiff_t>(count));
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }
  return {};
}

}  // namespace plimsoll::devices
