#include "config/request_hints.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "config/text/json_text.hpp"
#include "config/text/value.hpp"

namespace plimsoll::config {
namespace {

struct RequestHint {
  std::string_view name;
  std::vector<std::string_view> beside;  // who maps one of these maps the chart's requests
};

const std::vector<RequestHint>& request_hints() {
  static const std::vector<RequestHint> kHints = {
      // HAMi, resourcePriority: how urgent the task is on a card that it shares, 0 or 1.
      {"nvidia.com/priority",
       {"nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores"}},
  };
  return kHints;
}

const std::vector<Value>& items(const Value& value, std::string_view key) {
  static const std::vector<Value> kNone;
  const Value* found = value.find(key);
  return found != nullptr && found->is_sequence() ? found->items : kNone;
}

bool maps_any(const Value& device_args, const std::vector<std::string_view>& names) {
  for (const Value& type : items(device_args, "deviceTypes"))
    for (const Value& combination : items(type, "combinations"))
      for (const Value& request : items(combination, "requests"))
        if (std::find(names.begin(), names.end(), request.text) != names.end()) return true;
  return false;
}

}  // namespace

std::string with_hints_ignored(const std::string& fit_args_json,
                               const std::string& device_args_json) {
  Problem problem;
  const std::optional<Value> device_args = parse_json(device_args_json, problem);
  std::optional<Value> fit_args = parse_json(fit_args_json, problem);
  if (!device_args || !fit_args) return fit_args_json;
  Value ignored = Value::sequence();
  ignored.items = items(*fit_args, "ignoredResources");
  const size_t before = ignored.items.size();
  for (const RequestHint& hint : request_hints()) {
    const bool known = std::any_of(ignored.items.begin(), ignored.items.end(),
                                   [&](const Value& each) { return each.text == hint.name; });
    if (!known && maps_any(*device_args, hint.beside))
      ignored.add(Value::string(std::string(hint.name)));
  }
  if (ignored.items.size() == before) return fit_args_json;
  std::erase_if(fit_args->members,
                [](const Member& member) { return member.key == "ignoredResources"; });
  fit_args->set("ignoredResources", std::move(ignored));
  return to_json(*fit_args);
}

}  // namespace plimsoll::config
