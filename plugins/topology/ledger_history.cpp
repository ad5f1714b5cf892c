#include "plugins/topology/ledger_history.hpp"

#include <algorithm>
#include <bit>

#include "plugins/topology/amount.hpp"
#include "plugins/topology/placement.hpp"
#include "plugins/topology/room.hpp"

namespace plimsoll::topology {
namespace {

using kubelet::Allocation;
using kubelet::PodDemand;

// Init containers whose memory comes free when they end, if the memory manager shows that.
bool frees_memory_at_start(const Allocation& held) {
  return std::any_of(held.blocks.begin(), held.blocks.end(),
                     [](const Allocation::Block& b) { return b.init && b.block.bytes > 0; });
}

}  // namespace

Ledger::History::History(const NodeRecord& the_node, std::span<const PodKey> without)
    : node(the_node), base(the_node.state) {
  unclear = report_unclear(node);
  for (size_t i = 0; i < node.pods.size(); ++i) {
    const PodRecord& pod = node.pods[i];
    add_pod(i, std::find(without.begin(), without.end(), pod.key) != without.end());
  }
  for (const GonePod& gone : node.gone) add_gone(gone);
  order();
}

uint32_t Ledger::History::add_subject(std::shared_ptr<const PodDemand> demand,
                                      std::shared_ptr<const Allocation> held, size_t pod) {
  subjects.push_back({demand.get(), std::move(held)});
  demands.push_back(std::move(demand));
  pods.push_back(pod);
  given.emplace_back();
  return static_cast<uint32_t>(subjects.size() - 1);
}

void Ledger::History::add(Step::Kind kind, uint32_t subject, const Moment& moment, bool optional) {
  events.push_back({kind, optional, subject, moment});
}

// A report of counts shows neither CPUs nor devices that only init containers of a pod needed and
// that the pod keeps.
void Ledger::hide(const kubelet::NodeModel& model, kubelet::NodeState& state,
                  const std::vector<Charge>& charges) {
  for (const Charge& charge : charges) {
    const auto zone = std::find(model.zone_ids.begin(), model.zone_ids.end(), charge.zone_id);
    if (charge.held == 0 || zone == model.zone_ids.end()) continue;
    const auto column = static_cast<size_t>(zone - model.zone_ids.begin());
    int64_t* free = nullptr;
    int64_t amount = charge.held;
    if (charge.resource == kubelet::kCpuResource) {
      amount /= 1000;
      if (!state.knows_cpus()) free = &state.cpu(model)[column];
    } else if (const uint32_t row = model.device_row(charge.resource);
               row != kubelet::kNoResourceRow && !model.devices[row].listed()) {
      free = &state.devices(model, row)[column];
    }
    if (free != nullptr) *free = std::max<int64_t>(0, *free - amount);
  }
}

// What is free at least of what the report counts, wherever everything else is.
kubelet::NodeState Ledger::least_state(const NodeRecord& node) {
  kubelet::NodeState least = node.state;
  for (const PodRecord& pod : node.pods) {
    if (pod.covered && pod.trusted && !node.exact) hide(*node.model, least, pod.charges);
  }
  return least;
}

bool Ledger::History::follows_memory(const NodeRecord& node) {
  return node.model->memory_static && node.exact;
}

bool Ledger::History::may_start(const NodeRecord& node, const PodDemand& pod) {
  return follows_memory(node) && may_free_memory_at_start(pod);
}

void Ledger::History::add_starts(uint32_t subject, const Moment& moment) {
  if (follows_memory(node)) add(Step::Kind::kStart, subject, moment, true);
}

void Ledger::History::add_pod(size_t position, bool goes) {
  const PodRecord& pod = node.pods[position];
  Moment leaves = pod.moment;
  leaves.gone = UINT64_MAX;  // after all that is known
  if (!pod.covered) {
    if (!pod.demand) return;
    if (found_late(pod.moment) && may_hold(*node.model, *pod.demand)) late = true;
    const uint32_t subject = add_subject(pod.demand, nullptr, position);
    add(Step::Kind::kAdmit, subject, pod.moment);
    if (may_start(node, *pod.demand)) add_starts(subject, pod.moment);
    if (goes || pod.leaving) add(Step::Kind::kRelease, subject, leaves, !goes);
    return;
  }
  if (!node.exact && pod.trusted) hide(*node.model, base, pod.charges);
  const bool may_go = goes || pod.leaving;
  if (!node.exact && pod.located && may_go && !pod.charges.empty()) {
    auto held = std::make_shared<const Allocation>(allocation_of(*node.model, pod.charges));
    add(Step::Kind::kRelease, add_subject(nullptr, std::move(held), position), leaves, !goes);
  } else if (node.exact && pod.held) {
    const bool starts = frees_memory_at_start(*pod.held);
    if (!starts && !may_go) return;
    const uint32_t subject = add_subject(nullptr, pod.held, position);
    if (starts) add_starts(subject, pod.moment);
    if (may_go) add(Step::Kind::kRelease, subject, leaves, !goes);
  } else if (may_go && pod.demand && may_hold(*node.model, *pod.demand)) {
    unknown = true;
  } else if (!pod.init_over && node.exact && node.model->memory_static) {
    starts_unknown = true;
  }
}

// A pod that no report counts and that is gone makes a difference to those that the kubelet may
// have admitted while it was there; to others only by what may_leave_traces says.
bool Ledger::History::may_matter(const GonePod& gone) const {
  return std::any_of(node.pods.begin(), node.pods.end(), [&](const PodRecord& pod) {
    return !pod.covered && pod.demand && pod.moment.bound != 0 &&
           pod.moment.bound < gone.moment.gone;
  });
}

// Memory that others hold in a group of zones is not where it was once a pod has come and gone:
// what it gives back goes to the lowest zones, and a zone may have left the group for good. Whether
// the report is from before that or after nobody knows.
bool Ledger::History::may_leave_traces(const GonePod& gone) const {
  if (!follows_memory(node) || !gone.demand->guaranteed) return false;
  for (uint32_t column = 0; column < node.model->zones(); ++column) {
    if (node.state.assignments(*node.model, column) > 0 &&
        std::popcount(node.state.group(*node.model, column)) > 1) {
      return true;
    }
  }
  return false;
}

void Ledger::History::add_gone(const GonePod& gone) {
  if (gone.refused || !gone.demand || !may_hold(*node.model, *gone.demand)) return;
  if (!gone.seen) {
    const bool optional = !may_matter(gone);
    if (gone.moment.bound == 0 || (optional && !may_leave_traces(gone))) return;
    if (found_late(gone.moment)) late = true;
    const uint32_t subject = add_subject(gone.demand, nullptr, kNoPod);
    add(Step::Kind::kAdmit, subject, gone.moment, optional);
    add(Step::Kind::kRelease, subject, gone.moment, optional);
    return;
  }
  std::shared_ptr<const Allocation> held = gone.held;
  if (!node.exact) {
    held = nullptr;
    if (gone.refund) {
      hide(*node.model, base, gone.charges);
      held = std::make_shared<const Allocation>(allocation_of(*node.model, gone.charges));
    }
  }
  if (held == nullptr) {
    unknown = true;
    return;
  }
  add(Step::Kind::kRelease, add_subject(nullptr, std::move(held), kNoPod), gone.moment);
}

// What is known of the order; see the class.
bool Ledger::History::precedes(const Event& a, const Event& b) const {
  if (a.subject == b.subject) return a.kind == Step::Kind::kAdmit && b.kind != Step::Kind::kAdmit;
  if (b.kind != Step::Kind::kAdmit || a.optional) return false;
  if (a.kind == Step::Kind::kStart) return false;
  if (a.kind == Step::Kind::kRelease) {
    return a.moment.gone != UINT64_MAX && (b.moment.bound == 0 || a.moment.gone < b.moment.bound);
  }
  const Moment& first = a.moment;
  const Moment& second = b.moment;
  if (first.bound == 0) return false;
  if (second.bound == 0) return true;
  if (!first.fresh || !second.fresh) return false;
  if (first.version != 0 && second.version != 0) return first.version < second.version;
  return first.bound < second.bound;
}

// Sorts the events by when this ledger heard of them, as far as what is known for sure allows.
void Ledger::History::order() {
  const auto heard = [](const Event& event) {
    const Moment& m = event.moment;
    if (event.kind == Step::Kind::kRelease) return m.gone;
    if (event.kind == Step::Kind::kStart) return UINT64_MAX - 1;
    return m.bound != 0 ? m.bound : UINT64_MAX / 2 + m.reserved;
  };
  std::stable_sort(events.begin(), events.end(),
                   [&](const Event& a, const Event& b) { return heard(a) < heard(b); });
  for (size_t at = 0; at < events.size(); ++at) {
    for (size_t i = at; i < events.size(); ++i) {
      const bool first =
          std::none_of(events.begin() + static_cast<std::ptrdiff_t>(at), events.end(),
                       [&](const Event& other) { return precedes(other, events[i]); });
      if (!first) continue;
      const auto begin = events.begin() + static_cast<std::ptrdiff_t>(at);
      std::rotate(begin, events.begin() + static_cast<std::ptrdiff_t>(i),
                  events.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      break;
    }
  }
}

void Ledger::History::fold(kubelet::Scratch& scratch) {
  // Releases of what was held before, if every admission came later, commute with the rest.
  const auto settled = [&](const Event& event) {
    if (event.optional) return false;
    // A pod that is asked about may come before bindings under way.
    if (event.kind == Step::Kind::kAdmit && event.moment.bound == 0) return false;
    return std::all_of(events.begin(), events.end(), [&](const Event& other) {
      if (&other == &event || precedes(event, other)) return true;
      return event.kind == Step::Kind::kRelease && other.kind != Step::Kind::kAdmit &&
             other.subject != event.subject;
    });
  };
  for (size_t i = 0; i < events.size();) {
    const Event event = events[i];
    if (!settled(events[i])) {
      if (event.kind != Step::Kind::kRelease) break;  // a later release may still be settled
      ++i;
      continue;
    }
    Subject& subject = subjects[event.subject];
    if (event.kind == Step::Kind::kAdmit) {
      kubelet::Admission admission = admit_and_start(*node.model, base, *subject.demand, scratch);
      if (admission.admitted()) {
        auto shared = std::make_shared<const kubelet::Admission>(std::move(admission));
        subject.held = std::shared_ptr<const Allocation>(shared, &shared->allocation);
        given[event.subject] = std::move(shared);
      }
    } else if (subject.held) {
      kubelet::release(*node.model, base, *subject.held);
      subject.held = nullptr;
    }
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
  // An option that changes nothing is none.
  std::erase_if(events, [&](const Event& event) {
    if (event.kind != Step::Kind::kStart) return false;
    const Subject& subject = subjects[event.subject];
    const bool admitted = std::none_of(events.begin(), events.end(), [&](const Event& other) {
      return other.subject == event.subject && other.kind == Step::Kind::kAdmit;
    });
    return admitted && (!subject.held || !frees_memory_at_start(*subject.held));
  });
  const auto admits = [](const Event& event) { return event.kind == Step::Kind::kAdmit; };
  const auto optional = [](const Event& event) { return event.optional; };
  open_ended = std::none_of(events.begin(), events.end(), admits) &&
               std::any_of(events.begin(), events.end(), optional);
}

void Ledger::History::drop_options() {
  if (open_ended) std::erase_if(events, [](const Event& event) { return event.optional; });
}

std::vector<size_t> Ledger::History::refused(std::span<const World> worlds) const {
  std::vector<size_t> refused;
  for (size_t i = 0; i < subjects.size(); ++i) {
    if (pods[i] == kNoPod || !demands[i] || given[i]) continue;
    const auto admits = [i](const World& world) { return world.given[i] != nullptr; };
    if (std::none_of(worlds.begin(), worlds.end(), admits)) refused.push_back(pods[i]);
  }
  return refused;
}

bool Ledger::History::to_steps() {
  steps.clear();
  if (events.size() > kMaxSteps) return false;
  for (size_t i = 0; i < events.size(); ++i) {
    Step step;
    step.kind = events[i].kind;
    step.optional = events[i].optional;
    step.subject = events[i].subject;
    for (size_t k = 0; k < events.size(); ++k) {
      if (k != i && precedes(events[k], events[i])) step.after |= uint64_t{1} << k;
      // Bindings under way of pods that are the same to the kubelet: one order stands for all.
      const bool twins = k < i && step.kind == Step::Kind::kAdmit &&
                         events[k].kind == Step::Kind::kAdmit && events[i].moment.bound == 0 &&
                         events[k].moment.bound == 0;
      if (twins && same_demand(*demands[events[k].subject], *demands[step.subject])) {
        step.after |= uint64_t{1} << k;
      }
    }
    steps.push_back(step);
  }
  return true;
}

}  // namespace plimsoll::topology
