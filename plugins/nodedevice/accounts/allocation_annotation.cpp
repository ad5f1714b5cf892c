#include "plugins/nodedevice/accounts/allocation_annotation.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>

#include "plugins/nodedevice/devices/json_fields.hpp"
#include "plugins/nodedevice/requests/device_request.hpp"
#include "plugins/nodedevice/text/bounded_json.hpp"

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

OrderedJson resources_json(const DeviceType& type, const Amounts& amounts) {
  OrderedJson resources = OrderedJson::object();
  for (size_t dim = 0; dim < type.dims.size(); ++dim) {
    const int index = static_cast<int>(dim);
    if (!amounts.has(index)) continue;
    resources[type.dims[dim]] = amount_text(type, index, amounts.get(index));
  }
  return resources;
}

OrderedJson share_json(const DeviceType& type, const DeviceShare& share, const DeviceInfo* info) {
  OrderedJson entry;
  entry["minor"] = share.minor;
  entry["resources"] = resources_json(type, share.amounts);
  if (info != nullptr && !info->id.empty()) entry["id"] = info->id;
  if (share.vfs.empty()) return entry;
  OrderedJson vfs = OrderedJson::array();
  for (const VirtualFunction& vf : share.vfs) {
    OrderedJson function = OrderedJson::object();
    if (vf.minor != 0) function["minor"] = vf.minor;
    if (!vf.bus_id.empty()) function["busID"] = vf.bus_id;
    vfs.push_back(std::move(function));
  }
  entry["extension"]["vfs"] = std::move(vfs);
  return entry;
}

// Nothing: they cannot be read, or there is none.
std::optional<Amounts> read_resources(const DeviceTypes& types, int type, const Json& entry) {
  const auto resources = entry.find("resources");
  if (resources == entry.end() || !resources->is_object()) return std::nullopt;
  Amounts amounts;
  for (const auto& [name, value] : resources->items()) {
    const std::optional<int64_t> amount = fields::quantity_of(value);
    if (!amount || *amount < 0) return std::nullopt;
    const int dim = types.find_dim(type, name);
    if (dim >= 0) amounts.set(dim, std::min(*amount, kMaxAmount));
  }
  if (amounts.is_zero()) return std::nullopt;
  return amounts;
}

// False: what is there cannot be read.
bool read_vfs(const Json& entry, std::vector<VirtualFunction>& vfs) {
  const auto extension = entry.find("extension");
  if (extension == entry.end() || extension->is_null()) return true;
  if (!extension->is_object()) return false;
  const auto list = extension->find("vfs");
  if (list == extension->end() || list->is_null()) return true;
  if (!list->is_array()) return false;
  for (const Json& item : *list) {
    if (!item.is_object()) return false;
    const auto bus = item.find("busID");
    if (bus == item.end() || !bus->is_string()) return false;
    const auto minor = item.find("minor");
    const bool has_minor = minor != item.end() && minor->is_number_integer();
    vfs.push_back({has_minor ? minor->get<int32_t>() : 0, bus->get<std::string>(), {}});
  }
  return true;
}

void read_type(const DeviceTypes& types, int type, const std::string& name, const Json& list,
               ReadAllocation& read) {
  if (list.is_null()) return;
  if (!list.is_array()) return read.problems.add(name + ": must be a list");
  std::set<int32_t> minors;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = name + "[" + std::to_string(i) + "]";
    const Json& entry = list[i];
    const auto minor = entry.is_object() ? entry.find("minor") : entry.end();
    const bool has_minor = entry.is_object() && minor != entry.end() &&
                           minor->is_number_integer() && minor->get<int64_t>() >= 0 &&
                           minor->get<int64_t>() <= INT32_MAX;
    if (!has_minor) {
      read.problems.add(where + ".minor: must be a number that is not negative");
      continue;
    }
    DeviceShare share;
    share.type = type;
    share.minor = minor->get<int32_t>();
    if (!minors.insert(share.minor).second) {
      read.problems.add(where + ".minor: " + std::to_string(share.minor) + " is listed already");
      continue;
    }
    if (const auto amounts = read_resources(types, type, entry))
      share.amounts = *amounts;
    else
      read.problems.add(where + ".resources: cannot be read");
    share.whole = !read_vfs(entry, share.vfs);
    if (share.whole) read.problems.add(where + ".extension.vfs: cannot be read");
    read.shares.push_back(std::move(share));
  }
}

}  // namespace

std::string write_allocation(const DeviceTypes& types, const Allocation& allocation,
                             const NodeState& node) {
  OrderedJson object = OrderedJson::object();
  for (const DeviceShare& share : allocation) {
    const DeviceType& type = types.type(share.type);
    const DeviceState* device = node.type(share.type).find(share.minor);
    object[type.name].push_back(
        share_json(type, share, device == nullptr ? nullptr : device->info));
  }
  return object.dump();
}

ReadAllocation read_allocation(const DeviceTypes& types, std::string_view text, uint32_t wanted) {
  ReadAllocation read;
  const Json object = parse_bounded_json(text);
  if (object.is_discarded() || !object.is_object()) {
    read.problems.add("it is not a JSON object");
    return read;
  }
  for (const auto& [name, list] : object.items()) {
    const int type = types.find_type(name);
    if (type < 0) continue;
    if ((wanted >> type & 1U) != 0)
      read_type(types, type, name, list, read);
    else if (!list.empty())
      read.left_out |= 1U << type;
  }
  std::stable_sort(read.shares.begin(), read.shares.end(), [](const auto& a, const auto& b) {
    return std::tie(a.type, a.minor) < std::tie(b.type, b.minor);
  });
  return read;
}

}  // namespace plimsoll::devices
