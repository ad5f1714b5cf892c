#pragma once
// One pod on its way from the queue to a node.

#include <map>
#include <memory>
#include <string>

#include "framework/cycle/scheduler.hpp"

namespace plimsoll {

struct Scheduler::Attempt {
  Attempt(PodRef scheduled_pod, Framework& profile)
      : pod(std::move(scheduled_pod)), framework(profile), cycle(profile.new_cycle()) {}

  [[nodiscard]] std::string uid() const { return std::string(view(pod->meta.uid)); }
  [[nodiscard]] bool waiting() const { return !binding; }
  // What is tried again if this attempt fails: the newest version that was heard of.
  [[nodiscard]] const PodRef& current() const { return latest ? latest : pod; }

  PodRef pod;      // as it was popped
  PodRef latest;   // a newer version that arrived meanwhile, or null
  PodRef assumed;  // on its node; null before assume
  Framework& framework;
  std::shared_ptr<CycleContext> cycle;
  std::map<std::string, int64_t, std::less<>> waits;  // Permit plugin -> deadline
  std::map<std::string, int64_t, std::less<>> wait_timeouts_ms;
  bool binding = false;     // left the loop; until then it waits on Permit
  bool deleted = false;     // the pod is gone: nothing to try again
  bool seen_bound = false;  // the API server has it on a node: nothing to try again
};

}  // namespace plimsoll
