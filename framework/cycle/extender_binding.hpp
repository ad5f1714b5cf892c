#pragma once
// Binding by an HTTP extender. Kubernetes: extendersBinding in pkg/scheduler/schedule_one.go.

#include <functional>

#include "framework/cycle/loop_state.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/plugin/status.hpp"

namespace plimsoll {

// Has an extender bind the pod, if one that binds is interested in it; false: none is, and `done`
// is not called. Skip: it failed and is ignorable. Any thread, as `done`.
//
// An extender whose call failed may have bound the pod nevertheless: the API server is asked then.
[[nodiscard]] bool bind_by_extender(const LoopState& state, const BindTarget& target,
                                    std::function<void(Status)> done);

}  // namespace plimsoll
