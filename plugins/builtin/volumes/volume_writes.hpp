#pragma once
// The API server's side of VolumeBinding: its writes and what the answers say. And where a volume
// can be used from, as the node sees it. Pure; any thread.

#include <plimsoll/host.hpp>

#include <string>
#include <string_view>

#include "framework/base/result.hpp"
#include "plugins/builtin/volumes/reservation.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"

namespace plimsoll::volumes {

// Sets the volume's claimRef, on the condition that the object is still of its version. A binding
// that changes nothing asks for the condition alone.
[[nodiscard]] sdk::Host::ApiRequest volume_write(const Reservation::Binding& binding);
// Sets the claim's selected node, on the same condition.
[[nodiscard]] sdk::Host::ApiRequest claim_write(const Reservation::Provision& provision);

// metadata.resourceVersion of an answer; empty: it has none.
[[nodiscard]] std::string version_in(std::string_view body);
// The message of an answer that is no success; status 0: the text is the reason.
[[nodiscard]] std::string failure_text(int status, std::string_view body);

// The node affinity of the volume on this node: translated where the node's CSINode says that the
// volume's in-tree plugin is migrated. Null: every node.
[[nodiscard]] Result<AffinityRef> affinity_on(const PersistentVolume& volume,
                                              std::string_view node_name,
                                              const StorageStore& store);

}  // namespace plimsoll::volumes
