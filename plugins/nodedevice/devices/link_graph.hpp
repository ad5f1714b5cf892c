#pragma once
// How fast sets of devices of one node can talk to one another, from the bandwidth of every two of
// them. Vertices are 0 to size() - 1; sets are masks of vertices.
//
// A ring through a set visits each of its devices once and comes back; two devices are a ring by
// the one link between them. A ring is as fast as its slowest link, and a set as its fastest ring:
// 0 if every ring has two neighbours without a link.
//
// Equal graphs are one object however many nodes have them. Immutable; any thread. The figures of
// all sets are computed at the first question about one, in about 10 ms for 16 devices and 20 us
// for 8, and kept (576 KiB and 2 KiB).

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace plimsoll::devices {

class LinkGraph {
 public:
  // Figures of sets are known up to this many devices; of a larger graph only bandwidth() may be
  // asked.
  static constexpr int kMaxExact = 16;
  using Set = uint32_t;

  // `bandwidth` is size x size, symmetric; what is on the diagonal does not count.
  [[nodiscard]] static std::shared_ptr<const LinkGraph> of(int size,
                                                           std::vector<int64_t> bandwidth);

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int64_t bandwidth(int a, int b) const {
    return bandwidth_[static_cast<size_t>(a * size_ + b)];
  }
  // Every two devices are linked alike: no set is better than another of its size.
  [[nodiscard]] bool is_uniform() const { return is_uniform_; }
  [[nodiscard]] bool is_exact() const { return size_ <= kMaxExact; }

  // The fastest ring through all of `set`, 0 for fewer than two.
  [[nodiscard]] int64_t ring(Set set) const;
  // All links within `set` together.
  [[nodiscard]] int64_t pair_sum(Set set) const;
  // What `set` still has to offer to pods of 2, 4, 8 and 16 devices: of each size the fastest ring
  // of so many of its devices, times the size, together.
  [[nodiscard]] int64_t offer(Set set) const;

 private:
  LinkGraph(int size, std::vector<int64_t> bandwidth);
  struct Figures {
    std::vector<int64_t> speeds;  // ascending; rings are indices of it
    std::vector<uint8_t> ring;    // by set
    std::vector<int64_t> offer;
  };
  [[nodiscard]] const Figures& figures() const;
  void compute_rings(Figures& all) const;
  static void compute_offers(int size, Figures& all);

  const int size_;
  const std::vector<int64_t> bandwidth_;
  bool is_uniform_ = true;
  mutable std::once_flag computed_;
  mutable Figures figures_;
};

}  // namespace plimsoll::devices
