#pragma once
// Takes names out of exported objects, so that they can be handed on.

#include <nlohmann/json_fwd.hpp>

namespace plimsoll::cli {

// Replaces, in an array of API objects, the names of objects, containers and images, label values,
// and label and taint keys outside of well-known domains, each by the same word wherever it occurs:
// what refers to what, and what selects what, stays. Amounts, resource names, kinds, the names of
// schedulers, storage drivers and devices stay too. Annotations that no scheduling depends on are
// dropped, and so are addresses. Objects that are sorted by name may come in another order.
void anonymise(nlohmann::json& objects);

}  // namespace plimsoll::cli
