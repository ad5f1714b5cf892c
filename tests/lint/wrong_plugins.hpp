#pragma once
// Plugins that each tell one lie about what they rest on, and some that tell the truth.

#include <plimsoll/plugin.hpp>

#include <map>
#include <numeric>
#include <string>

namespace plimsoll::lint {

using sdk::Host;
using sdk::Node;
using sdk::Nodes;
using sdk::ObjectEvent;
using sdk::Pod;
using sdk::Sink;
using sdk::Verdicts;
using Said = sdk::Status;
using Cycle = plimsoll_cycle;

// What they have in common: one reason, and a signature that says nothing.
struct Base {
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_LABELS;
  explicit Base(Host given) : host(given), no(given.reason("no")) {}
  Said sign(Pod, Sink&) { return {}; }
  Said if_not(bool fits) const { return fits ? Said() : Said::unschedulable(no); }

  Host host;
  uint32_t no;
};

// ---- the truth

struct Honest : Base {
  static constexpr const char* kName = "Honest";
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_ALLOCATABLE | PLIMSOLL_ASPECT_REQUESTED;
  static constexpr bool normalizes_by_extremes = true;
  using Base::Base;
  Said sign(Pod pod, Sink& sink) {
    sink.put_value(uint8_t{pod.label("app").has_value()});
    sink.put_value(pod.request("cpu"));
    return {};
  }
  Said filter_node(const Cycle&, Pod pod, Node node) const {
    return if_not(!pod.label("app") || node.label("dedicated"));
  }
  int64_t score_node(const Cycle&, Pod pod, Node node) const {
    return node.allocatable(PLIMSOLL_RESOURCE_CPU) - node.requested(PLIMSOLL_RESOURCE_CPU) -
           pod.request("cpu");
  }
  Said normalize(const Cycle&, Pod, Nodes, std::span<int64_t> scores) const {
    const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
    const int64_t from = *low;
    const int64_t width = std::max<int64_t>(*high - from, 1);
    for (int64_t& score : scores) score = (score - from) * 100 / width;
    return {};
  }
};

// Keeps count of the pods of each node, and says so.
struct Touching : Base {
  static constexpr const char* kName = "Touching";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_PLUGIN;
  using Base::Base;
  void object_event(const ObjectEvent& event) {
    closed[std::string(event.name)] = event.type == ObjectEvent::kUpsert;
    if (const Node node = host.node(event.name)) host.touch_node(node.slot());
  }
  void start() { host.watch("example.com", "v1", "gates"); }
  Said filter_node(const Cycle&, Pod, Node node) const {
    const auto found = closed.find(std::string(node.name()));
    return if_not(found == closed.end() || !found->second);
  }
  std::map<std::string, bool> closed;
};

// ---- the pod

struct UnsignedLabel : Base {
  static constexpr const char* kName = "UnsignedLabel";
  using Base::Base;
  Said filter_node(const Cycle&, Pod pod, Node node) const {
    return if_not(!pod.label("app") || node.label("dedicated"));
  }
};

struct UnsignedPriority : Base {
  static constexpr const char* kName = "UnsignedPriority";
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_LABELS;
  using Base::Base;
  int64_t score_node(const Cycle&, Pod pod, Node) const { return pod->priority > 0 ? 7 : 3; }
};

// Skips the pods that its signature would say too little of.
struct SkipsSome : Base {
  static constexpr const char* kName = "SkipsSome";
  using Base::Base;
  Said sign(Pod pod, Sink&) { return pod.label("app") ? Said::skip() : Said(); }
  Said filter_node(const Cycle&, Pod pod, Node node) const {
    const auto app = pod.label("app");
    return if_not(!app || node.label("dedicated") == app || node.taints().empty());
  }
};

// ---- the node

struct UndeclaredLabels : Base {
  static constexpr const char* kName = "UndeclaredLabels";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_TAINTS;
  using Base::Base;
  Said filter_node(const Cycle&, Pod, Node node) const {
    return if_not(node.label("dedicated") && node.taints().empty());
  }
};

struct UndeclaredPods : Base {
  static constexpr const char* kName = "UndeclaredPods";
  using Base::Base;
  Said filter_node(const Cycle&, Pod, Node node) const { return if_not(node.pods().size() < 2); }
};

struct Capacity : Base {
  static constexpr const char* kName = "Capacity";
  using Base::Base;
  Said filter_node(const Cycle&, Pod, Node node) const {
    return if_not(sdk::Resources(node.object().capacity).amount("cpu") > 8000);
  }
};

struct OtherNodes : Base {
  static constexpr const char* kName = "OtherNodes";
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_PODS | PLIMSOLL_ASPECT_REQUESTED;
  using Base::Base;
  Said filter_node(const Cycle&, Pod, Node node) const {
    size_t most = 0;
    for (uint32_t slot = 0; slot < host.slot_count(); ++slot) {
      if (const Node other = host.node(slot)) most = std::max(most, other.pods().size());
    }
    return if_not(most == 0 || node.pods().size() < most);
  }
};

struct Nominated : Base {
  static constexpr const char* kName = "Nominated";
  using Base::Base;
  Said filter_node(const Cycle&, Pod, Node node) const {
    return if_not(host.nominated_pods(node.name()).empty());
  }
};

// The same as Touching, but for one call.
struct Untouched : Touching {
  static constexpr const char* kName = "Untouched";
  using Touching::Touching;
  void object_event(const ObjectEvent& event) {
    closed[std::string(event.name)] = event.type == ObjectEvent::kUpsert;
  }
};

// Rests on objects as Untouched does, and signs what it knows of them: a pod whose verdicts change
// is then of another class.
struct SignsState : Untouched {
  static constexpr const char* kName = "SignsState";
  using Untouched::Untouched;
  Said sign(Pod, Sink& sink) const {
    for (const auto& [name, is_closed] : closed) {
      if (is_closed) sink.put_field(name);
    }
    return {};
  }
};

struct Clock : Base {
  static constexpr const char* kName = "Clock";
  using Base::Base;
  Said filter_node(const Cycle&, Pod, Node) const {
    return if_not(host.now_ms() / 3'600'000 % 2 == 0);
  }
};

// ---- the question

struct Counter : Base {
  static constexpr const char* kName = "Counter";
  using Base::Base;
  Said filter_node(const Cycle&, Pod, Node) const { return if_not(++calls % 3 != 0); }
  mutable int calls = 0;
};

struct Batch : Base {
  static constexpr const char* kName = "Batch";
  using Base::Base;
  Said filter(const Cycle&, Pod, Nodes nodes, Verdicts verdicts) const {
    verdicts.set(0, if_not(nodes.size() == 1));  // leaves the first of several out
    return {};
  }
};

struct FeasibleSet : Base {
  static constexpr const char* kName = "FeasibleSet";
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_LABELS;
  using Base::Base;
  Said pre_score(Cycle& cycle, Pod, Nodes nodes) {
    host.set_state(cycle, nodes.size());
    return {};
  }
  int64_t score_node(const Cycle& cycle, Pod, Node) const {
    return static_cast<int64_t>(*host.state<size_t>(cycle));
  }
};

// ---- normalising

struct Mean : Base {
  static constexpr const char* kName = "Mean";
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_ALLOCATABLE;
  static constexpr bool normalizes_by_extremes = true;
  using Base::Base;
  int64_t score_node(const Cycle&, Pod, Node node) const {
    return node.allocatable(PLIMSOLL_RESOURCE_CPU);
  }
  Said normalize(const Cycle&, Pod, Nodes, std::span<int64_t> scores) const {
    const int64_t sum = std::accumulate(scores.begin(), scores.end(), int64_t{0});
    const auto count = static_cast<int64_t>(scores.size());
    for (int64_t& score : scores) score = score * count > sum ? 100 : 0;
    return {};
  }
};

struct HonestMean : Mean {
  static constexpr const char* kName = "HonestMean";
  static constexpr bool normalizes_by_extremes = false;
  using Mean::Mean;
};

struct OutOfRange : Base {
  static constexpr const char* kName = "OutOfRange";
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_ALLOCATABLE;
  using Base::Base;
  int64_t score_node(const Cycle&, Pod, Node node) const {
    return node.allocatable(PLIMSOLL_RESOURCE_CPU);
  }
};

// Never refuses anybody, and likes all nodes alike.
struct Agrees : Base {
  static constexpr const char* kName = "Agrees";
  using Base::Base;
  Said filter_node(const Cycle&, Pod, Node) const { return {}; }
  int64_t score_node(const Cycle&, Pod, Node) const { return 7; }
};

// A label that its args name keeps pods away unless it is empty. Its signature leaves it out.
struct EmptyMeansNo : Base {
  static constexpr const char* kName = "EmptyMeansNo";
  EmptyMeansNo(Host given, std::string_view args)
      : Base(given), label(args.substr(10, args.size() - 12)) {}
  Said filter_node(const Cycle&, Pod pod, Node) const {
    const auto value = pod.label(label);
    return if_not(!value || value->empty());
  }

  std::string label;
};

}  // namespace plimsoll::lint
