#pragma once
// Preemptors that are alike share what DefaultPreemption finds out about a node. It is kept with
// the table of the pod's class, which knows from the change log what became of each node. The
// placer publishes this as a service. Loop only.

#include <plimsoll/plugin_abi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace plimsoll {

// What is known of the nodes for one class of pods. The plugin makes it and knows its content.
class KeptDryRuns {
 public:
  virtual ~KeptDryRuns() = default;
  virtual void forget(uint32_t slot) = 0;  // the node, its pods or those nominated to it changed
  [[nodiscard]] virtual size_t bytes() const = 0;
};

class DryRunKeeper {
 public:
  static constexpr const char* kService = "plimsoll.dry-run-keeper";

  virtual ~DryRunKeeper() = default;
  // Of the class of the pod that PostFilter runs for; a null object if it is empty. Null: there is
  // no class, or the pod is nominated, for which its own nomination does not count. All filters but
  // those of look_beyond() answer alike for the pods of a class, but these may differ in priority.
  [[nodiscard]] virtual std::unique_ptr<KeptDryRuns>* kept() const = 0;
  // The reason of a verdict in kept() is there as long as that is.
  virtual void hold_reason(uint32_t reason) const = 0;
  // The filters that look beyond the node, of those that look at this pod. The owner of kept() must
  // know itself what they rest on.
  [[nodiscard]] virtual std::vector<std::string_view> look_beyond() const = 0;
  // Whether pods are nominated to the node in this slot that the pod has to leave room for. For a
  // pod of which something may be kept.
  [[nodiscard]] virtual bool has_nominated(uint32_t slot) const = 0;
  // Whether this decision is to be made again without what is kept, and compared.
  [[nodiscard]] virtual bool is_check() const = 0;
  // The two differ. Nothing is kept any more, from the end of this decision on.
  virtual void differs(const plimsoll_node_info& node, std::string_view before,
                       std::string_view now) const = 0;
};

}  // namespace plimsoll
