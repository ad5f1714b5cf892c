#include "bench/groups/mix.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "bench/packing/dice.hpp"

namespace plimsoll::bench {
namespace {

using packing::Dice;

// Of one kind, how many fit on a node.
int64_t times(const Amounts& room, const Amounts& pod) {
  int64_t most = INT64_MAX;
  if (pod.cpus > 0) most = std::min(most, room.cpus / pod.cpus);
  if (pod.gpus > 0) most = std::min(most, room.gpus / pod.gpus);
  return std::max<int64_t>(most, 0);
}

// Training jobs: equal workers, half of them with a launcher that has no GPU.
Gang make_gang(int number, Dice& dice) {
  Gang gang{"gang-" + std::to_string(number), {}};
  if (dice.chance(0.5)) gang.pods.push_back({dice.whole(4, 24), 0});
  const int gpus = dice.one_of({1, 2, 4, 8});
  const Amounts worker{gpus * dice.whole(3, 8), gpus};
  const int workers = dice.one_of({2, 3, 4, 6, 8, 12, 16});
  gang.pods.insert(gang.pods.end(), static_cast<size_t>(workers), worker);
  return gang;
}

std::optional<size_t> smallest_level(const Network& network, const Room& room, const Gang& gang) {
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t size = nodes_of(network, level);
    for (size_t at = 0; at < room.size(); at += size) {
      if (holds(room, {at, at + size}, gang)) return level;
    }
  }
  return std::nullopt;
}

bool are_together(const Network& network, size_t level, const Places& places) {
  const size_t size = nodes_of(network, level);
  return std::all_of(places.begin(), places.end(),
                     [&](size_t node) { return node / size == places.front() / size; });
}

struct Living {
  Gang gang;
  Places places;
};

class Mix {
 public:
  Mix(const MixOptions& options, Placer& placer)
      : options_(options),
        placer_(placer),
        dice_(options.seed),
        room_(options.network.nodes(), kHost),
        most_gpus_(options.load * static_cast<double>(options.network.nodes()) *
                   static_cast<double>(kHost.gpus)) {}

  MixResult run() {
    for (int i = 0; i < options_.gangs * 3 / 2 && result_.wrong.empty(); ++i) {
      const Gang gang = make_gang(i, dice_);
      make_way(gang);
      come(gang, i >= options_.gangs / 2);
    }
    return result_;
  }

 private:
  void make_way(const Gang& gang) {
    while (!living_.empty() && static_cast<double>(used_gpus_ + gang.total().gpus) > most_gpus_) {
      const auto at = static_cast<size_t>(dice_.whole(0, static_cast<int>(living_.size()) - 1));
      change(living_[at], 1);
      placer_.remove(living_[at].gang);
      living_.erase(living_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  void come(const Gang& gang, bool counts) {
    const auto smallest = smallest_level(options_.network, room_, gang);
    const auto places = placer_.place(room_, gang);
    result_.came += counts ? 1 : 0;
    if (counts && smallest) {
      ++result_.possible;
      result_.placed += places ? 1 : 0;
      result_.in_smallest += places && are_together(options_.network, *smallest, *places) ? 1 : 0;
    }
    if (!places) return;
    living_.push_back({gang, *places});
    change(living_.back(), -1);
  }

  void change(const Living& living, int64_t sign) {
    for (size_t i = 0; i < living.places.size(); ++i) {
      Amounts& room = room_[living.places[i]];
      room.add(living.gang.pods[i], sign);
      if (!room.hold({})) result_.wrong = living.gang.name + " has room that is not there";
    }
    used_gpus_ -= sign * living.gang.total().gpus;
  }

  const MixOptions& options_;
  Placer& placer_;
  Dice dice_;
  Room room_;
  const double most_gpus_;
  int64_t used_gpus_ = 0;
  std::vector<Living> living_;
  MixResult result_;
};

}  // namespace

Amounts Gang::total() const {
  Amounts sum;
  for (const Amounts& pod : pods) sum.add(pod, 1);
  return sum;
}

size_t nodes_of(const Network& network, size_t level) {
  const size_t domain = network.hosts;
  const size_t rack = network.domains * domain;
  const size_t block = network.racks * rack;
  return std::array<size_t, kLevels>{1, domain, rack, block, network.nodes()}.at(level);
}

bool holds(const Room& room, Span span, const Gang& gang) {
  const Amounts& first = gang.pods.front();
  const Amounts& other = gang.pods.back();
  const auto others = static_cast<int64_t>(gang.pods.size()) - 1;
  int64_t fit = 0;
  for (size_t i = span.begin; i < span.end; ++i) fit += times(room[i], other);
  for (size_t i = span.begin; i < span.end; ++i) {
    if (!room[i].hold(first)) continue;
    Amounts rest = room[i];
    rest.add(first, -1);
    if (fit - times(room[i], other) + times(rest, other) >= others) return true;
  }
  return false;
}

std::optional<Places> first_fit(Room room, Span span, const Gang& gang) {
  Places places;
  for (const Amounts& pod : gang.pods) {
    size_t at = span.begin;
    while (at < span.end && !room[at].hold(pod)) ++at;
    if (at == span.end) return std::nullopt;
    room[at].add(pod, -1);
    places.push_back(at);
  }
  return places;
}

std::optional<Places> by_totals(const Network& network, const Room& room, const Gang& gang) {
  for (size_t level = 0; level < kLevels; ++level) {
    const size_t size = nodes_of(network, level);
    for (size_t at = 0; at < room.size(); at += size) {
      Amounts sum;
      for (size_t i = at; i < at + size; ++i) sum.add(room[i], 1);
      if (sum.hold(gang.total())) return first_fit(room, {at, at + size}, gang);
    }
  }
  return std::nullopt;
}

MixResult run_mix(const MixOptions& options, Placer& placer) {
  return Mix(options, placer).run();
}

}  // namespace plimsoll::bench
