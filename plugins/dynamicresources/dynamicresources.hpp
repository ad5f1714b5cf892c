#pragma once
// DynamicResources: gives pods the devices that their ResourceClaims ask for (KEP-4381), as
// kube-scheduler 1.37 does: same devices, same order. Kubernetes: pkg/scheduler/framework/plugins/
// dynamicresources/dynamicresources.go. docs/claims.md has what differs.

#include <plimsoll/services/zone_forecast.h>
#include <plimsoll/plugin.hpp>
#include <plimsoll/shared.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/dynamicresources/claim_args.hpp"
#include "plugins/dynamicresources/extended/extended_ask.hpp"
#include "plugins/dynamicresources/footprint/footprint.hpp"
#include "plugins/dynamicresources/store/claim_store.hpp"
#include "plugins/dynamicresources/writes/claim_binding.hpp"

namespace plimsoll::dra {

class DynamicResources {
 public:
  static constexpr const char* kName = "DynamicResources";
  static constexpr const char* kDefaultArgs = ClaimArgs::kDefaults;
  static constexpr uint16_t least_abi_minor = 4;  // for the kinds of claims.h
  static constexpr uint32_t filter_aspects =
      PLIMSOLL_ASPECT_LABELS | PLIMSOLL_ASPECT_PLUGIN | PLIMSOLL_ASPECT_CLUSTER;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_CLUSTER;

  DynamicResources(sdk::Host host, std::string_view args_json);
  ~DynamicResources();
  DynamicResources(const DynamicResources&) = delete;
  DynamicResources& operator=(const DynamicResources&) = delete;

  void start() { store_->start(); }
  [[nodiscard]] std::vector<plimsoll_event_interest> events() const;
  // plimsoll_pre_queueing_hint
  [[nodiscard]] static int32_t named_only(void* self, const plimsoll_event* event);
  [[nodiscard]] sdk::Hint hint(sdk::Pod pod, const plimsoll_event& event);

  sdk::Status pre_enqueue(sdk::Pod pod);
  sdk::Status pre_filter(plimsoll_cycle& cycle, sdk::Pod pod);
  // What-ifs (what_if.cpp).
  sdk::Status add_pod(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Pod added, sdk::Node node);
  sdk::Status remove_pod(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Pod removed, sdk::Node node);
  sdk::Status filter(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes,
                     sdk::Verdicts verdicts) const;
  sdk::Status post_filter(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes,
                          std::span<const uint8_t> codes, sdk::Nomination& nomination);
  sdk::Status pre_score(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes);
  sdk::Status score(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes,
                    std::span<int64_t> scores) const;
  sdk::Status normalize(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Nodes nodes,
                        std::span<int64_t> scores) const;
  sdk::Status reserve(plimsoll_cycle& cycle, sdk::Pod pod, sdk::Node node);
  void unreserve(plimsoll_cycle& cycle, sdk::Pod pod, std::string_view node_name);
  sdk::Status pre_bind_pre_flight(plimsoll_cycle& cycle, sdk::Pod pod, std::string_view node_name,
                                  bool& allow_parallel);
  sdk::Status pre_bind(plimsoll_cycle& cycle, sdk::Pod pod, std::string_view node_name,
                       sdk::Token token);
  void explain(const plimsoll_cycle& cycle, sdk::Pod pod, sdk::Node node, sdk::Sink& sink) const;
  sdk::Status sign(sdk::Pod pod, sdk::Sink& sink);
  [[nodiscard]] bool rests_on(sdk::Pod pod, std::string_view resource) const;

  void node_event(sdk::NodeEvent type, sdk::Node node, uint32_t aspects);
  void object_event(const sdk::ObjectEvent& event);

 private:
  struct Wanted {  // one claim of the pod
    std::string ns, name, uid;
    std::shared_ptr<const Claim> asks;
    bool allocated = false;
    uint64_t group = 0;  // it is being allocated, for another pod, in this decision on their group
    std::string unusable;                        // why its devices cannot be used; empty: they can
    std::optional<NodeSelector> reachable_from;  // of one that is allocated; nothing: everywhere
    std::vector<std::string> alternatives;       // "request/subrequest" that it has
    std::vector<DeviceResult> results;           // of one that is allocated
    bool taken = false;  // another pod has it, and it stands for CPUs or the like
  };
  // An extended resource that the pod asks for.
  struct Extended {
    std::string resource;
    uint32_t index = 0;
    std::string device_class;  // behind it; empty: none
  };
  // What is to be allocated on nodes where the same extended resources come from devices.
  struct Variant {
    std::shared_ptr<const ExtendedAsk> ask;  // null: nothing of extended resources
    Claim claim;                             // which stands for it
    std::vector<const Claim*> asks;          // that and those without devices; none: all have some
    std::unique_ptr<Allocator> allocator;    // null: none
  };
  // What one attempt knows; filters of several threads share it.
  struct Attempt {
    ~Attempt() {
      if (asked != nullptr) forecasts->end(forecasts->self, asked);
    }
    const plimsoll_zone_forecast* forecasts = nullptr;  // null: zones do not matter
    void* asked = nullptr;                              // of it
    std::vector<Wanted> claims;
    std::vector<const Claim*> asks;                            // of those without devices
    std::vector<Extended> extended;                            // empty: no class stands behind any
    std::optional<std::pair<std::string, std::string>> stale;  // a claim of an attempt before
    std::mutex lock;
    std::map<std::string, Variant> variants;  // by which of `extended`, as a text of 0 and 1
    std::pair<std::string, Variant*> last;    // of these, asked for last
    std::vector<size_t> unavailable;          // claims that some node cannot reach
    std::shared_ptr<std::vector<ClaimToBind>> to_bind;
    std::shared_ptr<Footprint> footprint;  // with `to_bind`
  };
  // What a claim without devices gets in a what-if.
  struct Given {
    ClaimStore::Key claim;
    std::vector<DeviceResult> devices;
  };
  // A pod that a what-if has put on a node, or taken away.
  struct Moved {
    std::string uid;
    bool added = false;
    std::vector<ClaimStore::Key> claims;  // of one that is away
    std::vector<Given> gets;              // one that is new
  };
  struct State {
    std::shared_ptr<Attempt> attempt;
    std::vector<Moved> moved;  // of this cycle's clone alone
  };
  // What is given away after a what-if. While it lives, the store counts so.
  [[nodiscard]] std::unique_ptr<ClaimStore::Other> as_moved(const State& state) const;
  [[nodiscard]] std::vector<Given> devices_for(const State& state, sdk::Pod added,
                                               sdk::Node node) const;
  // What a pod that was put somewhere has got for this claim; null: none has.
  [[nodiscard]] static const Given* given(const State& state, const Claim& claim);
  [[nodiscard]] bool reaches_given(const State& state, const Claim& claim, const Node& node) const;
  // Why a node has no devices for the pod, and who may help.
  [[nodiscard]] sdk::Status refused(const State& state, sdk::Pod pod, sdk::Node node,
                                    uint32_t reason) const;

  // Why the pod cannot be tried; empty: its claims are all there. `visit` gets each once.
  [[nodiscard]] std::string each_claim(sdk::Pod pod,
                                       const std::function<void(ClaimStore::Entry&)>& visit) const;
  [[nodiscard]] std::vector<Extended> extended_of(sdk::Pod pod) const;
  // <plimsoll/pod_groups.h>; 0: it is decided on alone.
  [[nodiscard]] uint64_t group_decision(sdk::Pod pod) const;
  // Nothing: the node lacks a resource that no class stands behind.
  [[nodiscard]] static std::optional<std::string> from_devices(const Attempt& attempt,
                                                               sdk::Node node);
  [[nodiscard]] Variant& variant(Attempt& attempt, sdk::Pod pod, const std::string& which) const;
  static void add_asks(const Attempt& attempt, sdk::Pod pod, const std::string& which,
                       Variant& made);
  // What the pod's claims are of the node's CPUs and the like if those without devices get these.
  struct Counted {
    // Nothing: no device of theirs has a say, or the gate DRANodeAllocatableResources is off.
    std::optional<Footprint> all;
    std::string problem;  // why nobody can say; empty: it is known
  };
  [[nodiscard]] Counted footprint(const Attempt& attempt, const Variant& variant,
                                  const std::vector<Allocation>& allocations, sdk::Pod pod,
                                  const Node& node) const;
  // The zones that the kubelet will give the pod on the node, if `deviceOrder` asks for them.
  struct Zones {
    bool known = true;
    uint64_t mask = 0;  // none: the kubelet does not tie the pod there
  };
  [[nodiscard]] Zones zones(const Attempt& attempt, sdk::Pod pod, sdk::Node node) const;
  // As allocate(), but the devices are in these zones, as far as they can be.
  [[nodiscard]] Outcome allocate_near(Allocator& allocator, sdk::Node node, const Zones& zones,
                                      uint32_t most_away = UINT32_MAX) const;
  [[nodiscard]] std::string missing_class(const Claim& claim) const;
  [[nodiscard]] const Attempt* attempt(const plimsoll_cycle& cycle) const;
  [[nodiscard]] Attempt* attempt(plimsoll_cycle& cycle) const;
  [[nodiscard]] sdk::Hint claim_hint(sdk::Pod pod, const plimsoll_event& event) const;

  sdk::Host host_;
  ClaimArgs args_;
  sdk::Shared<ClaimStore> store_;
  std::string profile_;  // whose pods come here; empty: none has come
  uint32_t none_, elsewhere_, invalid_pool_, deallocated_, stale_, unfit_, deleted_, away_,
      unknown_;
};

}  // namespace plimsoll::dra
