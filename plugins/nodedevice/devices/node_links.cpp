#include "plugins/nodedevice/devices/node_links.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

// The bandwidth of every two of a type's devices.
class Matrix {
 public:
  explicit Matrix(const TypeLinks& links)
      : links_(links), rates_(links.minors.size() * links.minors.size(), 0) {}

  // Calls `use` with the rate of every two of `minors` that the node has.
  template <typename Use>
  void for_each_pair(const std::vector<int32_t>& minors, const Use& use) {
    const auto size = static_cast<int>(links_.minors.size());
    std::vector<int> there;
    for (const int32_t minor : minors)
      if (const int vertex = links_.vertex(minor); vertex >= 0) there.push_back(vertex);
    for (const int a : there)
      for (const int b : there)
        if (a != b) use(rates_[static_cast<size_t>(a * size + b)]);
  }

  // Takes over what is not known yet.
  void fill_from(const Matrix& other) {
    for (size_t i = 0; i < rates_.size(); ++i)
      if (rates_[i] == 0) rates_[i] = other.rates_[i];
  }

  [[nodiscard]] std::shared_ptr<const LinkGraph> graph() && {
    if (std::all_of(rates_.begin(), rates_.end(), [](int64_t rate) { return rate == 0; }))
      return nullptr;
    return LinkGraph::of(static_cast<int>(links_.minors.size()), std::move(rates_));
  }

 private:
  const TypeLinks& links_;
  std::vector<int64_t> rates_;
};

void add_links(const std::vector<DeviceLink>& links, Matrix& matrix) {
  for (const DeviceLink& link : links)
    matrix.for_each_pair(link.minors, [&](int64_t& rate) { rate = std::max(rate, link.rate()); });
}

// False: the table contradicts itself, it calls a set faster than a part of it.
bool add_partitions(const PartitionTable& table, Matrix& matrix) {
  for (const auto& [count, partitions] : table) {  // smallest first
    if (count < 2) continue;
    Matrix larger = matrix;
    bool contradicts = false;
    for (const Partition& partition : partitions) {
      if (partition.ring_bandwidth < 0 && partition.link_type.empty()) continue;
      const int64_t says =
          partition.ring_bandwidth >= 0 ? partition.ring_bandwidth : kLaneBandwidth;
      matrix.for_each_pair(partition.minors, [&](int64_t& known) {
        contradicts = contradicts || (known != 0 && known < says);
      });
      larger.for_each_pair(partition.minors, [&](int64_t& rate) { rate = std::max(rate, says); });
    }
    if (contradicts) return false;
    matrix.fill_from(larger);
  }
  return true;
}

}  // namespace

int TypeLinks::vertex(int32_t minor) const {
  const auto it = std::lower_bound(minors.begin(), minors.end(), minor);
  return it == minors.end() || *it != minor ? -1 : static_cast<int>(it - minors.begin());
}

std::shared_ptr<const NodeLinks> links_of(const DeviceTypes& types, const NodeDevices& devices,
                                          const LinkTable* of_node) {
  const LinkTable* table = devices.links ? &*devices.links : of_node;
  auto all = std::make_shared<NodeLinks>();
  for (int type = 0; type < types.count(); ++type) {
    const auto index = static_cast<size_t>(type);
    if (devices.devices(type).size() < 2 || devices.devices(type).size() > kMaxLinkedDevices)
      continue;
    TypeLinks links;
    for (const DeviceInfo& info : devices.devices(type)) links.minors.push_back(info.minor);
    Matrix matrix(links);
    links.by_partitions = table == nullptr && types.type(type).has_partitions;
    if (table != nullptr) add_links((*table)[index], matrix);
    if (!links.by_partitions || add_partitions(devices.partitions, matrix))
      links.graph = std::move(matrix).graph();
    (*all)[index] = std::move(links);
  }
  return all;
}

}  // namespace plimsoll::devices
