#pragma once
// What Reserve of VolumeBinding decides for one pod: it is assumed of the objects in the store, so
// that no other pod is given the same, until they are written. Loop only.
//
// Pods that share a claim share what is assumed: it ends with the last of them.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"
#include "plugins/builtin/volumes/volume_finder.hpp"

namespace plimsoll::volumes {

// An unbound claim as PreFilter saw it: key and version.
using SeenClaim = std::pair<std::string, std::string>;

// These claims, each with the volumes that it may take. Fails if one of them is not there.
[[nodiscard]] Result<std::vector<DelayedClaim>> delayed_claims(const StorageStore& store,
                                                               const std::vector<SeenClaim>& seen);

// What is to be written, in the order of the writes. Values: the objects may change or go.
struct Reservation {
  struct Binding {
    std::string volume;
    std::string volume_version;  // as it was seen; once it is written, what it was given
    std::shared_ptr<AssumedClaim> claim;
    bool changes = false;     // the claimRef is to be written; else the API server has it already
    bool is_assumed = false;  // the pod is one of the holders
  };
  struct Provision {
    ClaimIdentity claim;
    std::shared_ptr<AssumedNode> node;
    std::string written_version;
  };
  std::string node_name;
  std::vector<Binding> bindings;
  std::vector<Provision> provisions;
};

// Assumes what the plan says for the node, all or nothing: claimRefs and selected nodes. Fails if a
// claim is another version than `seen`.
[[nodiscard]] Result<Reservation> reserve(StorageStore& store, const NodePlan& plan,
                                          std::string_view node,
                                          const std::vector<SeenClaim>& seen);
// Ends what is assumed and not written, as far as no other pod rests on it.
void restore(StorageStore& store, const Reservation& reservation);

}  // namespace plimsoll::volumes
