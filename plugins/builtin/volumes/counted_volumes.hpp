#pragma once
// What the limits of a node's CSI drivers count: claims and in-tree volumes as volumes of a driver.
// Kubernetes: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go. Values; any thread.

#include <plimsoll/views.hpp>

#include <optional>
#include <string>
#include <vector>

#include "plugins/builtin/volumes/storage_store.hpp"
#include "plugins/storage/csi_translation.hpp"
#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::volumes {

struct CountedVolume {
  std::optional<CsiVolume> volume;  // null: no limit counts it
  bool needs_csi_node = false;      // an in-tree volume: it counts only on a node with a CSINode
  std::string problem;              // not empty: nobody can say what it is
  bool operator==(const CountedVolume&) const = default;
};

// By the claim's PersistentVolume, or by its class while there is none. `volume_name` and
// `class_name` of the claim say what it rests on. An unbound claim is a volume of its own.
[[nodiscard]] CountedVolume counted(const PersistentVolumeClaim& claim, const StorageStore& store);
// Of a volume in the pod itself, without a claim.
[[nodiscard]] CountedVolume counted(const plimsoll_volume& inline_volume);

// Whether some limit may count a volume of the pod.
[[nodiscard]] bool may_count(sdk::Pod pod);

// All volumes of a pod that is to be placed.
struct NewVolumes {
  std::vector<CsiVolume> volumes;  // sorted, each once
  // The first volume that does not let it be placed anywhere, if there is one.
  struct Fault {
    bool is_error = false;  // otherwise a rejection
    std::string text;
  };
  std::optional<Fault> fault;
};
// `on_csi_node`: on a node that has a CSINode.
[[nodiscard]] NewVolumes new_volumes(sdk::Pod pod, const StorageStore& store, bool on_csi_node);

// The volumes of a pod that is on a node, as VolumeUse counts them: a claim that two volumes name
// is one, and a claim that does not exist is left out.
struct HeldVolumes {
  std::vector<CsiVolume> volumes;  // may name one several times, by different claims
  size_t uncounted = 0;            // volumes of which nobody can say what they are
};
[[nodiscard]] HeldVolumes held_volumes(sdk::Pod pod, const StorageStore& store);

}  // namespace plimsoll::volumes
