#pragma once
// Gangs that come and go on a small cluster with levels of network, and what is certain about where
// they may be placed. A gang has pods of one kind, and perhaps one more: so a search over all
// places is exact and cheap.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plimsoll::bench {

struct Amounts {
  int64_t cpus = 0;
  int64_t gpus = 0;

  [[nodiscard]] bool hold(const Amounts& other) const {
    return other.cpus <= cpus && other.gpus <= gpus;
  }
  void add(const Amounts& other, int64_t times) {
    cpus += other.cpus * times;
    gpus += other.gpus * times;
  }
};

struct Gang {
  std::string name;
  std::vector<Amounts> pods;  // the first one may be of another kind than the rest
  [[nodiscard]] Amounts total() const;
};

// Blocks of racks of NVLink domains of hosts, all of one size.
struct Network {
  size_t blocks = 2;
  size_t racks = 2;    // of a block
  size_t domains = 2;  // of a rack
  size_t hosts = 4;    // of an NVLink domain

  [[nodiscard]] size_t nodes() const { return blocks * racks * domains * hosts; }
};
inline constexpr Amounts kHost{64, 8};

// The levels from the narrowest: a host, an NVLink domain, a rack, a block, the cluster.
inline constexpr size_t kLevels = 5;
// How many nodes a domain of the level has; those of one domain are neighbours.
[[nodiscard]] size_t nodes_of(const Network& network, size_t level);

// Free amounts, by node.
using Room = std::vector<Amounts>;
using Places = std::vector<size_t>;  // a node for each pod of a gang
struct Span {                        // of nodes
  size_t begin = 0;
  size_t end = 0;
};

// Whether the gang fits within the span: exact.
[[nodiscard]] bool holds(const Room& room, Span span, const Gang& gang);
// Each pod on the first node with room for it; nothing: one has none.
[[nodiscard]] std::optional<Places> first_fit(Room room, Span span, const Gang& gang);
// First fit in the narrowest domain whose sums suffice, and nowhere else.
[[nodiscard]] std::optional<Places> by_totals(const Network& network, const Room& room,
                                              const Gang& gang);

// Who places gangs; each has a cluster of its own.
class Placer {
 public:
  virtual ~Placer() = default;
  [[nodiscard]] virtual std::optional<Places> place(const Room& room, const Gang& gang) = 0;
  virtual void remove(const Gang& gang) = 0;
};

struct MixOptions {
  Network network;
  double load = 0.9;  // GPUs in use once the gang that comes is placed
  int gangs = 300;    // that count; half as many come before them
  uint64_t seed = 1;
};

struct MixResult {
  int came = 0;
  int possible = 0;     // gangs that fitted somewhere when they came
  int placed = 0;       // and got a place
  int in_smallest = 0;  // in a domain of the narrowest level that held them whole
  std::string wrong;    // a place that was not there; empty: none
};

// Gangs come one after the other; others, at random, leave before it.
[[nodiscard]] MixResult run_mix(const MixOptions& options, Placer& placer);

}  // namespace plimsoll::bench
