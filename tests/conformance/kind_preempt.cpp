// DefaultPreemption: who may preempt, on which nodes it would help, whom it would cost, which node
// is chosen and what the pod is told. All potential nodes are looked at, from the first one on.
//
// Everything that a vector states is compared. Skipped are cases in which the pod has volumes over
// which pods may conflict. Of clusters that cannot be, in which two pods of a node hold the
// host port that the pod wants and one of them may be evicted, only the verdicts of Filter are
// compared.

#include <algorithm>
#include <map>

#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/objects/kinds.hpp"
#include "framework/placement/what_if.hpp"
#include "framework/runtime/plugin/plugin_instance.hpp"
#include "plugins/builtin/preemption/preemption_candidates.hpp"
#include "tests/conformance/default_profile.hpp"
#include "tests/conformance/kinds.hpp"
#include "tests/support/decoded_objects.hpp"

namespace plimsoll::conformance {
namespace {

using builtin::DryRun;
using builtin::Trial;

// What the first filter of a what-if said, by node.
using FirstVerdicts = std::map<std::string, Status>;

// A what-if that remembers what its first filter said.
class WitnessedWhatIf final : public WhatIf {
 public:
  WitnessedWhatIf(std::unique_ptr<WhatIf> inner, FirstVerdicts& seen)
      : inner_(std::move(inner)), seen_(seen) {}
  Status add_pod(const plimsoll_pod& pod) override { return inner_->add_pod(pod); }
  Status remove_pod(const plimsoll_pod& pod) override { return inner_->remove_pod(pod); }
  Status filter() override {
    Status status = inner_->filter();
    seen_.emplace(std::string(view(node().node->meta.name)), status);
    return status;
  }
  [[nodiscard]] const plimsoll_node_info& node() const override { return inner_->node(); }

 private:
  std::unique_ptr<WhatIf> inner_;
  FirstVerdicts& seen_;
};

// Ports that the pod holds for as long as it runs.
std::vector<plimsoll_host_port> ports_of(const plimsoll_pod& pod) {
  std::vector<plimsoll_host_port> ports;
  for (const plimsoll_list& containers : {pod.init_containers, pod.containers}) {
    for (const auto& container : items<plimsoll_container>(containers)) {
      if (container.kind == PLIMSOLL_CONTAINER_INIT) continue;
      for (const auto& port : items<plimsoll_host_port>(container.ports)) ports.push_back(port);
    }
  }
  return ports;
}

class PreemptCase {
 public:
  PreemptCase(const Json& test_case, Findings& findings) : case_(test_case), findings_(findings) {
    pod_ = profile_.pod(case_.at("pod"));
    for (const Json& node : case_.at("nodes")) profile_.add_node(node);
    profile_.add_watched(case_);
    for (const Json& pod : member(case_, "existingPods")) {
      others_.push_back(profile_.pod(pod));
      profile_.add_pod(others_.back());
    }
    for (const Json& pod : member(case_, "nominatedPods")) {
      others_.push_back(profile_.pod(pod));
      profile_.nominator().add(others_.back(), Nominating::keep());
    }
    for (const Json& budget : member(case_, "pdbs")) {
      const Json& meta = budget.at("metadata");
      const RawRef object = decoded({std::string(sdk::kDisruptionBudgets.resource),
                                     meta.at("namespace"), meta.at("name"), "", "", budget.dump()});
      if (object->decoded->unreadable.len != 0) {
        throw std::runtime_error(std::string(view(object->decoded->unreadable)));
      }
      profile_.put_object(object);
      budgets_.upsert(*reinterpret_cast<const plimsoll_disruption_budget*>(object->decoded.get()));
    }
  }

  void check() {
    filter();
    const std::string kind = case_.at("kind");
    if (kind == "feasible") return;
    if (has_port_held_twice()) return findings_.skip("a host port that two pods of a node hold");
    dry_run(kind);
    post_filter(kind);
  }

 private:
  using Names = std::vector<std::string>;

  // 1.36 charged every budget that selects a pod, 1.37 those up to the first that breaks. Where a
  // pod of a node is under two, fewer may break, and other victims may stay.
  [[nodiscard]] bool has_pod_under_two_budgets(const std::string& node) const {
    const plimsoll_node_info* info = profile_.cluster().node(node)->abi();
    for (uint32_t i = 0; i < info->pod_count; ++i) {
      size_t over_it = 0;
      for (Json budget : member(case_, "pdbs")) {
        budget["status"]["disruptionsAllowed"] = 0;
        test::DecodedObjects objects;
        builtin::DisruptionBudgets alone;
        const Json& meta = budget.at("metadata");
        alone.upsert(objects(sdk::kDisruptionBudgets, meta.at("namespace").get<std::string>(), "b",
                             budget.dump()));
        if (alone.violations({sdk::Pod(info->pods[i])}).front()) ++over_it;
      }
      if (over_it > 1) return true;
    }
    return false;
  }
  // What 1.37 says otherwise about `node`, if that is the cause.
  [[nodiscard]] bool is_charged_less(const std::string& node, const Json& expected,
                                     const Json& actual) const {
    return expected.is_object() && expected != actual &&
           actual.at("numPDBViolations") <= expected.at("numPDBViolations") &&
           has_pod_under_two_budgets(node);
  }

  [[nodiscard]] bool wants(const plimsoll_pod& holder) const {
    for (const plimsoll_host_port& wanted : ports_of(*pod_)) {
      for (const plimsoll_host_port& held : ports_of(holder)) {
        if (conflicts(wanted, held)) return true;
      }
    }
    return false;
  }
  // kube-scheduler keeps a node's ports as a set: it takes the port for free when the one that may
  // be evicted goes, although the other stays. Here it is free when both are gone, as on the node.
  [[nodiscard]] bool has_port_held_twice() const {
    for (const plimsoll_node_info* row : profile_.cluster().rows()) {
      bool goes = false;
      bool stays = false;
      for (uint32_t i = 0; i < row->pod_count; ++i) {
        if (!wants(*row->pods[i])) continue;
        (row->pods[i]->priority < pod_->priority ? goes : stays) = true;
      }
      if (goes && stays) return true;
    }
    return false;
  }

  Json described(const Status& status) const {
    Names reasons = profile_.reasons().texts(status.reason);
    std::sort(reasons.begin(), reasons.end());
    Json result = {{"code", code_name(static_cast<int32_t>(status.code))}, {"reasons", reasons}};
    if (status.plugin_index != kNoPlugin) result["plugin"] = profile_.name(status.plugin_index);
    return result;
  }

  void filter() {
    const auto& rows = profile_.cluster().rows();
    cycle_ = profile_.framework().new_cycle();
    const PreFilterOutcome outcome = profile_.framework().run_pre_filter(*cycle_, *pod_);
    if (!outcome.status.ok() || outcome.narrowed) {
      throw std::runtime_error("PreFilter was not to reject or narrow");
    }
    codes_.assign(rows.size(), 0);
    std::vector<uint32_t> reasons(rows.size(), 0);
    std::vector<PluginIndex> rejectors(rows.size(), kNoPlugin);
    const Status status = run_filters_with_nominated(profile_.framework(), *cycle_, *pod_, rows,
                                                     {codes_, reasons, rejectors},
                                                     profile_.cluster(), profile_.nominator());
    if (!status.ok()) throw std::runtime_error(status.error);
    Json refused = Json::object();
    Names feasible;
    Names potential;
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string name(view(rows[i]->node->meta.name));
      if (codes_[i] == PLIMSOLL_SUCCESS) {
        feasible.push_back(name);
        continue;
      }
      Status verdict;
      verdict.code = static_cast<Code>(codes_[i]);
      verdict.reason = reasons[i];
      verdict.plugin_index = rejectors[i];
      refused[name] = described(verdict);
      if (codes_[i] != PLIMSOLL_UNSCHEDULABLE) continue;
      potential.push_back(name);
      potential_.push_back({sdk::Node(rows[i]), rows[i]->slot});
    }
    std::sort(feasible.begin(), feasible.end());
    std::sort(potential.begin(), potential.end());
    findings_.expect("filter", member(case_, "filter"), refused);
    findings_.expect("feasible", member(case_, "feasible"), feasible);
    findings_.tally("verdicts compared", rows.size());
    if (case_.contains("potentialNodes")) {
      findings_.expect("potentialNodes", case_.at("potentialNodes"), potential);
    }
  }

  void dry_run(const std::string& kind) {
    if (kind == "not_eligible") return;
    FirstVerdicts first;
    profile_.wrap_what_ifs([&first](std::unique_ptr<WhatIf> inner) {
      return std::make_unique<WitnessedWhatIf>(std::move(inner), first);
    });
    plimsoll_host_ctx context{
        &profile_.environment(), "DefaultPreemption", "default-scheduler", {}};
    const plimsoll_host table = make_host_table(&context);
    const sdk::Host host(&table, "DefaultPreemption");
    const DryRun found =
        builtin::PreemptionDryRun(host, budgets_)
            .run(*cycle_, sdk::Pod(pod_.get()), potential_, {0, potential_.size()});
    profile_.wrap_what_ifs({});
    Json candidates = Json::object();
    for (const Trial* candidate : found.candidates) {
      Names victims;
      for (sdk::Pod victim : candidate->victims) victims.push_back(full_name(*victim));
      candidates[candidate->node] = {{"victims", victims},
                                     {"numPDBViolations", candidate->rank.violations}};
      findings_.tally("victims compared", victims.size());
    }
    Json others = Json::object();
    for (const Trial* other : found.others) {
      Status status;
      status.code = static_cast<Code>(other->status.code);
      status.reason = other->status.reason;
      if (const auto seen = first.find(other->node); seen != first.end()) {
        status.plugin_index = seen->second.plugin_index;
      }
      others[other->node] = described(status);
    }
    Json expected = member(case_, "candidates");
    for (const auto& [node, actual] : candidates.items()) {
      if (!is_charged_less(node, member(expected, node), actual)) continue;
      findings_.tally("nodes with budgets that 1.37 charges less");
      expected[node] = actual;
      charged_less_ = true;
    }
    findings_.expect("candidates", expected, candidates);
    findings_.expect("notCandidates", member(case_, "notCandidates"), others);
    if (found.candidates.empty() || charged_less_) return;
    findings_.expect("selected", member(case_, "selected"),
                     Names{builtin::pick_candidate(found.candidates, 0).node});
  }

  // The plugin as a whole.
  void post_filter(const std::string& kind) {
    const PostFilterOutcome outcome =
        profile_.framework().run_post_filters(*cycle_, *pod_, profile_.cluster().rows(), codes_);
    const std::string text = outcome.status.message(profile_.reasons());
    if (kind == "not_eligible") {
      findings_.expect("eligible", case_.at("eligible"), false);
      findings_.expect("message", "preemption: " + case_.at("message").get<std::string>(), text);
      findings_.expect("nomination overridden", false, outcome.override_nomination);
      return;
    }
    findings_.expect("eligible", case_.at("eligible"), true);
    findings_.expect("nomination overridden", true, outcome.override_nomination);
    if (kind == "infeasible") {
      const Json actual = {{"code", code_name(static_cast<int32_t>(outcome.status.code))},
                           {"reasons", Names{text}}};
      findings_.expect("postFilter", member(case_, "postFilter"), actual);
      findings_.expect("nominated", "", outcome.nominated_node);
      return;
    }
    findings_.expect("postFilter", "", text);
    if (charged_less_) return;
    findings_.expect("nominated", member(case_, "selected"), Names{outcome.nominated_node});
  }

  const Json& case_;
  Findings& findings_;
  DefaultProfile profile_;
  PodRef pod_;
  std::vector<PodRef> others_;
  builtin::DisruptionBudgets budgets_;
  std::shared_ptr<CycleContext> cycle_;
  std::vector<uint8_t> codes_;
  std::vector<builtin::PotentialNode> potential_;
  bool charged_less_ = false;  // the choice between the nodes may be another then
};

}  // namespace

void check_preempt(const Json& test_case, Findings& findings) {
  PreemptCase preempt(test_case, findings);
  preempt.check();
}

}  // namespace plimsoll::conformance
