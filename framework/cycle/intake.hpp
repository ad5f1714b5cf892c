#pragma once
// What the loop does with each message: it changes the cluster and the queue, and tells the
// plugins. Before the first lists are complete, pods are held, since plugins hear of nodes and
// kinds before they hear of pods.

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "framework/base/flat_map.hpp"
#include "framework/cycle/bindings.hpp"
#include "framework/cycle/loop_state.hpp"

namespace plimsoll {

class Intake {
 public:
  Intake(LoopState& state, Bindings& bindings) : state_(state), bindings_(bindings) {}
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  void handle(Message& message);
  // A pod may name a resource before a node or a plugin does. When one has, the resource gets its
  // position in the pod.
  void place_resources();
  // Groups that cannot go any more lose the room that was kept for them.
  void give_back_room();

 private:
  struct HeldPod {
    PodRef pod;
    uint64_t number;  // in the order in which they came
  };

  void hold(Message message);
  // False: it does not concern the group that is decided on.
  [[nodiscard]] bool defer(Message& message);
  void handle(PodUpserted& message);
  void handle(PodDeleted& message);
  void handle(NodeUpserted& message);
  void handle(NodeDeleted& message);
  void handle(ObjectUpserted& message);
  void handle(ObjectDeleted& message);
  void handle(KindSynced& message);
  void handle(KindFollowed& message);
  void kind_found(const std::string& resource);
  void handle(ObjectMalformed& message);
  void handle(Task& message);
  // The pod with positions for its resources, as far as they have any.
  [[nodiscard]] PodRef placed(PodRef pod, bool followed);
  void assigned_pod(const PodRef& pod);
  void pending_pod(const PodRef& pod);
  void forget_pod(const PodRef& last_known);
  void group_changed(const RawObject& object);
  void group_changed(const plimsoll_pod& pod);
  void drop_nomination(const PodRef& pod);
  void tell_plugins(uint32_t type, const plimsoll_pod& pod, std::string_view node_name);
  void finish_initial_sync();

  LoopState& state_;
  Bindings& bindings_;
  // Pods that arrive before the first lists are complete; by UID, which lies in the pod itself.
  std::unordered_map<std::string_view, HeldPod> held_;
  uint64_t held_count_ = 0;
  FlatStringMap<PodRef> unplaced_;  // by UID: pods that name resources of no node
  uint32_t known_resources_ = 0;    // so many names had a position when these were last looked at
};

}  // namespace plimsoll
