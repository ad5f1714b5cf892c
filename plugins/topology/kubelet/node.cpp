#include "plugins/topology/kubelet/node.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/kubelet/masks.hpp"

namespace plimsoll::topology::kubelet {
namespace {

constexpr uint32_t kMaxColumns = 64;

void fit_to(std::vector<int64_t>& totals, uint32_t zones) {
  totals.resize(zones);
  for (int64_t& total : totals) total = std::clamp<int64_t>(total, 0, kMaxAmount);
}

Totals sorted(uint32_t resource, const std::vector<int64_t>& by_zone) {
  Totals totals;
  totals.resource = resource;
  for (uint32_t column = 0; column < by_zone.size(); ++column) {
    if (by_zone[column] <= 0) continue;
    totals.zones |= ZoneMask{1} << column;
    totals.largest.push_back(by_zone[column]);
  }
  std::sort(totals.largest.begin(), totals.largest.end(), std::greater<>());
  totals.count = static_cast<uint32_t>(totals.largest.size());
  if (totals.count > 0) {
    totals.most = totals.largest.front();
    totals.least = totals.largest.back();
  }
  for (size_t k = 1; k < totals.largest.size(); ++k) {
    totals.largest[k] = add_amounts(totals.largest[k], totals.largest[k - 1]);
  }
  return totals;
}

NodeModel::DeviceFacts facts_of(DeviceType& type, ZoneMask all, uint32_t zones) {
  NodeModel::DeviceFacts facts;
  if (type.listed()) {
    type.totals.assign(zones, 0);
    facts.words = static_cast<uint32_t>((type.devices.size() + 63) / 64);
    facts.healthy.assign(facts.words, 0);
    for (size_t i = 0; i < type.devices.size(); ++i) {
      Device& device = type.devices[i];
      device.zones &= all;
      facts.single_zone = facts.single_zone && std::popcount(device.zones) <= 1;
      if (device.healthy) facts.healthy[i / 64] |= uint64_t{1} << (i % 64);
      facts.any_healthy = facts.any_healthy || device.healthy;
      for_each_column(device.zones, [&](uint32_t column) { ++type.totals[column]; });
    }
  } else {
    fit_to(type.totals, zones);
  }
  facts.totals = sorted(type.resource, type.totals);
  facts.any_topology = facts.totals.zones != 0;
  // Reports count healthy devices only.
  if (!type.listed()) facts.any_healthy = facts.any_topology;
  return facts;
}

}  // namespace

void NodeModel::prepare() {
  static std::atomic<uint64_t> numbers{0};
  number = ++numbers;
  const size_t given = zone_ids.size();
  if (given > kMaxColumns) zone_ids.resize(kMaxColumns);
  const uint32_t n = zones();
  if (distances.size() != given * given || given > kMaxColumns) distances.clear();
  all = n == kMaxColumns ? ~ZoneMask{0} : (ZoneMask{1} << n) - 1;

  if (layout) {
    cpu_totals.assign(n, 0);
    for (uint32_t column = 0; column < n; ++column) cpu_totals[column] = layout->in_zone(column);
    if (reserved) reserved_cores = layout->whole_cores(*reserved);
  }
  fit_to(cpu_totals, n);
  cpu = sorted(kCpuResource, cpu_totals);
  cpu_static = managers.cpu != ManagerPolicy::kNone && cpu.zones != 0;

  memory_by_type.clear();
  bool any_memory = false;  // huge pages alone do not make a memory manager
  for (MemoryType& type : memory) {
    fit_to(type.allocatable, n);
    memory_by_type.push_back(sorted(type.resource, type.allocatable));
    const bool there = memory_by_type.back().zones != 0;
    any_memory = any_memory || (type.resource == kMemoryResource && there);
  }
  memory_static = managers.memory != ManagerPolicy::kNone && any_memory;

  device_facts.clear();
  for (DeviceType& type : devices) device_facts.push_back(facts_of(type, all, n));

  memory_at = n;
  devices_at = memory_at + n * static_cast<uint32_t>(memory.size());
  groups_at = devices_at + n * static_cast<uint32_t>(devices.size());
  device_ids_at = groups_at + 2 * n;
  uint32_t words = 0;
  for (DeviceFacts& facts : device_facts) {
    facts.first_word = device_ids_at + words;
    words += facts.words;
  }
  cpu_ids_at = device_ids_at + words;
  uint32_t cpu_words = 0;
  if (layout) {
    for (uint32_t i = 0; i < kMaxCpus / 64; ++i) {
      if (layout->all().word(i) != 0) cpu_words = i + 1;
    }
  }
  cells = cpu_ids_at + cpu_words;
}

CpuSet NodeState::cpu_ids(const NodeModel& m) const {
  CpuSet set;
  if (!knows_cpus_) return set;
  for (uint32_t i = 0; i < m.cells - m.cpu_ids_at; ++i) {
    set.set_word(i, static_cast<uint64_t>(cells_[m.cpu_ids_at + i]));
  }
  return set;
}

void NodeState::set_cpu_ids(const NodeModel& m, const CpuSet& free) {
  if (!m.layout) return;
  knows_cpus_ = true;
  const auto counts = cpu(m);
  std::fill(counts.begin(), counts.end(), 0);
  const CpuSet kept = free & m.layout->all();
  kept.for_each([&](uint32_t id) {
    const uint32_t column = m.layout->at(id).zone;
    if (column < counts.size()) ++counts[column];
  });
  for (uint32_t i = 0; i < m.cells - m.cpu_ids_at; ++i) {
    cells_[m.cpu_ids_at + i] = static_cast<int64_t>(kept.word(i));
  }
}

void NodeState::forget_cpu_ids(const NodeModel& m) {
  knows_cpus_ = false;
  std::fill(cells_.begin() + m.cpu_ids_at, cells_.end(), 0);
}

std::span<const uint64_t> NodeState::device_ids(const NodeModel& m, uint32_t row) const {
  const NodeModel::DeviceFacts& facts = m.device_facts[row];
  // int64_t and uint64_t may alias each other.
  return {reinterpret_cast<const uint64_t*>(cells_.data()) + facts.first_word, facts.words};
}

void NodeState::set_device_ids(const NodeModel& m, uint32_t row, std::span<const uint64_t> free) {
  const NodeModel::DeviceFacts& facts = m.device_facts[row];
  const auto counts = devices(m, row);
  std::fill(counts.begin(), counts.end(), 0);
  for (uint32_t word = 0; word < facts.words; ++word) {
    const uint64_t bits = word < free.size() ? free[word] & facts.healthy[word] : 0;
    cells_[facts.first_word + word] = static_cast<int64_t>(bits);
    for (uint64_t rest = bits; rest != 0; rest &= rest - 1) {
      const Device& device =
          m.devices[row].devices[word * 64 + static_cast<uint32_t>(std::countr_zero(rest))];
      for_each_column(device.zones, [&](uint32_t column) { ++counts[column]; });
    }
  }
}

void NodeState::set_group(const NodeModel& m, uint32_t column, int64_t assignments,
                          ZoneMask cells) {
  if (!knows_groups_) {
    knows_groups_ = true;
    for (uint32_t i = 0; i < m.zones(); ++i) {
      cells_[m.groups_at + i] = 0;
      cells_[m.groups_at + m.zones() + i] = static_cast<int64_t>(ZoneMask{1} << i);
    }
  }
  if (column >= m.zones()) return;
  cells_[m.groups_at + column] = std::max<int64_t>(assignments, 0);
  cells_[m.groups_at + m.zones() + column] =
      static_cast<int64_t>((cells & m.all) | ZoneMask{1} << column);
}

}  // namespace plimsoll::topology::kubelet
