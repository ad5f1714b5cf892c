#include "lab/sandbox/store/object_shape.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "framework/api/quantity.hpp"

namespace plimsoll::sandbox {

using nlohmann::json;

ApiResult<void> check_shape(const json& object) {
  if (!object.is_object()) return bad_request("the object is not a JSON object");
  for (const char* part : {"metadata", "spec", "status"}) {
    const auto found = object.find(part);
    if (found != object.end() && !found->is_null() && !found->is_object()) {
      return bad_request(std::string(part) + ": expected a JSON object");
    }
  }
  const auto at = object.find("metadata");
  const json metadata = at != object.end() && at->is_object() ? *at : json::object();
  for (const char* map : {"labels", "annotations"}) {
    const auto found = metadata.find(map);
    if (found == metadata.end() || found->is_null()) continue;
    const bool strings =
        found->is_object() && std::all_of(found->begin(), found->end(), [](const json& value) {
          return value.is_string() || value.is_null();
        });
    if (!strings) {
      return bad_request("metadata." + std::string(map) + ": expected an object of strings");
    }
  }
  return {};
}

const json& object_in(const json& owner, const char* key) {
  static const json kNone = json::object();
  const auto found = owner.is_object() ? owner.find(key) : owner.end();
  return found != owner.end() && found->is_object() ? *found : kNone;
}

void for_each_in(json& owner, const char* key, const std::function<void(json& item)>& change) {
  const auto found = owner.is_object() ? owner.find(key) : owner.end();
  if (found == owner.end() || !found->is_array()) return;
  for (json& item : *found) change(item);
}

void set_default(json& object, const char* key, json value) {
  if (!object.contains(key) || object[key].is_null() || object[key] == "")
    object[key] = std::move(value);
}

void settle_texts(json& object) {  // NOLINT(misc-no-recursion): as deep as the parser took it
  static const std::set<std::string> kMaps{"labels",      "annotations", "nodeSelector",
                                           "matchLabels", "parameters",  "selector"};
  for (auto each = object.begin(); each != object.end(); ++each) {
    if (!each->is_structured()) continue;
    const bool map = object.is_object() && each->is_object() && kMaps.contains(each.key());
    for (auto value = each->begin(); map && value != each->end(); ++value) {
      if (!value->is_null()) continue;
      // A selector of labels is a map or has these two.
      if (value.key() != "matchLabels" && value.key() != "matchExpressions") *value = "";
    }
    settle_texts(*each);
  }
}

std::string json_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void settle_amounts(json& owner, const char* map) {
  const auto found = owner.find(map);
  if (found == owner.end() || !found->is_object()) return;
  for (auto& each : *found) {
    if (each.is_null()) each = "0";
    const auto amount = Quantity::parse_json(json_text(each));
    if (!amount || amount->value() > std::numeric_limits<std::int64_t>::max() / 1000) continue;
    const Quantity rounded = Quantity::milli(amount->milli_value());
    if (rounded.cmp(*amount) != 0) each = rounded.text();
  }
}

}  // namespace plimsoll::sandbox
