// The kubelet's admission, step by step through the lives of nodes; view exact: machine, kubelet
// and state as the kubelet has them, but as they arrive over a NodeResourceTopology object: each
// step's are encoded as node facts, written as JSON, parsed and read.

#include <algorithm>
#include <map>
#include <optional>

#include "tests/conformance/admit_report.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {
namespace {

namespace kubelet = plimsoll::topology::kubelet;

Json hint_of(const kubelet::Hint& hint) {
  return {hint.any ? Json() : Json(hint.mask), hint.preferred};
}

// What a container got, as the vectors write it.
Json grant_of(const kubelet::NodeModel& model, const ResourceNames& names,
              const kubelet::ContainerGrant& grant) {
  Json out = Json::object();
  if (grant.has_hint) out["hint"] = hint_of(grant.hint);
  if (!grant.cpus.empty()) out["cpus"] = grant.cpu_ids.text();
  for (const kubelet::MemoryBlock& block : grant.memory) {
    out["mem"][names.name(block.resource)] = {zones_of(block.zones), block.bytes};
  }
  for (const kubelet::DeviceGrant& devices : grant.devices) {
    Json& ids = out["dev"][names.name(devices.resource)] = Json::array();
    for (size_t i = 0; i < model.devices[devices.row].devices.size(); ++i) {
      if ((devices.ids[i / 64] >> (i % 64) & 1) != 0) {
        ids.push_back(model.devices[devices.row].devices[i].id);
      }
    }
  }
  return out;
}

// In any order.
Json sorted(Json hints) {
  std::sort(hints.begin(), hints.end());
  return hints;
}

class Life {
 public:
  Life(const Json& line, Findings& findings)
      : line_(line), findings_(findings), exact_(exact_model(line, names_)) {
    exact_.prepare();
  }

  void step(const Json& step, size_t number) {
    at_ = "step " + std::to_string(number) + " ";
    const std::string op = step.at("op");
    if (op == "admit") return admit(step);
    const auto allocation = pods_.find(step.at("uid"));
    if (allocation == pods_.end() || !state_) return;
    if (op == "start") return kubelet::started(*model_, *state_, allocation->second);
    kubelet::release(*model_, *state_, allocation->second);
    pods_.erase(allocation);
  }

 private:
  // What a reader of the step's report has; the model is the same for all steps.
  kubelet::NodeState reported_state(const Json& step) {
    const kubelet::NodeState state = exact_state(exact_, step.at("st"), names_);
    const Json report = facts_report(line_, step, exact_, state, names_);
    kubelet::NodeFacts read = reader_.read(parsed_report(report));
    for (const std::string& problem : read.problems) findings_.add(at_ + problem);
    if (model_ && read.model != model_) findings_.add(at_ + "the model changes between reports");
    model_ = read.model;
    return std::move(read.state);
  }

  void admit(const Json& step) {
    const kubelet::NodeState given = reported_state(step);
    // What the steps before made of the state is the state that the kubelet had.
    if (state_ && *state_ != given) {
      findings_.add(at_ + "the state that the steps before lead to differs");
      state_.reset();
    }
    if (!state_ && fresh_) state_ = given;
    fresh_ = false;
    if (step.contains("ambig")) {
      // Rests on which device the kubelet happens to take.
      findings_.tally("steps left out: the kubelet's choice of a device is random");
      state_.reset();
      return;
    }
    const Json& pod = step.at("pod");
    at_ += "pod " + pod.at("uid").get<std::string>() + " ";
    const kubelet::PodDemand demand = demand_of(pod, names_);
    kubelet::NodeState after = given;
    const kubelet::Admission got = kubelet::admit(*model_, after, demand, scratch_);
    compare(step, demand, got);
    compare_hints(step, given, demand);
    const kubelet::Reason verdict = kubelet::verdict(*model_, given, demand, scratch_);
    findings_.expect(at_ + "verdict", kubelet::to_string(got.reason), kubelet::to_string(verdict));
    findings_.tally("admissions compared");
    if (state_) *state_ = after;
    if (got.admitted()) pods_[pod.at("uid")] = got.allocation;
  }

  void compare(const Json& step, const kubelet::PodDemand& demand, const kubelet::Admission& got) {
    findings_.expect(at_ + "admit", step.at("admit"), got.admitted());
    findings_.expect(at_ + "reason", member(step, "reason"), kubelet::to_string(got.reason));
    if (step.at("admit") != got.admitted()) return;
    if (!got.admitted()) {
      findings_.expect(at_ + "msg", member(step, "msg"),
                       kubelet::message_of(got, names_.name(got.resource)));
    }
    for (size_t i = 0; i < demand.containers.size(); ++i) {
      const std::string& name = demand.containers[i].name;
      Json want = member(member(step, "res"), name);
      Json have = grant_of(*model_, names_, got.containers[i]);
      if (!got.admitted()) continue;
      findings_.expect(at_ + name, want, have);
      findings_.tally("containers compared");
    }
  }

  // The same admission over full lists of hints.
  void compare_hints(const Json& step, const kubelet::NodeState& given,
                     const kubelet::PodDemand& demand) {
    if (!step.contains("hints")) return;
    kubelet::NodeState state = given;
    std::vector<kubelet::HintRecord> records;
    const auto again = kubelet::admit(*model_, state, demand, scratch_, &records);
    findings_.expect(at_ + "admit with hints", step.at("admit"), again.admitted());
    Json all = Json::array();
    for (const kubelet::HintRecord& record : records) {
      Json lists = Json::object();
      for (const auto& [resource, list] : record.entries) {
        Json& hints = lists[names_.name(resource)];
        if (list.no_preference) continue;
        hints = Json::array();
        for (const kubelet::Hint& hint : list.hints) hints.push_back(hint_of(hint));
        hints = sorted(hints);
      }
      all.push_back(
          {{"c",
            record.container == kubelet::kWholePod ? "" : demand.containers[record.container].name},
           {"h", lists}});
    }
    Json want = step.at("hints");
    for (Json& merge : want) {
      for (Json& hints : merge.at("h")) {
        if (hints.is_array()) hints = sorted(hints);
      }
    }
    findings_.expect(at_ + "hints", want, all);
    findings_.tally("merges compared hint by hint", all.size());
  }

  const Json& line_;
  Findings& findings_;
  ResourceNames names_;
  kubelet::NodeModel exact_;
  kubelet::FactsReader reader_{interning(names_)};
  std::shared_ptr<const kubelet::NodeModel> model_;  // as read
  kubelet::Scratch scratch_;
  bool fresh_ = true;
  std::optional<kubelet::NodeState> state_;  // nothing once a step was left out
  std::map<std::string, kubelet::Allocation> pods_;
  std::string at_;
};

}  // namespace

void check_admit_exact(const Json& test_case, Findings& findings) {
  Life life(test_case, findings);
  size_t number = 0;
  for (const Json& step : test_case.at("steps")) life.step(step, number++);
}

}  // namespace plimsoll::conformance
