#pragma once
// Which PersistentVolumes a pod's unbound claims would get on a node, and which claims would be
// provisioned there. Kubernetes: FindPodVolumes in
// pkg/scheduler/framework/plugins/volumebinding/binder.go.
//
// Deterministic: of volumes of equal size the first by name is taken (Kubernetes takes any). For
// one call of a plugin, over one batch of nodes.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/base/result.hpp"
#include "plugins/builtin/volumes/node_sets.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"
#include "plugins/storage/volume_lists.hpp"

namespace plimsoll::volumes {

// An unbound claim that waits for its first consumer.
struct DelayedClaim {
  ClaimRef claim;
  const VolumeLists::List* free = nullptr;  // volumes of its class
  VolumeLists::List pre_bound;              // volumes of its class whose claimRef names it
};

// Faults of a node, in the order in which a status names them.
enum Fault : uint8_t {
  kNodeConflict = 1,
  kBindConflict = 2,
  kNotEnoughSpace = 4,
  kVolumeNotExist = 8,
};

// What has to be written if the pod goes to the node, in the order of the writes. As objects are at
// this moment.
struct NodePlan {
  struct Binding {
    ClaimRef claim;
    VolumeRef volume;
  };
  struct Provision {
    ClaimRef claim;
    const CsiStorageCapacity* capacity = nullptr;  // where there is enough; null: nobody asked
  };
  std::vector<Binding> bindings;
  std::vector<Provision> provisions;
};

using ClassNames = std::set<std::string, std::less<>>;

class VolumeFinder {
 public:
  // `delayed` in the pod's order. `taken`: classes of which no volume is left to choose. All
  // outlive this.
  VolumeFinder(const StorageStore& store, const std::vector<DelayedClaim>& delayed, NodeSets& sets,
               const ClassNames& taken = {});

  // The faults of one row, or kFailed. `plan`: null, or what would be written; complete only
  // without faults.
  [[nodiscard]] uint8_t faults_on(uint32_t row, NodePlan* plan = nullptr);
  static constexpr uint8_t kFailed = 0x80;
  // Why, after kFailed: no node can be judged.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  struct Candidate {
    const VolumeRef* volume;
    const RowSet* rows;
  };
  // The volumes that one claim could take, smallest first.
  struct Search {
    const DelayedClaim* delayed;
    const VolumeRef* pre_bound = nullptr;  // nothing else is taken then
    std::vector<Candidate> shared;         // usable from several nodes
    std::vector<Candidate> local;          // of one node each: no other node looks at them
    std::unordered_map<uint32_t, std::vector<uint32_t>> local_on;  // by row: positions in `local`
  };
  // What a claim needs for a new volume.
  struct Provisioning {
    std::string problem;  // not empty: it cannot be said
    bool is_possible = false;
    const RowSet* topology = nullptr;
    bool asks_for_space = false;
    std::vector<std::pair<const RowSet*, const CsiStorageCapacity*>> places;  // with enough space
    RowSet enough = RowSet::none();                                           // all of them
  };

  void add_search(const DelayedClaim& delayed, const ClassNames& taken);
  void add_candidates(Search& search);
  void add_provisioning(const PersistentVolumeClaim& claim);
  void find_places(Provisioning& made, const StorageClass& storage_class, int64_t bytes);
  void decides(const RowSet& rows);

  uint8_t decide(uint32_t row, NodePlan* plan);
  [[nodiscard]] const VolumeRef* find(const Search& search, uint32_t row) const;
  [[nodiscard]] bool is_taken(const VolumeRef& volume) const;
  uint8_t provision(const ClaimRef& claim, uint32_t row, NodePlan* plan);
  [[nodiscard]] bool has_own_volumes(uint32_t row) const;

  const StorageStore& store_;
  NodeSets& sets_;
  std::vector<const DelayedClaim*> selected_;  // with a selected node, in the pod's order
  std::vector<Search> searches_;               // the others, smallest request first
  std::unordered_map<const PersistentVolumeClaim*, Provisioning> provisioning_;
  std::string problem_;
  std::vector<const PersistentVolume*> taken_;  // on the row at hand
  // Rows that are in the same of these sets, and have no volumes of their own, have the same
  // faults.
  std::vector<const RowSet*> deciding_;
  std::unordered_map<uint64_t, uint8_t> decided_;
};

}  // namespace plimsoll::volumes
