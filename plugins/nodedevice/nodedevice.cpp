#include "plugins/nodedevice/nodedevice.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "plugins/nodedevice/accounts/pod_reading.hpp"
#include "plugins/nodedevice/accounts/state_answers.hpp"

namespace plimsoll::devices {
namespace {

using sdk::Hint;
using sdk::Host;
using sdk::Node;
using sdk::Nodes;
using sdk::Pod;
using sdk::Sink;
using sdk::Status;

// By which a pod names the plugins (NRI) that its node's runtime must have when it makes
// containers.
constexpr std::string_view kRequiredPlugins = "required-plugins.noderesource.dev";

// A list of plugins (YAML, in either form) with one more.
std::string with_plugin(std::string_view list, const std::string& name) {
  if (list.empty()) return "[" + name + "]";
  if (list.starts_with('[')) return "[" + name + ", " + std::string(list.substr(1));
  return "- " + name + "\n" + std::string(list);
}

// Pods of groups name these, and PodGroups of these API groups say how large they are.
constexpr std::string_view kCoscheduling = "scheduling.x-k8s.io";
constexpr std::string_view kKoordinator = "scheduling.sigs.k8s.io";

// Whose PodGroup says how large the pod's group is; empty: none need say it.
std::string_view group_api(Pod pod) {
  const auto has = [pod](std::string_view key) { return !pod.label(key).value_or("").empty(); };
  const auto says = [pod](std::string_view key) {
    return pod.annotation(key).has_value() || pod.label(key).has_value();
  };
  if (has("scheduling.x-k8s.io/pod-group")) return kCoscheduling;
  const bool is_named = has("pod-group.scheduling.sigs.k8s.io") ||
                        has("pod-group.scheduling.sigs.k8s.io/name") ||
                        says("gang.scheduling.koordinator.sh/name");
  const bool says_how_many = says("pod-group.scheduling.sigs.k8s.io/min-available") ||
                             says("gang.scheduling.koordinator.sh/min-available");
  return is_named && !says_how_many ? kKoordinator : std::string_view();
}

// What the queue calls the kind of an event about a pod without a node.
constexpr std::string_view kUnschedulablePod = "UnschedulablePod";
constexpr std::string_view kDevices = "devices.v1alpha1.scheduling.koordinator.sh";

}  // namespace

NodeDevice::NodeDevice(Host host, DeviceArgs args)
    : score_aspects(args.fragmentation ? PLIMSOLL_ASPECT_CLUSTER : PLIMSOLL_ASPECT_PLUGIN),
      normalizes_by_extremes(!args.fragmentation),
      host_(host),
      args_(std::move(args)),
      shared_store_(DeviceStore::shared(host, args_.types)),
      store_(*shared_store_),
      types_(store_.accounts().types()),
      sharing_(host, store_, args_.unsupported_models),
      scorer_(make_scorer()),
      allocator_(types_, &scorer_),
      numa_(host, store_, allocator_, args_.disable_numa_alignment),
      demands_(types_, numa_, args_.template_resources),
      placer_(host_, store_, allocator_, demands_),
      judge_(host_, store_, allocator_, scorer_, numa_, sharing_) {
  if (args_.fragmentation)
    fragmentation_ =
        std::make_unique<FragmentationStrategy>(host_, store_, allocator_, *args_.fragmentation);
  host_.watch("scheduling.koordinator.sh", "v1alpha1", "devices");
}

bool NodeDevice::rests_on(Pod pod, std::string_view resource) const {
  if (resource == kDevices || numa_.rests_on(resource)) return asks_for_devices(types_, pod);
  const std::string_view api = group_api(pod);
  return !api.empty() && resource == "podgroups.v1alpha1." + std::string(api);
}

Status NodeDevice::pre_enqueue(Pod pod) {
  const std::string_view api = group_api(pod);
  if (api.empty()) return {};
  bool& watched = watched_[api == kKoordinator ? 1 : 0];
  if (!std::exchange(watched, true)) host_.watch(api, "v1alpha1", "podgroups");
  return {};
}

Status NodeDevice::pre_filter(plimsoll_cycle& cycle, Pod pod) {
  numa_.begin();
  std::string invalid;
  PodAttempt attempt = attempt_of(pod, invalid);
  if (!invalid.empty()) return refused(invalid);
  if (fragmentation_ && pod.node_name().empty())
    fragmentation_->waits(pod, attempt.demand ? &attempt.demand->request : nullptr);
  if (attempt.demand == nullptr) return Status::skip();
  attempt.numa.is_member = placer_.decision_on(pod) != 0;
  store_.refresh_numbers();
  attempt.plan = std::make_shared<const QuickPlan>(judge_.plan(*attempt.demand));
  if (!attempt.demand->request.empty()) attempt.group = placer_.begin(pod);
  host_.set_state(cycle, std::move(attempt));
  return {};
}

Status NodeDevice::add_pod(plimsoll_cycle& cycle, Pod, Pod added, Node node) {
  PodAttempt* attempt = host_.state<PodAttempt>(cycle);
  if (attempt == nullptr) return {};
  const bool is_member = placer_.decision_on(added) != 0;
  std::optional<Coming> known;
  const auto comes = [&]() -> const Coming& {
    if (!known) known = coming(*attempt, added, node);
    return *known;
  };
  if (is_member) comes();  // before any account has it
  numa_.add_pod(attempt->numa, *attempt->demand, added, node, is_member,
                [&] { return comes().zones; });
  if (asks_for_devices(types_, added))
    attempt->changes.add(node.slot(), *added, is_member, [&] { return comes().devices; });
  return {};
}

NodeDevice::Coming NodeDevice::coming(const PodAttempt& attempt, Pod added, Node node) {
  const uint64_t decision = placer_.decision_on(added);
  if (decision == 0) return make_coming(attempt, added, node, false);
  std::string key = std::to_string(decision) + "/" + std::to_string(node.slot()) + "/";
  key += added.uid();
  const auto describe = [&key](const auto* changes) {
    key += '/';
    if (changes == nullptr) return;
    for (const auto& change : *changes) key.append(change.uid).append(change.net < 0 ? "-" : "+");
  };
  describe(attempt.changes.on(node.slot()));
  describe(attempt.numa.changes.on(node.slot()));
  if (last_coming_.first != key)
    last_coming_ = {std::move(key), make_coming(attempt, added, node, true)};
  return last_coming_.second;
}

NodeDevice::Coming NodeDevice::make_coming(const PodAttempt& attempt, Pod added, Node node,
                                           bool is_member) {
  const uint32_t slot = node.slot();
  const auto demand = asks_for_devices(types_, added) ? demands_.read(added) : nullptr;
  Allocation chosen;
  if (is_member && demand != nullptr && !demand->request.empty()) {
    if (fragmentation_) fragmentation_->reserve_on(node);
    judge_.with_node(attempt, slot, [&](const NodeState* state) {
      if (state == nullptr || state->unmanaged()) return;
      static_cast<void>(numa_.allocate(*state, slot, added, *demand, {nullptr, &attempt.numa},
                                       chosen, fragmentation_.get()));
    });
    if (fragmentation_) fragmentation_->reserve_on({});
  }
  Coming made;
  made.zones = numa_.coming(attempt.numa, added, slot, is_member, chosen);
  if (demand != nullptr)
    made.devices = std::make_shared<const ComingPod>(ComingPod{*demand, std::move(chosen)});
  return made;
}

Status NodeDevice::remove_pod(plimsoll_cycle& cycle, Pod, Pod removed, Node node) {
  PodAttempt* attempt = host_.state<PodAttempt>(cycle);
  if (attempt == nullptr) return {};
  numa_.remove_pod(attempt->numa, *attempt->demand, removed, node);
  if (asks_for_devices(types_, removed)) attempt->changes.remove(node.slot(), *removed);
  return {};
}

Status NodeDevice::filter(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                          sdk::Verdicts verdicts) const {
  const PodAttempt* attempt = host_.state<PodAttempt>(cycle);
  if (attempt == nullptr) return {};
  AskedPod asked{pod, std::nullopt};
  StateAnswers<Status> known(store_.numbers());
  const bool by_state = attempt->sees_real_nodes() && attempt->plan->by_count;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!verdicts.open(i)) continue;
    if (by_state) {
      const uint32_t slot = slot_of(nodes, i);
      const Status* same = known.of(slot, [&] { return judge_.judge_state(*attempt, slot); });
      if (same != nullptr) {
        if (!same->ok()) verdicts.set(i, *same);
        continue;
      }
    }
    judge_.look_ahead(*attempt, nodes, i);
    const Status status = judge_.judge(*attempt, nodes[i].slot(), asked);
    if (!status.ok()) verdicts.set(i, status);
  }
  return {};
}

Status NodeDevice::pre_score(plimsoll_cycle& cycle, Pod pod, Nodes nodes) {
  if (fragmentation_) fragmentation_->rank(cycle, pod, asked_in(cycle), nodes);
  const PodAttempt* attempt = host_.state<PodAttempt>(cycle);
  // To a pod that asks for no device all nodes are the same.
  return attempt == nullptr && !fragmentation_ ? Status::skip() : Status::success();
}

Status NodeDevice::score(const plimsoll_cycle& cycle, Pod pod, Nodes nodes,
                         std::span<int64_t> scores) const {
  const PodAttempt* attempt = host_.state<PodAttempt>(cycle);
  if (fragmentation_) {
    fragmentation_->score(cycle, pod, asked_in(cycle), nodes, scores);
    if (attempt == nullptr || attempt->group.plan == nullptr || scores.empty()) return {};
    const auto [low, high] = std::ranges::minmax(scores);
    for (int64_t& score : scores) score -= low;
    GroupPlacer::score(attempt->group, nodes, std::max<int64_t>(high - low, 1), scores);
    return {};
  }
  if (attempt == nullptr) {
    std::fill(scores.begin(), scores.end(), 0);
    return {};
  }
  StateAnswers<int64_t> known(store_.numbers());
  const bool by_state = attempt->sees_real_nodes() && !attempt->plan->selects;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (by_state) {
      const uint32_t slot = slot_of(nodes, i);
      const int64_t* same = known.of(slot, [&] { return judge_.score_state(*attempt, slot); });
      if (same != nullptr) {
        scores[i] = *same;
        continue;
      }
    }
    judge_.look_ahead(*attempt, nodes, i);
    scores[i] = judge_.score(*attempt, nodes[i].slot());
  }
  if (attempt->group.plan != nullptr) {
    const size_t types = std::max<size_t>(attempt->demand->request.types.size(), 1);
    GroupPlacer::score(attempt->group, nodes, static_cast<int64_t>(100 * types), scores);
  }
  return {};
}

Status NodeDevice::normalize(const plimsoll_cycle&, Pod, Nodes nodes,
                             std::span<int64_t> scores) const {
  if (fragmentation_)
    FragmentationStrategy::normalize(nodes, scores);
  else
    sdk::normalize_scores(scores, false);
  return {};
}

Status NodeDevice::reserve(plimsoll_cycle& cycle, Pod pod, Node node) {
  const PodAttempt* attempt = host_.state<PodAttempt>(cycle);
  if (attempt != nullptr)
    if (const Status status = take_devices(cycle, *attempt, pod, node); !status.ok()) return status;
  if (attempt != nullptr) placer_.reserved(attempt->group, pod, node.slot());
  return {};
}

void NodeDevice::unreserve(plimsoll_cycle&, Pod pod, std::string_view) {
  placer_.unreserved(pod);
  store_.accounts().unreserve(pod.uid());
}

Status NodeDevice::sign(Pod pod, Sink& sink) {
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
  for (const ContainerRequests& container : containers_of(types_, pod)) {
    sink.put_field(container.name);
    sink.put_value(static_cast<int64_t>(container.kind));
    for (const ResourceQuantity& request : container.requests) {
      sink.put_field(request.name);
      sink.put_value(request.value);
    }
  }
  for (std::string_view wish : wishes_of(pod)) sink.put_field(wish);
  numa_.sign(pod, sink);
  placer_.sign(pod, sink);
  return {};
}

std::span<const plimsoll_event_interest> NodeDevice::events() const {
  constexpr uint32_t kAnyChange =
      PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE | PLIMSOLL_ACTION_DELETE;
  static const std::array<plimsoll_event_interest, 5> kEvents{{
      {sdk::str("Pod"), kAnyChange, 0},  // who comes may leave others another zone
      {sdk::str("Node"), PLIMSOLL_ACTION_ADD | PLIMSOLL_ACTION_UPDATE_NODE_LABEL, 0},
      {sdk::str(kDevices), kAnyChange, 0},
      {sdk::str(DeviceStore::kReports), kAnyChange, 0},
      {sdk::str(DeviceStore::kOldReports), kAnyChange, 0},
  }};
  return kEvents;
}

Hint NodeDevice::hint(Pod pod, const plimsoll_event& event) {
  const bool gone = (event.actions & PLIMSOLL_ACTION_DELETE) != 0;
  if (!gone && event.new_pod != nullptr && sdk::view(event.resource) == kUnschedulablePod)
    return Pod(event.new_pod).uid() == pod.uid() && asks_otherwise(types_, event) ? Hint::kQueue
                                                                                  : Hint::kSkip;
  const auto subject = store_.subject_of(event);
  if (!subject) return Hint::kSkip;
  const Node node = host_.node(subject->node);
  if (!subject->devices && (!node || !numa_.may_matter(pod, node.slot()))) return Hint::kSkip;
  if (!node) return Hint::kQueue;  // not known yet: rather one attempt too many
  std::string invalid;
  PodAttempt attempt = attempt_of(pod, invalid);
  if (!invalid.empty()) return Hint::kSkip;  // only a change of the pod itself can help
  if (attempt.demand == nullptr) return Hint::kQueue;
  AskedPod asked{pod, std::nullopt};
  return judge_.judge(attempt, node.slot(), asked).ok() ? Hint::kQueue : Hint::kSkip;
}

void NodeDevice::node_event(sdk::NodeEvent event, Node node, uint32_t) {
  if (shared_store_.feeds()) store_.node_event(host_, node, event == sdk::NodeEvent::kRemoved);
}

void NodeDevice::pod_event(sdk::PodEvent event, Pod pod, std::string_view node_name) {
  const bool finished =
      pod->phase == PLIMSOLL_PHASE_SUCCEEDED || pod->phase == PLIMSOLL_PHASE_FAILED;
  const bool gone = event == sdk::PodEvent::kRemoved || finished;
  if (shared_store_.feeds()) {
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

void NodeDevice::object_event(const sdk::ObjectEvent& event) {
  if (!shared_store_.feeds()) return;
  if (event.resource != kDevices) return;
  if (event.type == sdk::ObjectEvent::kSynced) return;
  const bool deleted = event.type == sdk::ObjectEvent::kDelete;
  store_.device_event(host_, event.name, deleted ? std::string_view() : event.json);
}

void NodeDevice::explain(const plimsoll_cycle& cycle, Pod pod, Node node, Sink& sink) const {
  const PodAttempt* attempt = host_.state<PodAttempt>(cycle);
  if (attempt != nullptr) sink.put(judge_.explain(*attempt, pod, node));
}

FragmentationStrategy::Asked NodeDevice::asked_in(const plimsoll_cycle& cycle) const {
  const PodAttempt* attempt = host_.state<PodAttempt>(cycle);
  if (attempt == nullptr) return {};
  return {&attempt->demand->request, &attempt->changes};
}

Status NodeDevice::take_devices(plimsoll_cycle& cycle, const PodAttempt& attempt, Pod pod,
                                Node node) {
  const NodeState* state = store_.accounts().at_slot(node.slot());
  const bool managed = state != nullptr && !state->unmanaged();
  if (!managed || attempt.demand->request.empty()) {
    if (managed) {
      const Verdict verdict =
          allocator_.check(*state, store_.facts(node.slot()).labels(), *attempt.demand);
      if (!verdict.fits()) return judge_.status_of(verdict);
    }
    const std::string name = full_name(pod);
    const auto requests = requests_of(types_, pod);
    const auto containers = containers_of(types_, pod);
    store_.accounts().reserve_unknown(
        {pod.uid(), node.name(), std::nullopt, requests, name, &attempt.demand->hints, containers});
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
  // Those that were chosen for it beside its group's, if they are still to be had.
  const Allocation* planned = GroupPlacer::chosen(attempt.group, node.slot());
  Verdict verdict;
  if (planned == nullptr || planned->empty() ||
      !choose(kept_to(*state, *planned), allocation).fits())
    verdict = choose(*state, allocation);
  if (fragmentation_) fragmentation_->reserve_on({});
  if (!verdict.fits()) return judge_.status_of(verdict);
  host_.annotate(cycle, kAllocatedAnnotation, write_allocation(types_, allocation, *state));
  if (state->object != nullptr && !state->object->hook.empty()) {
    const std::string& hook = state->object->hook;
    const auto own = pod.annotation(kRequiredPlugins).value_or("");
    host_.annotate(cycle, kRequiredPlugins, with_plugin(own, hook));
    // What the pod says of itself (".../pod") or of a container (".../container.NAME") goes before.
    for (const plimsoll_label& each : sdk::List<plimsoll_label>(pod->meta.annotations)) {
      const std::string_view key = sdk::view(each.key);
      if (key.starts_with(kRequiredPlugins) && key.substr(kRequiredPlugins.size()).starts_with('/'))
        host_.annotate(cycle, key, with_plugin(sdk::view(each.value), hook));
    }
  }
  store_.accounts().reserve(pod.uid(), node.name(), std::move(allocation), full_name(pod),
                            attempt.demand->elsewhere);
  return {};
}

DeviceArgs NodeDevice::args_of(const Host& host, std::string_view json) {
  auto args = parse_device_args(json, [&host](std::string_view text) { host.warn(text); });
  if (!args) throw std::runtime_error(args.error());
  return *std::move(args);
}

// Not a reason of the table, which keeps its texts for ever: numbers and names of anybody's choice
// are in it.
Status NodeDevice::refused(std::string_view why) const {
  return host_.failed(PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE, why);
}

Scorer NodeDevice::make_scorer() const {
  if (!args_.weights.empty()) return {types_, args_.strategy, args_.weights};
  return {types_, args_.strategy, Scorer::default_weights(types_)};
}

PodAttempt NodeDevice::attempt_of(Pod pod, std::string& invalid) const {
  PodAttempt attempt;
  attempt.demand = demands_.read(pod, invalid);
  if (attempt.demand == nullptr) return attempt;
  attempt.isolation_provider = std::string(pod.label(kIsolationLabel).value_or(""));
  attempt.shares_gpu = sharing_.concern(attempt.demand->request);
  return attempt;
}

uint32_t NodeDevice::slot_of(Nodes nodes, size_t i) {
  const auto slots = nodes.slots();
  return slots.empty() ? nodes[i].slot() : slots[i];
}

}  // namespace plimsoll::devices

PLIMSOLL_PLUGIN(plimsoll::devices::NodeDevice, "NodeDevice", PLIMSOLL_SDK_VERSION, "Apache-2.0")
