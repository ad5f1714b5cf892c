#pragma once
// Where each CPU of a node sits: zone, socket, core, last-level ("uncore") cache. Fixed while the
// node is up, and the same for all nodes of one machine type, so nodes may share it.

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/topology/kubelet/cpu_set.hpp"

namespace plimsoll::topology::kubelet {

// One CPU as a node describes it. Ids are only compared: any numbers do.
struct CpuPlace {
  uint32_t cpu = 0;
  uint32_t zone = 0;    // column, not id
  uint32_t socket = 0;  // unique on the node
  uint32_t core = 0;    // unique on the node; threads of one core have the same
  uint32_t uncore = 0;  // unique on the node
};

class CpuLayout {
 public:
  // CPUs named twice, ids from 2048 on and columns from 64 on are left out.
  explicit CpuLayout(std::span<const CpuPlace> places);

  // Ranks: 0, 1, 2, ... in the kubelet's order of ids. A core's id is that of its lowest thread.
  struct Rank {
    uint16_t zone = kAbsent;  // column
    uint16_t socket = 0;
    uint16_t core = 0;
    uint16_t uncore = 0;
  };
  static constexpr uint16_t kAbsent = UINT16_MAX;

  [[nodiscard]] bool has(uint32_t cpu) const { return all_.contains(cpu); }
  [[nodiscard]] const Rank& at(uint32_t cpu) const { return ranks_[cpu]; }
  [[nodiscard]] const CpuSet& all() const { return all_; }
  [[nodiscard]] uint32_t cpus() const { return cpus_; }
  [[nodiscard]] uint32_t sockets() const { return sockets_; }
  [[nodiscard]] uint32_t cores() const { return cores_; }
  [[nodiscard]] uint32_t uncores() const { return uncores_; }
  [[nodiscard]] uint32_t zones() const { return zones_; }  // that have CPUs
  // Whole threads per core, CPUs per socket and per uncore cache: the kubelet's integer divisions.
  [[nodiscard]] uint32_t per_core() const { return cores_ == 0 ? 0 : cpus_ / cores_; }
  [[nodiscard]] uint32_t per_socket() const { return sockets_ == 0 ? 0 : cpus_ / sockets_; }
  [[nodiscard]] uint32_t per_uncore() const { return uncores_ == 0 ? 0 : cpus_ / uncores_; }
  // CPUs of a zone; sockets of a zone, as a bit per rank (sockets from rank 64 on share bit 63).
  [[nodiscard]] uint32_t in_zone(uint32_t column) const { return zone_cpus_[column]; }
  [[nodiscard]] uint64_t sockets_of(uint32_t column) const { return zone_sockets_[column]; }
  // All cores have the same number of threads, all sockets the same number of CPUs. Where not, the
  // kubelet takes groups of average size for full ones, and CPUs with them that are not free.
  [[nodiscard]] bool even() const { return even_; }
  // All threads of the cores that the set touches.
  [[nodiscard]] CpuSet whole_cores(const CpuSet& cpus) const;

 private:
  std::vector<Rank> ranks_;  // by CPU id, up to the highest
  CpuSet all_;
  uint32_t cpus_ = 0;
  uint32_t sockets_ = 0;
  uint32_t cores_ = 0;
  uint32_t uncores_ = 0;
  uint32_t zones_ = 0;
  bool even_ = true;
  std::vector<uint32_t> zone_cpus_;     // 64, by column
  std::vector<uint64_t> zone_sockets_;  // 64, by column
};

}  // namespace plimsoll::topology::kubelet
