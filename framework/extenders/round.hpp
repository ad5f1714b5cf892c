#pragma once
// One round of calls about one pod: filters one after the other, each about the nodes that are
// left, then priorities at once. Kubernetes: findNodesThatPassExtenders and the extenders' part of
// prioritizeNodes.

#include <functional>
#include <string>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/base/result.hpp"
#include "framework/extenders/extender.hpp"
#include "framework/port/extender_client.hpp"

namespace plimsoll {

struct ExtenderQuestion {
  PodRef pod;
  std::string pod_json;  // the whole pod, as the API server has it
  std::vector<NodeRef> nodes;
};

// Asks all extenders that are interested in the pod. The answer has a verdict on each of the nodes,
// or is the error of an extender that is not ignorable. `extenders` and `client` must outlive the
// round. Any thread; `done` is called exactly once, on any thread.
void ask_extenders(const std::vector<ExtenderSpec>& extenders, ExtenderClient& client,
                   ExtenderQuestion question, std::function<void(Result<ExtenderAnswers>)> done);

}  // namespace plimsoll
