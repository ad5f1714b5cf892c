#pragma once
// Which pods use which claims, and which volumes of CSI drivers are attached to which node. Kept up
// to date by events, so that no pod of a node is looked at again when another is placed.
//
// All instances share one: what one profile has promised, the others see. Every instance that uses
// it tells it all that it hears; what it knows already changes nothing.
//
// Changed on the loop only; Filter reads it from other threads while the loop waits.

#include <plimsoll/host.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/base/string_map.hpp"
#include "plugins/builtin/volumes/counted_volumes.hpp"
#include "plugins/builtin/volumes/storage_store.hpp"

namespace plimsoll::volumes {

struct NodeVolumes {
  struct Uses {
    uint32_t pods = 0;         // volumes of pods
    uint32_t attachments = 0;  // VolumeAttachments
  };
  std::map<CsiVolume, Uses> attached;
  StringMap<int64_t> count;  // by driver: how many of `attached`
  size_t uncounted = 0;      // volumes of pods of which nobody can say what they are
  struct Csi {
    bool is_readable = true;
    StringMap<std::optional<int64_t>> drivers;  // each with its limit, if it has one
    bool operator==(const Csi&) const = default;
  };
  std::optional<Csi> csi_node;  // nothing: there is no CSINode
};

class VolumeUse {
 public:
  explicit VolumeUse(const StorageStore& store) : store_(store) {}
  VolumeUse(const VolumeUse&) = delete;
  VolumeUse& operator=(const VolumeUse&) = delete;

  // Names of nodes.
  using Nodes = std::set<std::string>;

  // The pod is on this node: assigned, or reserved until it is assigned or released.
  void assign(sdk::Pod pod, std::string_view node);
  void reserve(sdk::Pod pod, std::string_view node);
  void remove(std::string_view uid);
  // Takes a reserved pod off again, unless it is assigned meanwhile.
  void release(std::string_view uid);

  // The store has another version of this object. Returns the nodes to which that matters.
  Nodes changed(std::string_view resource, std::string_view ns, std::string_view name);

  // How many pods on nodes have a persistentVolumeClaim volume of this claim.
  [[nodiscard]] size_t users(std::string_view claim_key) const;
  // Null: nothing is known of it, so nothing is attached and there is no CSINode.
  [[nodiscard]] const NodeVolumes* node(std::string_view name) const;
  // Whether the volume is attached to any node.
  [[nodiscard]] bool is_attached(const CsiVolume& volume) const;

 private:
  struct ClaimUse {
    std::string key;
    bool ephemeral;  // then the claim must be the pod's own
    auto operator<=>(const ClaimUse&) const = default;
  };
  struct PodRecord {
    std::string uid;
    std::string node;
    bool is_reserved = false;
    std::set<ClaimUse> claims;
    std::vector<CountedVolume> inline_volumes;
  };
  // What is counted of a claim, and what that rests on.
  struct ClaimState {
    bool exists = false;
    std::string volume_name;
    std::string class_name;  // empty: its class does not matter
    std::string controller_uid;
    bool is_readable = true;
    CountedVolume counted;
    bool operator==(const ClaimState&) const = default;
  };
  // A claim that some pod uses.
  struct ClaimRecord {
    std::set<std::string> pods;  // UIDs
    size_t plain_users = 0;      // those with a persistentVolumeClaim volume
    size_t ephemeral_users = 0;  // those with an ephemeral volume
    ClaimState state;
  };
  struct AttachmentRecord {
    std::string node;
    std::string volume_name;
    CountedVolume counted;
    bool operator==(const AttachmentRecord&) const = default;
  };
  using Index = StringMap<std::set<std::string>>;

  void put(sdk::Pod pod, std::string_view node, bool is_reserved);
  void add_claims(const PodRecord& pod);
  void remove_claims(const PodRecord& pod);
  void count_pod(const PodRecord& pod, int sign);
  void count_claim(const PodRecord& pod, const ClaimUse& use, const ClaimState& claim, int sign);
  void count(std::string_view node, const CountedVolume& volume, uint32_t NodeVolumes::Uses::*by,
             int sign);
  void count(NodeVolumes& node, const CsiVolume& volume, uint32_t NodeVolumes::Uses::*by, int sign);
  void forget_if_empty(std::string_view node);

  [[nodiscard]] ClaimState state_of(const std::string& claim_key) const;
  [[nodiscard]] AttachmentRecord attachment(const std::string& name) const;
  void index(const std::string& claim_key, const ClaimState& state, bool is_added);
  void claim_changed(const std::string& key, Nodes& touched);
  void volume_changed(std::string_view name, Nodes& touched);
  void class_changed(std::string_view name, Nodes& touched);
  void attachment_changed(const std::string& name, Nodes& touched);
  void csi_node_changed(std::string_view name, Nodes& touched);

  const StorageStore& store_;
  StringMap<PodRecord> pods_;  // by UID: those with volumes that matter
  StringMap<ClaimRecord> claims_;
  Index claims_by_volume_;  // by what they rest on
  Index claims_by_class_;
  StringMap<AttachmentRecord> attachments_;
  Index attachments_by_volume_;
  StringMap<NodeVolumes> nodes_;
  std::map<CsiVolume, uint32_t> everywhere_;  // on how many nodes each volume is attached
};

}  // namespace plimsoll::volumes
