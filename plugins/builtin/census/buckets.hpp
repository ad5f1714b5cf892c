#pragma once
// Items in lists that are found by a number. An item is in several lists, and leaves them without a
// search, however long they are.

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace plimsoll::builtin {

// Where an item is; the lists' own.
struct Seat {
  uint64_t number;
  uint32_t place;  // in the list
};
struct Seated {
  std::vector<Seat> seats;
};

// `Item` is Seated, and not in another Buckets.
template <typename Item>
class Buckets {
 public:
  void add(Item& item, uint64_t number) {
    auto& list = lists_[number];
    const auto seat = static_cast<uint32_t>(item.seats.size());
    item.seats.push_back({number, static_cast<uint32_t>(list.size())});
    list.push_back({&item, seat});
  }
  // From all lists.
  void remove(Item& item) {
    for (const Seat& seat : item.seats) {
      const auto found = lists_.find(seat.number);
      auto& list = found->second;
      const Entry last = list.back();
      list[seat.place] = last;
      last.item->seats[last.seat].place = seat.place;
      list.pop_back();
      if (list.empty()) lists_.erase(found);
    }
    item.seats.clear();
  }
  void clear() { lists_.clear(); }

  [[nodiscard]] bool empty() const { return lists_.empty(); }
  [[nodiscard]] size_t size(uint64_t number) const {
    const auto found = lists_.find(number);
    return found == lists_.end() ? 0 : found->second.size();
  }
  template <typename Visit>
  void for_each(uint64_t number, const Visit& visit) const {
    for_each_seat(number, [&](Item& item, uint32_t) { visit(item); });
  }
  // visit(item, seat): which of the item's seats it is.
  template <typename Visit>
  void for_each_seat(uint64_t number, const Visit& visit) const {
    const auto found = lists_.find(number);
    if (found == lists_.end()) return;
    for (const Entry& entry : found->second) visit(*entry.item, entry.seat);
  }

 private:
  struct Entry {
    Item* item;
    uint32_t seat;  // of the item's seats
  };
  std::unordered_map<uint64_t, std::vector<Entry>> lists_;
};

}  // namespace plimsoll::builtin
