#include "plugins/nodedevice/devices/link_table.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plugins/nodedevice/devices/json_fields.hpp"

namespace plimsoll::devices {
namespace {

constexpr int64_t kMaxLanes = 1000;

DeviceLink read_link(const nlohmann::json& value, const std::string& field) {
  using fields::wrong;
  if (!value.is_object()) wrong(field, "must be an object");
  DeviceLink link;
  const std::string where = field + ".minors";
  if (const nlohmann::json* minors = fields::array_member(value, "minors", where)) {
    for (size_t i = 0; i < minors->size(); ++i) {
      const std::string at = where + "[" + std::to_string(i) + "]";
      link.minors.push_back(fields::int_value((*minors)[i], at));
      if (link.minors.back() < 0) wrong(at, "must not be negative");
    }
  }
  std::sort(link.minors.begin(), link.minors.end());
  const auto twice = std::adjacent_find(link.minors.begin(), link.minors.end());
  if (twice != link.minors.end()) wrong(where, std::to_string(*twice) + " is listed twice");
  if (link.minors.size() < 2) wrong(where, "must be at least two");
  link.type = fields::string_member(value, "type", field);
  link.lanes = fields::int_member(value, "lanes", field, 1);
  if (link.lanes < 1 || link.lanes > kMaxLanes)
    wrong(field + ".lanes", "must be from 1 to " + std::to_string(kMaxLanes));
  if (const nlohmann::json* bandwidth = fields::member(value, "bandwidth"))
    link.bandwidth = fields::quantity_value(*bandwidth, field + ".bandwidth");
  return link;
}

}  // namespace

int64_t DeviceLink::rate() const {
  return std::min(bandwidth >= 0 ? bandwidth : lanes * kLaneBandwidth, kMaxAmount);
}

Result<LinkTable> parse_links(const DeviceTypes& types, std::string_view json) {
  LinkTable table;
  try {
    const nlohmann::json object = fields::parsed(json);
    if (!object.is_object()) return fail("must be an object by device type");
    for (const auto& [name, values] : object.items()) {
      const int type = types.find_type(name);
      if (type < 0 || values.is_null()) continue;
      if (!values.is_array()) return fail(name + ": must be a list");
      for (size_t i = 0; i < values.size(); ++i)
        table[static_cast<size_t>(type)].push_back(
            read_link(values[i], name + "[" + std::to_string(i) + "]"));
    }
  } catch (const fields::WrongField& error) {
    return fail(error.text());
  } catch (const nlohmann::json::exception& error) {
    return fail(error.what());
  }
  return table;
}

}  // namespace plimsoll::devices
