#pragma once
// Follows the pods of our schedulers through a simulation: which have come, which are bound, which
// were found to have no place.

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "sandbox/apiserver/object_store.hpp"

namespace plimsoll::cli {

// Belongs to one thread; the store may be written to by others. The store outlives it.
class PodWatcher {
 public:
  // Sees what happens from now on to pods that name one of the schedulers. `bound_before`: uids of
  // pods that ran before; whatever becomes of them, they are none of ours.
  PodWatcher(sandbox::ObjectStore& store, std::set<std::string> scheduler_names,
             std::set<std::string> bound_before);

  // A pod that waits already: it counts as coming now.
  void expect(const std::string& uid);

  // Takes in what has happened, to any pod; false: nothing did within `timeout`. Blocks until then.
  bool follow(std::chrono::milliseconds timeout);

  // Pods that are gone do not count.
  [[nodiscard]] std::size_t arrived() const { return created_.size(); }
  [[nodiscard]] std::size_t bound() const { return bound_.size(); }
  [[nodiscard]] std::size_t refused() const { return refused_.size(); }
  [[nodiscard]] bool all_decided() const { return bound() + refused() >= arrived(); }
  // From creation to binding; null: not both were seen.
  [[nodiscard]] std::optional<double> bind_ms(const std::string& uid) const;
  // From the first creation to the last binding, of pods that are gone too; 0 if there was none.
  [[nodiscard]] double seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  void wake();
  void take(const sandbox::StoreEvent& event);
  void take(const sandbox::StoredObject& object, bool arrived);
  void created(const std::string& uid);
  void relist();

  sandbox::ObjectStore& store_;
  const std::set<std::string> scheduler_names_;
  const std::set<std::string> bound_before_;
  std::uint64_t version_;
  std::unordered_map<std::string, Clock::time_point> created_;
  std::unordered_map<std::string, Clock::time_point> bound_;
  std::unordered_set<std::string> refused_;
  std::optional<Clock::time_point> first_created_;
  std::optional<Clock::time_point> last_bound_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool dirty_ = true;                                // guarded by mutex_
  sandbox::ObjectStore::Subscription subscription_;  // last: dropped first
};

}  // namespace plimsoll::cli
