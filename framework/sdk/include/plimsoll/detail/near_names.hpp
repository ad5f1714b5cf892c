// Plimsoll plugin SDK, internal: warns of public members whose names are close to a function that
// the scheduler would call. Such a function is never called, and nothing else would say so.
#pragma once

// X(what was written, what was meant). Names of Kubernetes' framework and usual slips.
#define PLIMSOLL_SDK_NEAR_NAMES(X)           \
  X(filter_nodes, filter_node)               \
  X(filter_pod, filter_node)                 \
  X(filternode, filter_node)                 \
  X(FilterNode, filter_node)                 \
  X(Filter, filter)                          \
  X(score_nodes, score_node)                 \
  X(score_pod, score_node)                   \
  X(scorenode, score_node)                   \
  X(ScoreNode, score_node)                   \
  X(Score, score)                            \
  X(prefilter, pre_filter)                   \
  X(pre_filter_node, pre_filter)             \
  X(pre_filters, pre_filter)                 \
  X(PreFilter, pre_filter)                   \
  X(prescore, pre_score)                     \
  X(pre_score_node, pre_score)               \
  X(pre_score_nodes, pre_score)              \
  X(pre_scores, pre_score)                   \
  X(PreScore, pre_score)                     \
  X(postfilter, post_filter)                 \
  X(post_filters, post_filter)               \
  X(PostFilter, post_filter)                 \
  X(normalise, normalize)                    \
  X(normalize_scores, normalize)             \
  X(normalise_scores, normalize)             \
  X(normalize_score, normalize)              \
  X(NormalizeScore, normalize)               \
  X(preenqueue, pre_enqueue)                 \
  X(pre_enque, pre_enqueue)                  \
  X(pre_queue, pre_enqueue)                  \
  X(PreEnqueue, pre_enqueue)                 \
  X(sortkey, sort_key)                       \
  X(sort_keys, sort_key)                     \
  X(queue_sort, sort_key)                    \
  X(less, sort_key)                          \
  X(Less, sort_key)                          \
  X(events_to_register, events)              \
  X(EventsToRegister, events)                \
  X(hints, hint)                             \
  X(queueing_hint, hint)                     \
  X(Reserve, reserve)                        \
  X(reserve_pod, reserve)                    \
  X(un_reserve, unreserve)                   \
  X(Unreserve, unreserve)                    \
  X(Permit, permit)                          \
  X(permit_pod, permit)                      \
  X(prebind, pre_bind)                       \
  X(PreBind, pre_bind)                       \
  X(pre_bind_preflight, pre_bind_pre_flight) \
  X(prebind_preflight, pre_bind_pre_flight)  \
  X(pre_flight, pre_bind_pre_flight)         \
  X(Bind, bind)                              \
  X(bind_pod, bind)                          \
  X(postbind, post_bind)                     \
  X(PostBind, post_bind)                     \
  X(AddPod, add_pod)                         \
  X(pod_added, add_pod)                      \
  X(RemovePod, remove_pod)                   \
  X(delete_pod, remove_pod)                  \
  X(node_events, node_event)                 \
  X(on_node_event, node_event)               \
  X(on_node, node_event)                     \
  X(pod_events, pod_event)                   \
  X(on_pod_event, pod_event)                 \
  X(on_pod, pod_event)                       \
  X(object_events, object_event)             \
  X(on_object_event, object_event)           \
  X(on_object, object_event)                 \
  X(signature, sign)                         \
  X(sign_pod, sign)                          \
  X(explain_node, explain)                   \
  X(rest_on, rests_on)                       \
  X(depends_on, rests_on)                    \
  X(filter_aspect, filter_aspects)           \
  X(score_aspect, score_aspects)

namespace plimsoll::sdk::detail {

template <bool IsThere>
struct NearName {
#define PLIMSOLL_SDK_NEAR(wrong, right)            \
  static constexpr bool wrong##_is_not_##right() { \
    return true;                                   \
  }
  PLIMSOLL_SDK_NEAR_NAMES(PLIMSOLL_SDK_NEAR)
#undef PLIMSOLL_SDK_NEAR
};
template <>
struct NearName<true> {
#define PLIMSOLL_SDK_NEAR(wrong, right)                                           \
  [[deprecated("the scheduler calls no function " #wrong "; did you mean " #right \
               "?")]] static constexpr bool wrong##_is_not_##right() {            \
    return true;                                                                  \
  }
  PLIMSOLL_SDK_NEAR_NAMES(PLIMSOLL_SDK_NEAR)
#undef PLIMSOLL_SDK_NEAR
};

#define PLIMSOLL_SDK_NEAR(wrong, right)   \
  template <typename P>                   \
  concept has_public_##wrong = requires { \
    &P::wrong;                            \
  };
PLIMSOLL_SDK_NEAR_NAMES(PLIMSOLL_SDK_NEAR)
#undef PLIMSOLL_SDK_NEAR

template <typename P>
constexpr bool check_names() {
  bool checked = true;
#define PLIMSOLL_SDK_NEAR(wrong, right) \
  checked = checked && NearName<has_public_##wrong<P>>::wrong##_is_not_##right();
  PLIMSOLL_SDK_NEAR_NAMES(PLIMSOLL_SDK_NEAR)
#undef PLIMSOLL_SDK_NEAR
  return checked;
}

}  // namespace plimsoll::sdk::detail
