#pragma once
// A cluster of three zones and 2,000 pods that want different things of it at once: spreading,
// neighbours, volumes, room, and claims of one pod only. A seed decides sizes and order; how many
// of each app fit does not depend on it.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/e2e/provisioner.hpp"
#include "tests/kube/kube_client.hpp"

namespace plimsoll::test {

// How many pods of an app are bound at the end. Which volumes a scheduler had made when it was
// killed decides for some apps: a pod whose volume is in a full zone waits for ever.
struct Expected {
  std::size_t pods = 0;
  std::size_t least = 0;
  std::size_t most = 0;
};

struct MixedLoad {
  std::vector<KubeObject> cluster;  // nodes, CSINodes, StorageClasses
  std::vector<KubeObject> volumes;  // that are there before: local ones, and those of claims
  // Pods and their claims in the order in which they are created: each wave has some ordinals of
  // every app.
  struct Wave {
    std::vector<KubeObject> claims;
    std::vector<KubeObject> pods;
  };
  std::vector<Wave> waves;
  // Of higher priority than all of these: each wants the ReadWriteOncePod claim of the pod of app
  // kHolders with the same ordinal, which has to go.
  Wave takers;
  std::map<std::string, Expected> apps;  // by label "app"; before the takers come
  std::size_t pods = 0;                  // of the waves
};

inline constexpr const char* kHolders = "holder";
inline constexpr const char* kTakers = "taker";

inline constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr const char* kHostLabel = "kubernetes.io/hostname";
inline constexpr const char* kDriver = "disk.example.com";

// The classes of which a Provisioner makes volumes.
[[nodiscard]] Provisioner::Classes mixed_classes();
[[nodiscard]] MixedLoad make_mixed_load(std::uint64_t seed, std::size_t waves,
                                        const std::string& scheduler, const std::string& ns);

}  // namespace plimsoll::test
