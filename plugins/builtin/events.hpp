#pragma once
// Queueing helpers for plugins: the events that they subscribe to, and simple tests of one event.

#include <plimsoll/plugin.hpp>

namespace plimsoll::builtin {

[[nodiscard]] inline plimsoll_event_interest on_node(uint32_t actions) {
  return {sdk::str("Node"), actions, 0};
}
[[nodiscard]] inline plimsoll_event_interest on_pod(uint32_t actions) {
  return {sdk::str("Pod"), actions, 0};
}

// Whether the event is about the waiting pod itself.
[[nodiscard]] inline bool is_about(const plimsoll_event& event, sdk::Pod pod) {
  return event.new_pod != nullptr && sdk::equal(event.new_pod->meta.uid, pod->meta.uid);
}

[[nodiscard]] inline sdk::Hint queue_if(bool condition) {
  return condition ? sdk::Hint::kQueue : sdk::Hint::kSkip;
}

}  // namespace plimsoll::builtin
