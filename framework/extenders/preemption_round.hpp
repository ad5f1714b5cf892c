#pragma once
// One round of calls about the pods that might have to make way for a pod: extenders one after the
// other, each about the nodes and victims that are left. Kubernetes: callExtenders in
// pkg/scheduler/framework/preemption.

#include <functional>
#include <string>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/base/result.hpp"
#include "framework/base/string_map.hpp"
#include "framework/extenders/extender.hpp"
#include "framework/port/extender_client.hpp"

namespace plimsoll {

struct ExtenderVictims {
  std::string node;
  std::vector<std::string> uids;
  int64_t violations = 0;  // of PodDisruptionBudgets
};

struct PreemptionQuestion {
  PodRef pod;
  std::string pod_json;
  std::vector<ExtenderVictims> victims;
  // By node: the pods on it that may be victims, by UID.
  StringMap<StringMap<PodRef>> pods;
};

// The answer has those of the nodes that all extenders left, with victims that are on them.
void ask_about_victims(const std::vector<ExtenderSpec>& extenders, ExtenderClient& client,
                       PreemptionQuestion question,
                       std::function<void(Result<std::vector<ExtenderVictims>>)> done);

}  // namespace plimsoll
