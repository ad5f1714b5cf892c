#pragma once
// Claims, classes and devices of the cluster as they are now, and what this scheduler has decided
// and not seen yet. One for the process (sdk::Shared). Loop only.
//
// A claim's devices are counted once: as its status says, or as decided here. A decision is "in
// flight" from Reserve until every write of its pod was answered, and "written" from then until the
// watch has shown the claim in that version or a later one. Kubernetes: pkg/scheduler/framework/
// plugins/dynamicresources, dra_manager.go (assume cache, in-flight allocations).

#include <plimsoll/claims.h>
#include <plimsoll/services/claimed_resources.h>
#include <plimsoll/state_source.h>
#include <plimsoll/plugin.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/dynamicresources/allocator/allocator.hpp"
#include "plugins/dynamicresources/store/device_books.hpp"
#include "plugins/dynamicresources/values/claim.hpp"

namespace plimsoll::dra {

// Versions of objects are numbers (apimachinery, CompareResourceVersion).
[[nodiscard]] inline bool is_before(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

[[nodiscard]] inline Node node_of(sdk::Node node) {
  return {node.name(), [node](std::string_view key) { return node.label(key); }};
}

// Pods that may use one claim. Kubernetes: v1.ResourceClaimReservedForMaxSize.
inline constexpr size_t kMostUsers = 256;

// What a claim gets, and for which pod.
struct Decision {
  std::string pod_uid;
  Allocation allocation;
  std::string version = {};  // of the claim as our last write left it; empty: in flight
  // The decision on a pod group in which it was made (<plimsoll/pod_groups.h>); 0: in none. The
  // group's other pods may build on it while it is in flight: all of them are bound, or none.
  uint64_t group = 0;
};

class ClaimStore : public std::enable_shared_from_this<ClaimStore> {
 public:
  using Key = std::pair<std::string, std::string>;  // namespace, name

  struct Entry {
    const plimsoll_resource_claim* object = nullptr;  // as the watch has it
    std::shared_ptr<const Claim> asks;
    std::unique_ptr<Decision> decision;
    // Another claim that had one of its devices when the watch showed that it has them, by our own
    // write; empty: none had.
    std::string earlier_owner;
    // Pods that were placed by the devices that it has or gets, and are not seen to have it yet; in
    // the order of placing.
    std::vector<std::string> sharing;
    // The pod for which it is being reserved; empty: none. Others wait, so that they do not all
    // change it at once.
    std::string reserving;

    [[nodiscard]] std::string_view uid() const { return sdk::view(object->object.meta.uid); }
    // It has devices, by its status or by a decision that is written.
    [[nodiscard]] bool allocated() const {
      return object->allocated != 0 || (decision != nullptr && !decision->version.empty());
    }
    [[nodiscard]] bool in_flight() const {
      return decision != nullptr && decision->version.empty();
    }
    [[nodiscard]] bool in_flight_in(uint64_t group) const {
      return group != 0 && in_flight() && decision->group == group;
    }
    [[nodiscard]] bool reserved_for(std::string_view pod_uid) const;
    // Pods that have it, or were placed by it.
    [[nodiscard]] size_t users() const {
      const bool unseen = in_flight() && object->allocated == 0;
      return object->reserved_for.count + sharing.size() + (unseen ? 1 : 0);
    }
    // Nobody but these pods has it.
    [[nodiscard]] bool used_only_by(const std::vector<std::string_view>& pods) const;
    // Where its devices can be reached; nothing: everywhere. Of one that is allocated.
    [[nodiscard]] std::optional<NodeSelector> reachable_from() const;
    // Its devices. Of one that is allocated.
    [[nodiscard]] const std::vector<DeviceResult>& results() const { return counted; }
    // Which requests its devices are for, by name. Of one that is allocated.
    [[nodiscard]] std::vector<std::string> requests_met() const;

   private:
    friend class ClaimStore;
    std::string uid_;
    std::string extended_of_;  // the pod for whose extended resources it is; mostly empty
    std::vector<DeviceResult> counted;
  };

  // `adds_to_requests`: the gate DRANodeAllocatableResources is on: what a claim has of its node's
  // CPUs and the like comes on top of what its pod asks for.
  ClaimStore(sdk::Host host, Judge judge, Inventory::Gates gates, bool adds_to_requests);
  ~ClaimStore();
  ClaimStore(const ClaimStore&) = delete;
  ClaimStore& operator=(const ClaimStore&) = delete;

  // Once all plugins are there.
  void start() { books_.start(); }
  void object_event(const sdk::ObjectEvent& event);
  void node_changed(std::string_view node) { inventory_.forget(node); }

  // Null: there is none, or it cannot be read.
  [[nodiscard]] Entry* find(std::string_view ns, std::string_view name);
  [[nodiscard]] const DeviceClass* device_class(const std::string& name) const;

  // Whether somebody else has one of the claim's devices, too: another claim, or the other book.
  [[nodiscard]] bool has_one_twice(const Entry& claim) const;

  // Null: no slice has it; none that this node reaches.
  [[nodiscard]] const Device* device(const DeviceResult& result) const;
  [[nodiscard]] const Device* device_on(const DeviceResult& result, const Node& node) const;
  // The NUMA zone of a device; -1: it has none, or nobody knows.
  [[nodiscard]] int zone_of(const KnownDevice& device) const { return books_.zone_of(device); }
  [[nodiscard]] bool lists_attributes() const { return inventory_.gates().list_attributes; }
  [[nodiscard]] bool adds_to_requests() const { return adds_to_requests_; }
  // Whether any device is, or takes, part of its node's CPUs or the like.
  [[nodiscard]] bool any_allocatable() const { return inventory_.any_allocatable(); }

  // Counts what the claim will have. `group`: see Decision.
  void decide(Entry& claim, std::string_view pod_uid, Allocation allocation, uint64_t group = 0);
  // The API server has it, in this version.
  void written(Entry& claim, std::string_view pod_uid, std::string version);
  // A pod is placed by what the claim has, or by a decision for another pod of its group.
  void share(Entry& claim, std::string_view pod_uid);
  // The pod is not bound. What was decided for it is taken back, unless it is written, in
  // `version`, or another pod of its group needs it: the one that was placed first writes it then,
  // so that nobody waits for a pod that was placed later.
  void give_up(Entry& claim, std::string_view pod_uid, std::string version);
  // Lets the next one reserve it, once the watch has shown this version.
  void end_reserving(Entry& claim, std::string_view pod_uid, std::string_view version = {});

  // Runs `then` on the loop once the watch has shown the claim, a change of it, or that it is gone;
  // or once what was decided of it here is written, or taken back.
  void after_a_change(std::string_view ns, std::string_view name, std::function<void()> then) {
    waiting_[Key(ns, name)].push_back(std::move(then));
  }

  // The class behind an extended resource, by its spec.extendedResourceName or its own name (the
  // newest, then the first by name); empty: there is none. Any thread while the loop waits.
  [[nodiscard]] std::string class_behind(std::string_view resource) const;
  // Begins and ends to decide about the pods of a profile, which claimed_resources.h then says.
  void serve(const std::string& profile) { ++served_[profile]; }
  void stop_serving(const std::string& profile);
  // The claim for its extended resources that the pod already has; nothing: there is none.
  [[nodiscard]] std::optional<std::pair<std::string, std::string>> extended_claim(
      std::string_view pod_uid) const;
  // Counts what a pod will have by a claim that is still to be made, until it is adopted or let go.
  void hold(std::string_view pod_uid, Allocation allocation);
  void adopt(Entry& claim, std::string_view pod_uid);
  void let_go(std::string_view pod_uid);

  // {"nodes": {NAME: {"claimDevices": {DRIVER: {POOL: {DEVICE: ...}}}}}}, of devices that are of
  // one node; docs/ui.md has the fields.
  [[nodiscard]] std::string describe(const std::vector<std::string>& nodes) const;

  // What would be given away if some results were gone and others were there. It is counted so
  // while this lives; whoever counts or allocates meanwhile holds no allocator of before.
  class Other {
   public:
    Other(Allocated& allocated, std::vector<DeviceResult> gone, std::vector<DeviceResult> there);
    Other(const Other&) = delete;
    Other& operator=(const Other&) = delete;
    ~Other();

   private:
    Allocated& allocated_;
    const std::vector<DeviceResult> gone_, there_;
  };
  [[nodiscard]] std::unique_ptr<Other> otherwise(std::vector<DeviceResult> gone,
                                                 std::vector<DeviceResult> there) {
    return std::make_unique<Other>(allocated_, std::move(gone), std::move(there));
  }
  // Good until anything here changes.
  [[nodiscard]] std::unique_ptr<Allocator> allocator(const std::vector<const Claim*>& claims) {
    return std::make_unique<Allocator>(
        inventory_, allocated_, [this](const std::string& name) { return device_class(name); },
        claims);
  }

 private:
  void claim_event(const sdk::ObjectEvent& event);
  void slice_event(std::string_view name);
  void rule_event(std::string_view name);
  [[nodiscard]] Slice tainted(const plimsoll_resource_slice& object) const;
  void publish();
  void publish_state();
  static int32_t decides(void* self, const plimsoll_pod* pod, plimsoll_str resource);
  static void devices(void* self, const plimsoll_node_info* node, plimsoll_str resource,
                      int64_t* all, int64_t* taken);
  static int32_t give_back(void* self, const plimsoll_pod* const* pods, size_t count);
  void class_event(const std::string& name);
  bool drop_held(std::string_view pod_uid);
  void recount(Entry& claim);
  [[nodiscard]] std::string asked_again_by(const Entry& claim) const;
  // People are shown the devices' nodes otherwise now.
  void touch(const std::vector<DeviceResult>& results) const;
  void touch_slice(const std::string& name) const;
  void append_device(std::string& out, const KnownDevice& device) const;
  void append_holder(std::string& out, const std::string& holder) const;
  [[nodiscard]] std::string other_owner(const Entry& claim) const;
  void forget_extended(const Entry& claim, const Key& key);
  void tell(const Key& claim);
  void tell(const Entry& claim);

  sdk::Host host_;
  DeviceNumbers numbers_;
  Inventory inventory_;
  Allocated allocated_{numbers_};
  DeviceBooks books_;
  const bool adds_to_requests_;
  std::map<Key, Entry> claims_;
  std::map<Key, std::vector<std::function<void()>>> waiting_;
  std::map<std::string, Key, std::less<>> extended_;     // claims for extended resources, by pod
  std::map<std::string, Allocation, std::less<>> held_;  // by pod
  std::map<std::string, int, std::less<>> served_;       // profiles, by how many instances
  plimsoll_claimed_resources* published_ = nullptr;
  plimsoll_state_source* shown_ = nullptr;
  struct Class : DeviceClass {
    std::string resource;  // extendedResourceName
    int64_t created_ms = 0;
  };
  std::map<std::string, Class, std::less<>> classes_;
  // Classes by extended resource, the newest first.
  std::map<std::string, std::set<std::pair<int64_t, std::string>>, std::less<>> behind_;
  struct Rule {
    std::string driver, pool, device;  // empty: any
    Taint taint;
    friend bool operator==(const Rule&, const Rule&) = default;
  };
  [[nodiscard]] std::optional<Rule> read_rule(std::string_view name) const;
  std::map<std::string, Rule, std::less<>> rules_;  // those that select any device
};

}  // namespace plimsoll::dra
