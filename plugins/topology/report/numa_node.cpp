#include "plugins/topology/report/numa_node.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace plimsoll::topology {
namespace {

constexpr size_t kLineBytes = 64;

// Columns in ascending order of zone ids: the positions of the zones in the report.
std::vector<uint32_t> sorted_positions(const NrtObject& nrt) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < nrt.zones.size() && i < kMaxZones; ++i) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return nrt.zones[a].id < nrt.zones[b].id; });
  return order;
}

// The indices of all that the zones list, zone by zone.
std::vector<uint32_t> listed_resources(const NrtObject& nrt, const ResourceIndex& index) {
  std::vector<uint32_t> listed;
  for (const NrtZone& zone : nrt.zones) {
    for (const ZoneResource& resource : zone.resources) listed.push_back(index(resource.name));
  }
  return listed;
}

// Each once, in order of their indices: the same rows for the same report.
std::vector<uint32_t> rows_of(std::vector<uint32_t> listed) {
  std::sort(listed.begin(), listed.end());
  listed.erase(std::unique(listed.begin(), listed.end()), listed.end());
  return listed;
}

size_t words(size_t bytes) {
  return (bytes + sizeof(int64_t) - 1) / sizeof(int64_t);
}

}  // namespace

NumaNode::NumaNode(const NrtObject& nrt, const ResourceIndex& index, int64_t reported_ms,
                   std::pmr::memory_resource* memory) {
  fill(nrt, index, memory);
  view_->size = sizeof *view_;
  static_assert(int{PLIMSOLL_NUMA_POLICY_SINGLE_NUMA_NODE} == int(Policy::kSingleNumaNode) &&
                int{PLIMSOLL_NUMA_POLICY_RESTRICTED} == int(Policy::kRestricted) &&
                int{PLIMSOLL_NUMA_POLICY_BEST_EFFORT} == int(Policy::kBestEffort) &&
                int{PLIMSOLL_NUMA_SCOPE_POD} == int(Scope::kPod));
  view_->policy = static_cast<uint8_t>(nrt.manager.policy);
  view_->scope = static_cast<uint8_t>(nrt.manager.scope);
  view_->max_numa_nodes = nrt.manager.max_numa_nodes;
  view_->reported_ms = reported_ms;
}

void NumaNode::GiveBack::operator()(void* block) const {
  memory->deallocate(block, bytes, kLineBytes);
}

// In the order in which scores read it.
void NumaNode::place(uint32_t zones, uint32_t rows, std::pmr::memory_resource* memory) {
  const size_t cells = size_t{zones} * rows;
  constexpr size_t kLine = kLineBytes / sizeof(int64_t);
  const size_t before_free = words(sizeof *view_) + rows + words(rows * sizeof(uint32_t));
  const size_t free_at = (before_free + kLine - 1) / kLine * kLine;
  const size_t total = free_at + 4 * cells + 2 * words(zones * sizeof(uint32_t)) +
                       words(size_t{zones} * zones * sizeof(int32_t));
  const size_t bytes = total * sizeof(int64_t);
  void* block = memory->allocate(bytes, kLineBytes);
  std::memset(block, 0, bytes);
  block_ = {block, GiveBack{memory, bytes}};
  view_ = new (block) plimsoll_numa_node{};
  view_->zone_count = zones;
  view_->resource_count = rows;
  int64_t* at = static_cast<int64_t*>(block) + words(sizeof *view_);
  const auto take = [&](size_t count) {
    int64_t* begin = at;
    at += count;
    return begin;
  };
  view_->listed = reinterpret_cast<uint64_t*>(take(rows));
  view_->resources = reinterpret_cast<uint32_t*>(take(words(rows * sizeof(uint32_t))));
  at = static_cast<int64_t*>(block) + free_at;
  free_ = take(cells);
  view_->free = free_;
  view_->allocatable = take(cells);
  available_ = take(cells);
  view_->zone_ids = reinterpret_cast<uint32_t*>(take(words(zones * sizeof(uint32_t))));
  view_->report_order = reinterpret_cast<uint32_t*>(take(words(zones * sizeof(uint32_t))));
  view_->capacity = take(cells);
  view_->distances =
      reinterpret_cast<int32_t*>(take(words(size_t{zones} * zones * sizeof(int32_t))));
}

void NumaNode::fill(const NrtObject& nrt, const ResourceIndex& index,
                    std::pmr::memory_resource* memory) {
  const std::vector<uint32_t> positions = sorted_positions(nrt);
  const std::vector<uint32_t> indices = listed_resources(nrt, index);
  const std::vector<uint32_t> resources = rows_of(indices);
  const auto zones = static_cast<uint32_t>(positions.size());
  place(zones, static_cast<uint32_t>(resources.size()), memory);

  auto* ids = const_cast<uint32_t*>(view_->zone_ids);
  auto* order = const_cast<uint32_t*>(view_->report_order);
  auto* rows = const_cast<uint32_t*>(view_->resources);
  auto* listed = const_cast<uint64_t*>(view_->listed);
  auto* allocatable = const_cast<int64_t*>(view_->allocatable);
  auto* capacity = const_cast<int64_t*>(view_->capacity);
  auto* distances = const_cast<int32_t*>(view_->distances);
  std::copy(resources.begin(), resources.end(), rows);
  std::fill_n(distances, size_t{zones} * zones, kUnknownDistance);
  for (uint32_t column = 0; column < zones; ++column) {
    ids[column] = nrt.zones[positions[column]].id;
    order[positions[column]] = column;
  }
  auto next = indices.begin();
  for (uint32_t position = 0; position < zones; ++position) {
    const uint32_t column = order[position];
    const NrtZone& zone = nrt.zones[position];
    for (const ZoneResource& resource : zone.resources) {
      const size_t row = static_cast<size_t>(
          std::lower_bound(resources.begin(), resources.end(), *next++) - resources.begin());
      const size_t cell = row * zones + column;
      listed[row] |= uint64_t{1} << column;
      available_[cell] = resource.available;
      allocatable[cell] = resource.allocatable;
      capacity[cell] = resource.capacity;
    }
    for (const ZoneCost& cost : zone.costs) {
      const uint32_t* to = std::find(ids, ids + zones, cost.zone_id);
      if (to != ids + zones) distances[size_t{column} * zones + (to - ids)] = cost.value;
    }
  }
  reset_free();
}

uint32_t NumaNode::cell_of(uint32_t resource, uint32_t zone_id) const {
  if (!block_) return kNoRow;
  const uint32_t row = row_of(*view_, resource);
  if (row == kNoRow) return kNoRow;
  for (uint32_t column = 0; column < view_->zone_count; ++column) {
    if (view_->zone_ids[column] != zone_id) continue;
    return (view_->listed[row] >> column & 1) != 0 ? row * view_->zone_count + column : kNoRow;
  }
  return kNoRow;
}

int64_t* NumaNode::free_cell(uint32_t resource, uint32_t zone_id) {
  const uint32_t cell = cell_of(resource, zone_id);
  return cell == kNoRow ? nullptr : free_ + cell;
}

const int64_t* NumaNode::available_cell(uint32_t resource, uint32_t zone_id) const {
  const uint32_t cell = cell_of(resource, zone_id);
  return cell == kNoRow ? nullptr : available_ + cell;
}

void NumaNode::reset_free() {
  if (!block_) return;
  std::copy_n(available_, size_t{view_->zone_count} * view_->resource_count, free_);
}

}  // namespace plimsoll::topology
