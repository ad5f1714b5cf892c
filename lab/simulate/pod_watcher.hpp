#pragma once
// Follows the pods of our schedulers through a simulation: which have arrived, which are bound,
// which were found unschedulable.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lab/sandbox/apiserver/object_store.hpp"

namespace plimsoll::cli {

// A pod that preemption removed from its node.
struct EvictedPod {
  std::string pod;  // "namespace/name"
  std::string node;
};

// Belongs to one thread; others may write to the store, which must outlive it.
class PodWatcher {
 public:
  // Follows pods that name one of the schedulers from now on. `bound_before`: UIDs of pods that ran
  // before; they are ignored. `clock`: the time in seconds.
  PodWatcher(sandbox::ObjectStore& store, std::set<std::string> scheduler_names,
             std::set<std::string> bound_before, std::function<double()> clock);

  // Adds a pod that already waits; it counts as arriving now. Its condition counts: nobody writes
  // that of a gated pod again.
  void expect(const sandbox::StoredObject& pod);

  // Handles the events of all pods so far. If there are none, blocks until the next one; returns
  // false if none arrives within `timeout`.
  bool follow(std::chrono::milliseconds timeout);

  // Deleted pods do not count.
  [[nodiscard]] std::size_t arrived() const { return created_.size(); }
  [[nodiscard]] std::size_t bound() const { return bound_.size(); }
  [[nodiscard]] std::size_t refused() const { return refused_.size(); }
  [[nodiscard]] bool all_decided() const { return bound() + refused() >= arrived(); }
  [[nodiscard]] bool decided(const std::string& uid) const {
    return bound_.contains(uid) || refused_.contains(uid);
  }
  [[nodiscard]] const std::vector<EvictedPod>& evicted() const { return evicted_; }
  // Of the clock, from creation to binding; null unless both were seen.
  [[nodiscard]] std::optional<double> bind_ms(const std::string& uid) const;
  // From the first creation to the last binding, including deleted pods; 0 if there was none.
  [[nodiscard]] double seconds() const;

 private:
  void wake();
  void take(const sandbox::StoreEvent& event);
  void take(const sandbox::StoredObject& object, bool arrived);
  void created(const std::string& uid);
  void relist();

  sandbox::ObjectStore& store_;
  const std::set<std::string> scheduler_names_;
  const std::set<std::string> bound_before_;
  const std::function<double()> clock_;
  std::uint64_t version_;
  std::unordered_map<std::string, double> created_;
  std::unordered_map<std::string, double> bound_;
  std::unordered_set<std::string> refused_;
  std::vector<EvictedPod> evicted_;
  std::optional<double> first_created_;
  std::optional<double> last_bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool dirty_ = true;                                // guarded by mutex_
  sandbox::ObjectStore::Subscription subscription_;  // last: dropped first
};

}  // namespace plimsoll::cli
