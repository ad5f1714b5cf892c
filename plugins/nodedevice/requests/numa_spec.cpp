#include "plugins/nodedevice/requests/numa_spec.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "plugins/nodedevice/text/bounded_json.hpp"

namespace plimsoll::devices {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 4> kPolicies = {"None", "BestEffort", "Restricted",
                                                       "SingleNUMANode"};

std::optional<NumaPolicy> policy_named(std::string_view name) {
  if (name.empty()) return NumaPolicy::kNone;
  for (size_t i = 0; i < kPolicies.size(); ++i)
    if (kPolicies[i] == name) return static_cast<NumaPolicy>(i);
  return std::nullopt;
}

Result<std::string> text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || it->is_null()) return std::string();
  if (!it->is_string()) return fail(std::string(key) + " must be a string");
  return it->get<std::string>();
}

Result<NumaSpec> parse(std::string_view annotation) {
  const Json object = parse_bounded_json(annotation);
  if (object.is_discarded()) return fail("it is not JSON");
  if (object.is_null()) return NumaSpec{};
  if (!object.is_object()) return fail("it must be a JSON object");
  NumaSpec spec;
  const auto policy_text = text_of(object, "numaTopologyPolicy");
  if (!policy_text) return fail(policy_text.error());
  const auto policy = policy_named(*policy_text);
  if (!policy)
    return fail("numaTopologyPolicy must be one of SingleNUMANode, Restricted, BestEffort");
  spec.policy = *policy;
  const auto exclusive = text_of(object, "singleNUMANodeExclusive");
  if (!exclusive) return fail(exclusive.error());
  if (!exclusive->empty() && *exclusive != "Required" && *exclusive != "Preferred")
    return fail("singleNUMANodeExclusive must be one of Required, Preferred");
  spec.exclusive_required = *exclusive == "Required";
  return spec;
}

}  // namespace

Result<NumaSpec> parse_numa_spec(std::string_view annotation) {
  if (annotation.empty()) return NumaSpec{};
  auto spec = parse(annotation);
  if (!spec) return fail("invalid NUMATopologySpec annotation, err: " + spec.error());
  return spec;
}

NumaPolicy numa_policy_of_label(std::string_view label) {
  return policy_named(label).value_or(NumaPolicy::kNone);
}

std::string_view name_of(NumaPolicy policy) {
  return kPolicies[static_cast<size_t>(policy)];
}

}  // namespace plimsoll::devices
