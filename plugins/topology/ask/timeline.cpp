#include "plugins/topology/ask/timeline.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/possible/arrival.hpp"
#include "plugins/topology/possible/room.hpp"
#include "plugins/topology/record/own_claims.hpp"

namespace plimsoll::topology {

using kubelet::Allocation;
using kubelet::NodeState;
using kubelet::PodDemand;

namespace {

// Adds what may come free of `held`: all of it, or what its plain init containers leave. Both may
// happen one after the other.
void add_pending(const Allocation& held, bool all, std::vector<Allocation>& pending) {
  Allocation init;
  Allocation rest = held;
  const auto of_init = [](const Allocation::Block& block) { return block.init; };
  std::copy_if(held.blocks.begin(), held.blocks.end(), std::back_inserter(init.blocks), of_init);
  std::erase_if(rest.blocks, of_init);
  if (!init.empty()) pending.push_back(std::move(init));
  if (all && !rest.empty()) pending.push_back(std::move(rest));
}

// A report of counts shows neither CPUs nor devices that only init containers of a pod needed and
// that the pod keeps, and nothing of what claims have, of memory neither.
void hide(const kubelet::NodeModel& model, NodeState& state, const Charge& charge, bool of_claims) {
  const auto zone = std::find(model.zone_ids.begin(), model.zone_ids.end(), charge.zone_id);
  if (charge.held == 0 || zone == model.zone_ids.end()) return;
  const auto column = static_cast<size_t>(zone - model.zone_ids.begin());
  int64_t* free = nullptr;
  int64_t amount = charge.held;
  if (charge.resource == kubelet::kCpuResource) {
    amount = amount / 1000 + (of_claims && amount % 1000 > 0 ? 1 : 0);
    if (!state.knows_cpus()) free = &state.cpu(model)[column];
  } else if (const uint32_t row = model.device_row(charge.resource);
             row != kubelet::kNoResourceRow && !model.devices[row].listed()) {
    free = &state.devices(model, row)[column];
  } else if (const uint32_t of = model.memory_row(charge.resource);
             of_claims && of != kubelet::kNoResourceRow) {
    free = &state.memory(model, of)[column];
  }
  if (free != nullptr) *free = std::max<int64_t>(0, *free - amount);
}

// All that claims have of a zone is rounded once. `asking` has what it asks for again already.
void hide_claims(const NodeRecord& node, NodeState& state, const Inquiry* asking) {
  if (node.claims.empty()) return;
  AskedAgain again;
  if (asking != nullptr) again = asked_again(node, asking->asker, *asking->demand);
  std::map<std::pair<uint32_t, uint32_t>, int64_t> held;  // by zone and resource
  for (const auto& [pod, charges] : node.claims) {
    const bool own = again.rest != nullptr && pod == asking->asker;
    for (const Charge& one : charges) {
      if (own && std::ranges::find(again.resources, one.resource) != again.resources.end())
        continue;
      int64_t& all = held[{one.zone_id, one.resource}];
      all = add_amounts(all, one.held);
    }
  }
  for (const auto& [where, amount] : held) {
    hide(*node.report.model, state, {where.first, where.second, amount, amount}, true);
  }
}

}  // namespace

Timeline::Timeline(const NodeRecord& the_node, std::span<const PodKey> without,
                   const Inquiry* asking)
    : node(the_node),
      report(the_node.report),
      model(*the_node.report.model),
      base(the_node.report.state),
      unclear(the_node.report_unclear()) {
  if (!report.exact) hide_claims(node, base, asking);
  if (unclear) grow(Grows::kAnything);
  for (size_t i = 0; i < node.pods.size(); ++i) {
    add_pod(i, std::find(without.begin(), without.end(), node.pods[i].key) != without.end());
  }
  for (const GonePod& gone : node.gone) add_gone(gone);
  // The report names a pod that nobody knows: it may be gone.
  const auto known = std::count_if(node.pods.begin(), node.pods.end(),
                                   [](const PodRecord& pod) { return pod.located(); }) +
                     std::count_if(node.gone.begin(), node.gone.end(),
                                   [](const GonePod& gone) { return gone.pod.located(); });
  if (static_cast<size_t>(known) < node.report.holders.size()) grow(Grows::kAnything);
  std::stable_sort(departures.begin(), departures.end(),
                   [](const Departure& a, const Departure& b) { return a.moment < b.moment; });
  const auto earlier = [](const Arrival& one, const Arrival& other) {
    const Moment& a = one.moment;
    const Moment& b = other.moment;
    if ((a.bound == 0) != (b.bound == 0)) return b.bound == 0;
    if (a.bound == 0) return a.reserved < b.reserved;
    return std::pair(a.version, a.bound) < std::pair(b.version, b.bound);
  };
  std::stable_sort(arrivals.begin(), arrivals.end(), earlier);
}

// `known`: all that may come free of it; null: that is not known.
void Timeline::grow(Grows what, const Allocation* known) {
  grows = std::max(grows, what);
  if (known != nullptr) {
    add_pending(*known, what == Grows::kAnything, pending);
  } else {
    pending_known = false;
    only_more_room = false;
  }
  blur(UINT64_MAX);
}

bool Timeline::may_start(const NodeRecord& node, const PodDemand& pod) {
  return node.report.model->memory_static && node.report.exact && may_free_memory_at_start(pod);
}

void Timeline::add_pod(size_t position, bool goes) {
  const PodRecord& pod = node.pods[position];
  if (pod.resized && may_hold(model, *pod.resized)) {
    extras.push_back(pod.resized);
    grow(Grows::kAnything);
  }
  if (pod.covered) return add_counted(pod, goes);
  if (!pod.demand || !may_hold(model, *pod.demand)) return;
  if (pod.moment.found_late()) {
    only_more_room = false;
    blur(UINT64_MAX);
  }
  Grows frees = may_start(node, *pod.demand) ? Grows::kMemory : Grows::kNo;
  if (pod.leaving) frees = Grows::kAnything;
  arrivals.push_back({pod.demand, position, pod.moment, goes ? Grows::kNo : frees, goes});
}

void Timeline::add_counted(const PodRecord& pod, bool goes) {
  if (!report.exact && pod.trusted) {
    for (const Charge& charge : pod.charges) hide(model, base, charge, /*of_claims=*/false);
  }
  if (!pod.demand || !may_hold(model, *pod.demand)) return;
  if (!pod.located()) {
    if (!goes && !pod.leaving) return;
    unknown = true;
    return grow(Grows::kAnything);
  }
  const bool init = report.holdings->holds_for_init(pod.line);
  if (!goes && !pod.leaving && !init) return;
  Allocation held = report.held(pod.line);
  if (goes) {
    departures.push_back({std::move(held), UINT64_MAX});
  } else {
    grow(pod.leaving ? Grows::kAnything : Grows::kMemory, &held);
  }
}

// A pod that no report counts and that is gone makes a difference to those that the kubelet may
// have admitted while it was there; to others only by what may_leave_traces says.
bool Timeline::may_matter(const GonePod& gone) const {
  return std::any_of(node.pods.begin(), node.pods.end(), [&](const PodRecord& pod) {
    return !pod.covered && pod.bound() && pod.moment.bound < gone.pod.moment.gone && pod.demand &&
           may_hold(model, *pod.demand);
  });
}

// Memory that others hold in a group of zones is not where it was once a pod has come and gone:
// what it gives back goes to the lowest zones, and a zone may have left the group for good. Whether
// the report is from before that or after nobody knows.
bool Timeline::may_leave_traces(const GonePod& gone) const {
  if (!model.memory_static || !report.exact || !gone.pod.demand->guaranteed) return false;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    if (report.state.assignments(model, column) > 0 &&
        std::popcount(report.state.group(model, column)) > 1) {
      return true;
    }
  }
  return false;
}

void Timeline::add_gone(const GonePod& gone) {
  const PodRecord& pod = gone.pod;
  if (gone.refused || !pod.demand || !may_hold(model, *pod.demand)) return;
  if (pod.located()) {
    departures.push_back({report.held(pod.line), pod.moment.gone});
    blur(pod.moment.gone);
  } else if (pod.covered) {
    unknown = true;
    grow(Grows::kAnything);
  } else if (pod.bound()) {  // else no kubelet ever had it
    if (may_matter(gone)) {
      only_more_room = false;
      blur(pod.moment.found_late() ? UINT64_MAX : pod.moment.gone);
      arrivals.push_back({pod.demand, kGone, pod.moment});
    }
    if (may_leave_traces(gone)) {
      extras.push_back(pod.demand);
      grow(Grows::kAnything);
    }
  }
}

// Of all bindings that were seen, relative to everything else.
bool Timeline::order_is_known() const {
  return !unclear && std::none_of(arrivals.begin(), arrivals.end(), [&](const Arrival& arrival) {
    return arrival.moment.bound != 0 && arrival.moment.bound < blurred_until;
  });
}

Since Timeline::replay(kubelet::Scratch& scratch, Given* given,
                       std::vector<size_t>* refused) const {
  Since since;
  since.unclear = unclear;
  since.grows = grows;
  since.pending = pending;
  since.pending_known = pending_known;
  since.bound = extras;
  since.likely = base;
  since.sure = base;
  std::vector<Departure> leaving = departures;  // that have not left `likely`
  const auto depart_before = [&](uint64_t moment) {
    const auto stays = [&](const Departure& each) { return each.moment >= moment; };
    const auto end = std::find_if(leaving.begin(), leaving.end(), stays);
    for (auto at = leaving.begin(); at != end; ++at) release(model, since.likely, at->held);
    leaving.erase(leaving.begin(), end);
  };
  for (const Departure& departure : departures) release(model, since.sure, departure.held);
  std::vector<std::shared_ptr<const kubelet::Admission>> leave;  // of `without`
  bool known = order_is_known();
  // Without order: all so far have zones that are known, as nothing but room may have been added.
  // Then the node is between `least` and `most`.
  bool placed = !known && !unclear && only_more_room;
  NodeState least = base;
  NodeState most = since.sure;
  for (const Allocation& each : pending) release(model, most, each);
  // From here on nobody knows what comes before what.
  const auto stop_knowing = [&] {
    if (!known) return;
    known = false;
    since.sure = since.likely;
    for (const Departure& each : departures) {
      if (each.moment == UINT64_MAX) release(model, since.sure, each.held);
    }
    for (const auto& each : leave) release(model, since.sure, each->allocation);
  };
  // The pod has come, and some of what it holds may come free.
  const auto add_frees = [&](const Allocation& held, Grows frees) {
    const size_t before = since.pending.size();
    since.grows = std::max(since.grows, frees);
    add_pending(held, frees == Grows::kAnything, since.pending);
    for (size_t i = before; i < since.pending.size(); ++i) release(model, most, since.pending[i]);
  };
  for (const Arrival& arrival : arrivals) {
    const bool bound = arrival.moment.bound != 0;
    depart_before(bound ? arrival.moment.bound : UINT64_MAX);
    if (arrival.pod == kGone) {
      if (unclear) continue;
      const kubelet::Admission had = admit_and_start(model, since.likely, *arrival.demand, scratch);
      const auto later = [&](const Departure& each) { return each.moment > arrival.moment.gone; };
      leaving.insert(std::find_if(leaving.begin(), leaving.end(), later),
                     {had.allocation, arrival.moment.gone});
      continue;
    }
    // All that may have come before or after a departure has a zone that is known, and what came
    // later came after it.
    if (placed && bound && arrival.moment.bound >= blurred_until) {
      known = true;
      placed = false;
    }
    if (!bound) stop_knowing();
    placed = placed && !known && bound && !arrival.goes &&
             lands_alike(model, *arrival.demand, least, most, scratch);
    if (placed) {
      since.version = std::max(since.version, arrival.moment.version);
      if (!most.knows_cpus()) {
        since.likely.forget_cpu_ids(model);
        since.sure.forget_cpu_ids(model);
      }
      const kubelet::Admission had = admit_and_start(model, since.sure, *arrival.demand, scratch);
      if (arrival.frees != Grows::kNo) add_frees(had.allocation, arrival.frees);
    } else if (!known && !arrival.goes) {
      since.add(bound, node.pods[arrival.pod].key, arrival.demand);
    }
    if (unclear) continue;  // the report may count it
    auto admission = std::make_shared<const kubelet::Admission>(
        admit_and_start(model, since.likely, *arrival.demand, scratch));
    if (!admission->admitted()) {  // its kubelet keeps nothing of it
      // By counts alone a kubelet may be thought to refuse what it takes.
      if (!report.exact) take_roomiest(model, since.likely, *arrival.demand);
      if (known && refused != nullptr) refused->push_back(arrival.pod);
      if (!bound && !arrival.goes) since.expect_refusal();
      continue;
    }
    if (arrival.goes) leave.push_back(admission);
    if (known) since.version = std::max(since.version, arrival.moment.version);
    if (known && arrival.frees != Grows::kNo) {
      stop_knowing();
      placed = true;
      least = since.likely;
      most = since.likely;
      for (const Departure& each : leaving) release(model, most, each.held);
      for (const auto& each : leave) release(model, most, each->allocation);
      add_frees(admission->allocation, arrival.frees);
    }
    if (given != nullptr) (*given)[arrival.pod] = std::move(admission);
  }
  depart_before(UINT64_MAX);
  stop_knowing();
  for (const Departure& each : departures) {
    if (each.moment == UINT64_MAX) release(model, since.likely, each.held);
  }
  for (const auto& each : leave) release(model, since.likely, each->allocation);
  if (since.clear()) since.sure = {};
  return since;
}

}  // namespace plimsoll::topology
