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

#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::cli {

// Seconds of the clock.
struct PodTimes {
  double created = 0;
  std::optional<double> bound;
};

// A pod that preemption removed from its node.
struct EvictedPod {
  std::string pod;  // "namespace/name"
  std::string node;
  double ended = 0;
  std::optional<PodTimes> times;  // null: it ran before
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
  [[nodiscard]] std::size_t bound() const { return bound_; }
  [[nodiscard]] std::size_t refused() const { return refused_.size(); }
  [[nodiscard]] bool all_decided() const { return bound() + refused() >= arrived(); }
  [[nodiscard]] bool decided(const std::string& uid) const {
    const auto pod = created_.find(uid);
    return refused_.contains(uid) || (pod != created_.end() && pod->second.bound);
  }
  [[nodiscard]] const std::vector<EvictedPod>& evicted() const { return evicted_; }
  // Null: there is no such pod.
  [[nodiscard]] std::optional<PodTimes> times(const std::string& uid) const;
  // From the first creation to the last binding, including deleted pods; 0 if there was none.
  [[nodiscard]] double seconds() const;
  // Including deleted pods; null: there was none.
  [[nodiscard]] std::optional<double> first_created() const { return first_created_; }
  [[nodiscard]] std::optional<double> last_created() const { return last_created_; }

 private:
  void wake();
  void take(const sandbox::StoreEvent& event);
  void take(const sandbox::StoredObject& object, bool arrived);
  void came(const std::string& uid);
  void relist();

  sandbox::ObjectStore& store_;
  const std::set<std::string> scheduler_names_;
  const std::set<std::string> bound_before_;
  const std::function<double()> clock_;
  std::uint64_t version_;
  std::unordered_map<std::string, PodTimes> created_;
  std::size_t bound_ = 0;
  std::unordered_set<std::string> refused_;
  std::vector<EvictedPod> evicted_;
  std::optional<double> first_created_;
  std::optional<double> last_created_;
  std::optional<double> last_bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool dirty_ = true;                                // guarded by mutex_
  sandbox::ObjectStore::Subscription subscription_;  // last: dropped first
};

}  // namespace plimsoll::cli
