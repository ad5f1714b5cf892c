#pragma once
// core/v1 Pod: one pass over the object fills the ABI struct and, separately, the exact resources.

#include <string_view>
#include <vector>

#include "framework/api/decode/decoder.hpp"
#include "framework/api/requests.hpp"

namespace plimsoll {

class PodDecoder {
 public:
  PodDecoder(SymbolTable& symbols, Arena& arena) : decode_(&symbols, arena) {}

  // Reads everything except the fields that finish() computes.
  [[nodiscard]] bool pod(WireValue& value, plimsoll_pod* out);
  // Computes requests, used, nonzero_*, and the QoS class if the status has none.
  void finish(plimsoll_pod* out);

  [[nodiscard]] PodResources& resources() { return resources_; }

 private:
  struct ContainerStatus {
    std::string_view name;
    ContainerResources resources;  // only the three lists of the status
  };

  // containers[].resources.claims[].
  struct ClaimUse {
    plimsoll_str claim;  // its name in the pod
    plimsoll_str container;
  };

  // status.resourceClaimStatuses[].
  struct ClaimStatus {
    plimsoll_str name;
    plimsoll_str claim;  // empty: none is needed
  };

  bool spec(WireValue& value, plimsoll_pod* out);
  bool spec_text(std::string_view key, WireValue& value, plimsoll_pod* out, bool* found);
  bool status(WireValue& value, plimsoll_pod* out);
  bool condition(WireValue& value, plimsoll_pod* out);
  bool container_status(WireValue& value);
  bool containers(WireValue& value, plimsoll_list* out, bool init);
  // `claims`: gets the names that it has in resources.claims.
  bool container(WireValue& value, plimsoll_container* out, ContainerResources* resources,
                 std::vector<plimsoll_str>* claims);
  bool restart_rules(WireValue& value);
  bool volume_mounts(WireValue& value);
  bool scheduling_group(WireValue& value, plimsoll_pod* out);
  bool ports(WireValue& value, plimsoll_list* out);
  bool affinity(WireValue& value, plimsoll_pod* out);
  bool pod_affinity(WireValue& value, const plimsoll_pod_affinity** out);
  bool pod_affinity_term(WireValue& value, plimsoll_pod_affinity_term* out);
  bool toleration(WireValue& value, plimsoll_toleration* out);
  bool spread_constraint(WireValue& value, plimsoll_spread_constraint* out);
  bool volume(WireValue& value, plimsoll_volume* out);
  bool names(WireValue& value, plimsoll_list* out);
  bool claims(WireValue& value, plimsoll_pod* out);
  bool claim_status(WireValue& value);
  bool claim_amounts(WireValue& value);
  bool requests_and_limits(WireValue& value, ResourceList* requests, ResourceList* limits,
                           std::vector<plimsoll_str>* claims = nullptr);
  void join_statuses();
  void join_claims(plimsoll_pod* out);

  Decoder decode_;
  PodResources resources_;
  std::vector<ContainerStatus> statuses_;
  std::vector<plimsoll_pod_claim> claims_;
  std::vector<ClaimStatus> claim_statuses_;
  std::vector<ClaimUse> init_uses_;
  std::vector<ClaimUse> app_uses_;
  std::vector<plimsoll_claim_amount> claim_amounts_;
  uint32_t uses_ = 0;
};

}  // namespace plimsoll
