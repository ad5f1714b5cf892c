// A Reserve with its own count: each node has some moorings, and each pod takes one. Args: {"each":
// how many, "fault": "unreserve", "removal" or "restart", what is forgotten, "what-if", "loop",
// "negative", "throw" or "undeclared"}.
#include <algorithm>
#include <map>
#include <plimsoll/args.hpp>
#include <plimsoll/plugin.hpp>
#include <set>
#include <stdexcept>
#include <string>

namespace {
using namespace plimsoll::sdk;

class Moorings {
 public:
  static constexpr uint32_t filter_aspects = PLIMSOLL_ASPECT_PLUGIN | PLIMSOLL_ASPECT_PODS;
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_PLUGIN;

  Moorings(Host host, std::string_view args_json)
      : host_(host), none_(host.reason("node(s) had no free mooring")) {
    read_args(host, args_json, {"MooringsArgs"}, [this](Args& args) {
      args.read("each", each_, 1, 1000);
      args.read("fault", fault_);
    });
  }
  Status sign(Pod, Sink&) { return {}; }

  Status pre_filter(plimsoll_cycle& cycle, Pod) {
    host_.set_state(cycle, WhatIfs());
    return {};
  }
  Status add_pod(plimsoll_cycle& cycle, Pod, Pod, Node) {
    ++host_.state<WhatIfs>(cycle)->pods;
    return {};
  }
  Status remove_pod(plimsoll_cycle& cycle, Pod, Pod, Node) {
    if (fault_ != "what-if") --host_.state<WhatIfs>(cycle)->pods;
    return {};
  }
  Status filter_node(const plimsoll_cycle& cycle, Pod, Node node) const {
    if (fault_ == "undeclared" && node.label("example.com/quay")) {
      return Status::unschedulable(none_);
    }
    const bool full = taken_on(node) + host_.state<WhatIfs>(cycle)->pods >= each_;
    return full ? Status::unschedulable(none_) : Status();
  }
  int64_t score_node(const plimsoll_cycle&, Pod, Node node) const {
    const int64_t taken = taken_on(node);
    return fault_ == "negative" ? -taken : std::min(taken * 100 / each_, int64_t{100});
  }
  Status reserve(plimsoll_cycle&, Pod pod, Node node) {
    for (volatile int turn = 0; fault_ == "loop" && turn < 2;) turn = 1 - turn;
    if (fault_ == "throw") throw std::runtime_error("the rope is torn");
    take(pod, node.name());
    return {};
  }
  void unreserve(plimsoll_cycle&, Pod pod, std::string_view node_name) {
    if (fault_ != "unreserve") give_back(pod, node_name);
  }
  void pod_event(PodEvent event, Pod pod, std::string_view node_name) {
    if (event == PodEvent::kRemoved) {
      if (fault_ != "removal") give_back(pod, node_name);
    } else if (fault_ != "restart") {
      take(pod, node_name);
    }
  }

 private:
  struct WhatIfs {
    int64_t pods = 0;  // more than there are
  };
  [[nodiscard]] int64_t taken_on(Node node) const {
    const auto found = taken_.find(std::string(node.name()));
    return found == taken_.end() ? 0 : static_cast<int64_t>(found->second.size());
  }
  void take(Pod pod, std::string_view node_name) {
    taken_[std::string(node_name)].insert(std::string(pod.uid()));
    touch(node_name);
  }
  void give_back(Pod pod, std::string_view node_name) {
    taken_[std::string(node_name)].erase(std::string(pod.uid()));
    touch(node_name);
  }
  void touch(std::string_view node_name) {
    if (const Node node = host_.node(node_name)) host_.touch_node(node.slot());
  }

  Host host_;
  uint32_t none_;
  int64_t each_ = 3;
  std::string fault_;
  std::map<std::string, std::set<std::string>> taken_;  // UIDs by node
};
}  // namespace

PLIMSOLL_PLUGIN(Moorings, "Moorings", "1.0.0", "Apache-2.0")
