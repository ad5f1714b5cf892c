#pragma once
// A line of admit.jsonl in the form of the kubelet library: the machine as a model, a step's state,
// a step's pod. Shared by the views of kind admit.

#include <map>
#include <string>

#include "plugins/topology/kubelet/admit.hpp"
#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

// Small numbers for resource names, the same throughout one line.
class ResourceNames {
 public:
  ResourceNames() : names_{{"cpu", 0}, {"memory", 1}} {}
  [[nodiscard]] uint32_t index(const std::string& name);
  [[nodiscard]] std::string name(uint32_t index) const;

 private:
  std::map<std::string, uint32_t> names_;
};

// A policy by its name; throws std::invalid_argument on another text.
[[nodiscard]] topology::Policy policy_of(const std::string& name);

// Policy, scope and options of the line's `kubelet`.
[[nodiscard]] topology::kubelet::Managers managers_of(const Json& kubelet);

// Everything that the line says about the machine; not yet prepared.
[[nodiscard]] topology::kubelet::NodeModel exact_model(const Json& line, ResourceNames& names);

// A step's `st`.
[[nodiscard]] topology::kubelet::NodeState exact_state(const topology::kubelet::NodeModel& model,
                                                       const Json& st, ResourceNames& names);

// A step's `pod`.
[[nodiscard]] topology::kubelet::PodDemand demand_of(const Json& pod, ResourceNames& names);

// Zone ids of a mask: in these vectors zone i is column i.
[[nodiscard]] Json zones_of(topology::kubelet::ZoneMask mask);

}  // namespace plimsoll::conformance
