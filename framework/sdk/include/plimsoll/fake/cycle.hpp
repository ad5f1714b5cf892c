// Plimsoll plugin SDK, for unit tests: a scheduling attempt and a what-if.
#pragma once

#include <plimsoll/plugin_abi.h>
#include <plimsoll/views.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace plimsoll::sdk {

// One scheduling attempt.
class FakeCycle {
 public:
  FakeCycle() = default;
  FakeCycle(const FakeCycle&) = delete;
  FakeCycle& operator=(const FakeCycle&) = delete;

  plimsoll_cycle* get() { return reinterpret_cast<plimsoll_cycle*>(this); }
  static FakeCycle& of(plimsoll_cycle* cycle) { return *reinterpret_cast<FakeCycle*>(cycle); }
  static const FakeCycle& of(const plimsoll_cycle* cycle) {
    return *reinterpret_cast<const FakeCycle*>(cycle);
  }

  // The copy that a what-if works on.
  [[nodiscard]] std::unique_ptr<FakeCycle> clone() const {
    auto copy = std::make_unique<FakeCycle>();
    for (const auto& [key, state] : states) {
      auto value = state.value;
      if (state.clone != nullptr) {
        value = std::shared_ptr<void>(state.clone(state.value.get()), state.drop);
      }
      copy->states.insert_or_assign(key, State{value, state.clone, state.drop});
    }
    copy->annotations = annotations;
    return copy;
  }

  // The host's functions for the state of an attempt.
  static void add_functions(plimsoll_host& table) {
    table.set_state = [](plimsoll_host_ctx*, plimsoll_cycle* cycle, plimsoll_symbol key,
                         void* value, void* (*clone)(const void*), void (*drop)(void*)) {
      const auto keep = [](void*) {};
      std::shared_ptr<void> owned(value, drop == nullptr ? +keep : drop);
      of(cycle).states.insert_or_assign(key, State{std::move(owned), clone, drop});
    };
    table.get_state = [](plimsoll_host_ctx*, const plimsoll_cycle* cycle,
                         plimsoll_symbol key) -> void* {
      const auto found = of(cycle).states.find(key);
      return found == of(cycle).states.end() ? nullptr : found->second.value.get();
    };
    table.annotate = [](plimsoll_host_ctx*, plimsoll_cycle* cycle, plimsoll_str key,
                        plimsoll_str value) {
      of(cycle).annotations[std::string(view(key))] = view(value);
    };
  }

  struct State {
    std::shared_ptr<void> value;
    void* (*clone)(const void*);
    void (*drop)(void*);
  };
  std::map<plimsoll_symbol, State> states;
  std::map<std::string, std::string> annotations;  // for the Binding
};

// A simulated copy of one node.
class FakeWhatIf {
 public:
  FakeWhatIf(const plimsoll_node_info& node, std::unique_ptr<FakeCycle> state)
      : cycle(std::move(state)),
        pods(node.pods, node.pods + node.pod_count),
        allocatable_(node.allocatable, node.allocatable + node.resource_count),
        requested_(node.requested, node.requested + node.resource_count),
        info_(node) {
    mirror();
  }
  FakeWhatIf(const FakeWhatIf&) = delete;
  FakeWhatIf& operator=(const FakeWhatIf&) = delete;

  [[nodiscard]] const plimsoll_node_info& node() const { return info_; }
  void add(const plimsoll_pod& pod) {
    pods.push_back(&pod);
    account(pod, 1);
  }
  // False if the pod was not there.
  bool remove(const plimsoll_pod& pod) {
    const auto same = [&](const plimsoll_pod* p) {
      return view(p->meta.uid) == view(pod.meta.uid);
    };
    const auto found = std::find_if(pods.begin(), pods.end(), same);
    if (found == pods.end()) return false;
    pods.erase(found);
    account(pod, -1);
    return true;
  }

  const std::unique_ptr<FakeCycle> cycle;  // a clone
  std::vector<const plimsoll_pod*> pods;

 private:
  void account(const plimsoll_pod& pod, int64_t sign) {
    for (const plimsoll_resource& used : Resources(pod.used)) {
      if (used.index >= requested_.size()) {
        allocatable_.resize(used.index + 1);
        requested_.resize(used.index + 1);
      }
      requested_[used.index] += sign * used.value;
    }
    mirror();
  }
  void mirror() {
    info_.pods = pods.data();
    info_.pod_count = static_cast<uint32_t>(pods.size());
    info_.resource_count = static_cast<uint32_t>(allocatable_.size());
    info_.allocatable = allocatable_.data();
    info_.requested = requested_.data();
  }

  std::vector<int64_t> allocatable_, requested_;
  plimsoll_node_info info_;
};

}  // namespace plimsoll::sdk
