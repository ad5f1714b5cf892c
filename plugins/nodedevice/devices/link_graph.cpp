#include "plugins/nodedevice/devices/link_graph.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace plimsoll::devices {
namespace {

template <typename Use>
void for_each_vertex(LinkGraph::Set set, const Use& use) {
  for (; set != 0; set &= set - 1) use(std::countr_zero(set));
}

LinkGraph::Set only(int vertex) {
  return LinkGraph::Set{1} << vertex;
}

}  // namespace

std::shared_ptr<const LinkGraph> LinkGraph::of(int size, std::vector<int64_t> bandwidth) {
  // Nodes of one model have equal graphs; what is kept is what some node has.
  static std::mutex mutex;
  static std::map<std::vector<int64_t>, std::weak_ptr<const LinkGraph>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(bandwidth); found != known.end())
    if (auto graph = found->second.lock()) return graph;
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  const std::shared_ptr<const LinkGraph> graph(new LinkGraph(size, bandwidth));
  known[std::move(bandwidth)] = graph;
  return graph;
}

LinkGraph::LinkGraph(int size, std::vector<int64_t> bandwidth)
    : size_(size), bandwidth_(std::move(bandwidth)) {
  for (int a = 0; a < size_; ++a)
    for (int b = a + 1; b < size_; ++b)
      is_uniform_ = is_uniform_ && this->bandwidth(a, b) == this->bandwidth(0, 1);
}

const LinkGraph::Figures& LinkGraph::figures() const {
  std::call_once(computed_, [this] {
    compute_rings(figures_);
    compute_offers(size_, figures_);
  });
  return figures_;
}

// Paths from the lowest vertex of a set through all of it, by their last vertex: the fastest is as
// fast as the slower of its last link and of the path before. A ring closes such a path.
void LinkGraph::compute_rings(Figures& all) const {
  all.speeds.assign(bandwidth_.begin(), bandwidth_.end());
  all.speeds.push_back(0);
  std::sort(all.speeds.begin(), all.speeds.end());
  all.speeds.erase(std::unique(all.speeds.begin(), all.speeds.end()), all.speeds.end());
  const auto n = static_cast<size_t>(size_);
  std::vector<uint8_t> speed(n * n);
  for (size_t i = 0; i < n * n; ++i)
    speed[i] = static_cast<uint8_t>(
        std::lower_bound(all.speeds.begin(), all.speeds.end(), bandwidth_[i]) - all.speeds.begin());
  const size_t sets = size_t{1} << n;
  std::vector<uint8_t> path(sets * n, 0);
  all.ring.assign(sets, 0);
  for (Set set = 1; set < sets; ++set) {
    if (std::has_single_bit(set)) continue;
    const int first = std::countr_zero(set);
    uint8_t best = 0;
    for_each_vertex(set & (set - 1), [&](int last) {
      const Set before = set ^ only(last);
      uint8_t fastest = 0;
      if (std::has_single_bit(before)) {
        fastest = speed[static_cast<size_t>(first) * n + static_cast<size_t>(last)];
      } else {
        for_each_vertex(before & (before - 1), [&](int middle) {
          const uint8_t link = speed[static_cast<size_t>(middle) * n + static_cast<size_t>(last)];
          fastest =
              std::max(fastest, std::min(path[before * n + static_cast<size_t>(middle)], link));
        });
      }
      path[set * n + static_cast<size_t>(last)] = fastest;
      const uint8_t back = speed[static_cast<size_t>(last) * n + static_cast<size_t>(first)];
      best = std::max(best, std::min(fastest, back));
    });
    all.ring[set] = best;
  }
}

void LinkGraph::compute_offers(int size, Figures& all) {
  const size_t sets = size_t{1} << size;
  all.offer.assign(sets, 0);
  std::vector<uint8_t> best(sets);
  for (int count = 2; count <= size; count *= 2) {
    std::fill(best.begin(), best.end(), uint8_t{0});
    for (Set set = 1; set < sets; ++set) {
      const int members = std::popcount(set);
      if (members == count) best[set] = all.ring[set];
      if (members > count)
        for_each_vertex(set, [&](int left_out) {
          best[set] = std::max(best[set], best[set ^ only(left_out)]);
        });
      all.offer[set] += count * all.speeds[best[set]];
    }
  }
}

int64_t LinkGraph::ring(Set set) const {
  const Figures& all = figures();
  return all.speeds[all.ring[set]];
}

int64_t LinkGraph::offer(Set set) const {
  return figures().offer[set];
}

int64_t LinkGraph::pair_sum(Set set) const {
  int64_t sum = 0;
  for_each_vertex(set, [&](int a) {
    for_each_vertex(set & ~(only(a) | (only(a) - 1)), [&](int b) { sum += bandwidth(a, b); });
  });
  return sum;
}

}  // namespace plimsoll::devices
