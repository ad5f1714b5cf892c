#include "plugins/builtin/volumes/volume_finder.hpp"

#include <algorithm>

#include "plugins/storage/volume_match.hpp"

namespace plimsoll::volumes {
namespace {

constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
constexpr size_t kMaxSetsInKey = 64;

}  // namespace

VolumeFinder::VolumeFinder(const StorageStore& store, const std::vector<DelayedClaim>& delayed,
                           NodeSets& sets, const ClassNames& taken)
    : store_(store), sets_(sets) {
  std::vector<const DelayedClaim*> unselected;
  for (const DelayedClaim& each : delayed) {
    (each.claim->selected_node() ? selected_ : unselected).push_back(&each);
  }
  std::stable_sort(unselected.begin(), unselected.end(),
                   [](const DelayedClaim* a, const DelayedClaim* b) {
                     return requested_size(*a->claim).cmp(requested_size(*b->claim)) < 0;
                   });
  searches_.reserve(unselected.size());
  for (const DelayedClaim* each : unselected) add_search(*each, taken);
  for (const DelayedClaim& each : delayed) add_provisioning(*each.claim);
}

// ---- before the first node

void VolumeFinder::add_search(const DelayedClaim& delayed, const ClassNames& taken) {
  const PersistentVolumeClaim& claim = *delayed.claim;
  if (const std::string invalid = claim.selector_problem(); problem_.empty() && !invalid.empty()) {
    problem_ = "error creating internal label selector for claim: " + claim.key() + ": " + invalid;
  }
  Search& search = searches_.emplace_back();
  search.delayed = &delayed;
  for (const VolumeRef& volume : delayed.pre_bound) {
    if (fit_of(*volume, claim) != VolumeFit::kPreBound) continue;
    search.pre_bound = &volume;
    decides(sets_.of(volume->affinity.get()));
    return;
  }
  if (!taken.contains(claim.class_name)) add_candidates(search);
}

void VolumeFinder::add_candidates(Search& search) {
  const PersistentVolumeClaim& claim = *search.delayed->claim;
  const VolumeLists::List& free = *search.delayed->free;
  auto at = VolumeLists::first_of_size(free, requested_size(claim));
  const ClaimSelector selector(claim.selector());
  // Of volumes that every node can use, those before take one each at most.
  size_t for_every_node = 0;
  for (; at != free.end() && for_every_node <= searches_.size(); ++at) {
    if (fit_of(**at, claim) != VolumeFit::kFits) continue;
    if (!selector.matches((*at)->base().meta.labels)) continue;
    const RowSet& rows = sets_.of((*at)->affinity.get());
    if (!rows.is_single()) {
      search.shared.push_back({&*at, &rows});
      if (rows.is_every()) ++for_every_node;
      decides(rows);
    } else if (rows.single() != RowSet::kNoRow) {
      search.local_on[rows.single()].push_back(static_cast<uint32_t>(search.local.size()));
      search.local.push_back({&*at, &rows});
    }
  }
}

// Kubernetes: checkVolumeProvisions and hasEnoughCapacity.
void VolumeFinder::add_provisioning(const PersistentVolumeClaim& claim) {
  const auto [at, is_new] = provisioning_.try_emplace(&claim);
  if (!is_new) return;
  Provisioning& made = at->second;
  if (claim.class_name.empty()) {
    made.problem = "no class for claim \"" + claim.key() + "\"";
    return;
  }
  const auto storage_class = store_.classes().find(claim.class_name);
  if (storage_class == nullptr || !storage_class->readable()) {
    made.problem = "failed to find storage class \"" + std::string(claim.class_name) + "\"";
    return;
  }
  const std::string_view provisioner = storage_class->provisioner();
  made.is_possible = !provisioner.empty() && provisioner != kNoProvisioner;
  if (!made.is_possible) return;
  made.topology = &sets_.of(storage_class->allowed_topologies.get());
  decides(*made.topology);
  if (!claim.request) return;
  const auto driver = store_.csi_drivers().find(provisioner);
  // A driver that cannot be read may ask for space: none is known then.
  if (driver == nullptr || (driver->readable() && driver->object->storage_capacity == 0)) return;
  made.asks_for_space = true;
  if (driver->readable()) find_places(made, *storage_class, claim.request->value());
}

void VolumeFinder::find_places(Provisioning& made, const StorageClass& storage_class,
                               int64_t bytes) {
  for (const auto& [key, capacity] : store_.capacities_of_class(storage_class.name())) {
    const std::optional<Quantity>& limit = capacity->limit();
    if (!capacity->has_topology() || !limit || limit->value() < bytes) continue;
    const RowSet& rows = sets_.of(capacity->topology.get());
    made.places.emplace_back(&rows, capacity.get());
    made.enough.add(rows, sets_.nodes().size());
  }
  decides(made.enough);
}

void VolumeFinder::decides(const RowSet& rows) {
  if (rows.is_every() || deciding_.size() > kMaxSetsInKey) return;
  if (std::find(deciding_.begin(), deciding_.end(), &rows) == deciding_.end()) {
    deciding_.push_back(&rows);
  }
}

// ---- one node

uint8_t VolumeFinder::faults_on(uint32_t row, NodePlan* plan) {
  for (const DelayedClaim* each : selected_) {
    if (*each->claim->selected_node() != sets_.nodes()[row].name()) return kBindConflict;
  }
  if (!problem_.empty()) return kFailed;
  const bool is_like_others = plan == nullptr && selected_.empty() &&
                              deciding_.size() <= kMaxSetsInKey && !has_own_volumes(row);
  if (!is_like_others) return decide(row, plan);
  uint64_t key = 0;
  for (size_t i = 0; i < deciding_.size(); ++i) {
    if (deciding_[i]->has(row)) key |= uint64_t{1} << i;
  }
  const auto [known, is_new] = decided_.try_emplace(key, uint8_t{0});
  if (is_new) known->second = decide(row, nullptr);
  return known->second;
}

bool VolumeFinder::has_own_volumes(uint32_t row) const {
  return std::any_of(searches_.begin(), searches_.end(), [row](const Search& search) {
    return !search.local.empty() && search.local_on.contains(row);
  });
}

uint8_t VolumeFinder::decide(uint32_t row, NodePlan* plan) {
  taken_.clear();
  std::vector<const ClaimRef*> to_provision;
  for (const DelayedClaim* each : selected_) to_provision.push_back(&each->claim);
  for (const Search& search : searches_) {
    const ClaimRef& claim = search.delayed->claim;
    const VolumeRef* found = find(search, row);
    if (found == nullptr) {
      to_provision.push_back(&claim);
      continue;
    }
    taken_.push_back(found->get());
    if (plan != nullptr) plan->bindings.push_back({claim, *found});
  }
  for (const ClaimRef* claim : to_provision) {
    if (const uint8_t fault = provision(*claim, row, plan)) return fault;
  }
  return 0;
}

bool VolumeFinder::is_taken(const VolumeRef& volume) const {
  return std::find(taken_.begin(), taken_.end(), volume.get()) != taken_.end();
}

// Null: none.
const VolumeRef* VolumeFinder::find(const Search& search, uint32_t row) const {
  if (search.pre_bound != nullptr) {
    const VolumeRef& volume = *search.pre_bound;
    return sets_.of(volume->affinity.get()).has(row) ? &volume : nullptr;
  }
  const VolumeRef* smallest = nullptr;
  for (const Candidate& candidate : search.shared) {
    if (!candidate.rows->has(row) || is_taken(*candidate.volume)) continue;
    smallest = candidate.volume;
    break;
  }
  if (search.local.empty()) return smallest;
  const auto own = search.local_on.find(row);
  if (own == search.local_on.end()) return smallest;
  for (const uint32_t position : own->second) {
    const VolumeRef* volume = search.local[position].volume;
    if (is_taken(*volume)) continue;
    // Both point into one list, which is sorted.
    return smallest == nullptr || volume < smallest ? volume : smallest;
  }
  return smallest;
}

uint8_t VolumeFinder::provision(const ClaimRef& claim, uint32_t row, NodePlan* plan) {
  const Provisioning& provisioning = provisioning_.at(claim.get());
  if (!provisioning.problem.empty()) {
    problem_ = provisioning.problem;
    return kFailed;
  }
  if (!provisioning.is_possible || !provisioning.topology->has(row)) return kBindConflict;
  if (provisioning.asks_for_space && !provisioning.enough.has(row)) return kNotEnoughSpace;
  if (plan == nullptr) return 0;
  const auto place = std::find_if(provisioning.places.begin(), provisioning.places.end(),
                                  [row](const auto& each) { return each.first->has(row); });
  plan->provisions.push_back({claim, place == provisioning.places.end() ? nullptr : place->second});
  return 0;
}

}  // namespace plimsoll::volumes
