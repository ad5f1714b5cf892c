#include "lab/sandbox/kubelet/node_fit.hpp"

namespace plimsoll::sandbox {
namespace {

Misfit short_of(const std::string& name, std::int64_t asked, std::int64_t used,
                std::int64_t capacity) {
  return {"OutOf" + name,
          "Node didn't have enough resource: " + name + ", requested: " + std::to_string(asked) +
              ", used: " + std::to_string(used) + ", capacity: " + std::to_string(capacity)};
}

// The predicate ignores extended resources that the node does not have
// (removeMissingExtendedResources).
bool is_native(const std::string& name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
         name.starts_with("hugepages-");
}

}  // namespace

std::optional<Misfit> misfit_of(const PodAmounts& pod, const node::Amounts& allocatable,
                                const node::Amounts& used, std::size_t pods) {
  if (const auto most = allocatable.find("pods"); most != allocatable.end()) {
    const auto there = static_cast<std::int64_t>(pods);
    if (there + 1 > most->second) return short_of("pods", 1, there, most->second);
  }
  for (const auto& [name, asked] : pod.requests) {
    const auto total = allocatable.find(name);
    if (asked == 0 || (total == allocatable.end() && !is_native(name))) continue;
    const std::int64_t capacity = total == allocatable.end() ? 0 : total->second;
    const std::int64_t taken = node::amount_of(used, name);
    if (asked > capacity - taken) return short_of(name, asked, taken, capacity);
  }
  return std::nullopt;
}

}  // namespace plimsoll::sandbox
