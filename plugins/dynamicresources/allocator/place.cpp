#include <algorithm>
#include <functional>

#include "plugins/dynamicresources/allocator/search.hpp"

namespace plimsoll::dra {
namespace {

// resourceclaim.ToleratesTaint
bool tolerates(const Toleration& toleration, const Taint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op.empty() || toleration.op == "Equal") return toleration.value == taint.value;
  return toleration.op == "Exists";
}

bool has(const std::vector<uint32_t>& values, size_t begin, uint32_t value) {
  return std::find(values.begin() + static_cast<ptrdiff_t>(begin), values.end(), value) !=
         values.end();
}

}  // namespace

Search::Site Search::site(uint32_t position) const {
  // The last pool that begins here or before; pools without devices begin where the next one does.
  const auto after = std::upper_bound(offsets_.begin(), offsets_.end(), position);
  const auto entry = static_cast<uint32_t>(after - offsets_.begin() - 1);
  const uint32_t index = position - offsets_[entry];
  const NodePools::Entry& of = pools_->pools[entry];
  return {of.view->devices[index], entry, position,
          of.view->draws.empty() ? nullptr : of.view->draws[index],
          of.here.empty() || of.here[index]};
}

bool Search::in_use(const Plan::Alternative& alternative, const Site& site) const {
  uint32_t last = last_pick_[site.position];
  if (last != 0 && site.device->device->allow_multiple_allocations) last = 0;
  if (alternative.asked->admin_access) {
    return last != 0 && plan_.alternatives[picks_[last - 1].alternative].claim == alternative.claim;
  }
  if (last != 0) return true;
  return allocated_.is_taken(site.device->number);
}

bool Search::is_away(const Plan::Alternative& alternative, const Site& site) const {
  return !away_.empty() && away_[site.position] && !alternative.asked->admin_access;
}

// isSelectable. An error goes to `failure`, and is false.
Judgement::Kind Search::selects(const Plan::Alternative& alternative, const Site& site,
                                Failure* failure) const {
  for (const Plan::Test& test : alternative.tests) {
    const Judgement::Kind kind = inventory_.verdict(*test.expression, *site.device);
    if (kind == Judgement::Kind::kTrue) continue;
    if (kind == Judgement::Kind::kFalse || failure == nullptr) return kind;
    const bool compiles = kind == Judgement::Kind::kRuntimeError;
    failure->fault = compiles ? Fault::kCelRuntime : Fault::kCelCompile;
    const Claim& claim = *plan_.claims[alternative.claim].claim;
    const Slice& slice = site.device->slice->spec;
    std::string& text = failure->error;
    text = test.of_class ? "class " + alternative.device_class->name : "claim " + name_of(claim);
    text += ": selector #" + std::to_string(test.index);
    if (compiles) {
      text += " on device " + slice.driver + "/" + slice.pool + "/" + site.device->device->name;
    }
    text += compiles ? ": CEL runtime error: " : ": CEL compile error: ";
    text += inventory_.judge(*test.expression, *site.device).error;
    if (compiles && text.find("no such key:") != std::string::npos) {
      text +=
          ". consider using CEL optional chaining (.? followed by orValue()) or guarding the "
          "check with has() for optional fields";
    }
    return kind;
  }
  return site.here ? Judgement::Kind::kTrue : Judgement::Kind::kFalse;
}

bool Search::tolerated(const Device& device, const DeviceRequest& asked) {
  return std::all_of(device.taints.begin(), device.taints.end(), [&](const Taint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
    return std::any_of(asked.tolerations.begin(), asked.tolerations.end(),
                       [&](const auto& toleration) { return tolerates(toleration, taint); });
  });
}

const Consumption& Search::consumption_of(uint32_t alternative, const KnownDevice& device) {
  const auto& asked = plan_.alternatives[alternative].asked->capacity;
  if (asked.empty()) return device.whole;
  const auto [at, is_new] = consumptions_[alternative].try_emplace(&device);
  if (is_new) at->second = consumption(*device.device, asked);
  return at->second;
}

bool Search::has_room(const Consumption& consumption, const Site& site) const {
  if (!consumption.fits) return false;
  const Device& device = *site.device->device;
  const uint32_t last = device.allow_multiple_allocations ? last_pick_[site.position] : 0;
  const Allocated::Use* use = allocated_.use_of(site.device->number);
  if (last == 0 && (use == nullptr || use->consumed.empty())) return true;
  size_t index = 0;
  for (const auto& [name, capacity] : device.capacity) {
    Quantity::Nanos sum = countable(consumption.amounts[index]);
    for (uint32_t pick = last; pick != 0; pick = picks_[pick - 1].before) {
      sum += countable(picks_[pick - 1].consumption->amounts[index]);
    }
    if (use != nullptr) {
      const auto already = use->consumed.find(name);
      if (already != use->consumed.end()) sum += already->second;
    }
    if (sum > countable(capacity.value)) return false;
    ++index;
  }
  return true;
}

// A shared device's counters are charged once.
bool Search::is_charged(const Site& site) const {
  if (!site.device->device->allow_multiple_allocations) return false;
  const Allocated::Use* use = allocated_.use_of(site.device->number);
  return (use != nullptr && use->shares > 0) || last_pick_[site.position] != 0;
}

bool Search::counters_allow(const Site& site) const {
  if (site.draws == nullptr || is_charged(site)) return true;
  const PoolView& view = *pools_->pools[site.entry].view;
  const CounterTable::Left& left = view.counters->left(allocated_, view.number);
  if (left.overdrawn) return false;
  const auto& drawn = drawn_[site.entry];
  return std::all_of(site.draws->begin(), site.draws->end(), [&](const CounterTable::Draw& draw) {
    const Quantity::Nanos before = drawn.empty() ? 0 : drawn[draw.counter];
    return before + draw.amount <= left.amounts[draw.counter];
  });
}

// Constraints are about sets: a single value is a set of one (structured/internal/experimental,
// attributeAsSet).
bool Search::agrees(uint32_t constraint, const KnownDevice& device) const {
  const Plan::ConstraintOf& of = plan_.constraints[constraint];
  const Seen& seen = seen_[constraint];
  const uint32_t value = inventory_.value(*of.attribute, device);
  if (value == kNoValue) return false;
  if (value == kUnreadValue) return !inventory_.gates().list_attributes && seen.begins.empty();
  if (seen.begins.empty()) return true;
  const size_t begin = of.distinct ? 0 : seen.begins.back();
  if (value < kFirstListValue) return has(seen.values, begin, value) != of.distinct;
  const auto& list = Inventory::list(*of.attribute, device, value);
  const bool any = std::any_of(list.begin(), list.end(),
                               [&](uint32_t one) { return has(seen.values, begin, one); });
  return any != of.distinct;
}

bool Search::add(uint32_t constraint, const KnownDevice& device) {
  if (!agrees(constraint, device)) return false;
  const Plan::ConstraintOf& of = plan_.constraints[constraint];
  Seen& seen = seen_[constraint];
  const bool narrows = !of.distinct && !seen.begins.empty();
  const size_t begin = narrows ? seen.begins.back() : 0;
  const size_t end = seen.values.size();
  seen.begins.push_back(end);
  const uint32_t value = inventory_.value(*of.attribute, device);
  if (value < kFirstListValue || value == kUnreadValue) {
    seen.values.push_back(value);
    return true;
  }
  for (const uint32_t one : Inventory::list(*of.attribute, device, value)) {
    const auto from = seen.values.begin() + static_cast<ptrdiff_t>(begin);
    const auto to = seen.values.begin() + static_cast<ptrdiff_t>(end);
    if (!narrows || std::find(from, to, one) != to) seen.values.push_back(one);
  }
  return true;
}

void Search::undo(uint32_t constraint) {
  Seen& seen = seen_[constraint];
  seen.values.resize(seen.begins.back());
  seen.begins.pop_back();
}

// Whether the device may be given to the alternative now; if so, it is. `must`: it was selected
// before, and the request stands or falls with it.
Search::Placed Search::place(uint32_t index, const Site& site, bool must) {
  const Plan::Alternative& alternative = plan_.alternatives[index];
  const KnownDevice& device = *site.device;
  ++work_;
  if (in_use(alternative, site)) return Placed::kNo;
  const bool away = is_away(alternative, site);
  if (away && away_left_ == 0) return Placed::kNo;
  if (!must) {
    const Judgement::Kind selected = selects(alternative, site, &failure_);
    if (failure_.fault != Fault::kNone) return Placed::kError;
    if (selected != Judgement::Kind::kTrue) return Placed::kNo;
  }
  const Slice& slice = device.slice->spec;
  const Consumption& consumption = consumption_of(index, device);
  if (consumption.fault != CapacityFault::kNone) {
    failure_.fault = consumption.fault == CapacityFault::kNegative
                         ? Fault::kCapacityNegative
                         : Fault::kCapacityNotRepresentable;
    failure_.error = alternative.where + ": checking capacity for device " + slice.driver + "/" +
                     slice.pool + "/" + device.device->name + ": " + consumption.error;
    return Placed::kError;
  }
  if (!must && !has_room(consumption, site)) return Placed::kNo;
  // The allocator that knows list attributes knows these, too, and its gate for them is off.
  if (slice.skips_node_operations && inventory_.gates().list_attributes) return Placed::kNo;
  if (!counters_allow(site)) return Placed::kNo;
  if (!tolerated(*device.device, *alternative.asked)) return Placed::kNo;
  for (size_t at = 0; at < alternative.constraints.size(); ++at) {
    if (add(alternative.constraints[at], device)) continue;
    while (at > 0) undo(alternative.constraints[--at]);
    if (!must) return Placed::kNo;
    failure_ = {Fault::kAllConstraint, alternative.where + ": cannot add device " + slice.driver +
                                           "/" + slice.pool + "/" + device.device->name +
                                           " because a claim constraint would not be satisfied"};
    return Placed::kError;
  }
  if (must && !has_room(consumption, site)) {
    for (const uint32_t constraint : alternative.constraints) undo(constraint);
    return Placed::kNo;
  }

  Pick pick{index,      site.position, last_pick_[site.position], &device, &consumption, nullptr,
            site.entry, away};
  if (site.draws != nullptr && !is_charged(site)) {
    pick.charged = site.draws;
    auto& drawn = drawn_[site.entry];
    for (const CounterTable::Draw& draw : *site.draws) {
      if (draw.counter >= drawn.size()) {
        const PoolView& view = *pools_->pools[site.entry].view;
        drawn.resize(view.counters->left(allocated_, view.number).amounts.size());
      }
      drawn[draw.counter] += draw.amount;
    }
  }
  picks_.push_back(pick);
  last_pick_[site.position] = static_cast<uint32_t>(picks_.size());
  ++results_[alternative.claim];
  away_left_ -= away ? 1 : 0;
  return Placed::kYes;
}

void Search::take_back() {
  const Pick& pick = picks_.back();
  const Plan::Alternative& alternative = plan_.alternatives[pick.alternative];
  for (const uint32_t constraint : alternative.constraints) undo(constraint);
  if (pick.charged != nullptr) {
    for (const CounterTable::Draw& draw : *pick.charged) {
      drawn_[pick.entry][draw.counter] -= draw.amount;
    }
  }
  --results_[alternative.claim];
  away_left_ += pick.away ? 1 : 0;
  last_pick_[pick.position] = pick.before;
  picks_.pop_back();
}

}  // namespace plimsoll::dra
