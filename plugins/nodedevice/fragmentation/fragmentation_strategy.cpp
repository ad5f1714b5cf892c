#include "plugins/nodedevice/fragmentation/fragmentation_strategy.hpp"

#include <algorithm>
#include <limits>

#include "plugins/nodedevice/fragmentation/pod_models.hpp"

namespace plimsoll::devices {
namespace {

constexpr int64_t kBest = 100;

int64_t free_cpu(sdk::Node node) {
  return node.allocatable(PLIMSOLL_RESOURCE_CPU) - node.requested(PLIMSOLL_RESOURCE_CPU);
}

// Of a card, when the request says it in percent; 0: it says bytes only.
int32_t milli_of(const DeviceType& type, const Amounts& per_device) {
  int64_t percent = 0;
  for (const int dim : {0, type.ratio_dim})  // cores and memory
    if (dim >= 0 && per_device.has(dim)) percent = std::max(percent, per_device.get(dim));
  return static_cast<int32_t>(std::min<int64_t>(percent * 10, kWholeGpu));
}

}  // namespace

FragmentationStrategy::FragmentationStrategy(sdk::Host host, DeviceStore& store,
                                             const Allocator& allocator,
                                             const FragmentationArgs& args)
    : host_(host),
      store_(store),
      types_(store.accounts().types()),
      allocator_(allocator),
      gpu_(types_.find_type("gpu")),
      measure_(args.measure),
      learns_(!args.typical_pods),
      memo_(types_, gpu_) {
  memo_.use(std::make_shared<const Fragmentation>(
      measure_, GpuMix(args.typical_pods.value_or(std::vector<TypicalPod>()))));
}

void FragmentationStrategy::waits(sdk::Pod pod, const DeviceRequest* request) {
  if (!learns_) return;
  TypicalPod seen{pod.request("cpu"), 0, 0, {}, 1};
  if (const TypeRequest* gpus = request == nullptr ? nullptr : request->find(gpu_)) {
    seen.gpus = static_cast<int32_t>(std::min<int64_t>(gpus->count, FreeGpus::kMaxGpus));
    seen.gpu_milli = milli_of(types_.type(gpu_), gpus->per_device);
    seen.models = wanted_models(pod);
    if (seen.gpu_milli <= 0) return;  // bytes: how much of a card, is known once it has one
  }
  census_.waits(pod.uid(), std::move(seen));
}

void FragmentationStrategy::assigned(sdk::Pod pod) {
  if (!learns_) return;
  TypicalPod seen{pod.request("cpu"), 0, 0, {}, 1};
  if (const Allocation* allocation = store_.accounts().allocation_of(pod.uid())) {
    for (const DeviceShare& share : *allocation) {
      if (share.type != gpu_ || seen.gpus == FreeGpus::kMaxGpus) continue;
      ++seen.gpus;
      const int32_t milli = share.whole ? kWholeGpu : milli_of(types_.type(gpu_), share.amounts);
      seen.gpu_milli = std::max(seen.gpu_milli, milli);
    }
    if (seen.gpus > 0) seen.models = wanted_models(pod);
  }
  if (seen.gpus > 0 && seen.gpu_milli <= 0) return;
  census_.assigned(pod.uid(), std::move(seen));
}

void FragmentationStrategy::take_mix() {
  if (!learns_) return;
  auto mix = census_.changed_mix();
  if (!mix || *mix == memo_.fragmentation()->mix().pods()) return;
  memo_.use(std::make_shared<const Fragmentation>(measure_, GpuMix(*std::move(mix))));
  // Scores that somebody keeps rest on the old mix.
  for (uint32_t slot = 0; slot < host_.slot_count(); ++slot) host_.touch_node(slot);
}

FragmentationMemo::Node FragmentationStrategy::view(sdk::Node node,
                                                    const NodeState* devices) const {
  const DeviceStore::Facts& facts = store_.facts(node.slot());
  const bool by_object =
      devices != nullptr && devices->object != nullptr && !devices->object->gpu_model.empty();
  return {
      node.slot(), devices, facts.version,
      by_object ? std::string_view(devices->object->gpu_model) : std::string_view(facts.gpu_model),
      free_cpu(node)};
}

FragmentationMemo::Request FragmentationStrategy::request_of(sdk::Pod pod,
                                                             const Asked& asked) const {
  const sdk::Resources requests = pod.requests();
  return {asked.request == nullptr ? nullptr : asked.request->find(gpu_),
          requests.amount(uint32_t{PLIMSOLL_RESOURCE_CPU})};
}

int64_t FragmentationStrategy::rank_changed(sdk::Node node, const DeviceChanges::Changes& changes,
                                            const FragmentationMemo::Request& request) const {
  const NodeState* real = devices_of(node);
  if (real == nullptr)
    return rank_of(*memo_.fragmentation(), types_, gpu_, view(node, nullptr), request);
  const NodeState changed = changed_node(store_.accounts(), allocator_,
                                         store_.facts(node.slot()).labels(), *real, changes);
  return rank_of(*memo_.fragmentation(), types_, gpu_, view(node, &changed), request);
}

void FragmentationStrategy::rank(plimsoll_cycle& cycle, sdk::Pod pod, const Asked& asked,
                                 sdk::Nodes nodes) {
  take_mix();
  const FragmentationMemo::Request request = request_of(pod, asked);
  uint32_t last = 0;
  for (size_t i = 0; i < nodes.size(); ++i) last = std::max(last, nodes[i].slot());
  FragmentationMemo::Ranks ranks = memo_.begin(request, size_t{last} + 1);
  Ranks state;
  state.slots.reserve(nodes.size());
  state.ranks.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const sdk::Node node = nodes[i];
    const DeviceChanges::Changes* changes =
        asked.changes == nullptr ? nullptr : asked.changes->on(node.slot());
    state.slots.push_back(node.slot());
    state.ranks.push_back(changes == nullptr ? ranks.of(view(node, devices_of(node)))
                                             : rank_changed(node, *changes, request));
  }
  host_.set_state(cycle, std::move(state));
}

void FragmentationStrategy::score(const plimsoll_cycle& cycle, sdk::Pod pod, const Asked& asked,
                                  sdk::Nodes nodes, std::span<int64_t> scores) const {
  const Ranks* ranks = host_.state<Ranks>(cycle);
  const FragmentationMemo::Request request = request_of(pod, asked);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const sdk::Node node = nodes[i];
    if (ranks != nullptr && i < ranks->slots.size() && ranks->slots[i] == node.slot()) {
      scores[i] = ranks->ranks[i];
      continue;
    }
    const DeviceChanges::Changes* changes =
        asked.changes == nullptr ? nullptr : asked.changes->on(node.slot());
    scores[i] = changes == nullptr ? rank_of(*memo_.fragmentation(), types_, gpu_,
                                             view(node, devices_of(node)), request)
                                   : rank_changed(node, *changes, request);
  }
}

void FragmentationStrategy::normalize(sdk::Nodes nodes, std::span<int64_t> scores) {
  if (scores.empty()) return;
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  const int64_t least = *low;
  const int64_t most = *high;
  size_t best = scores.size();
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] == most && (best == scores.size() || nodes[i].name() < nodes[best].name()))
      best = i;
  for (int64_t& score : scores)
    score = most == least ? kBest - 1 : (kBest - 1) * (score - least) / (most - least);
  scores[best] = kBest;
}

Positions FragmentationStrategy::best(const NodeState& node, const Want& want,
                                      const Positions& found) {
  if (want.type != gpu_ || !reserved_ || found.size() < 2) return found;
  const FragmentationMemo::Node seen = view(reserved_, &node);
  FreeGpus before = free_gpus(node.type(gpu_));
  before.model = memo_.fragmentation()->mix().model_number(seen.model);
  before.cpu_milli = seen.free_cpu;  // without what this pod takes: it is assumed already
  Positions best;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const int position : found) {
    const DeviceState& device = node.type(gpu_).at(position);
    const int32_t free = free_milli(device);
    FreeGpus left = before;
    const int at = left.first_with(free);
    if (at == left.count() || left.at(at) != free) return found;
    left.take(at, std::min(asked_milli(want.per_device, device), free));
    const int64_t value = memo_.of(left);
    if (value > least) continue;
    if (value < least) best.clear();
    least = value;
    best.push_back(position);
  }
  return best;
}

}  // namespace plimsoll::devices
