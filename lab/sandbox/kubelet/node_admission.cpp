#include "lab/sandbox/kubelet/node_admission.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "framework/base/log.hpp"
#include "lab/sandbox/kubelet/node_fit.hpp"
#include "lab/sandbox/kubelet/node_kind.hpp"
#include "lab/sandbox/kubelet/pod_demand_of.hpp"
#include "lab/sandbox/kubelet/prior_use.hpp"
#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/report/facts.hpp"

namespace plimsoll::sandbox {
namespace {

namespace kubelet = topology::kubelet;
using kubelet::ZoneMask;
using nlohmann::json;

std::string uid_of(const json& pod) {
  const json metadata = pod.value("metadata", json::object());
  return metadata.value("uid", metadata.value("namespace", "") + "/" + metadata.value("name", ""));
}

// State that all nodes of a simulation share.
struct Shared {
  NodeKinds kinds;
  kubelet::Scratch scratch;
  bool pessimistic = false;
};

struct Question : PodQuestion {
  PodAmounts amounts;
  kubelet::PodDemand demand;
};

class KubeletAdmission : public NodeAdmission {
 public:
  KubeletAdmission(std::shared_ptr<Shared> shared, const NodeDescription& node)
      : shared_(std::move(shared)),
        kind_(shared_->kinds.of(node)),
        name_(node.name),
        allocatable_(node.allocatable),
        has_machine_(node.machine != nullptr),
        free_(kind_->free),
        unexplained_(set_aside_prior_use(*kind_, node, shared_->kinds.resources(), free_)),
        anywhere_(nothing_of(*kind_)) {
    count_nobodys_blocks(1);
  }

  AdmissionDecision admit(const json& pod) override {
    Held held;
    AdmissionDecision decision = decide(pod, free_, held);
    if (decision.admitted) keep(uid_of(pod), std::move(held));
    return decision;
  }

  AdmissionDecision try_admit(const json& pod) const override {
    kubelet::NodeState copy = free_;
    Held held;
    return decide(pod, copy, held);
  }

  std::shared_ptr<const PodQuestion> question_of(const json& pod) const override {
    auto amounts = pod_amounts(pod);
    if (!amounts) return nullptr;
    auto question = std::make_shared<Question>();
    question->demand = pod_demand_of(pod, *amounts, shared_->kinds.resources());
    question->amounts = std::move(*amounts);
    return question;
  }

  bool takes(const PodQuestion& pod) const override {
    const auto& question = static_cast<const Question&>(pod);
    return (model().zones() == 0 ||
            kubelet::admits(model(), free_, question.demand, shared_->scratch)) &&
           !misfit_of(question.amounts, allocatable_, requested_, held_.size());
  }

  bool restore(const json& pod) override {
    const auto amounts = pod_amounts(pod);
    if (!amounts) {
      log_warn("a running pod is not accounted for",
               {{"node", name_}, {"why", amounts.error().message}});
      return true;
    }
    const auto demand = pod_demand_of(pod, *amounts, shared_->kinds.resources());
    Held held;
    held.requests = running_requests(pod).value_or(amounts->requests);
    // A running pod first claims what the last report shows as used; what the report does not show
    // yet is taken from the free resources. If pods overlap with unexplained use, the kubelet that
    // admitted them knew better: then they hold nothing here.
    count_nobodys_blocks(-1);
    const bool explained = restore_from(unexplained_, demand, held);
    const bool known = explained || !ties_pods_to_zones();
    const node::Amounts own =
        !known && shared_->pessimistic ? amounts_of_its_own(demand) : node::Amounts();
    const bool has_place = explained || !own.empty() || restore_from(free_, demand, held);
    count_nobodys_blocks(1);
    if (!has_place && demand.asks) {
      log_warn("a running pod has no place in the zones; its requests alone are accounted for",
               {{"node", name_}, {"pod", uid_of(pod)}});
    }
    keep(uid_of(pod), std::move(held));
    if (!own.empty()) {
      in_any_zone_[uid_of(pod)] = own;
      count_in_every_zone();
    }
    return known;
  }

  bool started(const std::string& uid) override {
    const auto found = held_.find(uid);
    if (found == held_.end()) return false;
    const kubelet::NodeState before = free_;
    kubelet::started(model(), free_, found->second.admission.allocation);
    return !(before == free_);
  }

  void release(const std::string& uid) override {
    const auto found = held_.find(uid);
    if (found == held_.end()) return;
    count_nobodys_blocks(-1);
    kubelet::release(model(), free_, found->second.admission.allocation);
    count_nobodys_blocks(1);
    for (const auto& [name, amount] : found->second.requests) requested_[name] -= amount;
    held_.erase(found);
    if (in_any_zone_.erase(uid) != 0) count_in_every_zone();
  }

  bool holds_exclusively(const std::string& uid) const override {
    const auto found = held_.find(uid);
    return found != held_.end() && !found->second.admission.allocation.empty();
  }

  node::NodeReport zones() const override;
  node::NodeReport report(node::ReportKind kind) const override;

 private:
  struct Held {
    node::Amounts requests;
    std::vector<kubelet::ContainerKind> kinds;  // by container
    kubelet::Admission admission;
  };

  [[nodiscard]] const kubelet::NodeModel& model() const { return *kind_->model; }

  // Used memory lies in blocks, whoever uses it. Unexplained use counts as one block per zone, of
  // that zone alone. Adds these blocks to the groups of `free_` or removes them again; the blocks
  // of pods are added and removed independently of them.
  void count_nobodys_blocks(int assignments) {
    if (!free_.knows_groups()) return;
    for (std::uint32_t column = 0; column < model().zones(); ++column) {
      bool holds = false;
      for (std::uint32_t row = 0; row < model().memory.size(); ++row) {
        holds = holds || unexplained_.memory(model(), row)[column] > 0 ||
                anywhere_.memory(model(), row)[column] > 0;
      }
      if (!holds) continue;
      const std::int64_t now = free_.assignments(model(), column) + assignments;
      const ZoneMask own = ZoneMask{1} << column;
      free_.set_group(model(), column, now, now > 0 ? free_.group(model(), column) : own);
    }
  }

  [[nodiscard]] bool ties_pods_to_zones() const {
    const auto policy = model().managers.policy;
    return model().zones() > 1 &&
           (policy == topology::Policy::kRestricted || policy == topology::Policy::kSingleNumaNode);
  }

  // What the pod would have of its own on a machine without other pods.
  node::Amounts amounts_of_its_own(const kubelet::PodDemand& demand) const {
    kubelet::NodeModel lenient = model();
    lenient.managers.policy = topology::Policy::kBestEffort;
    kubelet::NodeState state = kind_->free;
    kubelet::Admission admission = kubelet::admit(lenient, state, demand, shared_->scratch);
    node::Amounts own;
    if (!admission.admitted()) return own;
    kubelet::started(model(), state, admission.allocation);
    const ResourceIndex& resources = shared_->kinds.resources();
    for (std::uint32_t column = 0; column < model().zones(); ++column) {
      const node::Amounts left = node::amounts_at(*kind_, state, column, resources);
      for (const auto& [name, all] : node::amounts_at(*kind_, kind_->free, column, resources)) {
        const std::int64_t taken = all - node::amount_of(left, name);
        if (taken > 0) own[name] += taken;
      }
    }
    return own;
  }

  // Wherever the pods of in_any_zone_ are: no zone has more left than if all were there.
  void count_in_every_zone() {
    count_nobodys_blocks(-1);
    node::Amounts all;
    for (const auto& [uid, own] : in_any_zone_) node::add_amounts(all, own);
    ResourceIndex& resources = shared_->kinds.resources();
    for (std::uint32_t column = 0; column < model().zones(); ++column) {
      move_amounts(*kind_, column, node::amounts_at(*kind_, anywhere_, column, resources),
                   resources, anywhere_, free_);
      move_amounts(*kind_, column, all, resources, free_, anywhere_);
    }
    count_nobodys_blocks(1);
  }

  // Admits against `state`, and changes `state` on success.
  AdmissionDecision decide(const json& pod, kubelet::NodeState& state, Held& held) const {
    const auto amounts = pod_amounts(pod);
    if (!amounts) return {false, "UnexpectedAdmissionError", amounts.error().message};
    const auto demand = pod_demand_of(pod, *amounts, shared_->kinds.resources());
    kubelet::NodeState after = state;
    if (model().zones() > 0) {
      held.admission = kubelet::admit(model(), after, demand, shared_->scratch);
    }
    if (!held.admission.admitted()) {
      const std::string& resource = shared_->kinds.resources().name(held.admission.resource);
      return {false, std::string(kubelet::to_string(held.admission.reason)),
              kubelet::message_of(held.admission, resource)};
    }
    if (auto misfit = misfit_of(*amounts, allocatable_, requested_, held_.size())) {
      return {false, std::move(misfit->reason), std::move(misfit->message)};
    }
    state = after;
    held.requests = amounts->requests;
    remember_kinds(demand, held);
    return {true, "", "", zones_of(demand, held.admission)};
  }

  static void remember_kinds(const kubelet::PodDemand& demand, Held& held) {
    held.kinds.clear();
    for (const auto& container : demand.containers) held.kinds.push_back(container.kind);
  }

  // Allocates a pod from the free resources of `pool`, in no particular zone.
  bool restore_from(kubelet::NodeState& pool, const kubelet::PodDemand& demand, Held& held) {
    if (model().zones() == 0 || !demand.asks) return true;
    // Prefers one zone, like most policies; otherwise any zones.
    for (const auto policy : {topology::Policy::kSingleNumaNode, topology::Policy::kBestEffort}) {
      kubelet::NodeModel lenient = model();
      lenient.managers.policy = policy;
      kubelet::NodeState after = pool;
      copy_groups(free_, after);
      kubelet::Admission admission = kubelet::admit(lenient, after, demand, shared_->scratch);
      if (!admission.admitted()) continue;
      pool = after;
      copy_groups(after, free_);  // groups belong to the node, whichever pool the memory is from
      held.admission = std::move(admission);
      remember_kinds(demand, held);
      return true;
    }
    return false;
  }

  void copy_groups(const kubelet::NodeState& from, kubelet::NodeState& to) const {
    if (!from.knows_groups()) return;
    for (std::uint32_t column = 0; column < model().zones(); ++column) {
      to.set_group(model(), column, from.assignments(model(), column), from.group(model(), column));
    }
  }

  std::vector<int> ids_of(ZoneMask mask) const {
    std::vector<int> ids;
    for (std::uint32_t column = 0; column < model().zones(); ++column) {
      if ((mask >> column & 1) != 0) ids.push_back(static_cast<int>(model().zone_ids[column]));
    }
    return ids;
  }

  static ZoneMask mask_of(const std::vector<std::int64_t>& by_column) {
    ZoneMask mask = 0;
    for (std::size_t i = 0; i < by_column.size(); ++i) {
      if (by_column[i] > 0) mask |= ZoneMask{1} << i;
    }
    return mask;
  }

  std::vector<ContainerZones> zones_of(const kubelet::PodDemand& demand,
                                       const kubelet::Admission& admission) const {
    std::vector<ContainerZones> result;
    const ResourceIndex& resources = shared_->kinds.resources();
    for (std::size_t i = 0; i < admission.containers.size(); ++i) {
      const kubelet::ContainerGrant& grant = admission.containers[i];
      ContainerZones zones;
      zones.container = demand.containers[i].name;
      if (const ZoneMask mask = mask_of(grant.cpus); mask != 0) zones.zones["cpu"] = ids_of(mask);
      for (const kubelet::MemoryBlock& block : grant.memory) {
        zones.zones[resources.name(block.resource)] = ids_of(block.zones);
      }
      for (const kubelet::DeviceGrant& device : grant.devices) {
        if (device.zones != 0) zones.zones[resources.name(device.resource)] = ids_of(device.zones);
      }
      if (!zones.zones.empty()) result.push_back(std::move(zones));
    }
    return result;
  }

  void keep(const std::string& uid, Held held) {
    release(uid);
    node::add_amounts(requested_, held.requests);
    held_[uid] = std::move(held);
  }

  void charge_as_listed(std::vector<node::ZoneReport>& zones) const;
  [[nodiscard]] std::vector<kubelet::PodHolding> holdings() const;
  void add_policy(node::NodeReport& report) const;

  std::shared_ptr<Shared> shared_;
  std::shared_ptr<const NodeKind> kind_;
  std::string name_;
  node::Amounts allocatable_;  // Node.status.allocatable
  bool has_machine_;           // otherwise its reports already have costs, or none
  kubelet::NodeState free_;
  kubelet::NodeState unexplained_;  // used before the simulation, by pods not restored yet
  kubelet::NodeState anywhere_;     // what count_in_every_zone() has taken
  std::unordered_map<std::string, node::Amounts> in_any_zone_;  // by pod uid
  node::Amounts requested_;                                     // by all pods of the node
  std::unordered_map<std::string, Held> held_;                  // by pod uid
};

// The use that the pod-resources API lists: sidecars and app containers only.
void KubeletAdmission::charge_as_listed(std::vector<node::ZoneReport>& zones) const {
  const ResourceIndex& resources = shared_->kinds.resources();
  const auto charge = [&](std::size_t column, const std::string& name, std::int64_t amount) {
    const auto there = zones[column].available.find(name);
    if (there == zones[column].available.end()) return;
    there->second = std::max<std::int64_t>(0, there->second - amount);
  };
  for (const auto& [uid, held] : held_) {
    for (std::size_t i = 0; i < held.admission.containers.size(); ++i) {
      if (i < held.kinds.size() && held.kinds[i] == kubelet::ContainerKind::kInit) continue;
      const kubelet::ContainerGrant& grant = held.admission.containers[i];
      for (std::size_t column = 0; column < grant.cpus.size(); ++column) {
        charge(column, "cpu", grant.cpus[column] * node::kMilli);
      }
      for (const kubelet::MemoryBlock& block : grant.memory) {
        for (std::size_t column = 0; column < zones.size(); ++column) {
          if ((block.zones >> column & 1) == 0) continue;
          charge(column, resources.name(block.resource), block.bytes);
        }
      }
      for (const kubelet::DeviceGrant& device : grant.devices) {
        for (std::size_t column = 0; column < device.by_zone.size(); ++column) {
          charge(column, resources.name(device.resource), device.by_zone[column]);
        }
      }
    }
  }
}

std::vector<kubelet::PodHolding> KubeletAdmission::holdings() const {
  std::vector<kubelet::PodHolding> pods;
  for (const auto& [uid, held] : held_) pods.push_back({uid, held.admission.allocation});
  std::sort(pods.begin(), pods.end(), [](const auto& a, const auto& b) { return a.uid < b.uid; });
  return pods;
}

void KubeletAdmission::add_policy(node::NodeReport& report) const {
  const kubelet::Managers& managers = model().managers;
  report.attributes.emplace_back("topologyManagerPolicy", topology::to_string(managers.policy));
  report.attributes.emplace_back("topologyManagerScope", topology::to_string(managers.scope));
  // Where zones list what a manager that is off does not hand out, only attributes tell.
  const auto listed = [&](const std::string& name) {
    return std::any_of(kind_->allocatable.begin(), kind_->allocatable.end(),
                       [&](const auto& zone) { return node::amount_of(zone, name) > 0; });
  };
  if (managers.cpu == kubelet::ManagerPolicy::kNone && listed("cpu")) {
    report.attributes.emplace_back("cpuManagerPolicy", "none");
  }
  if (managers.memory == kubelet::ManagerPolicy::kNone && listed("memory")) {
    report.attributes.emplace_back("memoryManagerPolicy", "None");
  }
  // Facts left by another exporter would describe another moment.
  report.annotations.emplace_back(topology::kMachineAnnotation, "");
  report.annotations.emplace_back(topology::kFreeAnnotation, "");
}

node::NodeReport KubeletAdmission::zones() const {
  node::NodeReport report = node::zones_of(*kind_, free_, shared_->kinds.resources());
  report.complete = has_machine_;
  if (has_machine_) node::add_costs(report, model());
  return report;
}

node::NodeReport KubeletAdmission::report(node::ReportKind kind) const {
  const ResourceIndex& resources = shared_->kinds.resources();
  node::NodeReport report = zones();
  if (kind == node::ReportKind::kCounts) {
    for (std::uint32_t column = 0; column < model().zones(); ++column) {
      report.zones[column].available = kind_->allocatable[column];
      // Subtract the unexplained use from before the simulation.
      for (const kubelet::NodeState* state : {&unexplained_, &anywhere_}) {
        for (const auto& [name, amount] : node::amounts_at(*kind_, *state, column, resources)) {
          report.zones[column].available[name] -= amount;
        }
      }
    }
    charge_as_listed(report.zones);
  }
  if (kind == node::ReportKind::kFacts)
    node::add_facts(report, *kind_, free_, holdings(), resources);
  else
    add_policy(report);
  return report;
}

}  // namespace

NodeAdmissionFactory make_admission_factory(bool pessimistic) {
  const auto shared = std::make_shared<Shared>();
  shared->pessimistic = pessimistic;
  return [shared](const NodeDescription& node) {
    return std::make_unique<KubeletAdmission>(shared, node);
  };
}

std::unique_ptr<NodeAdmission> make_node_admission(const NodeDescription& node) {
  return make_admission_factory()(node);
}

}  // namespace plimsoll::sandbox
