// Plimsoll plugin SDK: a plugin is a class and one macro.
//
//   class Seats {
//    public:
//     Seats(plimsoll::sdk::Host host, std::string_view args_json);   // may throw: "initializing
//                                                                    // plugin ..." and the text
//     Status filter_node(const plimsoll_cycle&, Pod, Node) const;
//     int64_t score_node(const plimsoll_cycle&, Pod, Node) const;
//   };
//   PLIMSOLL_PLUGIN(Seats, "Seats", "1.0.0", "Apache-2.0")
//
// The class has any of these functions. Their names decide which extension points the plugin
// implements; docs/plugins.md says what each function may do. If a function has one of these names
// and another signature, the compiler reports an error that shows the right signature. An exception
// that leaves a function becomes an error status with the exception's text: the attempt for that
// pod fails, and the process goes on.
//
//   Status   pre_enqueue(Pod)
//   SortKey  sort_key(Pod, int64_t queued_ms)
//   range    events()                                        of plimsoll_event_interest; lives as
//                                                            long as the plugin
//   Hint     hint(Pod, const plimsoll_event&)
//   Status   pre_filter(plimsoll_cycle&, Pod, NodeNames& narrow)      or without NodeNames
//   Status   add_pod(plimsoll_cycle&, Pod, Pod added, Node)
//   Status   remove_pod(plimsoll_cycle&, Pod, Pod removed, Node)
//   Status   filter(const plimsoll_cycle&, Pod, Nodes, Verdicts) const   all nodes at once, or
//   Status   filter_node(const plimsoll_cycle&, Pod, Node) const         node by node
//   Status   post_filter(plimsoll_cycle&, Pod, Nodes, std::span<const uint8_t> codes, Nomination&)
//   Status   pre_score(plimsoll_cycle&, Pod, Nodes)
//   Status   score(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t>) const, or
//   int64_t  score_node(const plimsoll_cycle&, Pod, Node) const
//   Status   normalize(const plimsoll_cycle&, Pod, Nodes, std::span<int64_t>) const
//   Status   reserve(plimsoll_cycle&, Pod, Node)
//   void     unreserve(plimsoll_cycle&, Pod, std::string_view node_name)
//   Status   permit(plimsoll_cycle&, Pod, Node, int64_t& timeout_ms)
//   Status   pre_bind_pre_flight(plimsoll_cycle&, Pod, std::string_view node_name,
//                                bool& allow_parallel)
//   Status   pre_bind(plimsoll_cycle&, Pod, std::string_view node_name, Token)
//   Status   bind(plimsoll_cycle&, Pod, std::string_view node_name, Token)
//   void     post_bind(plimsoll_cycle&, Pod, std::string_view node_name)
//   Status   sign(Pod, Sink&)
//   void     start()
//   void     node_event(NodeEvent, Node, uint32_t aspects)
//   void     pod_event(PodEvent, Pod, std::string_view node_name)
//   void     object_event(const ObjectEvent&)
//   void     explain(const plimsoll_cycle&, Pod, Node, Sink&) const
//   bool     rests_on(Pod, std::string_view resource) const
//
// A class that filters or scores declares which aspects of a node its verdicts depend on. The
// scheduler then reuses a verdict until one of these aspects changes:
//   static constexpr uint32_t filter_aspects, score_aspects (PLIMSOLL_ASPECT_*)
// If the aspects depend on the args, declare them as non-static members. Without these members,
// verdicts and scores are never reused.
//
// static constexpr bool normalizes_by_extremes = true declares that the result of normalize for a
// score depends only on that score and on the lowest and the highest of all scores.
//
// static constexpr bool counts_assumed_pods = true asks for pod_event about assumed pods too:
// kAssigned when a pod is assumed, kRemoved when its place is given back. A pod that is confirmed
// is told of again, as kAssigned. Schedulers older than 1.4 tell of confirmed pods only.
//
// static constexpr bool wakes_whom_it_gates = true declares that the plugin calls host.activate for
// each pod that its pre_enqueue holds back, when it would let the pod in. Schedulers since 1.4 then
// spare such pods all events.
//
// static constexpr uint16_t least_abi_minor = 1 declares that the plugin needs plugin ABI 1.1; an
// older scheduler refuses the file. Without this member the plugin loads in every scheduler of this
// major version. In a scheduler older than 1.1, the SDK functions that need 1.1 do nothing, and
// report that where they can (docs/abi.md).
#pragma once

#include <plimsoll/detail/create.hpp>
#include <plimsoll/detail/near_names.hpp>
#include <plimsoll/host.hpp>

#include <algorithm>
#include <cstring>
#include <span>

// Makes `Class` the plugin of this shared object. Use it once, at namespace scope, in one source
// file.
#define PLIMSOLL_PLUGIN(Class, name_, version_, license_)                                   \
  namespace {                                                                               \
  [[gnu::section(".note.plimsoll"), gnu::used,                                              \
    gnu::aligned(                                                                           \
        8)]] PLIMSOLL_SDK_RETAIN constexpr ::plimsoll::sdk::detail::ElfNote kPlimsollNote = \
      ::plimsoll::sdk::detail::elf_note(name_, version_, license_,                          \
                                        ::plimsoll::sdk::detail::least_abi_minor<Class>(),  \
                                        ::plimsoll::sdk::detail::capabilities<Class>());    \
  }                                                                                         \
  extern "C" [[gnu::visibility("default")]] int32_t plimsoll_plugin_create_v1(              \
      const plimsoll_host* host, plimsoll_str args_json, plimsoll_plugin* out) noexcept {   \
    return ::plimsoll::sdk::detail::create<Class>(host, args_json, out, name_);             \
  }                                                                                         \
  static_assert(::plimsoll::sdk::detail::check_names<Class>());

namespace plimsoll::sdk {

// The create function of a plugin that is linked into the scheduler. Its name is Class::kName.
template <typename Class>
inline constexpr plimsoll_plugin_create_fn create_fn =
    +[](const plimsoll_host* host, plimsoll_str args_json,
        plimsoll_plugin* out) noexcept -> int32_t {
  return detail::create<Class>(host, args_json, out, Class::kName);
};

// The extension points of a plugin that is linked into the scheduler, as a note would state them.
template <typename Class>
inline constexpr uint64_t capabilities = detail::capabilities<Class>();

// Kubernetes' DefaultNormalizeScore: scales the scores so that the highest becomes `max`. `reverse`
// reverses the order. If all scores are zero, they stay zero, or become `max` with `reverse`.
inline void normalize_scores(std::span<int64_t> scores, bool reverse, int64_t max = 100) {
  if (scores.empty()) return;
  const auto normalise = [&](int64_t score, int64_t highest) {
    if (highest == 0) return reverse ? max : score;
    return reverse ? max - max * score / highest : max * score / highest;
  };
  // Usually all scores are equal, and memcmp detects that as fast as memory can be read.
  if (std::memcmp(scores.data(), scores.data() + 1, scores.size_bytes() - sizeof(int64_t)) == 0) {
    const int64_t score = scores.front();
    std::fill(scores.begin(), scores.end(), normalise(score, std::max<int64_t>(score, 0)));
    return;
  }
  int64_t highest = 0;
  for (int64_t score : scores) highest = std::max(highest, score);
  for (int64_t& score : scores) score = normalise(score, highest);
}

}  // namespace plimsoll::sdk
