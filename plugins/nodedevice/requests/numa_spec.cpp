#include "plugins/nodedevice/requests/numa_spec.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "plugins/nodedevice/requests/annotation_fields.hpp"

namespace plimsoll::devices {
namespace {

constexpr std::array<std::string_view, 4> kPolicies = {"None", "BestEffort", "Restricted",
                                                       "SingleNUMANode"};

std::optional<NumaPolicy> policy_named(std::string_view name) {
  if (name.empty()) return NumaPolicy::kNone;
  for (size_t i = 0; i < kPolicies.size(); ++i)
    if (kPolicies[i] == name) return static_cast<NumaPolicy>(i);
  return std::nullopt;
}

NumaSpec read_spec(const nlohmann::json& object) {
  const auto policy = policy_named(fields::text_of(object, "numaTopologyPolicy"));
  if (!policy)
    fields::wrong("", "numaTopologyPolicy must be one of SingleNUMANode, Restricted, BestEffort");
  const int exclusive =
      fields::choice_of(object, "singleNUMANodeExclusive", {"Required", "Preferred"});
  return {*policy, exclusive == 1};
}

}  // namespace

Result<NumaSpec> parse_numa_spec(std::string_view annotation) {
  NumaSpec spec;
  const auto read = fields::read_annotation(annotation, "NUMATopologySpec",
                                            [&](const auto& object) { spec = read_spec(object); });
  if (!read) return fail(read.error());
  return spec;
}

NumaPolicy numa_policy_of_label(std::string_view label) {
  return policy_named(label).value_or(NumaPolicy::kNone);
}

std::string_view name_of(NumaPolicy policy) {
  return kPolicies[static_cast<size_t>(policy)];
}

}  // namespace plimsoll::devices
