#pragma once
// Which devices a pod's claims get on a node: the first solution in the order of
// kube-scheduler 1.37 (k8s.io/dynamic-resource-allocation 0.37, structured/internal/incubating).
// Prepared once per pod, then asked for each node. For one thread.
//
//   Allocator allocator(inventory, allocated, classes, claims);
//   Outcome outcome = allocator.allocate(node);
//   if (outcome.kind == Outcome::Kind::kAllocated) {
//     std::vector<Allocation> of_claims = allocator.allocations(outcome, node.name, new_uid);
//   }

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/dynamicresources/allocator/allocated.hpp"
#include "plugins/dynamicresources/allocator/inventory.hpp"
#include "plugins/dynamicresources/allocator/plan.hpp"
#include "plugins/dynamicresources/values/claim.hpp"

namespace plimsoll::dra {

struct Outcome {
  enum class Kind : uint8_t {
    kAllocated,
    kNone,     // no solution on this node
    kError,    // `failure`; of kInvalidPoolOnNode another node may still do, else none
    kTimedOut  // more work than allowed
  };
  struct Pick {
    uint32_t alternative = 0;  // of the plan
    const KnownDevice* device = nullptr;
    const Consumption* consumption = nullptr;
  };
  Kind kind = Kind::kNone;
  Failure failure;
  std::vector<Pick> picks;       // claim by claim, in the order of the search
  std::vector<uint32_t> chosen;  // by request: which alternative
  uint32_t away = 0;             // of allocate_near()
  uint64_t steps = 0;            // devices placed and requests entered
};

class Search;

class Allocator {
 public:
  // A look at one device for one request is work. More on one node, beyond two looks at each
  // device, is "timed out", and so is kMostNodes as much on all nodes together. So are more steps
  // of expressions that nobody had asked before; what they have said by then is known the next
  // time.
  static constexpr uint64_t kMostWork = 500'000;
  static constexpr uint64_t kMostNodes = 2;
  static constexpr uint64_t kMostJudged = 1'500'000;

  // Inventory and Allocated must not change while the allocator lives; claims and classes must
  // outlive it.
  Allocator(Inventory& inventory, const Allocated& allocated, const ClassLister& classes,
            const std::vector<const Claim*>& claims, uint64_t most_work = kMostWork);
  ~Allocator();

  [[nodiscard]] Outcome allocate(const Node& node);
  // The same without the devices, for nodes that are only asked whether there are any.
  [[nodiscard]] Outcome judge(const Node& node);

  // The same devices as allocate() if as few as possible are away: of the solutions with the fewest
  // such devices the first. Devices with admin access do not count. `outcome.away`: how many are.
  // `most`: none with more of them counts.
  using Away = std::function<bool(const KnownDevice&)>;
  [[nodiscard]] Outcome allocate_near(const Node& node, const Away& is_away,
                                      uint32_t most = UINT32_MAX);

  // For people: what is against each device of the node.
  [[nodiscard]] std::string why(const Node& node);

  // What the claims' statuses say of an outcome that is kAllocated, in the order of the claims.
  // `new_share_id` gives a fresh UID for each share of a device.
  [[nodiscard]] std::vector<Allocation> allocations(
      const Outcome& outcome, std::string_view node,
      const std::function<std::string()>& new_share_id) const;

  [[nodiscard]] const Plan& plan() const { return plan_; }

 private:
  Inventory& inventory_;
  Plan plan_;
  std::unique_ptr<Search> search_;
};

}  // namespace plimsoll::dra
