#include "tests/plugins/dynamicresources/plain_search.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace plimsoll::dra::test {
namespace {

using Set = std::set<AttributeValue>;

const AttributeValue* attribute_of(const Slice& slice, const Device& device,
                                   const std::string& name) {
  auto at = device.attributes.find(name);
  if (at == device.attributes.end() && name.starts_with(slice.driver + "/")) {
    at = device.attributes.find(name.substr(slice.driver.size() + 1));
  }
  return at == device.attributes.end() ? nullptr : &at->second;
}

template <typename T>
bool add_list(const AttributeValue& value, Set* set) {
  const auto* list = std::get_if<std::vector<T>>(&value);
  if (list == nullptr || set == nullptr) return list != nullptr;
  for (const auto& one : *list) set->insert(T(one));
  return true;
}

bool is_list(const AttributeValue& value, Set* set = nullptr) {
  return add_list<int64_t>(value, set) || add_list<bool>(value, set) ||
         add_list<std::string>(value, set) || add_list<Version>(value, set);
}

// Empty: an empty list.
Set set_of(const AttributeValue& value) {
  Set set;
  return is_list(value, &set) ? set : Set{value};
}

bool common(const std::vector<Set>& sets) {
  return std::any_of(sets[0].begin(), sets[0].end(), [&](const AttributeValue& one) {
    return std::all_of(sets.begin(), sets.end(), [&](const Set& set) { return set.contains(one); });
  });
}

struct Spot {
  Spot(const Slice& of, const Device& at)
      : slice(&of), device(&at), id(of.driver + "/" + of.pool + "/" + at.name) {}
  [[nodiscard]] const std::string& name() const { return id; }
  const Slice* slice;
  const Device* device;
  std::string id;
};

struct Pool {
  std::string driver, name;
  bool incomplete = false, invalid = false, binds = false;
  std::vector<Spot> spots;
  std::map<std::string, Quantity::Nanos> counters;  // "set/counter", as declared
  std::vector<const Slice*> all;                    // of its generation
};

enum class End { kDone, kNone, kTooMany, kError };

class Plain {
 public:
  Plain(const World& world, std::string node) : world_(world), node_(std::move(node)) {
    gather();
    for (const DeviceResult& one : world.allocated) {
      const std::string name = one.driver + "/" + one.pool + "/" + one.device;
      if (one.share_id.empty()) {
        exclusive_.insert(name);
      } else {
        shared_.insert(name);
        for (const auto& [capacity, amount] : one.consumed_capacity) {
          consumed_[name][capacity] += amount.nanos();
        }
      }
    }
  }

  PlainAnswer answer() {
    PlainAnswer made;
    End end = check() ? End::kError : claim(0);
    made.steps = steps_;
    made.gave_up = steps_ > kMostSteps;
    if (end == End::kDone) {
      made.outcome = "allocated";
      for (const Taken& one : taken_) {
        made.picks.push_back(std::to_string(one.claim) + " " + one.request + " " +
                             one.spot->name());
      }
    } else if (end == End::kError) {
      made.outcome = error_;
    } else {
      const bool invalid =
          std::any_of(pools_.begin(), pools_.end(), [](const Pool& pool) { return pool.invalid; });
      made.outcome = invalid ? "invalid pool" : "none";
    }
    return made;
  }

 private:
  static constexpr uint64_t kMostSteps = 3'000;
  struct Taken {
    size_t claim;
    std::string base, request;  // "request", and with the subrequest
    const DeviceRequest* asked;
    const Spot* spot;
    bool charged;
  };

  void gather() {
    std::map<std::pair<std::string, std::string>, std::vector<const Slice*>> by_pool;
    for (const Slice& slice : world_.slices) {
      if (slice.all_nodes || slice.node_name == node_) {
        by_pool[{slice.driver, slice.pool}].push_back(&slice);
      }
    }
    for (auto& [name, slices] : by_pool) {
      int64_t generation = 0;
      for (const Slice* slice : slices) generation = std::max(generation, slice->generation);
      std::erase_if(slices, [&](const Slice* slice) { return slice->generation != generation; });
      std::sort(slices.begin(), slices.end(),
                [](const auto* a, const auto* b) { return a->name < b->name; });
      Pool pool{name.first, name.second, false, false, false, {}, {}, slices};
      const int64_t wanted = slices.front()->slice_count;
      if (static_cast<int64_t>(slices.size()) != wanted) {
        pool.all.clear();
        bool obsolete = false;
        for (const Slice& slice : world_.slices) {
          if (slice.driver != name.first || slice.pool != name.second) continue;
          obsolete = obsolete || slice.generation > generation;
          if (slice.generation == generation) pool.all.push_back(&slice);
        }
        if (obsolete) continue;
        pool.incomplete = static_cast<int64_t>(pool.all.size()) != wanted;
      }
      if (!pool.incomplete) fill(pool, slices);
      pools_.push_back(std::move(pool));
    }
    std::stable_sort(pools_.begin(), pools_.end(),
                     [](const Pool& a, const Pool& b) { return a.binds < b.binds; });
    for (const Pool& pool : pools_) {
      for (const Spot& spot : pool.spots) spots_.push_back(&spot);
    }
  }

  static void fill(Pool& pool, const std::vector<const Slice*>& slices) {
    std::set<std::string> sets, names;
    for (const Slice* slice : pool.all) {
      for (const CounterSet& set : slice->counters) {
        pool.invalid = !sets.insert(set.name).second || pool.invalid;
        for (const auto& [counter, amount] : set.counters) {
          pool.counters[set.name + "/" + counter] = amount.nanos();
        }
      }
    }
    for (const Slice* slice : pool.all) {
      for (const Device& device : slice->devices) {
        for (const CounterUse& use : device.consumes) {
          pool.invalid = pool.invalid || !sets.contains(use.set);
          for (const auto& [counter, amount] : use.counters) {
            pool.invalid = pool.invalid || !pool.counters.contains(use.set + "/" + counter);
          }
        }
      }
    }
    for (const Slice* slice : slices) {
      for (const Device& device : slice->devices) {
        pool.invalid = !names.insert(device.name).second || pool.invalid;
        pool.binds = pool.binds || !device.binding_conditions.empty();
        pool.spots.emplace_back(*slice, device);
      }
    }
    if (!pool.invalid) return;
    pool.spots.clear();
    pool.binds = false;
  }

  bool check() {
    for (const Claim& claim : world_.claims) {
      int64_t sum = 0;
      for (const Request& request : claim.requests) {
        int64_t least = 1000;
        for (const DeviceRequest& asked : request.alternatives) {
          if (asked.mode == "All" && collect(asked)) return true;
          least = std::min(least, count_of(asked));
        }
        if (least > 32 - sum) return fails("too many");
        sum += least;
      }
    }
    return false;
  }

  bool collect(const DeviceRequest& asked) {
    for (const Pool& pool : pools_) {
      if (pool.incomplete) return fails("incomplete");
      if (pool.invalid) return fails("invalid");
      for (const Spot& spot : pool.spots) {
        const std::optional<bool> selected = selects(asked, spot);
        if (!selected) return true;
        if (*selected && has_room(asked, spot, true)) all_[&asked].push_back(&spot);
      }
    }
    return false;
  }

  bool fails(const std::string& error) {
    error_ = error;
    return true;
  }

  int64_t count_of(const DeviceRequest& asked) {
    return asked.mode == "All" ? static_cast<int64_t>(all_[&asked].size()) : asked.count;
  }

  // Nothing: an error.
  std::optional<bool> selects(const DeviceRequest& asked, const Spot& spot) {
    std::vector<Selector> selectors = world_.classes.at(asked.class_name).selectors;
    selectors.insert(selectors.end(), asked.selectors.begin(), asked.selectors.end());
    for (const Selector& selector : selectors) {
      const Judgement judgement = world_.judge(*selector, spot.slice->driver, *spot.device);
      if (judgement.kind == Judgement::Kind::kFalse) return false;
      if (judgement.kind != Judgement::Kind::kTrue) {
        error_ = "cel";
        return {};
      }
    }
    return true;
  }

  End claim(size_t index) {
    if (index == world_.claims.size()) return End::kDone;
    const End end = request(index, 0);
    return end == End::kTooMany && index > 0 ? End::kNone : end;
  }

  End request(size_t of, size_t index) {
    const Claim& claim = world_.claims[of];
    if (index == claim.requests.size()) return this->claim(of + 1);
    const Request& request = claim.requests[index];
    if (!request.first_available) return device(of, index, request.alternatives[0], 0, 0);
    bool all_too_many = true;
    for (const DeviceRequest& asked : request.alternatives) {
      const End end = device(of, index, asked, 0, 0);
      if (end == End::kDone || end == End::kError) return end;
      all_too_many = all_too_many && end == End::kTooMany;
    }
    return all_too_many ? End::kTooMany : End::kNone;
  }

  End device(size_t of, size_t index, const DeviceRequest& asked, int64_t k, size_t start) {
    if (++steps_ > kMostSteps) return End::kError;
    const bool all = asked.mode == "All";
    const int64_t count = count_of(asked);
    if (all && count == 0) return End::kNone;
    if (k >= count) return request(of, index + 1);
    const auto has = std::count_if(taken_.begin(), taken_.end(),
                                   [&](const Taken& one) { return one.claim == of; });
    if (count - k > 32 - has) return End::kTooMany;
    if (all) {
      const End placed = place(of, index, asked, *all_[&asked][static_cast<size_t>(k)], true);
      if (placed != End::kDone) return placed;
      const End end = device(of, index, asked, k + 1, 0);
      if (end != End::kDone) taken_.pop_back();
      return end;
    }
    for (size_t at = start; at < spots_.size(); ++at) {
      const End placed = place(of, index, asked, *spots_[at], false);
      if (placed == End::kError) return placed;
      if (placed != End::kDone) continue;
      const End end = device(of, index, asked, k + 1, at + 1);
      if (end == End::kDone) return end;
      taken_.pop_back();
      if (end != End::kNone) return end;
    }
    return End::kNone;
  }

  End place(size_t of, size_t index, const DeviceRequest& asked, const Spot& spot, bool must) {
    const Claim& claim = world_.claims[of];
    const Request& request = claim.requests[index];
    const bool shared = spot.device->allow_multiple_allocations;
    const std::string name = spot.name();
    bool held = false, held_here = false;
    for (const Taken& one : taken_) {
      if (one.spot->name() != name) continue;
      held = true;
      held_here = held_here || one.claim == of;
    }
    if (asked.admin_access ? held_here && !shared
                           : exclusive_.contains(name) || (held && !shared)) {
      return End::kNone;
    }
    const auto is_away = [&](const DeviceRequest& by, const Spot& at) {
      return !by.admin_access && world_.away.contains(at.name());
    };
    const auto away = std::count_if(taken_.begin(), taken_.end(), [&](const Taken& one) {
      return is_away(*one.asked, *one.spot);
    });
    if (is_away(asked, spot) && away >= int64_t{world_.most_away}) return End::kNone;
    if (!must) {
      const std::optional<bool> selected = selects(asked, spot);
      if (!selected) return End::kError;
      if (!*selected || !has_room(asked, spot, false)) return End::kNone;
    }
    const bool charges =
        !spot.device->consumes.empty() && !(shared && (held || shared_.contains(name)));
    if (charges && !counters_allow(spot)) return End::kNone;
    for (const Taint& taint : spot.device->taints) {
      if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") continue;
      if (std::none_of(asked.tolerations.begin(), asked.tolerations.end(), [&](const auto& one) {
            return (one.effect.empty() || one.effect == taint.effect) &&
                   (one.key.empty() || one.key == taint.key) &&
                   (one.op == "Exists" || one.value == taint.value);
          })) {
        return End::kNone;
      }
    }
    Taken taken{of,
                request.name,
                request.first_available ? request.name + "/" + asked.name : request.name,
                &asked,
                &spot,
                charges};
    taken_.push_back(taken);
    for (const Constraint& constraint : claim.constraints) {
      if (!concerns(constraint, taken) || holds(constraint, of)) continue;
      taken_.pop_back();
      if (!must) return End::kNone;
      error_ = "all constraint";
      return End::kError;
    }
    taken_.pop_back();
    if (must && !has_room(asked, spot, false)) return End::kNone;
    taken_.push_back(taken);
    return End::kDone;
  }

  static bool concerns(const Constraint& constraint, const Taken& taken) {
    const auto& names = constraint.requests;
    return names.empty() || std::find(names.begin(), names.end(), taken.base) != names.end() ||
           std::find(names.begin(), names.end(), taken.request) != names.end();
  }

  // Of all devices so far; what came before the last one holds.
  bool holds(const Constraint& constraint, size_t of) const {
    const bool match = !constraint.match_attribute.empty();
    std::vector<Set> sets;
    for (const Taken& one : taken_) {
      if (one.claim != of || !concerns(constraint, one)) continue;
      const AttributeValue* value =
          attribute_of(*one.spot->slice, *one.spot->device,
                       match ? constraint.match_attribute : constraint.distinct_attribute);
      if (value == nullptr) return false;
      if (!world_.lists && is_list(*value)) {
        if (!sets.empty()) return false;
        sets.push_back({});  // the first may be anything, and has nothing in common with others
        continue;
      }
      sets.push_back(set_of(*value));
      if (sets.back().empty()) return false;
    }
    if (match) return sets.size() < 2 || common(sets);
    for (size_t i = 0; i < sets.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (common({sets[i], sets[j]})) return false;
      }
    }
    return true;
  }

  bool has_room(const DeviceRequest& asked, const Spot& spot, bool empty) const {
    const auto amount = [](const DeviceRequest& request, const std::string& name,
                           const Capacity& capacity) {
      const auto found = request.capacity.find(name);
      return found == request.capacity.end() ? capacity.value.nanos() : found->second.nanos();
    };
    for (const auto& [name, wanted] : asked.capacity) {
      if (!spot.device->capacity.contains(name)) return false;
    }
    for (const auto& [name, capacity] : spot.device->capacity) {
      Quantity::Nanos sum = amount(asked, name, capacity);
      if (!empty && spot.device->allow_multiple_allocations) {
        for (const Taken& one : taken_) {
          if (one.spot->name() == spot.name()) sum += amount(*one.asked, name, capacity);
        }
      }
      if (const auto at = consumed_.find(spot.name()); !empty && at != consumed_.end()) {
        if (const auto found = at->second.find(name); found != at->second.end()) {
          sum += found->second;
        }
      }
      if (sum > capacity.value.nanos()) return false;
    }
    return true;
  }

  bool counters_allow(const Spot& spot) const {
    const auto pool = std::find_if(pools_.begin(), pools_.end(), [&](const Pool& one) {
      return one.driver == spot.slice->driver && one.name == spot.slice->pool;
    });
    auto left = pool->counters;
    const auto draw = [&](const Device& device) {
      for (const CounterUse& use : device.consumes) {
        for (const auto& [counter, amount] : use.counters) {
          left[use.set + "/" + counter] -= amount.nanos();
        }
      }
    };
    for (const Slice* slice : pool->all) {
      for (const Device& device : slice->devices) {
        const std::string name = slice->driver + "/" + slice->pool + "/" + device.name;
        if (exclusive_.contains(name) || shared_.contains(name)) draw(device);
      }
    }
    for (const Taken& one : taken_) {
      if (one.charged && one.spot->slice->driver == pool->driver &&
          one.spot->slice->pool == pool->name) {
        draw(*one.spot->device);
      }
    }
    draw(*spot.device);
    return std::all_of(left.begin(), left.end(), [](const auto& one) { return one.second >= 0; });
  }

  const World& world_;
  std::string node_;
  std::vector<Pool> pools_;
  std::set<std::string> exclusive_, shared_;
  std::map<std::string, std::map<std::string, Quantity::Nanos>> consumed_;
  std::map<const DeviceRequest*, std::vector<const Spot*>> all_;
  std::vector<const Spot*> spots_;
  std::vector<Taken> taken_;
  std::string error_;
  uint64_t steps_ = 0;
};

}  // namespace

PlainAnswer plain_search(const World& world, const std::string& node) {
  return Plain(world, node).answer();
}

std::string fault_in(const World& world, const std::string& node,
                     const std::vector<Allocation>& solution) {
  std::map<std::string, Spot> spots;
  for (const Slice& slice : world.slices) {
    if (slice.node_name && *slice.node_name != node) continue;
    for (const Device& device : slice.devices) {
      // Of several generations the newest that the node sees.
      const Spot spot(slice, device);
      const auto [at, is_new] = spots.try_emplace(spot.name(), spot);
      if (!is_new && at->second.slice->generation < slice.generation) at->second = spot;
    }
  }
  std::set<std::string> exclusive;
  std::map<std::string, std::map<std::string, Quantity::Nanos>> consumed;
  const auto take = [&](const DeviceResult& one) -> std::string {
    const std::string name = one.driver + "/" + one.pool + "/" + one.device;
    if (one.admin_access) return {};
    if (one.share_id.empty() && !exclusive.insert(name).second) return name + " is taken twice";
    for (const auto& [capacity, amount] : one.consumed_capacity) {
      consumed[name][capacity] += amount.nanos();
    }
    return {};
  };
  for (const DeviceResult& one : world.allocated) (void)take(one);
  for (size_t index = 0; index < solution.size(); ++index) {
    const Claim& claim = world.claims[index];
    std::map<std::string, std::vector<const DeviceResult*>> by_request;
    for (const DeviceResult& one : solution[index].results) {
      const std::string name = one.driver + "/" + one.pool + "/" + one.device;
      if (std::string fault = take(one); !fault.empty()) return fault;
      if (!spots.contains(name)) return name + " does not exist";
      by_request[one.request.substr(0, one.request.find('/'))].push_back(&one);
      for (const auto& [capacity, sum] : consumed[name]) {
        const auto& of = spots.at(name).device->capacity;
        if (of.contains(capacity) && sum > of.at(capacity).value.nanos()) {
          return name + " has too little " + capacity;
        }
      }
    }
    for (const Request& request : claim.requests) {
      const auto& results = by_request[request.name];
      const auto fits = [&](const DeviceRequest& asked) {
        const std::string name =
            request.first_available ? request.name + "/" + asked.name : request.name;
        return std::all_of(results.begin(), results.end(),
                           [&](const auto* one) { return one->request == name; }) &&
               (asked.mode == "All" ? !results.empty()
                                    : static_cast<int64_t>(results.size()) == asked.count);
      };
      if (std::none_of(request.alternatives.begin(), request.alternatives.end(), fits)) {
        return "request " + request.name + " has " + std::to_string(results.size()) + " devices";
      }
    }
    for (const Constraint& constraint : claim.constraints) {
      const bool match = !constraint.match_attribute.empty();
      std::vector<Set> sets;
      for (const DeviceResult& one : solution[index].results) {
        const auto& names = constraint.requests;
        const std::string base = one.request.substr(0, one.request.find('/'));
        if (!names.empty() && std::find(names.begin(), names.end(), base) == names.end() &&
            std::find(names.begin(), names.end(), one.request) == names.end()) {
          continue;
        }
        const Spot& spot = spots.at(one.driver + "/" + one.pool + "/" + one.device);
        const AttributeValue* value =
            attribute_of(*spot.slice, *spot.device,
                         match ? constraint.match_attribute : constraint.distinct_attribute);
        if (value == nullptr) return spot.name() + " lacks an attribute";
        if (world.lists || !is_list(*value)) sets.push_back(set_of(*value));
      }
      if (match && sets.size() > 1 && !common(sets)) return "matchAttribute does not hold";
      for (size_t i = 0; i < sets.size() && !match; ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (common({sets[i], sets[j]})) return "distinctAttribute does not hold";
        }
      }
    }
  }
  return {};
}

}  // namespace plimsoll::dra::test
