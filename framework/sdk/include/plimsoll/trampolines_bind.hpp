// Plimsoll plugin SDK, internal: the part of trampolines.hpp for reserve, permit, binding, state
// and events.
#pragma once

#include <plimsoll/instance.hpp>

namespace plimsoll::sdk::detail {

template <typename P>
void fill_reserve(plimsoll_plugin& out) {
  if constexpr (has_reserve<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Node n) {
          { p.reserve(c, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status reserve(plimsoll_cycle&, Pod, Node)");
    static_assert(has_unreserve<P>, "reserve needs its inverse, unreserve");
    out.reserve = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                     const plimsoll_node_info* node, uint32_t* reason) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host,
                     [&] { return give(i.plugin.reserve(*cycle, Pod(pod), Node(node)), reason); });
    };
  }
  if constexpr (has_unreserve<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n) {
          { p.unreserve(c, pod, n) } -> std::same_as<void>;
        },
        "must be: void unreserve(plimsoll_cycle&, Pod, std::string_view "
        "node_name)");
    out.unreserve = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       plimsoll_str node_name) noexcept {
      Instance<P>& i = of<P>(self);
      logged(i.host, "unreserve", [&] { i.plugin.unreserve(*cycle, Pod(pod), view(node_name)); });
    };
  }
  if constexpr (has_permit<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Node n, int64_t & t) {
          { p.permit(c, pod, n, t) } -> std::same_as<Status>;
        },
        "must be: Status permit(plimsoll_cycle&, Pod, Node, int64_t& "
        "timeout_ms)");
    out.permit = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                    const plimsoll_node_info* node, int64_t* timeout_ms,
                    uint32_t* reason) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return give(i.plugin.permit(*cycle, Pod(pod), Node(node), *timeout_ms), reason);
      });
    };
  }
}

template <typename P>
void fill_bind(plimsoll_plugin& out) {
  if constexpr (has_pre_bind_pre_flight<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n, bool& b) {
          { p.pre_bind_pre_flight(c, pod, n, b) } -> std::same_as<Status>;
        },
        "must be: Status pre_bind_pre_flight(plimsoll_cycle&, Pod, "
        "std::string_view, bool&)");
    static_assert(has_pre_bind<P>, "pre_bind_pre_flight needs pre_bind");
    out.pre_bind_pre_flight = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                                 plimsoll_str node_name, uint32_t* allow_parallel) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        bool parallel = false;
        const Status status =
            i.plugin.pre_bind_pre_flight(*cycle, Pod(pod), view(node_name), parallel);
        *allow_parallel = parallel ? 1 : 0;
        return status.code;
      });
    };
  }
  if constexpr (has_pre_bind<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n) {
          { p.pre_bind(c, pod, n, Token{}) } -> std::same_as<Status>;
        },
        "must be: Status pre_bind(plimsoll_cycle&, Pod, std::string_view "
        "node_name, Token)");
    out.pre_bind = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                      plimsoll_str node_name, plimsoll_token* token) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin.pre_bind(*cycle, Pod(pod), view(node_name), Token{token}).code;
      });
    };
  }
  if constexpr (has_bind<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n) {
          { p.bind(c, pod, n, Token{}) } -> std::same_as<Status>;
        },
        "must be: Status bind(plimsoll_cycle&, Pod, std::string_view "
        "node_name, Token)");
    out.bind = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                  plimsoll_str node_name, plimsoll_token* token) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin.bind(*cycle, Pod(pod), view(node_name), Token{token}).code;
      });
    };
  }
  if constexpr (has_post_bind<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, std::string_view n) {
          { p.post_bind(c, pod, n) } -> std::same_as<void>;
        },
        "must be: void post_bind(plimsoll_cycle&, Pod, std::string_view "
        "node_name)");
    out.post_bind = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       plimsoll_str node_name) noexcept {
      Instance<P>& i = of<P>(self);
      logged(i.host, "post_bind", [&] { i.plugin.post_bind(*cycle, Pod(pod), view(node_name)); });
    };
  }
}

template <typename P>
void fill_state(plimsoll_plugin& out) {
  if constexpr (has_start<P>) {
    static_assert(
        requires(P p) {
          { p.start() } -> std::same_as<void>;
        },
        "must be: void start()");
    out.start = [](void* self) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&]() -> int32_t {
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
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
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
      Instance<P>& i = of<P>(self);
      logged(i.host, "node_event",
             [&] { i.plugin.node_event(static_cast<NodeEvent>(type), Node(node), aspects); });
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
      Instance<P>& i = of<P>(self);
      logged(i.host, "pod_event",
             [&] { i.plugin.pod_event(static_cast<PodEvent>(type), Pod(pod), view(node_name)); });
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
      Instance<P>& i = of<P>(self);
      logged(i.host, "object_event", [&] {
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
      const Instance<P>& i = of<P>(self);
      logged(i.host, "explain", [&] {
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
      const Instance<P>& i = of<P>(static_cast<const void*>(self));
      int32_t rests = 1;  // after an exception: waiting is better than deciding on lost data
      logged(i.host, "rests_on",
             [&] { rests = i.plugin.rests_on(Pod(pod), view(resource)) ? 1 : 0; });
      return rests;
    };
  }
}

}  // namespace plimsoll::sdk::detail
