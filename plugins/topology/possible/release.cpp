#include "plugins/topology/possible/release.hpp"

#include <algorithm>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/report/numa_node.hpp"

namespace plimsoll::topology {
namespace {

constexpr size_t kMaxSearchSteps = 1024;  // of the search, dead ends included

void add(ReleasedUnit& unit, uint32_t row, int64_t amount) {
  for (auto& [known, total] : unit.amounts) {
    if (known != row) continue;
    total = add_amounts(total, amount);
    return;
  }
  unit.amounts.emplace_back(row, amount);
}

}  // namespace

Release::Release(const plimsoll_numa_node& node, const int64_t* available)
    : node_(node), floating_(node.resource_count, 0) {
  const size_t cells = size_t{node.zone_count} * node.resource_count;
  free_.assign(node.free, node.free + cells);
  kept_.assign(cells, 0);
  used_.resize(cells);
  for (size_t i = 0; i < cells; ++i) {
    used_[i] = std::max<int64_t>(0, add_amounts(node.allocatable[i], -available[i]));
  }
}

int64_t* Release::at(Cells& cells, uint32_t resource, uint32_t zone_id) const {
  const uint32_t row = row_of(node_, resource);
  if (row == kNoRow) return nullptr;
  for (uint32_t column = 0; column < node_.zone_count; ++column) {
    if (node_.zone_ids[column] == zone_id) return &cells[cell(row, column)];
  }
  return nullptr;
}

void Release::free_at(uint32_t resource, uint32_t zone_id, int64_t amount, bool reported) {
  if (int64_t* free = at(free_, resource, zone_id)) *free = add_amounts(*free, amount);
  if (reported) forgive_at(resource, zone_id, amount);
}

void Release::keep_at(uint32_t resource, uint32_t zone_id, int64_t amount) {
  if (int64_t* kept = at(kept_, resource, zone_id)) *kept = add_amounts(*kept, amount);
}

void Release::forgive_at(uint32_t resource, uint32_t zone_id, int64_t amount) {
  if (int64_t* used = at(used_, resource, zone_id)) *used = add_amounts(*used, -amount);
}

std::vector<ReleasedUnit> released_units(const plimsoll_numa_node& node, const PodRequest& pod) {
  std::vector<ReleasedUnit> units;
  const bool whole = node.scope == PLIMSOLL_NUMA_SCOPE_POD;
  for (const ContainerRequest& container : pod.containers) {
    if (container.kind == PLIMSOLL_CONTAINER_INIT) continue;
    ReleasedUnit own;
    ReleasedUnit& unit = whole && !units.empty() ? units.front() : own;
    for (const Request& request : container.pinned) {
      const uint32_t row = row_of(node, request.resource);
      if (row != kNoRow && node.listed[row] != 0) add(unit, row, request.amount);
    }
    if (!own.amounts.empty()) units.push_back(std::move(own));
  }
  for (ReleasedUnit& unit : units) std::sort(unit.amounts.begin(), unit.amounts.end());
  return units;
}

void Release::free_somewhere(const PodRequest& pod) {
  for (ReleasedUnit& unit : released_units(node_, pod)) units_.push_back(std::move(unit));
}

void Release::keep_somewhere(const PodRequest& pod) {
  for (const ReleasedUnit& unit : released_units(node_, pod)) {
    for (const auto& [row, amount] : unit.amounts) {
      floating_[row] = add_amounts(floating_[row], amount);
    }
  }
}

// Zones may list a resource of which the report never counts any use (memory, without a memory
// manager): no pod gives any of it back.
void Release::forget_untracked() {
  for (uint32_t row = 0; row < node_.resource_count; ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(cell(row, 0));
    const auto end = begin + static_cast<std::ptrdiff_t>(node_.zone_count);
    const auto none = [](int64_t amount) { return amount <= 0; };
    if (!std::all_of(used_.begin() + begin, used_.begin() + end, none)) continue;
    std::fill(used_.begin() + begin, used_.begin() + end, 0);
    std::fill(kept_.begin() + begin, kept_.begin() + end, 0);
    floating_[row] = 0;
    for (ReleasedUnit& unit : units_) {
      std::erase_if(unit.amounts, [row](const auto& part) { return part.first == row; });
    }
  }
  std::erase_if(units_, [](const ReleasedUnit& unit) { return unit.amounts.empty(); });
}

// Adds what is in use by nobody known to what is somewhere. False: the pods that the report is
// believed to count hold more than it shows in use, so at least one of them is not in it.
bool Release::adds_up() {
  std::vector<int64_t> unknown(node_.resource_count, 0);
  for (uint32_t row = 0; row < node_.resource_count; ++row) {
    for (uint32_t column = 0; column < node_.zone_count; ++column) {
      const int64_t left = add_amounts(used_[cell(row, column)], -kept_[cell(row, column)]);
      if (left < 0) return false;
      unknown[row] = add_amounts(unknown[row], left);
    }
    unknown[row] = add_amounts(unknown[row], -floating_[row]);
  }
  for (const ReleasedUnit& unit : units_) {
    for (const auto& [row, amount] : unit.amounts) {
      unknown[row] = add_amounts(unknown[row], -amount);
    }
  }
  for (uint32_t row = 0; row < node_.resource_count; ++row) {
    if (unknown[row] < 0) return false;
    floating_[row] = add_amounts(floating_[row], unknown[row]);
  }
  return true;
}

// Lays the units out over the zones in every way that the report allows.
struct Release::Search {
  const Release& release;
  const Fits& fits;
  Cells free;  // with the units that are laid out
  Cells left;  // what may still be in use by units: used - kept - units laid out
  size_t layouts = 0;
  size_t steps = 0;
  bool all_fit = true;

  void move(const ReleasedUnit& unit, uint32_t column, int64_t sign) {
    for (const auto& [row, amount] : unit.amounts) {
      const size_t at = release.cell(row, column);
      free[at] = add_amounts(free[at], sign * amount);
      left[at] = add_amounts(left[at], -sign * amount);
    }
  }

  [[nodiscard]] bool room_for(const ReleasedUnit& unit, uint32_t column) const {
    return std::all_of(unit.amounts.begin(), unit.amounts.end(), [&](const auto& part) {
      return (release.node_.listed[part.first] >> column & 1) != 0 &&
             left[release.cell(part.first, column)] >= part.second;
    });
  }

  // What stays somewhere can account for the rest.
  [[nodiscard]] bool possible() const {
    for (uint32_t row = 0; row < release.node_.resource_count; ++row) {
      for (uint32_t column = 0; column < release.node_.zone_count; ++column) {
        if (left[release.cell(row, column)] > release.floating_[row]) return false;
      }
    }
    return true;
  }

  // Equal units are laid out in ascending order of zones: which of them is where does not matter.
  void run(size_t unit, uint32_t column) {
    if (!all_fit || ++steps > kMaxSearchSteps) {
      all_fit = false;
      return;
    }
    if (unit == release.units_.size()) {
      if (!possible()) return;
      plimsoll_numa_node node = release.node_;
      node.free = free.data();
      all_fit = ++layouts <= kMaxLayouts && fits(node);
      return;
    }
    const ReleasedUnit& this_one = release.units_[unit];
    for (; column < release.node_.zone_count && all_fit; ++column) {
      if (!room_for(this_one, column)) continue;
      move(this_one, column, +1);
      const bool same = unit + 1 < release.units_.size() && release.units_[unit + 1] == this_one;
      run(unit + 1, same ? column : 0);
      move(this_one, column, -1);
    }
  }
};

// All that goes, taken from the zones in turn as far as they have that much in use.
bool Release::fits_wherever(const Fits& fits) const {
  Cells free = free_;
  for (uint32_t row = 0; row < node_.resource_count; ++row) {
    int64_t going = 0;
    for (const ReleasedUnit& unit : units_) {
      for (const auto& [of, amount] : unit.amounts) {
        if (of == row) going = add_amounts(going, amount);
      }
    }
    for (uint32_t column = 0; column < node_.zone_count; ++column) {
      const size_t at = cell(row, column);
      const int64_t part =
          std::clamp<int64_t>(add_amounts(used_[at], -kept_[at]), 0, std::max<int64_t>(going, 0));
      free[at] = add_amounts(free[at], part);
      going -= part;
    }
  }
  plimsoll_numa_node node = node_;
  node.free = free.data();
  return fits(node);
}

bool Release::fits(const Fits& fits) {
  forget_untracked();
  const bool search = !uncertain_ && !units_.empty() && adds_up();
  Cells least = free_;
  for (uint32_t row = 0; search && row < node_.resource_count; ++row) {
    for (uint32_t column = 0; column < node_.zone_count; ++column) {
      const size_t at = cell(row, column);
      const int64_t stays = add_amounts(kept_[at], floating_[row]);
      least[at] = add_amounts(least[at], std::max<int64_t>(0, add_amounts(used_[at], -stays)));
    }
  }
  plimsoll_numa_node node = node_;
  node.free = least.data();
  if (fits(node)) return true;
  if (!search || lay_ == Lay::kAnywhere) return false;
  if (lay_ == Lay::kWherever) return fits_wherever(fits);
  if (units_.size() > kMaxUnits) return false;
  std::sort(units_.begin(), units_.end());
  Search ways{*this, fits, free_, used_};
  for (size_t i = 0; i < used_.size(); ++i) ways.left[i] = add_amounts(used_[i], -kept_[i]);
  ways.run(0, 0);
  return ways.all_fit && ways.layouts > 0;
}

}  // namespace plimsoll::topology
