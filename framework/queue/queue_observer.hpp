#pragma once
// Observes the queue, for metrics. Loop only; must not call the queue.

#include <cstdint>
#include <string_view>

#include "framework/api/objects.hpp"

namespace plimsoll {

enum class QueuePlace;

class QueueObserver {
 public:
  virtual ~QueueObserver() = default;
  // A pod entered `place`. `event` is the label of the metric queue_incoming_pods_total.
  virtual void entered(QueuePlace place, std::string_view event) = 0;
  // `plugin` of the pod's profile keeps it unschedulable (+1), or no longer does (-1).
  virtual void held_by(const plimsoll_pod& pod, uint16_t plugin, int change) = 0;
  // The queue keeps an event for the pods in flight (+1), or drops it (-1).
  virtual void event_kept(std::string_view event, int change) = 0;
};

}  // namespace plimsoll
