#pragma once
// Told of what happens in the queue, for metrics. Loop only; must not call the queue.

#include <cstdint>
#include <string_view>

#include "framework/api/objects.hpp"

namespace plimsoll {

enum class QueuePlace;

class QueueObserver {
 public:
  virtual ~QueueObserver() = default;
  // A pod was put there; `event` as in the metric queue_incoming_pods_total.
  virtual void entered(QueuePlace place, std::string_view event) = 0;
  // `plugin` of the pod's profile holds it back (+1), or does not any more (-1).
  virtual void held_by(const plimsoll_pod& pod, uint16_t plugin, int change) = 0;
  // An event is kept for the pods in flight (+1), or not any more (-1).
  virtual void event_kept(std::string_view event, int change) = 0;
};

}  // namespace plimsoll
