#pragma once
// Volumes of in-tree plugins as the volumes of the CSI drivers that stand in for these plugins.
// Kubernetes: staging/src/k8s.io/csi-translation-lib. Values; any thread.

#include <plimsoll/objects.h>

#include <compare>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"
#include "plugins/storage/storage_objects.hpp"

namespace plimsoll::volumes {

// An in-tree plugin that Kubernetes can migrate to a CSI driver.
struct InTreePlugin {
  std::string_view source;    // the field's name in a pod or PersistentVolume
  std::string_view name;      // "kubernetes.io/aws-ebs"
  std::string_view driver;    // the CSI driver
  std::string_view zone_key;  // of the driver's topology; empty: affinity stays as it is
  bool is_switched_on;        // the scheduler counts and translates its volumes
};

// Null: there is no such plugin.
[[nodiscard]] const InTreePlugin* in_tree_plugin_of(std::string_view source);
[[nodiscard]] const InTreePlugin* in_tree_plugin_named(std::string_view name);

// The plugins that a CSINode names as migrated, between commas.
[[nodiscard]] std::string_view migrated_plugins(const CsiNode& node);
// Whether the node's CSINode names the plugin, which VolumeBinding asks for.
[[nodiscard]] bool is_migrated_on(const InTreePlugin& plugin, const CsiNode* node);

struct CsiVolume {
  std::string driver;
  std::string handle;
  auto operator<=>(const CsiVolume&) const = default;
};
struct TranslatedVolume : CsiVolume {
  AffinityRef affinity;  // null: every node
};

// Of an in-tree volume whose plugin is switched on.
[[nodiscard]] Result<TranslatedVolume> translate(const PersistentVolume& volume);
// Of a pod's volume whose source is migratable. The handle is empty where nobody asks for it.
[[nodiscard]] Result<CsiVolume> translate(const plimsoll_volume& volume);

}  // namespace plimsoll::volumes
