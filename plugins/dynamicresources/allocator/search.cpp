#include "plugins/dynamicresources/allocator/search.hpp"

#include <algorithm>
#include <limits>

namespace plimsoll::dra {

Search::Search(Inventory& inventory, const Allocated& allocated, const Plan& plan,
               uint64_t most_work)
    : inventory_(inventory),
      allocated_(allocated),
      plan_(plan),
      most_on_a_node_(most_work),
      work_left_(Allocator::kMostNodes * most_work),
      judged_before_(inventory.judged()),
      consumptions_(plan.alternatives.size()),
      all_(plan.alternatives.size()),
      results_(plan.claims.size()),
      seen_(plan.constraints.size()),
      chosen_(plan.requests.size()) {}

Outcome Search::run(const NodePools& pools, bool with_picks, Near near) {
  Outcome outcome;
  const auto fail = [&](Failure failure) {
    outcome.kind = Outcome::Kind::kError;
    outcome.failure = std::move(failure);
    return outcome;
  };
  if (!pools.error.empty()) return fail({Fault::kNodeSelector, pools.error});
  work_ = steps_ = 0;
  if (std::optional<Failure> failure = check(pools)) return fail(*failure);

  const uint64_t looks = 2 * uint64_t{sites_} * plan_.alternatives.size();
  work_limit_ = std::min(most_on_a_node_, work_left_) + looks;
  selectable_.assign(plan_.alternatives.size(), {});
  drawn_.assign(pools.pools.size(), {});
  last_pick_.resize(std::max<size_t>(last_pick_.size(), sites_));
  away_.clear();
  away_left_ = near.most;
  for (uint32_t position = 0; near.is_away != nullptr && position < sites_; ++position)
    away_.push_back((*near.is_away)(*site(position).device));
  failure_ = {};
  ahead_ = impatient_ = false;
  patience_ = 64;
  for (const Plan::RequestOf& request : plan_.requests) {
    patience_ += 2 * static_cast<uint64_t>(std::min(count_of(request.first), kMostResults));
  }
  End end = search();
  if (impatient_) {
    impatient_ = false;
    look_ahead();
    end = search();
  }
  outcome.steps = steps_;
  if (work_ > looks) work_left_ -= std::min(work_left_, work_ - looks);
  if (end == End::kDone) {
    outcome.kind = Outcome::Kind::kAllocated;
    if (with_picks) {
      for (const Pick& pick : picks_) {
        outcome.picks.push_back({pick.alternative, pick.device, pick.consumption});
      }
      outcome.chosen = chosen_;
    }
  }
  while (!picks_.empty()) take_back();
  away_.clear();
  if (end == End::kDone) return outcome;
  if (failure_.fault != Fault::kNone) return fail(failure_);
  if (end == End::kStop) {
    outcome.kind = Outcome::Kind::kTimedOut;
  } else if (pools.any_invalid) {
    return fail({Fault::kInvalidPoolOnNode, "invalid resource pools were encountered"});
  }
  return outcome;
}

int64_t Search::count_of(uint32_t alternative) const {
  const Plan::Alternative& of = plan_.alternatives[alternative];
  return of.all ? static_cast<int64_t>(all_[alternative].size()) : of.count;
}

// The checks before the search. Only "all" depends on the node.
std::optional<Failure> Search::check(const NodePools& pools) {
  pools_ = &pools;
  sites_ = 0;
  offsets_.clear();
  for (const NodePools::Entry& entry : pools.pools) {
    offsets_.push_back(sites_);
    sites_ += static_cast<uint32_t>(entry.view->devices.size());
  }
  if (checked_) return static_failure_;
  checked_ = !plan_.any_all;
  for (const Plan::ClaimOf& claim : plan_.claims) {
    int64_t least = 0;
    for (uint32_t index = claim.first_request; index < claim.end_request; ++index) {
      const Plan::RequestOf& request = plan_.requests[index];
      int64_t needs = std::numeric_limits<int64_t>::max();
      for (uint32_t alternative = request.first; alternative < request.end; ++alternative) {
        const Plan::Alternative& of = plan_.alternatives[alternative];
        if (of.failure.fault != Fault::kNone) return static_failure_ = of.failure;
        if (of.all) {
          if (std::optional<Failure> failure = collect_all(alternative)) return failure;
        }
        needs = std::min(needs, count_of(alternative));
      }
      if (needs > kMostResults - least) {
        return static_failure_ = Failure{
                   Fault::kTooManyDevices,
                   "claim " + name_of(*claim.claim) + ", request " +
                       claim.claim->requests[index - claim.first_request].name + ": adding " +
                       std::to_string(needs) + " devices exceeds the claim limit of " +
                       std::to_string(kMostResults) + ", with " + std::to_string(least) +
                       " already accounted for"};
      }
      least += needs;
    }
    if (claim.failure.fault != Fault::kNone) return static_failure_ = claim.failure;
  }
  return {};
}

// The devices that a request for "all" must have, whoever holds them.
std::optional<Failure> Search::collect_all(uint32_t alternative) {
  const Plan::Alternative& of = plan_.alternatives[alternative];
  all_[alternative].clear();
  for (const NodePools::Entry& entry : pools_->pools) {
    const PoolView& view = *entry.view;
    if (view.state != PoolView::State::kUsable) {
      const bool incomplete = view.state == PoolView::State::kIncomplete;
      return Failure{incomplete ? Fault::kAllPoolIncomplete : Fault::kAllPoolInvalid,
                     of.where + ": asks for all devices, but resource pool " + view.driver + "/" +
                         view.pool + " is currently " + (incomplete ? "being updated" : "invalid")};
    }
    const uint32_t offset = offsets_[static_cast<size_t>(&entry - pools_->pools.data())];
    for (uint32_t index = 0; index < view.devices.size(); ++index) {
      if (inventory_.judged() - judged_before_ > Allocator::kMostJudged) return {};
      const Site at = site(offset + index);
      Failure failure;
      const Judgement::Kind selected = selects(of, at, &failure);
      if (failure.fault != Fault::kNone) return failure;
      if (selected != Judgement::Kind::kTrue) continue;
      const Consumption& consumption = consumption_of(alternative, *at.device);
      if (consumption.fault != CapacityFault::kNone) {
        return Failure{consumption.fault == CapacityFault::kNegative
                           ? Fault::kCapacityNegative
                           : Fault::kCapacityNotRepresentable,
                       of.where + ": checking capacity for device " + at.device->device->name +
                           ": " + consumption.error};
      }
      if (consumption.fits) all_[alternative].push_back(at.position);
    }
  }
  return {};
}

// A machine instead of a recursion: a pod may have many claims.
Search::End Search::search() {
  frames_.clear();
  failed_.clear();
  while (!picks_.empty()) take_back();
  End child = enter_request(0);
  while (!frames_.empty()) {
    std::optional<End> over;
    if (child != End::kOpen) over = hear(frames_.back(), child);
    if (!over) over = choose(child);
    if (!over) continue;
    Frame& frame = frames_.back();
    if (!frame.of_device && *over == End::kTooMany && frame.request > 0 &&
        plan_.requests[frame.request].begins_claim) {
      over = End::kNone;  // an earlier claim may leave other devices
    }
    if (!frame.key.empty() && (*over == End::kNone || *over == End::kTooMany)) {
      constexpr size_t kMostBytes = size_t{16} << 20;
      dead_end_bytes_ += frame.key.size() + 64;
      if (dead_end_bytes_ < kMostBytes) dead_ends_.emplace(std::move(frame.key), *over);
    }
    failed_.resize(frame.of_device ? frame.failed_begin : failed_.size());
    frames_.pop_back();
    child = *over;
  }
  return child;
}

bool Search::is_out_of_work() {
  if (!ahead_ && steps_ > patience_) impatient_ = true;
  return impatient_ || work_ > work_limit_ ||
         inventory_.judged() - judged_before_ > Allocator::kMostJudged;
}

Search::End Search::enter_request(uint32_t request) {
  if (request == plan_.requests.size()) return End::kDone;
  const Plan::RequestOf& of = plan_.requests[request];
  Frame frame;
  if (ahead_) {
    frame.key = state_at(request);
    work_ += 1 + frame.key.size() / 64;
    const auto known = dead_ends_.find(frame.key);
    if (known != dead_ends_.end()) return known->second;
  }
  if (of.first_available) ++steps_;
  frame.request = request;
  frame.next = of.first;
  frames_.push_back(std::move(frame));
  return End::kOpen;
}

Search::End Search::enter_device(uint32_t alternative, int64_t device_index, uint32_t next) {
  const Plan::Alternative& of = plan_.alternatives[alternative];
  ++steps_;
  ++work_;
  if (is_out_of_work()) return End::kStop;
  const int64_t count = count_of(alternative);
  if (of.all && count == 0) return End::kNone;
  if (device_index >= count) return enter_request(of.request + 1);
  if (count - device_index > kMostResults - results_[of.claim]) return End::kTooMany;
  if (ahead_ && !may_fail_ && is_hopeless(alternative, device_index, next)) return End::kNone;
  Frame frame;
  frame.of_device = true;
  frame.request = of.request;
  frame.alternative = alternative;
  frame.device_index = device_index;
  frame.next = next;
  frame.failed_begin = failed_.size();
  frames_.push_back(std::move(frame));
  return End::kOpen;
}

// The next choice of the innermost frame; what comes of it goes to `child`. A result: there is none
// left, and the frame is over.
std::optional<Search::End> Search::choose(End& child) {
  Frame& frame = frames_.back();
  if (frame.of_device) return choose_device(child);
  const Plan::RequestOf& of = plan_.requests[frame.request];
  if (frame.next == of.end) {
    return of.first_available && frame.all_too_many ? End::kTooMany : End::kNone;
  }
  frame.alternative = frame.next++;
  child = enter_device(frame.alternative, 0, 0);
  return {};
}

std::optional<Search::End> Search::choose_device(End& child) {
  const Frame& frame = frames_.back();
  const uint32_t alternative = frame.alternative;
  const int64_t device_index = frame.device_index;
  const bool must = plan_.alternatives[alternative].all;
  const bool known = must || ahead_;
  const std::vector<uint32_t>& candidates = must     ? all_[alternative]
                                            : ahead_ ? outlooks_[alternative].candidates
                                                     : selectable_[alternative].positions;
  const auto first = must ? static_cast<uint32_t>(device_index) : frame.next;
  for (uint32_t at = first; at < candidates.size() || (!known && find_more(alternative)); ++at) {
    const uint32_t position = candidates[at];
    if (ahead_ && !may_fail_ && !must && last_pick_[position] == 0 &&
        std::find(failed_.begin() + static_cast<ptrdiff_t>(frame.failed_begin), failed_.end(),
                  classes_[position]) != failed_.end()) {
      continue;  // an equal device led nowhere
    }
    if (is_out_of_work()) return End::kStop;
    const Placed placed = place(alternative, site(position), must);
    if (placed == Placed::kError) return End::kStop;
    if (placed == Placed::kYes) {
      frames_.back().placed = true;
      frames_.back().next = at + 1;
      child = enter_device(alternative, device_index + 1, at + 1);
      return {};
    }
    if (must) break;
  }
  return known || selectable_[alternative].looked_at == sites_ ? End::kNone : End::kStop;
}

// Whether there is one more device that no selector refuses. Each is looked at once, and only when
// the search comes there: expressions are slow, and may fail.
bool Search::find_more(uint32_t index) {
  const Plan::Alternative& alternative = plan_.alternatives[index];
  Selectable& known = selectable_[index];
  while (known.looked_at < sites_ && !is_out_of_work()) {
    const Site at = site(known.looked_at++);
    ++work_;
    if (!alternative.asked->admin_access && allocated_.is_taken(at.device->number)) continue;
    const bool waits = last_pick_[at.position] != 0;  // in use: not asked now
    if (!waits && selects(alternative, at, nullptr) == Judgement::Kind::kFalse) continue;
    known.positions.push_back(at.position);
    return true;
  }
  return false;
}

// What came of the last choice. A result: the frame is over with it.
std::optional<Search::End> Search::hear(Frame& frame, End child) {
  if (child == End::kDone) {
    if (!frame.of_device) chosen_[frame.request] = frame.alternative;
    return child;
  }
  if (frame.of_device) {
    if (child == End::kStop) return child;  // all is taken back at the end
    const uint32_t position = picks_.back().position;
    take_back();
    frame.placed = false;
    if (child == End::kTooMany || plan_.alternatives[frame.alternative].all) return child;
    if (ahead_ && !may_fail_ && last_pick_[position] == 0) failed_.push_back(classes_[position]);
    return {};
  }
  if (child == End::kStop || !plan_.requests[frame.request].first_available) return child;
  if (child != End::kTooMany) frame.all_too_many = false;
  return {};
}

}  // namespace plimsoll::dra
