// Objects of the kinds that the framework decodes for all plugins.

#include "framework/objects/kinds.hpp"

#include <algorithm>
#include <plimsoll/kinds.hpp>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "fuzz/target.hpp"

namespace plimsoll::fuzz {
namespace {

void check_selector(const plimsoll_object& object, const plimsoll_label_selector& selector) {
  require(object.unreadable.len == 0 || selector.present == 0, "what is not readable is empty");
  if (selector.present == 0) require(selector.match_labels.count == 0, "null has no labels");
  require(validate(selector).has_value() || selector.present != 0, "null is valid");
}

void check_budget(const plimsoll_disruption_budget& budget) {
  check_selector(budget.object, budget.selector);
  const auto names = items<plimsoll_str>(budget.disrupted_pods);
  require(std::is_sorted(names.begin(), names.end(),
                         [](const auto& a, const auto& b) { return view(a) < view(b); }),
          "the names are sorted");
}

}  // namespace

void decoded_kind(std::string_view input) {
  for (const std::string_view resource :
       {sdk::kNamespaces.resource, sdk::kServices.resource, sdk::kReplicaSets.resource,
        sdk::kDisruptionBudgets.resource}) {
    const ObjectRef object = decode_object(resource, "ns", "name", input);
    require(object != nullptr, resource, " is decoded");
    require(view(object->meta.ns) == "ns" && view(object->meta.name) == "name",
            "an object keeps its name");
    if (object->unreadable.len != 0) {
      require(object->meta.uid.len == 0 && object->meta.labels.count == 0,
              "what is not readable is empty");
    }
    if (resource == sdk::kDisruptionBudgets.resource) {
      check_budget(*reinterpret_cast<const plimsoll_disruption_budget*>(object.get()));
    } else if (resource != sdk::kNamespaces.resource) {
      check_selector(*object,
                     reinterpret_cast<const plimsoll_pod_selector*>(object.get())->selector);
    }
  }
}

}  // namespace plimsoll::fuzz
