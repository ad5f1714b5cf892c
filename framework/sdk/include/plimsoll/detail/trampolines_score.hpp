// Plimsoll plugin SDK, internal: the trampolines of scores: pre_score, score, normalize.
#pragma once

#include <plimsoll/detail/instance.hpp>

namespace plimsoll::sdk::detail {

template <typename P>
void fill_score(plimsoll_plugin& out) {
  if constexpr (has_pre_score<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Nodes n) {
          { p.pre_score(c, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status pre_score(plimsoll_cycle&, Pod, Nodes)");
    out.pre_score = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       const plimsoll_nodes* nodes) noexcept {
      return guarded<P>(
          self, [&](auto& i) { return i.plugin.pre_score(*cycle, Pod(pod), Nodes(nodes)).code; });
    };
  }
  if constexpr (has_score<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Nodes n, std::span<int64_t> s) {
          { p.score(c, pod, n, s) } -> std::same_as<Status>;
        },
        "must be: Status score(const plimsoll_cycle&, Pod, Nodes, "
        "std::span<int64_t>) const");
    static_assert(!has_score_node<P>, "score and score_node are two forms of one function");
    out.score = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                   const plimsoll_nodes* nodes, int64_t* scores) noexcept {
      return guarded<P>(self, [&](auto& i) {
        return i.plugin.score(*cycle, Pod(pod), Nodes(nodes), std::span(scores, nodes->count)).code;
      });
    };
  } else if constexpr (has_score_node<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Node n) {
          { p.score_node(c, pod, n) } -> std::same_as<int64_t>;
        },
        "must be: int64_t score_node(const plimsoll_cycle&, Pod, Node) const");
    out.score = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                   const plimsoll_nodes* nodes, int64_t* scores) noexcept {
      return guarded<P>(self, [&](auto& i) -> int32_t {
        for (size_t row = 0; row < nodes->count; ++row) {
          scores[row] = i.plugin.score_node(*cycle, Pod(pod), Node(nodes->rows[row]));
        }
        return PLIMSOLL_SUCCESS;
      });
    };
  }
  if constexpr (has_normalize<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Nodes n, std::span<int64_t> s) {
          { p.normalize(c, pod, n, s) } -> std::same_as<Status>;
        },
        "must be: Status normalize(const plimsoll_cycle&, Pod, Nodes, "
        "std::span<int64_t>) const");
    static_assert(has_score<P> || has_score_node<P>, "normalize needs score or score_node");
    out.normalize = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                       const plimsoll_nodes* nodes, int64_t* scores) noexcept {
      return guarded<P>(self, [&](auto& i) {
        return i.plugin.normalize(*cycle, Pod(pod), Nodes(nodes), std::span(scores, nodes->count))
            .code;
      });
    };
  }
}

}  // namespace plimsoll::sdk::detail
