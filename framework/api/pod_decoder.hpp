#pragma once
// core/v1 Pod: one pass over the JSON fills the ABI struct and the exact resources beside it.

#include <string_view>
#include <vector>

#include "framework/api/decoder.hpp"
#include "framework/api/requests.hpp"

namespace plimsoll {

class PodDecoder {
 public:
  PodDecoder(SymbolTable& symbols, Arena& arena) : decode_(&symbols, arena) {}

  // Everything but what is computed from the resources (finish).
  [[nodiscard]] bool pod(JsonValue& value, plimsoll_pod* out);
  // requests, used, nonzero_*, and the QoS class if the status has none.
  void finish(plimsoll_pod* out);

  [[nodiscard]] PodResources& resources() { return resources_; }

 private:
  struct ContainerStatus {
    std::string_view name;
    ContainerResources resources;  // the three lists of the status, and has_status
  };

  bool spec(JsonValue& value, plimsoll_pod* out);
  bool spec_text(std::string_view key, JsonValue& value, plimsoll_pod* out, bool* found);
  bool status(JsonValue& value, plimsoll_pod* out);
  bool condition(JsonValue& value, plimsoll_pod* out);
  bool container_status(JsonValue& value);
  bool containers(JsonValue& value, plimsoll_list* out, bool init);
  bool container(JsonValue& value, plimsoll_container* out, ContainerResources* resources);
  bool ports(JsonValue& value, plimsoll_list* out);
  bool affinity(JsonValue& value, plimsoll_pod* out);
  bool pod_affinity(JsonValue& value, const plimsoll_pod_affinity** out);
  bool pod_affinity_term(JsonValue& value, plimsoll_pod_affinity_term* out);
  bool toleration(JsonValue& value, plimsoll_toleration* out);
  bool spread_constraint(JsonValue& value, plimsoll_spread_constraint* out);
  bool volume(JsonValue& value, plimsoll_volume* out);
  bool volume_source(std::string_view kind, JsonValue& value, plimsoll_volume* out);
  bool names(JsonValue& value, plimsoll_list* out);
  bool requests_and_limits(JsonValue& value, ResourceList* requests, ResourceList* limits);
  void join_statuses();

  Decoder decode_;
  PodResources resources_;
  std::vector<ContainerStatus> statuses_;
};

}  // namespace plimsoll
