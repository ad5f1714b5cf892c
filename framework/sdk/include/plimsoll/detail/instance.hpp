// Plimsoll plugin SDK, internal: detects which functions a plugin class has, defines the object
// behind plimsoll_plugin.self, and keeps exceptions from leaving the plugin.
#pragma once

#include <plimsoll/arguments.hpp>

#include <algorithm>
#include <concepts>
#include <exception>

namespace plimsoll::sdk::detail {

// ---- which functions a class has

// has_X<P>: P has a member X of any signature. The probe derives from P and from a class that has a
// member X, so the name is ambiguous if and only if P has a member X too.
#define PLIMSOLL_SDK_MEMBER(member)                \
  struct Fallback_##member {                       \
    int member;                                    \
  };                                               \
  template <typename P>                            \
  struct Probe_##member : P, Fallback_##member {}; \
  template <typename P>                            \
  concept has_##member = !requires {               \
    &Probe_##member<P>::member;                    \
  };

PLIMSOLL_SDK_MEMBER(start)
PLIMSOLL_SDK_MEMBER(pre_enqueue)
PLIMSOLL_SDK_MEMBER(sort_key)
PLIMSOLL_SDK_MEMBER(events)
PLIMSOLL_SDK_MEMBER(hint)
PLIMSOLL_SDK_MEMBER(pre_filter)
PLIMSOLL_SDK_MEMBER(add_pod)
PLIMSOLL_SDK_MEMBER(remove_pod)
PLIMSOLL_SDK_MEMBER(filter)
PLIMSOLL_SDK_MEMBER(filter_node)
PLIMSOLL_SDK_MEMBER(post_filter)
PLIMSOLL_SDK_MEMBER(pre_score)
PLIMSOLL_SDK_MEMBER(score)
PLIMSOLL_SDK_MEMBER(score_node)
PLIMSOLL_SDK_MEMBER(normalize)
PLIMSOLL_SDK_MEMBER(reserve)
PLIMSOLL_SDK_MEMBER(unreserve)
PLIMSOLL_SDK_MEMBER(permit)
PLIMSOLL_SDK_MEMBER(pre_bind_pre_flight)
PLIMSOLL_SDK_MEMBER(pre_bind)
PLIMSOLL_SDK_MEMBER(bind)
PLIMSOLL_SDK_MEMBER(post_bind)
PLIMSOLL_SDK_MEMBER(sign)
PLIMSOLL_SDK_MEMBER(node_event)
PLIMSOLL_SDK_MEMBER(pod_event)
PLIMSOLL_SDK_MEMBER(object_event)
PLIMSOLL_SDK_MEMBER(explain)
PLIMSOLL_SDK_MEMBER(rests_on)
PLIMSOLL_SDK_MEMBER(filter_aspects)
PLIMSOLL_SDK_MEMBER(score_aspects)
PLIMSOLL_SDK_MEMBER(normalizes_by_extremes)
PLIMSOLL_SDK_MEMBER(counts_assumed_pods)
PLIMSOLL_SDK_MEMBER(wakes_whom_it_gates)
PLIMSOLL_SDK_MEMBER(least_abi_minor)
#undef PLIMSOLL_SDK_MEMBER

// The capabilities for the note: the extension points that the functions of the class implement.
template <typename P>
consteval uint64_t capabilities() {
  static_assert(!std::is_final_v<P>, "a plugin class must not be final");
  uint64_t points = PLIMSOLL_CAPABILITY_STATED;
  if (has_pre_enqueue<P>) points |= PLIMSOLL_CAPABILITY_PRE_ENQUEUE;
  if (has_sort_key<P>) points |= PLIMSOLL_CAPABILITY_QUEUE_SORT;
  if (has_pre_filter<P>) points |= PLIMSOLL_CAPABILITY_PRE_FILTER;
  if (has_filter<P> || has_filter_node<P>) points |= PLIMSOLL_CAPABILITY_FILTER;
  if (has_post_filter<P>) points |= PLIMSOLL_CAPABILITY_POST_FILTER;
  if (has_pre_score<P>) points |= PLIMSOLL_CAPABILITY_PRE_SCORE;
  if (has_score<P> || has_score_node<P>) points |= PLIMSOLL_CAPABILITY_SCORE;
  if (has_reserve<P> || has_unreserve<P>) points |= PLIMSOLL_CAPABILITY_RESERVE;
  if (has_permit<P>) points |= PLIMSOLL_CAPABILITY_PERMIT;
  if (has_pre_bind<P>) points |= PLIMSOLL_CAPABILITY_PRE_BIND;
  if (has_bind<P>) points |= PLIMSOLL_CAPABILITY_BIND;
  if (has_post_bind<P>) points |= PLIMSOLL_CAPABILITY_POST_BIND;
  return points;
}

// The SDK never calls a function that an older scheduler lacks. So a class without least_abi_minor
// loads in every scheduler of this major version.
template <typename P>
consteval uint16_t least_abi_minor() {
  if constexpr (has_least_abi_minor<P>) {
    static_assert(P::least_abi_minor <= PLIMSOLL_ABI_MINOR,
                  "least_abi_minor is beyond what this SDK knows");
    return P::least_abi_minor;
  } else {
    return 0;
  }
}

// ---- the object behind plimsoll_plugin.self

template <typename P>
struct Instance {
  Instance(const plimsoll_host* table, std::string_view args, std::string_view name)
      : host(table, name), plugin(make(host, args)) {}

  static P make(const Host& host, std::string_view args) {
    if constexpr (std::is_constructible_v<P, Host, std::string_view>) {
      return P(host, args);
    } else {
      static_assert(std::is_constructible_v<P, Host>,
                    "a plugin is constructed from (Host, std::string_view "
                    "args_json) or (Host)");
      if (!args.empty() && args != "{}") host.warn("args: have no effect: the plugin takes none");
      return P(host);
    }
  }

  Host host;
  P plugin;
  std::vector<plimsoll_event_interest> interests;  // the result of events()
  NodeNames names;                                 // of the last pre_filter
  std::vector<plimsoll_str> name_views;
  Nomination nomination;  // of the last post_filter
};

template <typename P>
Instance<P>& of(void* self) {
  return *static_cast<Instance<P>*>(self);
}
template <typename P>
const Instance<P>& of(const void* self) {
  return *static_cast<const Instance<P>*>(self);
}

// Runs `call` with the instance. An exception becomes an error with the exception's text.
template <typename P, typename Self, typename Call>
int32_t guarded(Self* self, const Call& call) noexcept {
  auto& instance = of<P>(self);
  try {
    return call(instance);
  } catch (const std::exception& e) {
    return instance.host.error(e.what()).code;
  } catch (...) {
    return instance.host.error("an exception that is no std::exception").code;
  }
}
// The same of a call that returns nothing. The text of an exception is logged.
template <typename P, typename Self, typename Call>
void logged(Self* self, std::string_view function, const Call& call) noexcept {
  auto& instance = of<P>(self);
  logged(instance.host, function, [&] { call(instance); });
}

inline int32_t give(Status status, uint32_t* reason) {
  *reason = status.reason;
  return status.code;
}

}  // namespace plimsoll::sdk::detail
