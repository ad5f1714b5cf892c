// Plimsoll plugin SDK, internal: the trampolines of filters: pre_filter, add_pod and remove_pod,
// filter, post_filter.
#pragma once

#include <plimsoll/detail/instance.hpp>

namespace plimsoll::sdk::detail {

template <typename P>
int32_t call_pre_filter(Instance<P>& i, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                        uint32_t* reason, plimsoll_list* names, uint32_t* narrowed) {
  *narrowed = 0;
  if constexpr (requires(P p, plimsoll_cycle & c, Pod q) {
                  { p.pre_filter(c, q) } -> std::same_as<Status>;
                }) {
    return give(i.plugin.pre_filter(*cycle, Pod(pod)), reason);
  } else {
    i.names = NodeNames();
    const Status status = i.plugin.pre_filter(*cycle, Pod(pod), i.names);
    i.name_views.clear();
    for (const std::string& name : i.names.texts()) i.name_views.push_back(str(name));
    *narrowed = i.names.narrowed() ? 1 : 0;
    *names = list_of<plimsoll_str>(i.name_views);
    return give(status, reason);
  }
}

template <typename P>
void fill_pre_filter(plimsoll_plugin& out) {
  if constexpr (has_pre_filter<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, NodeNames & n) {
          { p.pre_filter(c, pod, n) } -> std::same_as<Status>;
        } ||
            requires(P p, plimsoll_cycle & c, Pod pod) {
              { p.pre_filter(c, pod) } -> std::same_as<Status>;
            },
        "must be: Status pre_filter(plimsoll_cycle&, Pod) or (plimsoll_cycle&, "
        "Pod, NodeNames&)");
    out.pre_filter = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                        uint32_t* reason, plimsoll_list* names, uint32_t* narrowed) noexcept {
      return guarded<P>(
          self, [&](auto& i) { return call_pre_filter(i, cycle, pod, reason, names, narrowed); });
    };
  }
  if constexpr (has_add_pod<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Node n) {
          { p.add_pod(c, pod, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status add_pod(plimsoll_cycle&, Pod, Pod added, Node)");
    static_assert(has_remove_pod<P>, "add_pod needs its inverse, remove_pod");
    out.add_pod = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                     const plimsoll_pod* added, const plimsoll_node_info* node) noexcept {
      return guarded<P>(self, [&](auto& i) {
        return i.plugin.add_pod(*cycle, Pod(pod), Pod(added), Node(node)).code;
      });
    };
  }
  if constexpr (has_remove_pod<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Node n) {
          { p.remove_pod(c, pod, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status remove_pod(plimsoll_cycle&, Pod, Pod removed, Node)");
    static_assert(has_add_pod<P>, "remove_pod needs its inverse, add_pod");
    out.remove_pod = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                        const plimsoll_pod* removed, const plimsoll_node_info* node) noexcept {
      return guarded<P>(self, [&](auto& i) {
        return i.plugin.remove_pod(*cycle, Pod(pod), Pod(removed), Node(node)).code;
      });
    };
  }
}

template <typename P>
void fill_filter(plimsoll_plugin& out) {
  if constexpr (has_filter<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Nodes n, Verdicts v) {
          { p.filter(c, pod, n, v) } -> std::same_as<Status>;
        },
        "must be: Status filter(const plimsoll_cycle&, Pod, Nodes, Verdicts) "
        "const");
    static_assert(!has_filter_node<P>, "filter and filter_node are two forms of one function");
    out.filter = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                    const plimsoll_nodes* nodes, uint8_t* codes, uint32_t* reasons) noexcept {
      return guarded<P>(self, [&](auto& i) {
        return i.plugin
            .filter(*cycle, Pod(pod), Nodes(nodes), Verdicts(codes, reasons, nodes->count))
            .code;
      });
    };
  } else if constexpr (has_filter_node<P>) {
    static_assert(
        requires(const P p, const plimsoll_cycle& c, Pod pod, Node n) {
          { p.filter_node(c, pod, n) } -> std::same_as<Status>;
        },
        "must be: Status filter_node(const plimsoll_cycle&, Pod, Node) const");
    out.filter = [](const void* self, const plimsoll_cycle* cycle, const plimsoll_pod* pod,
                    const plimsoll_nodes* nodes, uint8_t* codes, uint32_t* reasons) noexcept {
      return guarded<P>(self, [&](auto& i) -> int32_t {
        Verdicts verdicts(codes, reasons, nodes->count);
        for (size_t row = 0; row < nodes->count; ++row) {
          if (!verdicts.open(row)) continue;
          const Status status = i.plugin.filter_node(*cycle, Pod(pod), Node(nodes->rows[row]));
          if (status.code == PLIMSOLL_ERROR) return PLIMSOLL_ERROR;
          verdicts.set(row, status);
        }
        return PLIMSOLL_SUCCESS;
      });
    };
  }
}

template <typename P>
void fill_post_filter(plimsoll_plugin& out) {
  if constexpr (has_post_filter<P>) {
    static_assert(
        requires(P p, plimsoll_cycle & c, Pod pod, Nodes n, std::span<const uint8_t> s,
                 Nomination & nomination) {
          { p.post_filter(c, pod, n, s, nomination) } -> std::same_as<Status>;
        },
        "must be: Status post_filter(plimsoll_cycle&, Pod, Nodes, "
        "std::span<const uint8_t>, "
        "Nomination&)");
    out.post_filter = [](void* self, plimsoll_cycle* cycle, const plimsoll_pod* pod,
                         const plimsoll_nodes* nodes, const uint8_t* codes, plimsoll_str* nominated,
                         uint32_t* reason) noexcept {
      return guarded<P>(self, [&](auto& i) {
        i.nomination = Nomination();
        const Status status = i.plugin.post_filter(*cycle, Pod(pod), Nodes(nodes),
                                                   std::span(codes, nodes->count), i.nomination);
        if (i.nomination.changed()) *nominated = str(i.nomination.node_name());
        return give(status, reason);
      });
    };
  }
}

}  // namespace plimsoll::sdk::detail
