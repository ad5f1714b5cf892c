// NodeDevice: gives pods devices of a node (GPUs, shares of GPUs, RDMA NICs, FPGAs), by minor.
// The decisions are in the pure files beside this one; here they meet the scheduler.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <plimsoll/plugin.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/nodedevice/accounts/accounts_json.hpp"
#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/accounts/pod_reading.hpp"
#include "plugins/nodedevice/accounts/state_answers.hpp"
#include "plugins/nodedevice/allocation/explain.hpp"
#include "plugins/nodedevice/allocation/numa_part.hpp"
#include "plugins/nodedevice/allocation/quick_check.hpp"
#include "plugins/nodedevice/allocation/sharing_rules.hpp"
#include "plugins/nodedevice/allocation/what_if.hpp"
#include "plugins/nodedevice/args/device_args.hpp"
#include "plugins/nodedevice/device_store.hpp"
#include "plugins/nodedevice/fragmentation/fragmentation_strategy.hpp"
#include "plugins/nodedevice/groups/group_placer.hpp"

namespace plimsoll::devices {
namespace {

using sdk::Hint;
using sdk::Host;
using sdk::Node;
using sdk::Nodes;
using sdk::Pod;
using sdk::Sink;
using sdk::Status;

// What the queue calls the kind of an event about a pod without a node.
constexpr std::string_view kUnschedulablePod = "UnschedulablePod";
constexpr std::string_view kDevices = "devices.v1alpha1.scheduling.koordinator.sh";

// One attempt of a pod: what it asks for, and which pods a what-if adds to or takes from nodes.
struct Attempt {
  std::shared_ptr<const PodDemand> demand;
  std::shared_ptr<const QuickPlan> plan;  // of the demand, for many nodes; null: there is none
  std::string isolation_provider;         // label of the pod; empty: none asked for
  bool shares_gpu = false;
  DeviceChanges changes;
  NumaAttempt numa;
  std::shared_ptr<GroupAttempt> group;  // null: the pod belongs to none
};

class NodeDevice {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_PLUGIN | PLIMSOLL_ASPECT_LABELS;
  static constexpr uint16_t least_abi_minor = 1;  // groups look for pods by UID
  // FragmentationGradient ranks all nodes together.
  const uint32_t score_aspects;
  const bool normalizes_by_extremes;

  NodeDevice(Host host, std::string_view args_json) : NodeDevice(host, args_of(host, args_json)) {}
  NodeDevice(Host host, DeviceArgs args)
      : score_aspects(args.fragmentation ? PLIMSOLL_ASPECT_CLUSTER : PLIMSOLL_ASPECT_PLUGIN),
        normalizes_by_extremes(!args.fragmentation),
        host_(host),
        args_(std::move(args)),
        store_(DeviceStore::get(host, args_.types)),
        types_(store_.accounts().types()),
        sharing_(host, store_, args_.unsupported_models),
        scorer_(make_scorer()),
        allocator_(types_, &scorer_),
        numa_(host, store_, allocator_, args_.disable_numa_alignment),
        placer_(
            host_, store_, allocator_,
            [this](Pod pod) {
              std::string invalid;
              auto demand = demand_of(pod, invalid);
              return demand != nullptr && demand->request.empty() ? nullptr : demand;
            },
            [this](Pod pod, const PodDemand& demand, uint32_t slot) {
              const TypeRequest* gpu = demand.request.find(gpu_);
              return gpu != nullptr && gpu->is_shared &&
                     !sharing_.judge(pod.label(kIsolationLabel).value_or(""), slot).ok();
            }) {
    prepare_reasons();
    if (args_.fragmentation)
      fragmentation_ =
          std::make_unique<FragmentationStrategy>(host_, store_, allocator_, *args_.fragmentation);
    host_.watch("scheduling.koordinator.sh", "v1alpha1", "devices");
  }
  NodeDevice(const NodeDevice&) = delete;
  NodeDevice& operator=(const NodeDevice&) = delete;
  ~NodeDevice() { store_.leave(this); }

  void start() { numa_.begin(); }

  // Its devices, the zones that they have to agree with, and what says how large its group is.
  bool rests_on(Pod pod, std::string_view resource) const {
    if (resource == kDevices || numa_.rests_on(resource)) return asks_for_devices(types_, pod);
    const auto group = group_of(pod);
    return group && !group->min_available && resource == pod_group_resource(group->api);
  }

  // Nobody else tells of pods without a node; none is held back here.
  Status pre_enqueue(Pod pod) {
    store_.groups().pod_waits(pod);
    return {};
  }

  // What a group lacks is not worth evicting anybody for: the rejection is unresolvable.
  Status pre_filter(plimsoll_cycle& cycle, Pod pod) {
    numa_.begin();
    store_.groups().attempts_ended();
    if (const auto refusal = store_.groups().refuses(pod)) return host_.unresolvable(*refusal);
    Attempt attempt;
    std::string invalid;
    attempt.demand = demand_of(pod, invalid);
    if (!invalid.empty()) return host_.unresolvable(invalid);
    if (fragmentation_ && pod.node_name().empty())
      fragmentation_->waits(pod, attempt.demand ? &attempt.demand->request : nullptr);
    if (attempt.demand == nullptr) return Status::skip();
    store_.refresh_numbers();
    attempt.plan = std::make_shared<const QuickPlan>(quick_check_.prepare(*attempt.demand));
    attempt.isolation_provider = std::string(pod.label(kIsolationLabel).value_or(""));
    const auto& types = attempt.demand->request.types;
    attempt.shares_gpu = std::any_of(types.begin(), types.end(), [&](const TypeRequest& request) {
      return request.is_shared && request.type == gpu_;
    });
    if (!types.empty()) attempt.group = placer_.begin(pod, attempt.demand);
    const std::string refusal = attempt.group != nullptr ? attempt.group->refusal : std::string();
    host_.set_state(cycle, std::move(attempt));
    return refusal.empty() ? Status::success() : host_.unresolvable(refusal);
  }

  // Pods that ask for no device hold none, whatever their annotations say.
  Status add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node) {
    Attempt* attempt = host_.state<Attempt>(cycle);
    if (attempt == nullptr) return {};
    numa_.add_pod(attempt->numa, *attempt->demand, added, node);
    if (!asks_for_devices(types_, added)) return {};
    attempt->changes.add(node.slot(), *added, [&] {
      std::string invalid;
      return demand_of(added, invalid);
    });
    return {};
  }

  Status remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node) {
    Attempt* attempt = host_.state<Attempt>(cycle);
    if (attempt == nullptr) return {};
    numa_.remove_pod(attempt->numa, *attempt->demand, removed, node);
    if (asks_for_devices(types_, removed)) attempt->changes.remove(node.slot(), *removed);
    return {};
  }

  Status filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes, sdk::Verdicts verdicts) const {
    const Attempt* attempt = host_.state<Attempt>(cycle);
    if (attempt == nullptr) return {};
    std::optional<LedgerPod> asked;
    StateAnswers<Status> known(store_.numbers());
    const bool by_state = are_as_they_are(*attempt) && attempt->plan->by_count;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!verdicts.open(i)) continue;
      if (by_state) {
        const uint32_t slot = slot_of(nodes, i);
        const Status* same = known.of(slot, [&] { return judge_state(*attempt, slot); });
        if (same != nullptr) {
          if (!same->ok()) verdicts.set(i, *same);
          continue;
        }
      }
      look_ahead(*attempt, nodes, i);
      const Status status = judge(*attempt, nodes[i].slot(), pod, asked);
      if (!status.ok()) verdicts.set(i, status);
    }
    return {};
  }

  // Nothing to add to what others say, but the pod's group may have to be given up.
  Status post_filter(plimsoll_cycle& cycle, Pod pod, Nodes, std::span<const uint8_t>,
                     sdk::Nomination&) {
    const Attempt* attempt = host_.state<Attempt>(cycle);
    const bool of_group = attempt != nullptr && attempt->group != nullptr;
    store_.groups().found_no_place(pod, of_group ? attempt->group->refusal : std::string());
    return Status::unschedulable(nothing_to_add_);
  }

  // A group's devices are held where this member could have been too.
  Status pre_score(plimsoll_cycle& cycle, Pod pod, Nodes nodes) {
    if (fragmentation_) fragmentation_->rank(cycle, pod, asked_in(cycle), nodes);
    const Attempt* attempt = host_.state<Attempt>(cycle);
    // To a pod that asks for no device all nodes are the same.
    if (attempt == nullptr) return fragmentation_ ? Status::success() : Status::skip();
    if (attempt->group == nullptr) return {};
    for (size_t i = 0; i < nodes.size(); ++i) attempt->group->feasible.push_back(nodes[i].slot());
    std::sort(attempt->group->feasible.begin(), attempt->group->feasible.end());
    return {};
  }

  Status score(const plimsoll_cycle& cycle, Pod pod, Nodes nodes, std::span<int64_t> scores) const {
    const Attempt* attempt = host_.state<Attempt>(cycle);
    if (fragmentation_) {
      fragmentation_->score(cycle, pod, asked_in(cycle), nodes, scores);
      if (attempt != nullptr && attempt->group != nullptr)
        placer_.score(*attempt->group, nodes, scores);
      return {};
    }
    StateAnswers<int64_t> known(store_.numbers());
    const bool by_state =
        attempt != nullptr && are_as_they_are(*attempt) && !attempt->plan->selects;
    for (size_t i = 0; i < nodes.size(); ++i) {
      scores[i] = 0;
      if (attempt == nullptr) continue;
      if (by_state) {
        const uint32_t slot = slot_of(nodes, i);
        const int64_t* same = known.of(slot, [&] { return score_state(*attempt, slot); });
        if (same != nullptr) {
          scores[i] = *same;
          continue;
        }
      }
      look_ahead(*attempt, nodes, i);
      with_node(*attempt, nodes[i].slot(), [&](const NodeState* node) {
        if (node == nullptr) return;
        scores[i] = QuickCheck::score(scorer_, *node, *attempt->demand, *attempt->plan);
      });
    }
    if (attempt != nullptr && attempt->group != nullptr)
      placer_.score(*attempt->group, nodes, scores);
    return {};
  }

  Status normalize(const plimsoll_cycle&, Pod, Nodes nodes, std::span<int64_t> scores) const {
    if (fragmentation_)
      FragmentationStrategy::normalize(nodes, scores);
    else
      sdk::normalize_scores(scores, false);
    return {};
  }

  Status reserve(plimsoll_cycle& cycle, Pod pod, Node node) {
    const Attempt* attempt = host_.state<Attempt>(cycle);
    if (attempt != nullptr)
      if (const Status status = take_devices(cycle, *attempt, pod, node); !status.ok())
        return status;
    store_.groups().reserved(pod, node.name());
    if (attempt != nullptr && attempt->group != nullptr)
      placer_.hold_for_others(*attempt->group, pod, node);
    return {};
  }

  Status permit(plimsoll_cycle&, Pod pod, Node, int64_t& timeout_ms) {
    return store_.groups().permit(pod, timeout_ms);
  }

  // Whom that helps hears of it from the scheduler: to all others, an assumed pod that is forgotten
  // is a pod that was deleted, and hint() says which of them it helps.
  void unreserve(plimsoll_cycle&, Pod pod, std::string_view) {
    store_.groups().unreserved(pod);
    store_.accounts().unreserve(pod.uid());
  }

  // What is said of a member depends on where the others are.
  Status sign(Pod pod, Sink& sink) {
    if (group_of(pod)) return Status::skip();
    bool asks = false;
    if (fragmentation_) {
      sink.put_value(pod.request("cpu"));
      asks = true;
    }
    for (const ResourceQuantity& request : requests_of(types_, pod)) {
      asks = true;
      sink.put_field(request.name);
      sink.put_value(request.value);
    }
    if (!asks) return {};
    for (std::string_view wish : wishes_of(pod)) sink.put_field(wish);
    numa_.sign(pod, sink);
    return {};
  }

  [[nodiscard]] std::span<const plimsoll_event_interest> events() const {
    constexpr uint32_t kAnyChange =
        PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE | PLIMSOLL_ACTION_DELETE;
    static const std::array<plimsoll_event_interest, 5> kEvents{{
        {sdk::str("Pod"), kAnyChange, 0},  // who comes may leave others another zone
        {sdk::str("Node"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL, 0},
        {sdk::str(kDevices), kAnyChange, 0},
        {sdk::str(NumaPart::kReports), kAnyChange, 0},
        {sdk::str(NumaPart::kOldReports), kAnyChange, 0},
    }};
    return kEvents;
  }

  // The accounts hear of every change before the queue does: whether the node has room now decides.
  // A change of the waiting pod itself always counts: it may have been refused for what it asks.
  Hint hint(Pod pod, const plimsoll_event& event) {
    std::string_view node_name = sdk::view(event.name);
    const bool gone = (event.actions & PLIMSOLL_ACTION_DELETE) != 0;
    // Else it is only about zones: of pods' CPUs, or in a report.
    bool about_devices = !NumaPart::is_report(event);
    if (!gone && event.new_pod != nullptr) {
      const Pod now(event.new_pod);
      if (sdk::view(event.resource) == kUnschedulablePod)
        return now.uid() == pod.uid() && asks_otherwise(types_, event) ? Hint::kQueue : Hint::kSkip;
      about_devices = holds_otherwise(types_, event);
      node_name = now.node_name();
    } else if (gone && event.old_pod != nullptr) {
      const Pod before(event.old_pod);
      about_devices = asks_for_devices(types_, before);
      node_name = before.node_name();
    } else if (event.new_node != nullptr) {
      if (event.old_node != nullptr && !DeviceStore::reads_otherwise(event)) return Hint::kSkip;
      node_name = sdk::view(event.new_node->meta.name);
    } else if (about_devices && !gone && !store_.is_news(node_name, sdk::view(event.new_json))) {
      return Hint::kSkip;  // a report that says what the one before it said
    }
    if (store_.groups().refuses(pod)) return Hint::kSkip;  // woken by its group
    const Node node = host_.node(node_name);
    if (!about_devices && (!node || !numa_.may_matter(pod, node.slot()))) return Hint::kSkip;
    if (!node) return Hint::kQueue;  // not known yet: rather one attempt too many
    std::string invalid;
    Attempt attempt;
    attempt.demand = demand_of(pod, invalid);
    if (!invalid.empty()) return Hint::kSkip;  // only a change of the pod itself can help
    if (attempt.demand == nullptr) return Hint::kQueue;
    attempt.isolation_provider = std::string(pod.label(kIsolationLabel).value_or(""));
    const TypeRequest* gpu = attempt.demand->request.find(gpu_);
    attempt.shares_gpu = gpu != nullptr && gpu->is_shared;
    attempt.group = placer_.look(pod);
    std::optional<LedgerPod> asked;
    return judge(attempt, node.slot(), pod, asked).ok() ? Hint::kQueue : Hint::kSkip;
  }

  void node_event(sdk::NodeEvent event, Node node, uint32_t) {
    if (store_.feeds(this)) store_.node_event(host_, node, event == sdk::NodeEvent::kRemoved);
  }

  void pod_event(sdk::PodEvent event, Pod pod, std::string_view node_name) {
    const bool finished =
        pod->phase == PLIMSOLL_PHASE_SUCCEEDED || pod->phase == PLIMSOLL_PHASE_FAILED;
    const bool gone = event == sdk::PodEvent::kRemoved || finished;
    if (store_.feeds(this)) {
      if (gone)
        store_.pod_removed(pod.uid());
      else
        store_.pod_assigned(host_, pod, node_name);
    }
    if (!fragmentation_) return;
    if (gone)
      fragmentation_->gone(pod.uid());
    else
      fragmentation_->assigned(pod);
  }

  void object_event(const sdk::ObjectEvent& event) {
    if (!store_.feeds(this)) return;
    store_.groups().object_event(event);
    if (event.resource != kDevices) return;
    if (event.type == sdk::ObjectEvent::kSynced) return;
    const bool deleted = event.type == sdk::ObjectEvent::kDelete;
    store_.device_event(host_, event.name, deleted ? std::string_view() : event.json);
  }

  void explain(const plimsoll_cycle& cycle, Pod pod, Node node, Sink& sink) const {
    const Attempt* attempt = host_.state<Attempt>(cycle);
    if (attempt == nullptr) return;
    with_node(*attempt, node.slot(), [&](const NodeState* state) {
      if (state == nullptr || state->unmanaged()) {
        sink.put("the node has no Device object: its devices are left to the kubelet\n");
        return;
      }
      std::optional<LedgerPod> asked;
      const Verdict verdict = verdict_on(*state, *attempt, node.slot(), pod, asked);
      if (!verdict.fits()) sink.put(reason_text(types_, verdict.reason, verdict.type) + "\n");
      sink.put(explain_devices(types_, *state, *attempt->demand));
      const bool by_minor = !attempt->demand->request.empty();
      if (by_minor)
        sink.put(numa_.explain(*state, node.slot(), pod, *attempt->demand,
                               {asked ? &*asked : nullptr, &attempt->numa}));
      uint32_t wanted = 0;
      for (int type = 0; type < types_.count(); ++type)
        if (attempt->demand->request.find(type) != nullptr ||
            attempt->demand->elsewhere[static_cast<size_t>(type)] != 0)
          wanted |= 1U << type;
      sink.put(explain_doubts(store_.accounts(), *state, wanted));
      Allocation chosen;
      if (verdict.fits() && by_minor &&
          numa_
              .allocate(*state, node.slot(), pod, *attempt->demand,
                        {asked ? &*asked : nullptr, &attempt->numa}, chosen)
              .fits())
        sink.put(explain_links(types_, *state, chosen));
      sink.put(store_.groups().explain(node.name()));
    });
  }

 private:
  [[nodiscard]] FragmentationStrategy::Asked asked_in(const plimsoll_cycle& cycle) const {
    const Attempt* attempt = host_.state<Attempt>(cycle);
    if (attempt == nullptr) return {};
    return {&attempt->demand->request, &attempt->changes};
  }

  // The pod's devices on the node, into the accounts and the Binding.
  Status take_devices(plimsoll_cycle& cycle, const Attempt& attempt, Pod pod, Node node) {
    const NodeState* state = store_.accounts().at_slot(node.slot());
    const bool managed = state != nullptr && !state->unmanaged();
    if (!managed || attempt.demand->request.empty()) {
      if (managed) {
        const Verdict verdict =
            allocator_.check(*state, store_.facts(node.slot()).labels(), *attempt.demand);
        if (!verdict.fits()) return status_of(verdict);
      }
      const std::string name = full_name(pod);
      const auto requests = requests_of(types_, pod);
      store_.accounts().reserve_unknown(
          {pod.uid(), node.name(), std::nullopt, requests, name, &attempt.demand->hints});
      // What the pod's author wrote there is not what it is going to be given.
      if (pod.annotation(kAllocatedAnnotation)) host_.annotate(cycle, kAllocatedAnnotation, "{}");
      return {};
    }
    Allocation allocation;
    if (fragmentation_) fragmentation_->reserve_on(node);
    const auto choose = [&](const NodeState& devices, Allocation& chosen) {
      return numa_.allocate(devices, node.slot(), pod, *attempt.demand, {}, chosen,
                            fragmentation_.get());
    };
    const Verdict verdict = attempt.group != nullptr
                                ? placer_.allocate(*attempt.group, pod, node, choose, allocation)
                                : choose(*state, allocation);
    if (fragmentation_) fragmentation_->reserve_on({});
    if (!verdict.fits()) return status_of(verdict);
    host_.annotate(cycle, kAllocatedAnnotation, write_allocation(types_, allocation, *state));
    store_.accounts().reserve(pod.uid(), node.name(), std::move(allocation), full_name(pod),
                              attempt.demand->elsewhere);
    return {};
  }

  static DeviceArgs args_of(const Host& host, std::string_view json) {
    auto args = parse_device_args(json, [&host](std::string_view text) { host.warn(text); });
    if (!args) throw std::runtime_error(args.error());
    return *std::move(args);
  }

  [[nodiscard]] Scorer make_scorer() const {
    if (!args_.weights.empty()) return {types_, args_.strategy, args_.weights};
    return {types_, args_.strategy, Scorer::default_weights(types_)};
  }

  void prepare_reasons() {
    for (int reason = 1; reason < kReasonCount; ++reason)
      for (int type = 0; type < types_.count(); ++type)
        reasons_[static_cast<size_t>(reason)][static_cast<size_t>(type)] =
            host_.reason(reason_text(types_, static_cast<Reason>(reason), type));
    nothing_to_add_ = host_.reason({});
  }

  [[nodiscard]] Status status_of(const Verdict& verdict) const {
    const uint32_t reason =
        reasons_[static_cast<size_t>(verdict.reason)][static_cast<size_t>(verdict.type)];
    return verdict.unresolvable ? Status::unresolvable(reason) : Status::unschedulable(reason);
  }

  // Null: the pod asks for no device, or (then `invalid` says so) for something that is not valid.
  [[nodiscard]] std::shared_ptr<const PodDemand> demand_of(Pod pod, std::string& invalid) const {
    const std::vector<ResourceQuantity> requests = requests_of(types_, pod);
    if (requests.empty()) return nullptr;
    auto request = parse_device_request(types_, requests);
    if (!request) {
      invalid = std::move(request.error());
      return nullptr;
    }
    const Elsewhere elsewhere = devices_elsewhere(types_, requests);
    if (request->empty() && !uses_any(elsewhere)) return nullptr;
    const auto text = [&](std::string_view key) { return pod.annotation(key).value_or(""); };
    auto hints = parse_device_hints(
        types_, text(kHintAnnotation), text(kJointAnnotation),
        request->find(gpu_) != nullptr ? text(kPartitionAnnotation) : std::string_view());
    if (!hints) {
      invalid = std::move(hints.error());
      return nullptr;
    }
    const auto numa = numa_.spec_of(pod);
    invalid = numa ? not_supported(*request) : numa.error();
    if (!invalid.empty()) return nullptr;
    return std::make_shared<const PodDemand>(
        PodDemand{*std::move(request), *std::move(hints), *numa, elsewhere});
  }

  // What a pod may ask for that is not there is refused, never left out.
  [[nodiscard]] std::string not_supported(const DeviceRequest& request) const {
    const TypeRequest* gpu = request.find(gpu_);
    if (gpu == nullptr || !gpu->is_shared) return {};
    for (const std::string& name : args_.template_resources) {
      const int dim = types_.find_dim(gpu_, name);
      if (dim >= 0 && gpu->per_device.has(dim)) return "no matched GPU shared resource template";
    }
    return {};
  }

  // Thousands of nodes are read one after the other, none of which is in a cache: what is read of
  // them is asked for some nodes ahead.
  void look_ahead(const Attempt& attempt, Nodes nodes, size_t i) const {
    constexpr size_t kStep = 4;
    if (i + 3 * kStep < nodes.size()) __builtin_prefetch((*nodes).rows[i + 3 * kStep]);
    if (attempt.plan == nullptr) return;
    const uint32_t types = attempt.plan->asked;
    const Accounts& accounts = store_.accounts();
    if (i + 2 * kStep < nodes.size()) accounts.prefetch(nodes[i + 2 * kStep].slot(), types);
    if (i + kStep < nodes.size()) accounts.prefetch_columns(nodes[i + kStep].slot(), types);
  }

  // Calls `use` with the node as the attempt has it: as it is, or changed by a what-if. Null: the
  // accounts know nothing of it.
  template <typename Use>
  void with_node(const Attempt& attempt, uint32_t slot, const Use& use) const {
    const NodeState* real = store_.accounts().at_slot(slot);
    const DeviceChanges::Changes* changes = attempt.changes.on(slot);
    const bool has_holds = attempt.group != nullptr && placer_.has_holds(*attempt.group, slot);
    if (real == nullptr || (changes == nullptr && !has_holds)) return use(real);
    NodeState changed = changes == nullptr
                            ? *real
                            : changed_node(store_.accounts(), allocator_,
                                           store_.facts(slot).labels(), *real, *changes);
    if (has_holds) placer_.without_holds(*attempt.group, changed);
    use(&changed);
  }

  // `asked`: what the ledger is asked for the pod, made when it is needed, for one thread.
  [[nodiscard]] Verdict verdict_on(const NodeState& node, const Attempt& attempt, uint32_t slot,
                                   Pod pod, std::optional<LedgerPod>& asked) const {
    if (!numa_.may_refuse(*attempt.demand, slot)) {
      const NodeLabels labels = store_.facts(slot).labels();
      return attempt.plan != nullptr
                 ? quick_check_.check(node, labels, *attempt.demand, *attempt.plan)
                 : allocator_.check(node, labels, *attempt.demand);
    }
    if (!asked) asked = numa_.ask(pod);
    Allocation unused;
    return numa_.allocate(node, slot, pod, *attempt.demand, {&*asked, &attempt.numa}, unused);
  }

  // No what-if, no devices held for a group: nodes are what the accounts say.
  [[nodiscard]] static bool are_as_they_are(const Attempt& attempt) {
    return attempt.changes.empty() && attempt.group == nullptr && attempt.plan != nullptr;
  }

  [[nodiscard]] static uint32_t slot_of(Nodes nodes, size_t i) {
    const auto slots = nodes.slots();
    return slots.empty() ? nodes[i].slot() : slots[i];
  }

  // What judge() says, where that is the same for all nodes in the state of this one.
  [[nodiscard]] std::optional<Status> judge_state(const Attempt& attempt, uint32_t slot) const {
    if (attempt.shares_gpu)
      if (const Status status = sharing_.judge(attempt.isolation_provider, slot); !status.ok())
        return status;
    if (const uint32_t reason = numa_.mismatch(*attempt.demand, slot); reason != 0)
      return Status::unresolvable(reason);
    const NodeState* node = store_.accounts().at_slot(slot);
    if (node == nullptr) return Status();
    if (numa_.may_refuse(*attempt.demand, slot)) return std::nullopt;
    const auto verdict = quick_check_.check_state(*node, store_.facts(slot).labels(),
                                                  *attempt.demand, *attempt.plan);
    if (!verdict) return std::nullopt;
    return verdict->fits() ? Status() : status_of(*verdict);
  }

  [[nodiscard]] std::optional<int64_t> score_state(const Attempt& attempt, uint32_t slot) const {
    const NodeState* node = store_.accounts().at_slot(slot);
    if (node == nullptr) return 0;
    return QuickCheck::score(scorer_, *node, *attempt.demand, *attempt.plan);
  }

  [[nodiscard]] Status judge(const Attempt& attempt, uint32_t slot, Pod pod,
                             std::optional<LedgerPod>& asked) const {
    if (attempt.shares_gpu)
      if (const Status status = sharing_.judge(attempt.isolation_provider, slot); !status.ok())
        return status;
    const bool by_minor = !attempt.demand->request.empty();
    if (const uint32_t reason = by_minor ? numa_.mismatch(*attempt.demand, slot) : 0; reason != 0)
      return Status::unresolvable(reason);
    Verdict verdict;
    with_node(attempt, slot, [&](const NodeState* node) {
      if (node != nullptr) verdict = verdict_on(*node, attempt, slot, pod, asked);
    });
    return verdict.fits() ? Status() : status_of(verdict);
  }

  Host host_;
  DeviceArgs args_;
  DeviceStore& store_;
  const DeviceTypes& types_;
  SharingRules sharing_;
  int gpu_ = types_.find_type("gpu");
  Scorer scorer_;
  Allocator allocator_;
  QuickCheck quick_check_{types_, allocator_, store_.accounts().shapes()};
  std::unique_ptr<FragmentationStrategy> fragmentation_;  // null: another strategy
  NumaPart numa_;
  GroupPlacer placer_;
  std::array<std::array<uint32_t, kMaxTypes>, kReasonCount> reasons_{};
  uint32_t nothing_to_add_ = 0;
};

}  // namespace
}  // namespace plimsoll::devices

PLIMSOLL_PLUGIN(plimsoll::devices::NodeDevice, "NodeDevice", PLIMSOLL_SDK_VERSION, "Apache-2.0")
