#include "plugins/topology/kubelet/cpu_layout.hpp"

#include <algorithm>
#include <map>

namespace plimsoll::topology::kubelet {
namespace {

constexpr uint32_t kZones = 64;

// 0, 1, 2, ... in ascending order of what the ids map to.
std::map<uint32_t, uint16_t> ranks_of(const std::vector<uint32_t>& ids) {
  std::map<uint32_t, uint16_t> ranks;
  for (uint32_t id : ids) ranks[id] = 0;
  uint16_t next = 0;
  for (auto& [id, rank] : ranks) rank = next++;
  return ranks;
}

}  // namespace

CpuLayout::CpuLayout(std::span<const CpuPlace> places) : zone_cpus_(kZones), zone_sockets_(kZones) {
  std::vector<CpuPlace> kept;
  for (const CpuPlace& place : places) {
    if (place.cpu >= kMaxCpus || place.zone >= kZones || all_.contains(place.cpu)) continue;
    all_.add(place.cpu);
    kept.push_back(place);
  }
  std::sort(kept.begin(), kept.end(),
            [](const CpuPlace& a, const CpuPlace& b) { return a.cpu < b.cpu; });
  std::map<uint32_t, uint16_t> cores;  // ascending CPUs: a core is met at its lowest thread
  std::vector<uint32_t> sockets;
  std::vector<uint32_t> uncores;
  for (const CpuPlace& place : kept) {
    cores.emplace(place.core, static_cast<uint16_t>(cores.size()));
    sockets.push_back(place.socket);
    uncores.push_back(place.uncore);
  }
  const auto socket_ranks = ranks_of(sockets);
  const auto uncore_ranks = ranks_of(uncores);
  ranks_.resize(kept.empty() ? 0 : kept.back().cpu + 1);
  for (const CpuPlace& place : kept) {
    const uint16_t socket = socket_ranks.at(place.socket);
    ranks_[place.cpu] = {static_cast<uint16_t>(place.zone), socket, cores.at(place.core),
                         uncore_ranks.at(place.uncore)};
    ++zone_cpus_[place.zone];
    zone_sockets_[place.zone] |= uint64_t{1} << std::min<uint32_t>(socket, 63);
  }
  cpus_ = static_cast<uint32_t>(kept.size());
  sockets_ = static_cast<uint32_t>(socket_ranks.size());
  cores_ = static_cast<uint32_t>(cores.size());
  uncores_ = static_cast<uint32_t>(uncore_ranks.size());
  zones_ = static_cast<uint32_t>(
      std::count_if(zone_cpus_.begin(), zone_cpus_.end(), [](uint32_t n) { return n > 0; }));
  std::vector<uint32_t> threads(cores_);
  std::vector<uint32_t> in_socket(sockets_);
  all_.for_each([&](uint32_t cpu) {
    ++threads[ranks_[cpu].core];
    ++in_socket[ranks_[cpu].socket];
  });
  for (uint32_t count : threads) even_ = even_ && count == per_core();
  for (uint32_t count : in_socket) even_ = even_ && count == per_socket();
}

CpuSet CpuLayout::whole_cores(const CpuSet& cpus) const {
  std::vector<bool> touched(cores_);
  cpus.for_each([&](uint32_t cpu) {
    if (has(cpu)) touched[ranks_[cpu].core] = true;
  });
  CpuSet out;
  all_.for_each([&](uint32_t cpu) {
    if (touched[ranks_[cpu].core]) out.add(cpu);
  });
  return out;
}

}  // namespace plimsoll::topology::kubelet
