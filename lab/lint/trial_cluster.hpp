#pragma once
// A small cluster with one profile in it: what happens to it goes into the change log and to the
// plugins, as in the scheduler (framework/cycle/intake.cpp). Nothing is scheduled here, and
// there is no API server. One thread; what plugins send to the loop from theirs is run by settle().

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/base/result.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "framework/placement/cluster_backend.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/placement/what_if.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/plugin/environment.hpp"
#include "lab/lint/lint.hpp"

namespace plimsoll::lint {

class TrialCluster final : private ClusterBackend {
 public:
  // Makes and starts the plugins. `modules` outlives it.
  [[nodiscard]] static Result<std::unique_ptr<TrialCluster>> create(const Modules& modules,
                                                                    const ProfileSpec& spec);
  ~TrialCluster() override;
  TrialCluster(const TrialCluster&) = delete;
  TrialCluster& operator=(const TrialCluster&) = delete;

  [[nodiscard]] Framework& framework() { return *framework_; }
  [[nodiscard]] SymbolTable& symbols() { return symbols_; }
  [[nodiscard]] const ClusterState& state() const { return state_; }
  [[nodiscard]] std::string reason_text(uint32_t reason) const {
    return environment_.reasons.message(reason);
  }
  // What the plugins have published for each other.
  [[nodiscard]] const ServiceTable& services() const { return environment_.services; }
  // Kinds that plugins asked for, as in Object::resource.
  [[nodiscard]] const std::set<std::string>& watched() const { return watched_; }

  // ---- events
  // The first lists are complete: for each kind watched, after its objects.
  void synced();
  void put_node(NodeRef node);
  void remove_node(std::string_view name);
  void put_pod(const PodRef& pod);  // has a node
  void remove_pod(std::string_view uid);
  void put_object(const Object& object);  // of a kind that nobody watches: nothing happens
  void remove_object(const Object& object);
  void put_nominated(const PodRef& pod, const std::string& node_name);  // empty: no longer
  void pass_time(int64_t milliseconds);
  // Takes a place for a pod that was found to fit there, and keeps it if Reserve says so. The pod
  // as it is on the node; null: refused, or failed with `error`.
  PodRef reserve(CycleContext& cycle, const PodRef& pod, const plimsoll_node_info& node,
                 std::string& error);
  void unreserve(CycleContext& cycle, const PodRef& assumed);
  // The node in this slot as it might be for the pod.
  [[nodiscard]] std::unique_ptr<WhatIf> what_if(const CycleContext& cycle, const PodRef& pod,
                                                uint32_t slot);
  // Runs what plugins sent to the loop.
  void settle();

  // ---- the change log
  [[nodiscard]] uint64_t log_end() const { return state_.log_end(); }
  // Aspects by slot that changed since; all bits: it is another node's now.
  [[nodiscard]] std::vector<uint32_t> changed_since(uint64_t mark) const;

 private:
  struct Later {
    int64_t due_ms;
    std::function<void()> task;
  };

  TrialCluster();

  // ---- HostBackend
  Result<void> watch(const WantedKind& kind) override;
  int64_t now_ms() override { return now_ms_; }
  void run_on_loop(int64_t delay_ms, std::function<void()> task) override;

  SymbolTable symbols_;
  Environment environment_;
  ClusterState state_;
  std::set<std::string> watched_;
  Nominator nominator_;
  std::atomic<int64_t> now_ms_;
  std::mutex mutex_;
  std::vector<Later> later_;              // guarded by mutex_
  std::unique_ptr<Framework> framework_;  // goes first: it uses all of the above
};

}  // namespace plimsoll::lint
