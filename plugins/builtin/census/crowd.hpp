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
  struct Member {
    Crowd* crowd;
    uint32_t link;  // the crowd's, to this
  };
  std::vector<DomainCounts*> views;
  std::vector<Member> crowds;

  // Counts what is there already.
  void add_view(DomainCounts& view);
  void remove_view(DomainCounts& view) { std::erase(views, &view); }
};

struct Crowd {
  struct Link {
    Tally* tally;
    uint32_t member;  // the tally's, which is this
  };
  std::unordered_map<uint32_t, uint32_t> by_slot;  // pods by node; none is 0
  std::vector<Link> tallies;                       // a tally is here twice if each pod counts twice

  [[nodiscard]] bool empty() const { return by_slot.empty(); }
  void put(uint32_t slot, int32_t pods) {
    const auto here = by_slot.try_emplace(slot, 0).first;
    here->second += static_cast<uint32_t>(pods);
    if (here->second == 0) by_slot.erase(here);
    show(slot, pods);
  }
  // The tables see these pods come (or go); they are on the node all the same.
  void show(uint32_t slot, int32_t pods) const {
    for (const Link& link : tallies) {
      for (DomainCounts* view : link.tally->views) view->add(slot, pods);
    }
  }
  // Which of the links goes to the tally; their number if none does.
  [[nodiscard]] size_t link_to(const Tally& tally) const {
    const auto found = std::find_if(tallies.begin(), tallies.end(),
                                    [&](const Link& link) { return link.tally == &tally; });
    return static_cast<size_t>(found - tallies.begin());
  }
  void join(Tally& tally);
  void leave(size_t link);
  void leave_last() { leave(tallies.size() - 1); }
};

inline void Tally::add_view(DomainCounts& view) {
  for (const Member& member : crowds) {
    for (const auto& [slot, pods] : member.crowd->by_slot) view.add(slot, pods);
  }
  views.push_back(&view);
}

inline void Crowd::join(Tally& tally) {
  tallies.push_back({&tally, static_cast<uint32_t>(tally.crowds.size())});
  tally.crowds.push_back({this, static_cast<uint32_t>(tallies.size() - 1)});
  for (DomainCounts* view : tally.views) {
    for (const auto& [slot, pods] : by_slot) view->add(slot, pods);
  }
}

// The last of each list takes the place that is free now; nothing is searched.
inline void Crowd::leave(size_t link) {
  const auto [tally, place] = tallies[link];
  const Tally::Member member = tally->crowds.back();
  tally->crowds[place] = member;
  member.crowd->tallies[member.link].member = place;
  tally->crowds.pop_back();
  if (link + 1 != tallies.size()) {
    tallies[link] = tallies.back();
    tallies[link].tally->crowds[tallies[link].member].link = static_cast<uint32_t>(link);
  }
  tallies.pop_back();
  for (DomainCounts* view : tally->views) {
    for (const auto& [slot, pods] : by_slot) view->add(slot, -int64_t{pods});
  }
}

}  // namespace plimsoll::builtin
