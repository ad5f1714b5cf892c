#pragma once
// Writes the condition PodGroupInitiallyScheduled of PodGroups, one after the other for each: an
// older one, which may be retried for long, never follows a newer one. What the API server does not
// take is written again after growing pauses, while the PodGroup is there: once all its pods are
// bound, nothing else would set it right.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "framework/port/api_writer.hpp"

namespace plimsoll {

class ObjectStore;

// The requests under way keep it alive.
class GroupConditions : public std::enable_shared_from_this<GroupConditions> {
 public:
  static constexpr int64_t kFirstPauseMs = 5'000;  // doubling
  static constexpr int64_t kLongestPauseMs = 5 * 60'000;

  explicit GroupConditions(ApiWriter& writer) : writer_(writer) {}

  struct Condition {
    std::string ns;
    std::string name;
    std::string uid;
    bool scheduled = false;  // nothing else is said of it any more
    ApiRequest request;
  };
  // In the place of an older one that waits for its turn, or for a retry.
  void write(Condition condition);
  // Those that are due; to be called every second or so, on the loop.
  void repeat(const ObjectStore& objects, int64_t now_ms);

 private:
  // Of a PodGroup whose newest condition has not been taken.
  struct Entry {
    Condition newest;
    bool under_way = false;
    bool is_next = false;  // the newest one, after the one under way
    int64_t pause_ms = 0;  // before the next try; 0: none has failed
    int64_t due_ms = 0;    // of it; 0: not known yet
  };
  void send(const Condition& condition);
  void answered(const Condition& sent, int status, std::string_view body);

  ApiWriter& writer_;
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;  // by UID; guarded by mutex_
};

}  // namespace plimsoll
