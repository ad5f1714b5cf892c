#include "plugins/nodedevice/accounts/node_state.hpp"

#include <algorithm>
#include <atomic>

#include "plugins/nodedevice/requests/device_request.hpp"

namespace plimsoll::devices {
namespace {

// What-ifs change their copies on several threads.
std::atomic<uint64_t> g_last_version{2};

auto by_minor(int32_t minor) {
  return [minor](const DeviceState& device) { return device.minor < minor; };
}

// What `ratio` percent of `total` are, rounded up: what is used is never less than that.
int64_t bytes_of_ratio(int64_t ratio, int64_t total) {
  const auto bytes = (static_cast<__int128>(ratio) * total + 99) / 100;
  return bytes > kMaxAmount ? kMaxAmount : static_cast<int64_t>(bytes);
}

void add_to(Amounts& sum, const Amounts& amounts, uint32_t present) {
  sum.present |= present;
  for (size_t dim = 0; dim < sum.value.size(); ++dim) sum.value[dim] += amounts.value[dim];
}

void summarise(TypeState& type) {
  TypeSummary& summary = type.summary;
  const size_t count = type.devices.size();
  std::vector<int64_t> free = std::move(summary.free);
  summary = TypeSummary{};
  summary.free = std::move(free);
  summary.free.clear();
  summary.count = static_cast<uint32_t>(count);
  summary.valid = count <= kMaxSummarised;
  summary.uniform = summary.complete = true;
  for (size_t i = 0; i < count; ++i) {
    const DeviceState& device = type.devices[i];
    add_to(summary.total_sum, device.total, device.total.present);
    add_to(summary.free_sum, device.free, device.total.present);
    summary.complete = summary.complete && device.present;
    summary.reported = summary.reported || device.present;
    if (!summary.valid) continue;
    const uint64_t bit = uint64_t{1} << i;
    if (device.in_use) summary.in_use |= bit;
    if (device.available) summary.available |= bit;
    if (!device.healthy) continue;
    if (summary.healthy == 0) summary.total = device.total;
    summary.uniform = summary.uniform && device.total == summary.total;
    summary.healthy |= bit;
  }
  for (int dim = 0; dim < kMaxDims; ++dim)
    if (summary.total_sum.has(dim))
      for (const DeviceState& device : type.devices) summary.free.push_back(device.free.get(dim));
}

}  // namespace

Amounts DeviceShare::asked() const {
  Amounts asked = amounts;
  for (int dim = 0; dim < kMaxDims; ++dim)
    if ((follows >> dim & 1U) != 0) asked.clear(dim);
  return asked;
}

void DeviceShare::keep_only(const DeviceType& type, const Amounts& each) {
  const bool percent_follows = type.ratio_dim >= 0 && amounts.has(type.ratio_dim) &&
                               each.has(type.memory_dim) && !each.has(type.ratio_dim);
  const int64_t percent = amounts.get(type.ratio_dim);
  amounts = each;
  follows = 0;
  if (!percent_follows) return;
  amounts.set(type.ratio_dim, percent);
  follows = 1U << type.ratio_dim;
}

Amounts NodeState::follows_of(int type_index, const DeviceState& device) const {
  Amounts follows;
  if (type_index >= device_types_->count()) return follows;
  const DeviceType& type = device_types_->type(type_index);
  if (type.memory_dim < 0) return follows;
  const int64_t bytes = device.total.get(type.memory_dim);
  if (bytes <= 0) return follows;
  if (device.ratio_alone > 0)
    follows.set(type.memory_dim, bytes_of_ratio(device.ratio_alone, bytes));
  if (device.bytes_alone > 0) {
    // Each share's percent is rounded up, so together they may be more than their bytes come to,
    // and others read the annotations: what these say must stay within 100. Nobody may say more
    // than rounding explains.
    const int64_t least = bytes_to_ratio(device.bytes_alone, bytes);
    follows.set(type.ratio_dim,
                std::clamp(device.percent_said, least, least + device.shares_of_bytes - 1));
  }
  return follows;
}

Amounts NodeState::free_of(const DeviceState& device) {
  Amounts free;
  if (!device.healthy) return free;
  free.present = device.total.present;
  if (device.whole_users > 0) return free;
  for (size_t dim = 0; dim < free.value.size(); ++dim)
    free.value[dim] = std::max<int64_t>(
        device.total.value[dim] - device.used.value[dim] - device.follows.value[dim], 0);
  return free;
}

const DeviceState* TypeState::find(int32_t minor) const {
  const auto it = std::partition_point(devices.begin(), devices.end(), by_minor(minor));
  return it == devices.end() || it->minor != minor ? nullptr : &*it;
}

DeviceState& NodeState::device(int type_index, int32_t minor) {
  auto& devices = at(type_index).devices;
  return *std::partition_point(devices.begin(), devices.end(), by_minor(minor));
}

void NodeState::add_devices(int type_index, std::vector<int32_t> minors) {
  TypeState& type = at(type_index);
  std::sort(minors.begin(), minors.end());
  minors.erase(std::unique(minors.begin(), minors.end()), minors.end());
  std::erase_if(minors, [&](int32_t minor) { return type.find(minor) != nullptr; });
  if (minors.empty()) return;
  const auto before = static_cast<std::ptrdiff_t>(type.devices.size());
  for (const int32_t minor : minors) type.devices.emplace_back().minor = minor;
  std::inplace_merge(type.devices.begin(), type.devices.begin() + before, type.devices.end(),
                     [](const DeviceState& a, const DeviceState& b) { return a.minor < b.minor; });
}

void NodeState::set_object(std::shared_ptr<const NodeDevices> devices) {
  const std::shared_ptr<const NodeDevices> old = std::move(object);
  object = std::move(devices);
  malformed = gone = false;
  problem.clear();
  shape = 0;
  resolve_links();
  rules_partitions = object != nullptr && object->has_partitions;
  honours_partitions = rules_partitions && object->partition_policy == "Honor";
  for (int t = 0; t < kMaxTypes; ++t) {
    for (DeviceState& state : at(t).devices) {
      state.present = state.healthy = false;
      state.numa = state.pcie = -1;
      state.total = Amounts{};
      state.info = nullptr;
    }
    if (object == nullptr) {
      refresh(t);
      continue;
    }
    std::vector<std::string_view> pcie_ids;
    for (const auto& of_type : object->by_type)
      for (const DeviceInfo& info : of_type)
        if (info.has_topology) pcie_ids.push_back(info.pcie_id);
    std::sort(pcie_ids.begin(), pcie_ids.end());
    pcie_ids.erase(std::unique(pcie_ids.begin(), pcie_ids.end()), pcie_ids.end());
    std::vector<int32_t> minors;
    for (const DeviceInfo& info : object->devices(t)) minors.push_back(info.minor);
    add_devices(t, std::move(minors));
    for (const DeviceInfo& info : object->devices(t)) {
      DeviceState& state = device(t, info.minor);
      state.present = true;
      state.healthy = info.is_healthy;
      state.numa = info.numa;
      if (info.has_topology)
        state.pcie = static_cast<int>(
            std::lower_bound(pcie_ids.begin(), pcie_ids.end(), info.pcie_id) - pcie_ids.begin());
      if (info.is_healthy) state.total = info.total;
      state.info = &info;
    }
    refresh(t);
  }
}

void NodeState::set_node_links(std::shared_ptr<const LinkTable> table) {
  node_links_ = std::move(table);
  resolve_links();
}

void NodeState::resolve_links() {
  links_ = object == nullptr ? nullptr : links_of(*device_types_, *object, node_links_.get());
}

void NodeState::apply(const Allocation& allocation, bool adding) {
  uint32_t touched = 0;
  std::array<std::vector<int32_t>, kMaxTypes> minors;
  for (const DeviceShare& share : allocation)
    minors[static_cast<size_t>(share.type)].push_back(share.minor);
  for (int t = 0; t < kMaxTypes; ++t) add_devices(t, std::move(minors[static_cast<size_t>(t)]));
  for (const DeviceShare& share : allocation) {
    DeviceState& state = device(share.type, share.minor);
    touched |= 1U << share.type;
    shares += adding ? 1 : -1;
    if (share.whole) state.whole_users += adding ? 1 : -1;
    const DeviceType& type = device_types_->type(share.type);
    const Amounts asked = share.asked();
    if (type.memory_dim >= 0) {
      const int64_t bytes = asked.get(type.memory_dim);
      const int64_t ratio = asked.get(type.ratio_dim);
      if (bytes == 0) state.ratio_alone += adding ? ratio : -ratio;
      if (ratio == 0 && bytes > 0) {
        const int64_t said = std::min<int64_t>(share.amounts.get(type.ratio_dim), 100);
        state.bytes_alone += adding ? bytes : -bytes;
        state.shares_of_bytes += adding ? 1 : -1;
        state.percent_said += adding ? said : -said;
      }
    }
    for (size_t dim = 0; dim < state.used.value.size(); ++dim)
      state.used.value[dim] += adding ? asked.value[dim] : -asked.value[dim];
    for (const VirtualFunction& vf : share.vfs) {
      auto& in_use = state.vfs_in_use;
      if (adding) {
        in_use.push_back(vf.bus_id);
      } else if (auto it = std::find(in_use.begin(), in_use.end(), vf.bus_id); it != in_use.end()) {
        in_use.erase(it);
      }
    }
    std::sort(state.vfs_in_use.begin(), state.vfs_in_use.end());
  }
  for (int t = 0; t < kMaxTypes; ++t)
    if ((touched >> t & 1U) != 0) refresh(t);
}

void NodeState::add_unknown(int type_index, int64_t count) {
  at(type_index).unknown_whole += count;
  refresh(type_index);
}

void NodeState::add_blocked(int type_index, int count) {
  at(type_index).blocked += count;
  refresh(type_index);
}

void NodeState::keep_only(int type_index, const std::vector<int32_t>& minors) {
  for (DeviceState& state : at(type_index).devices)
    if (std::find(minors.begin(), minors.end(), state.minor) == minors.end()) state.excluded = true;
  refresh(type_index);
}

void NodeState::set_named_for_unknown(int type_index, std::vector<int32_t> minors) {
  std::sort(minors.begin(), minors.end());
  std::vector<int32_t>& named = at(type_index).named_for_unknown;
  if (named == minors) return;
  named = std::move(minors);
  refresh(type_index);
}

// First devices that are named for it, then those that nobody uses, then those of which something
// is left, then the others; of each the highest minors first.
void NodeState::withhold_unknown(TypeState& type) {
  const auto rank = [&type](const DeviceState& device) {
    const auto& named = type.named_for_unknown;
    if (std::binary_search(named.begin(), named.end(), device.minor)) return 0;
    if (!device.in_use) return 1;
    return device.whole_users == 0 && !device.free.is_zero() ? 2 : 3;
  };
  int64_t missing = type.unknown_whole;
  for (int wanted = 0; wanted < 4; ++wanted) {
    for (auto it = type.devices.rbegin(); it != type.devices.rend() && missing > 0; ++it) {
      if (!it->healthy || rank(*it) != wanted) continue;
      it->withheld = true;
      --missing;
    }
  }
}

void NodeState::refresh(int type_index) {
  version = g_last_version.fetch_add(1, std::memory_order_relaxed) + 1;
  TypeState& type = at(type_index);
  std::erase_if(type.devices, [](const DeviceState& state) {
    return !state.present && state.whole_users == 0 && state.used.is_zero() &&
           state.vfs_in_use.empty();
  });
  type.has_tree = false;
  bool all_have_topology = true;
  for (DeviceState& state : type.devices) {
    state.in_use = state.whole_users > 0 || !state.used.is_zero() || !state.vfs_in_use.empty();
    state.withheld = type.blocked > 0;
    state.follows = follows_of(type_index, state);
    state.free = free_of(state);
    if (state.present && state.info->problem.empty()) {
      type.has_tree = true;
      all_have_topology = all_have_topology && state.info->has_topology;
    }
  }
  type.has_tree = type.has_tree && all_have_topology;
  withhold_unknown(type);
  for (DeviceState& state : type.devices) {
    const bool kept_back = state.withheld || state.excluded;
    if (kept_back) state.free.value.fill(0);
    state.available = state.healthy && !kept_back && state.whole_users == 0;
  }
  summarise(type);
}

}  // namespace plimsoll::devices
