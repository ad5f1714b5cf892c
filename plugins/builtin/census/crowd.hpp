#pragma once
// Crowds and tallies: a pod that comes or goes changes one number in each table that counts it.
//
// A crowd is all pods that are alike (equal labels, say) and where they are. A tally counts some
// crowds, in the domains of one or more topology keys. Which crowds a tally counts is found once.

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plugins/builtin/census/domain_counts.hpp"

namespace plimsoll::builtin {

struct Crowd;

struct Tally {
  std::vector<DomainCounts*> views;
  std::vector<Crowd*> crowds;

  // Counts what is there already.
  void add_view(DomainCounts& view);
  void remove_view(DomainCounts& view) { std::erase(views, &view); }
};

struct Crowd {
  std::unordered_map<uint32_t, uint32_t> by_slot;  // pods by node; none is 0
  std::vector<Tally*> tallies;                     // a tally is here twice if each pod counts twice

  [[nodiscard]] bool empty() const { return by_slot.empty(); }
  void put(uint32_t slot, int32_t pods) {
    const auto here = by_slot.try_emplace(slot, 0).first;
    here->second += static_cast<uint32_t>(pods);
    if (here->second == 0) by_slot.erase(here);
    show(slot, pods);
  }
  // The tables see these pods come (or go); they are on the node all the same.
  void show(uint32_t slot, int32_t pods) const {
    for (const Tally* tally : tallies) {
      for (DomainCounts* view : tally->views) view->add(slot, pods);
    }
  }
  [[nodiscard]] bool is_counted_by(const Tally& tally) const {
    return std::find(tallies.begin(), tallies.end(), &tally) != tallies.end();
  }
  void join(Tally& tally);
  void leave(Tally& tally);
};

inline void Tally::add_view(DomainCounts& view) {
  for (const Crowd* crowd : crowds) {
    for (const auto& [slot, pods] : crowd->by_slot) view.add(slot, pods);
  }
  views.push_back(&view);
}

inline void Crowd::join(Tally& tally) {
  tallies.push_back(&tally);
  tally.crowds.push_back(this);
  for (DomainCounts* view : tally.views) {
    for (const auto& [slot, pods] : by_slot) view->add(slot, pods);
  }
}

inline void Crowd::leave(Tally& tally) {
  const auto drop_one = [](auto& items, const auto* item) {
    const auto found = std::find(items.rbegin(), items.rend(), item);
    *found = items.back();
    items.pop_back();
  };
  drop_one(tallies, &tally);
  drop_one(tally.crowds, this);
  for (DomainCounts* view : tally.views) {
    for (const auto& [slot, pods] : by_slot) view->add(slot, -int64_t{pods});
  }
}

}  // namespace plimsoll::builtin
