// Plimsoll plugin SDK, internal: the trampolines of reserve, permit and binding.
#pragma once

#include <plimsoll/detail/instance.hpp>

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
      return guarded<P>(self, [&](auto& i) {
        return give(i.plugin.reserve(*cycle, Pod(pod), Node(node)), reason);
      });
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
      logged<P>(self, "unreserve",
                [&](auto& i) { i.plugin.unreserve(*cycle, Pod(pod), view(node_name)); });
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
      return guarded<P>(self, [&](auto& i) {
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
      return guarded<P>(self, [&](auto& i) {
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
      return guarded<P>(self, [&](auto& i) {
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
      return guarded<P>(self, [&](auto& i) {
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
      logged<P>(self, "post_bind",
                [&](auto& i) { i.plugin.post_bind(*cycle, Pod(pod), view(node_name)); });
    };
  }
}

}  // namespace plimsoll::sdk::detail
