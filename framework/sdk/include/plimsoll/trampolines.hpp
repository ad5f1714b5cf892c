// Plimsoll plugin SDK, internal: checks the signatures of plugin functions and puts the C functions
// that call them into the table. This file has queue, filters and scores; trampolines_bind.hpp has
// the rest.
#pragma once

#include <plimsoll/instance.hpp>

namespace plimsoll::sdk::detail {

template <typename P>
void fill_queue(plimsoll_plugin& out) {
  if constexpr (has_pre_enqueue<P>) {
    static_assert(
        requires(P p, Pod pod) {
          { p.pre_enqueue(pod) } -> std::same_as<Status>;
        },
        "must be: Status pre_enqueue(Pod)");
    out.pre_enqueue = [](void* self, const plimsoll_pod* pod, uint32_t* reason) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] { return give(i.plugin.pre_enqueue(Pod(pod)), reason); });
    };
  }
  if constexpr (has_sort_key<P>) {
    static_assert(
        requires(P p, Pod pod) {
          { p.sort_key(pod, int64_t{}) } -> std::convertible_to<SortKey>;
        },
        "must be: SortKey sort_key(Pod, int64_t queued_ms)");
    out.sort_key = [](void* self, const plimsoll_pod* pod, int64_t queued_ms,
                      uint8_t key[24]) noexcept {
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&]() -> int32_t {
        const SortKey made = i.plugin.sort_key(Pod(pod), queued_ms);
        std::copy(made.bytes().begin(), made.bytes().end(), key);
        return PLIMSOLL_SUCCESS;
      });
    };
  }
  if constexpr (has_events<P>) {
    static_assert(
        requires(P p) {
          std::vector<plimsoll_event_interest>(std::begin(p.events()), std::end(p.events()));
        } || requires(P p) { std::span<const plimsoll_event_interest>(p.events()); },
        "events() must return a range of plimsoll_event_interest");
    out.events = [](void* self) noexcept -> plimsoll_list {
      Instance<P>& i = of<P>(self);
      logged(i.host, "events", [&] {
        auto&& all = i.plugin.events();
        i.interests.assign(std::begin(all), std::end(all));
      });
      return list_of<plimsoll_event_interest>(i.interests);
    };
  }
  if constexpr (has_hint<P>) {
    static_assert(
        requires(P p, Pod pod, const plimsoll_event& e) {
          { p.hint(pod, e) } -> std::same_as<Hint>;
        },
        "must be: Hint hint(Pod, const plimsoll_event&)");
    out.hint = [](void* self, const plimsoll_pod* pod, const plimsoll_event* event) noexcept {
      Instance<P>& i = of<P>(self);
      int32_t hint = PLIMSOLL_HINT_QUEUE;  // after an exception: a vain attempt is better than a
                                           // pod that waits for ever
      logged(i.host, "hint", [&] { hint = static_cast<int32_t>(i.plugin.hint(Pod(pod), *event)); });
      return hint;
    };
  }
}

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
      Instance<P>& i = of<P>(self);
      return guarded(i.host,
                     [&] { return call_pre_filter(i, cycle, pod, reason, names, narrowed); });
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
      Instance<P>& i = of<P>(self);
      return guarded(
          i.host, [&] { return i.plugin.add_pod(*cycle, Pod(pod), Pod(added), Node(node)).code; });
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
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
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
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
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
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&]() -> int32_t {
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
      Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        i.nomination = Nomination();
        const Status status = i.plugin.post_filter(*cycle, Pod(pod), Nodes(nodes),
                                                   std::span(codes, nodes->count), i.nomination);
        if (i.nomination.changed()) *nominated = str(i.nomination.node_name());
        return give(status, reason);
      });
    };
  }
}

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
      Instance<P>& i = of<P>(self);
      return guarded(i.host,
                     [&] { return i.plugin.pre_score(*cycle, Pod(pod), Nodes(nodes)).code; });
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
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
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
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&]() -> int32_t {
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
      const Instance<P>& i = of<P>(self);
      return guarded(i.host, [&] {
        return i.plugin.normalize(*cycle, Pod(pod), Nodes(nodes), std::span(scores, nodes->count))
            .code;
      });
    };
  }
}

}  // namespace plimsoll::sdk::detail
