// Plimsoll plugin SDK, internal: the trampolines of start, sign, events, explain and rests_on.
#pragma once

#include <plimsoll/detail/instance.hpp>

namespace plimsoll::sdk::detail {

template <typename P>
void fill_state(plimsoll_plugin& out) {
  if constexpr (has_start<P>) {
    static_assert(
        requires(P p) {
          { p.start() } -> std::same_as<void>;
        },
        "must be: void start()");
    out.start = [](void* self) noexcept {
      return guarded<P>(self, [&](auto& i) -> int32_t {
        i.plugin.start();
        return PLIMSOLL_SUCCESS;
      });
    };
  }
  if constexpr (has_sign<P>) {
    static_assert(
        requires(P p, Pod pod, Sink & s) {
          { p.sign(pod, s) } -> std::same_as<Status>;
        },
        "must be: Status sign(Pod, Sink&)");
    out.sign = [](void* self, const plimsoll_pod* pod, Sink::Put put, void* sink) noexcept {
      return guarded<P>(self, [&](auto& i) {
        Sink to(put, sink);
        return i.plugin.sign(Pod(pod), to).code;
      });
    };
  }
}

template <typename P>
void fill_events(plimsoll_plugin& out) {
  if constexpr (has_node_event<P>) {
    static_assert(
        requires(P p, Node n) {
          { p.node_event(NodeEvent::kAdded, n, uint32_t{}) } -> std::same_as<void>;
        },
        "must be: void node_event(NodeEvent, Node, uint32_t aspects)");
    out.node_event = [](void* self, uint32_t type, const plimsoll_node_info* node,
                        uint32_t aspects) noexcept {
      logged<P>(self, "node_event", [&](auto& i) {
        i.plugin.node_event(static_cast<NodeEvent>(type), Node(node), aspects);
      });
    };
  }
  if constexpr (has_pod_event<P>) {
    static_assert(
        requires(P p, Pod pod, std::string_view n) {
          { p.pod_event(PodEvent::kAssigned, pod, n) } -> std::same_as<void>;
        },
        "must be: void pod_event(PodEvent, Pod, std::string_view node_name)");
    out.pod_event = [](void* self, uint32_t type, const plimsoll_pod* pod,
                       plimsoll_str node_name) noexcept {
      logged<P>(self, "pod_event", [&](auto& i) {
        i.plugin.pod_event(static_cast<PodEvent>(type), Pod(pod), view(node_name));
      });
    };
  }
  if constexpr (has_object_event<P>) {
    static_assert(
        requires(P p, const ObjectEvent& e) {
          { p.object_event(e) } -> std::same_as<void>;
        },
        "must be: void object_event(const ObjectEvent&)");
    out.object_event = [](void* self, uint32_t type, plimsoll_str resource, plimsoll_str name,
                          plimsoll_str ns, plimsoll_str json) noexcept {
      logged<P>(self, "object_event", [&](auto& i) {
        i.plugin.object_event(ObjectEvent{static_cast<ObjectEvent::Type>(type), view(resource),
                                          view(name), view(ns), view(json)});
      });
    };
  }
  if constexpr (has_explain<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Node n, Sink& s) {
          { p.explain(c, pod, n, s) } -> std::same_as<void>;
        },
        "must be: void explain(const plimsoll_cycle&, Pod, Node, Sink&) const");
    out.explain = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                     const plimsoll_node_info* node, Sink::Put put, void* sink) noexcept {
      logged<P>(self, "explain", [&](auto& i) {
        Sink to(put, sink);
        i.plugin.explain(*cycle, Pod(pod), Node(node), to);
      });
    };
  }
  if constexpr (has_rests_on<P>) {
    static_assert(
        requires(const P p, Pod pod, std::string_view resource) {
          { p.rests_on(pod, resource) } -> std::same_as<bool>;
        },
        "must be: bool rests_on(Pod, std::string_view resource) const");
    out.rests_on = [](void* self, const plimsoll_pod* pod, plimsoll_str resource) noexcept {
      int32_t rests = 1;  // after an exception: waiting is better than deciding on lost data
      logged<P>(static_cast<const void*>(self), "rests_on",
                [&](auto& i) { rests = i.plugin.rests_on(Pod(pod), view(resource)) ? 1 : 0; });
      return rests;
    };
  }
}

}  // namespace plimsoll::sdk::detail
