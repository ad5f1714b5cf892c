#include "plugins/topology/kubelet/admit.hpp"

namespace plimsoll::topology::kubelet {
namespace {

// What an error of Allocate becomes (admission.GetPodAdmitResult).
std::string unexpected(const std::string& problem) {
  return "Allocate failed due to " + problem + ", which is unexpected";
}

}  // namespace

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kAdmitted:
      return "";
    case Reason::kTopologyAffinityError:
      return "TopologyAffinityError";
    case Reason::kSmtAlignmentError:
      return "SMTAlignmentError";
    case Reason::kUnexpectedAdmissionError:
      return "UnexpectedAdmissionError";
    case Reason::kEmptyPodSharedPoolError:
      return "EmptyPodSharedPoolError";
  }
  return "";
}

std::string message_of(const Admission& admission, std::string_view resource) {
  const std::string need = std::to_string(admission.need);
  const std::string have = std::to_string(admission.have);
  switch (admission.fault) {
    case Fault::kNone:
      return "";
    case Fault::kNoAffinity:
      return "Resources cannot be allocated with Topology locality";
    case Fault::kNoPodLevelAffinity:
      return "Pod Scope pod with pod-level resources failed admission under pod-scope topology "
             "manager";
    case Fault::kNoPodLevelContainerAffinity:
      return "Pod Scope pod with pod-level resources failed admission with a container-level "
             "topology manager";
    case Fault::kNotWholeCores:
      return "SMT Alignment Error: requested " + need +
             " cpus not multiple cpus per core = " + have;
    case Fault::kTooFewWholeCores:
      return "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = " +
             have + ", requested CPUs = " + need +
             ", CPUs per core = " + std::to_string(admission.per_core);
    case Fault::kTooFewCpus:
      return unexpected("not enough cpus available to satisfy request: requested=" + need +
                        ", available=" + have);
    case Fault::kNoHealthyDevice:
      return unexpected("no healthy devices present; cannot allocate unhealthy devices " +
                        std::string(resource));
    case Fault::kTooFewDevices:
      return unexpected("requested number of devices unavailable for " + std::string(resource) +
                        ". Requested: " + need + ", Available: " + have);
    case Fault::kNoDefaultAffinity:
      return unexpected(
          "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough "
          "memory is available");
    case Fault::kDefaultNotPreferred:
      return unexpected("[memorymanager] failed to find the default preferred hint");
    case Fault::kNoExtension:
      return unexpected(
          "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
    case Fault::kExtensionNotPreferred:
      return unexpected("[memorymanager] failed to find the extended preferred hint");
    case Fault::kNotInt64:
      return unexpected("[memorymanager] failed to represent quantity as int64");
    case Fault::kGroupViolation:
      return unexpected("[memorymanager] preferred hint violates NUMA node allocation");
    case Fault::kEmptySharedPool:
      return "pod rejected, containers that share would be left with nothing of the pod's own "
             "resources";
  }
  return "";
}

}  // namespace plimsoll::topology::kubelet
