// The kubelet's admission as a scheduler sees it that has only the zones' counts, policy and scope:
// every pod that NodeResourcesFit would let through is one case, and some cannot be right.

#include "tests/conformance/admit_report.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {

namespace kubelet = plimsoll::topology::kubelet;

void check_admit_counts(const Json& test_case, Findings& findings) {
  const Json& settings = test_case.at("kubelet");
  const std::string policy = settings.at("tm_policy");
  const std::string row =
      policy == "none" ? policy : policy + ", " + settings.value("tm_scope", "container");
  ResourceNames names;
  kubelet::Scratch scratch;
  for (const Json& step : test_case.at("steps")) {
    if (step.at("op") != "admit") continue;
    if (step.at("fit") != true || step.contains("ambig")) {
      findings.tally(
          "pods left out: NodeResourcesFit refuses them, or the kubelet's choice is random");
      continue;
    }
    const kubelet::NodeFacts node =
        kubelet::from_counts(parsed_report(counts_report(test_case, step)), interning(names));
    const kubelet::PodDemand demand = demand_of(step.at("pod"), names);
    const bool admits = kubelet::admits(*node.model, node.state, demand, scratch);
    if (admits == step.at("admit").get<bool>()) {
      findings.judge(row, Judgement::kRight);
    } else {
      findings.judge(row, admits ? Judgement::kFalseAdmit : Judgement::kFalseReject);
    }
  }
}

}  // namespace plimsoll::conformance
