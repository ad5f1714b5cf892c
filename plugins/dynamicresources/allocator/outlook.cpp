#include <algorithm>
#include <map>

#include "plugins/dynamicresources/allocator/search.hpp"

namespace plimsoll::dra {
namespace {

template <typename T>
void append(std::string& text, const T& value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void append(std::string& text, std::vector<uint32_t> values) {
  std::sort(values.begin(), values.end());
  append(text, values.size());
  for (const uint32_t value : values) append(text, value);
}

}  // namespace

void Search::look_ahead() {
  while (!picks_.empty()) take_back();
  ahead_ = true;
  may_fail_ = false;
  dead_ends_.clear();
  dead_end_bytes_ = 0;
  outlooks_.assign(plan_.alternatives.size(), {});
  for (uint32_t alternative = 0; alternative < outlooks_.size() && !is_out_of_work();
       ++alternative) {
    look_at(alternative);
  }
  classify();
  group();
  least_after_.assign(plan_.requests.size() + 1, 0);
  for (size_t index = plan_.requests.size(); index-- > 0;) {
    const Plan::RequestOf& request = plan_.requests[index];
    int64_t least = kMostResults + 1;
    for (uint32_t alternative = request.first; alternative < request.end; ++alternative) {
      least = std::min(least, count_of(alternative));
    }
    const bool ends_claim = index + 1 == plan_.claims[request.claim].end_request;
    least_after_[index] = least + (ends_claim ? 0 : least_after_[index + 1]);
  }
}

// Which devices may ever do, and whether an error may be met. Nothing is picked now.
void Search::look_at(uint32_t index) {
  const Plan::Alternative& alternative = plan_.alternatives[index];
  Outlook& outlook = outlooks_[index];
  const auto never_does = [&](const Site& at) {
    return in_use(alternative, at) || (away_left_ == 0 && is_away(alternative, at)) ||
           !has_room(consumption_of(index, *at.device), at) ||
           (at.device->slice->spec.skips_node_operations && inventory_.gates().list_attributes) ||
           !counters_allow(at) || !tolerated(*at.device->device, *alternative.asked);
  };
  work_ += alternative.all ? all_[index].size() : sites_;
  if (alternative.all) {
    outlook.candidates = all_[index];
    for (const uint32_t position : all_[index]) {
      const Site at = site(position);
      const bool never = never_does(at);
      // A constraint that does not agree is an error, unless the device is refused before.
      may_fail_ = may_fail_ || (!alternative.constraints.empty() && !outlook.dead && !never);
      outlook.dead = outlook.dead || never;
      outlook.exclusive = outlook.exclusive && !at.device->device->allow_multiple_allocations;
    }
    return;
  }
  for (uint32_t position = 0; position < sites_; ++position) {
    const Site at = site(position);
    if (in_use(alternative, at)) continue;
    const Judgement::Kind selected = selects(alternative, at, nullptr);
    if (selected == Judgement::Kind::kFalse) continue;
    const bool fails = selected != Judgement::Kind::kTrue ||
                       consumption_of(index, *at.device).fault != CapacityFault::kNone;
    may_fail_ = may_fail_ || fails;
    if (!fails) {
      const auto refuses = [&](uint32_t constraint) { return !agrees(constraint, *at.device); };
      if (never_does(at) ||
          std::any_of(alternative.constraints.begin(), alternative.constraints.end(), refuses)) {
        continue;
      }
    }
    outlook.candidates.push_back(position);
    outlook.exclusive = outlook.exclusive && !at.device->device->allow_multiple_allocations;
  }
}

// Devices are equal if they are candidates of the same alternatives, take the same of the same
// counters and capacities, and look the same to all constraints.
void Search::classify() {
  classes_.resize(sites_);
  for (uint32_t position = 0; position < sites_; ++position) classes_[position] = position;
  if (may_fail_) return;
  std::map<uint32_t, std::string> looks;  // by position
  for (uint32_t index = 0; index < outlooks_.size(); ++index) {
    for (const uint32_t position : outlooks_[index].candidates) {
      std::string& look = looks[position];
      append(look, index);
      const KnownDevice& device = *site(position).device;
      if (!device.device->allow_multiple_allocations) continue;
      for (const Quantity& amount : consumption_of(index, device).amounts) {
        append(look, amount.nanos());
      }
    }
  }
  std::unordered_map<std::string, uint32_t> known;
  for (auto& [position, look] : looks) {
    const Site at = site(position);
    const Device& device = *at.device->device;
    append(look, UINT32_MAX);
    append(look, device.allow_multiple_allocations);
    append(look, !away_.empty() && away_[position]);
    if (at.draws != nullptr && !is_charged(at)) {
      append(look, at.entry);
      for (const CounterTable::Draw& draw : *at.draws) {
        append(look, draw.counter);
        append(look, draw.amount);
      }
    }
    if (device.allow_multiple_allocations) {
      const Allocated::Use* use = allocated_.use_of(at.device->number);
      append(look, device.capacity.size());
      for (const auto& [name, capacity] : device.capacity) {
        Quantity::Nanos left = countable(capacity.value);
        if (use != nullptr && use->consumed.contains(name)) left -= use->consumed.at(name);
        append(look, left);
      }
    }
    for (const Plan::ConstraintOf& constraint : plan_.constraints) {
      const uint32_t value = inventory_.value(*constraint.attribute, *at.device);
      if (value >= kFirstListValue && value < kUnreadValue) {
        append(look, Inventory::list(*constraint.attribute, *at.device, value));
      } else {
        append(look, std::vector<uint32_t>{value});
      }
    }
    classes_[position] = known.try_emplace(std::move(look), position).first->second;
  }
}

void Search::group() {
  std::map<std::vector<uint32_t>, uint32_t> groups;
  for (Outlook& outlook : outlooks_) {
    const auto next = static_cast<uint32_t>(groups.size());
    outlook.group = groups.try_emplace(outlook.candidates, next).first->second;
  }
}

// Whether an alternative may take the device as things are. In a later claim only what is in use
// counts.
bool Search::may_take(uint32_t index, uint32_t position, bool in_claim) {
  ++work_;
  const Plan::Alternative& alternative = plan_.alternatives[index];
  const Site at = site(position);
  if (in_use(alternative, at)) return false;
  if (at.device->device->allow_multiple_allocations &&
      !has_room(consumption_of(index, *at.device), at)) {
    return false;
  }
  if (!counters_allow(at)) return false;
  return !in_claim || std::all_of(alternative.constraints.begin(), alternative.constraints.end(),
                                  [&](uint32_t one) { return agrees(one, *at.device); });
}

bool Search::has_enough(uint32_t index, int64_t need, uint32_t next, bool in_claim) {
  const Outlook& outlook = outlooks_[index];
  const auto size = static_cast<int64_t>(outlook.candidates.size());
  if (outlook.dead || need > size - next) return false;
  if (plan_.alternatives[index].all && need == 0 && size == 0) return false;
  for (auto at = static_cast<int64_t>(next); need > 0 && need <= size - at; ++at) {
    if (may_take(index, outlook.candidates[static_cast<size_t>(at)], in_claim)) --need;
  }
  return need <= 0;
}

// Whether some request must come to nothing, whatever is chosen from here on. Each test is of what
// every solution has, so no solution is lost.
bool Search::is_hopeless(uint32_t index, int64_t device_index, uint32_t next) {
  const Plan::Alternative& alternative = plan_.alternatives[index];
  const uint32_t end_of_claim = plan_.claims[alternative.claim].end_request;
  const int64_t need = count_of(index) - device_index;
  const uint32_t later = alternative.request + 1;
  if (later < end_of_claim &&
      results_[alternative.claim] + need + least_after_[later] > kMostResults) {
    return true;
  }
  const auto from = alternative.all ? static_cast<uint32_t>(device_index) : next;
  if (!has_enough(index, need, from, true)) return true;

  struct Needs {
    int64_t devices = 0;
    size_t requests = 0;
    uint32_t alternative = 0;
    bool alike = true;  // all in this claim, under the same constraints
  };
  std::map<uint32_t, Needs> groups;
  const auto count_in = [&](uint32_t one, int64_t devices) {
    const Plan::Alternative& of = plan_.alternatives[one];
    if (of.all || of.asked->admin_access || !outlooks_[one].exclusive) return;
    Needs& needs = groups[outlooks_[one].group];
    if (needs.requests++ == 0) needs.alternative = one;
    const Plan::Alternative& first = plan_.alternatives[needs.alternative];
    needs.alike = needs.alike && of.claim == alternative.claim && first.claim == of.claim &&
                  of.constraints == first.constraints;
    needs.devices += devices;
  };
  count_in(index, need);
  for (uint32_t request = later; request < plan_.requests.size(); ++request) {
    const Plan::RequestOf& of = plan_.requests[request];
    bool any = false;
    for (uint32_t one = of.first; one < of.end && !any; ++one) {
      any = has_enough(one, count_of(one), 0, request < end_of_claim);
    }
    if (!any) return true;
    if (of.end - of.first == 1) count_in(of.first, count_of(of.first));
  }
  return std::any_of(groups.begin(), groups.end(), [&](const auto& entry) {
    const Needs& needs = entry.second;
    return needs.requests > 1 && !has_enough(needs.alternative, needs.devices, 0, needs.alike);
  });
}

// All that the search from this request on depends on; devices by class, since equal ones may stand
// for one another.
std::string Search::state_at(uint32_t request) const {
  const Plan::RequestOf& of = plan_.requests[request];
  const Plan::ClaimOf& claim = plan_.claims[of.claim];
  std::string state;
  append(state, request);
  append(state, away_left_);
  std::vector<std::pair<uint32_t, bool>> exclusive;
  std::vector<std::string> shared;
  for (uint32_t index = 0; index < picks_.size(); ++index) {
    const Pick& pick = picks_[index];
    if (last_pick_[pick.position] != index + 1) continue;
    const uint32_t of_class = classes_[pick.position];
    if (!pick.device->device->allow_multiple_allocations) {
      const bool by_claim =
          claim.any_admin && plan_.alternatives[pick.alternative].claim == of.claim;
      exclusive.emplace_back(of_class, by_claim);
      continue;
    }
    std::vector<uint32_t> takers;
    for (uint32_t one = index + 1; one != 0; one = picks_[one - 1].before) {
      takers.push_back(picks_[one - 1].alternative);
    }
    append(shared.emplace_back(), of_class);
    append(shared.back(), std::move(takers));
  }
  std::sort(exclusive.begin(), exclusive.end());
  std::sort(shared.begin(), shared.end());
  append(state, exclusive.size());
  for (const auto& [of_class, by_claim] : exclusive) {
    append(state, of_class);
    append(state, by_claim);
  }
  for (const std::string& one : shared) state += one;
  if (of.begins_claim) return state;
  append(state, results_[of.claim]);
  for (uint32_t constraint = claim.first_constraint; constraint < claim.end_constraint;
       ++constraint) {
    const Seen& seen = seen_[constraint];
    const size_t begin =
        plan_.constraints[constraint].distinct || seen.begins.empty() ? 0 : seen.begins.back();
    append(state, seen.begins.empty());
    append(state, std::vector<uint32_t>(seen.values.begin() + static_cast<ptrdiff_t>(begin),
                                        seen.values.end()));
  }
  return state;
}

}  // namespace plimsoll::dra
