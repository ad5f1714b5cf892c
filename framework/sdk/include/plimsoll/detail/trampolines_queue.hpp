// Plimsoll plugin SDK, internal: the trampolines of the queue: pre_enqueue, sort_key, events and
// hint.
#pragma once

#include <plimsoll/detail/instance.hpp>

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
      return guarded<P>(self,
                        [&](auto& i) { return give(i.plugin.pre_enqueue(Pod(pod)), reason); });
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
      return guarded<P>(self, [&](auto& i) -> int32_t {
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
      logged<P>(self, "events", [&](auto& i) {
        auto&& all = i.plugin.events();
        i.interests.assign(std::begin(all), std::end(all));
      });
      return list_of<plimsoll_event_interest>(of<P>(self).interests);
    };
  }
  if constexpr (has_hint<P>) {
    static_assert(
        requires(P p, Pod pod, const plimsoll_event& e) {
          { p.hint(pod, e) } -> std::same_as<Hint>;
        },
        "must be: Hint hint(Pod, const plimsoll_event&)");
    out.hint = [](void* self, const plimsoll_pod* pod, const plimsoll_event* event) noexcept {
      int32_t hint = PLIMSOLL_HINT_QUEUE;  // after an exception: a vain attempt is better than a
                                           // pod that waits for ever
      logged<P>(self, "hint",
                [&](auto& i) { hint = static_cast<int32_t>(i.plugin.hint(Pod(pod), *event)); });
      return hint;
    };
  }
}

}  // namespace plimsoll::sdk::detail
