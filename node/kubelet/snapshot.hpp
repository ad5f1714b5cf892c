#pragma once
// What is free on a node, from what its kubelet says at one moment. Pure; any thread.
//
// The kubelet's state files tell who held what when they were written, and may still have pods that
// are gone; the pod-resources API tells who is there now, and leaves out what plain init containers
// hold. Both together are the truth.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "node/kubelet/pod_resources.hpp"
#include "node/kubelet/state_files.hpp"
#include "node/machine/machine.hpp"
#include "node/report/node_kind.hpp"

namespace plimsoll::node {

// All that is read of a kubelet at one moment. A file that does not exist is an empty state.
struct KubeletView {
  CpuState cpus;
  MemoryState memory;
  DeviceState devices;
  std::vector<PodUse> pods;
  Allocatable allocatable;
};

// The UIDs under which a kubelet may know the pods of one namespace and name.
struct KnownUids {
  std::string uid;                // of the API object; empty: there is none any more
  std::string hash;               // of a static pod: its mirror names it, and the kubelet uses it
  std::vector<std::string> gone;  // of earlier objects, which the kubelet may still have

  [[nodiscard]] std::vector<std::string> all() const;
};
using PodUids = std::map<std::pair<std::string, std::string>, KnownUids>;

// The UIDs in the state files that count: those of the pods that are there. While the UID of some
// pod that is there is not known, every UID counts that is not another pod's: it may be this one's.
[[nodiscard]] std::set<std::string> counted_uids(const KubeletView& view, const PodUids& uids);

// Whether files and API are of one moment: each sidecar and app container that is listed has the
// CPUs and devices that the files name. If not, a pod is being admitted: look again.
[[nodiscard]] bool is_consistent(const KubeletView& view, const PodUids& uids);

// The machine as this kubelet uses it: reserved CPUs and memory are those that it does not give,
// and devices are those that it lists, in the order of their ids. `unhealthy`: devices that it
// listed before and whose health is gone, by resource and id, with their zones.
[[nodiscard]] Machine machine_of(
    const Hardware& hardware, KubeletSettings settings, const KubeletView& view,
    const std::map<std::string, std::map<std::string, std::vector<int>>>& unhealthy);

// What is free of `kind`, which is made of machine_of().
[[nodiscard]] topology::kubelet::NodeState free_of(const NodeKind& kind, const KubeletView& view,
                                                   const std::set<std::string>& counted,
                                                   const ResourceIndex& resources);

// What each pod that is there holds of it, by UIDs of API objects. A pod whose UID is not known is
// left out.
[[nodiscard]] std::vector<topology::kubelet::PodHolding> holdings_of(
    const NodeKind& kind, const KubeletView& view, const PodUids& uids,
    const ResourceIndex& resources);

}  // namespace plimsoll::node
