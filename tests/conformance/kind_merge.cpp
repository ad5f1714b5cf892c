// The kubelet's topology manager: hints of all providers merged, by policy.

#include "plugins/topology/kubelet/merge.hpp"
#include "tests/conformance/admit_scene.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {
namespace {

namespace kubelet = plimsoll::topology::kubelet;

kubelet::NodeModel model_of(const Json& test_case) {
  kubelet::NodeModel model;
  model.zone_ids = test_case.at("nodes").get<std::vector<uint32_t>>();
  for (const Json& row : member(test_case, "dist")) {
    for (const Json& distance : row) model.distances.push_back(distance.get<int32_t>());
  }
  return model;
}

// Masks of the vectors are over zone ids, the library's over columns.
kubelet::ZoneMask columns_of(const kubelet::NodeModel& model, uint64_t ids) {
  kubelet::ZoneMask mask = 0;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    if ((ids >> model.zone_ids[column] & 1) != 0) mask |= kubelet::ZoneMask{1} << column;
  }
  return mask;
}
uint64_t ids_of(const kubelet::NodeModel& model, kubelet::ZoneMask mask) {
  uint64_t ids = 0;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    if ((mask >> column & 1) != 0) ids |= uint64_t{1} << model.zone_ids[column];
  }
  return ids;
}

std::vector<kubelet::HintList> lists_of(const kubelet::NodeModel& model, const Json& providers) {
  std::vector<kubelet::HintList> lists;
  for (const Json& provider : providers) {
    if (provider.empty()) lists.push_back({true, {}});  // nothing to say
    for (const Json& resource : provider) {
      kubelet::HintList& list = lists.emplace_back();
      const Json& hints = member(resource, "h");
      list.no_preference = hints.is_null();
      for (const Json& hint : hints) {
        const bool preferred = hint[1].is_boolean() ? hint[1].get<bool>() : hint[1].get<int>() != 0;
        list.hints.push_back(hint[0].is_null()
                                 ? kubelet::Hint::anywhere(preferred)
                                 : kubelet::Hint{columns_of(model, hint[0]), false, preferred});
      }
    }
  }
  return lists;
}

}  // namespace

void check_merge(const Json& test_case, Findings& findings) {
  kubelet::MergeScratch scratch;
  for (const auto& [name, expected] : test_case.at("out").items()) {
    kubelet::NodeModel model = model_of(test_case);
    const size_t plus = name.find('+');
    model.managers.policy = policy_of(name.substr(0, plus));
    model.managers.prefer_closest = plus != std::string::npos;
    model.prepare();
    const auto merged = kubelet::merge(model, lists_of(model, test_case.at("providers")), scratch);
    const Json mask = merged.hint.any ? Json() : Json(ids_of(model, merged.hint.mask));
    findings.expect(name, {expected.at("mask"), expected.at("pref"), expected.at("admit")},
                    {mask, merged.hint.preferred, merged.admit});
    findings.tally("outcomes by policy compared");
  }
}

}  // namespace plimsoll::conformance
