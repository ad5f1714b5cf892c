#include "framework/cycle/groups/group_conditions.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "framework/base/log.hpp"
#include "framework/base/shown.hpp"
#include "framework/objects/pod_group.hpp"

namespace plimsoll {
namespace {

constexpr size_t kMostAtOnce = 64;  // after an outage there may be thousands

}  // namespace

void GroupConditions::write(Condition condition) {
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[condition.uid];
    if (entry.newest.scheduled) return;
    entry.newest = condition;
    entry.is_next = entry.under_way;
    if (std::exchange(entry.under_way, true)) return;
  }
  send(condition);
}

void GroupConditions::repeat(const ObjectStore& objects, int64_t now_ms) {
  std::vector<Condition> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = entries_.begin(); at != entries_.end() && due.size() < kMostAtOnce;) {
      const auto each = at++;
      auto& [uid, entry] = *each;
      if (entry.under_way) continue;
      if (entry.due_ms == 0) entry.due_ms = now_ms + entry.pause_ms;
      if (now_ms < entry.due_ms) continue;
      const Condition& newest = entry.newest;
      const PodGroup* object =
          find_pod_group(objects, {GroupKind::kPodGroup, newest.ns, newest.name});
      if (object == nullptr || object->uid != uid || object->status == "True") {
        entries_.erase(each);
        continue;
      }
      entry.under_way = true;
      due.push_back(newest);
    }
  }
  for (const Condition& each : due) send(each);
}

// Without the lock: the answer may come at once.
void GroupConditions::send(const Condition& condition) {
  writer_.request(condition.request,
                  [self = shared_from_this(), sent = condition](int status, std::string_view body) {
                    self->answered(sent, status, body);
                  });
}

void GroupConditions::answered(const Condition& sent, int status, std::string_view body) {
  std::optional<Condition> next;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(sent.uid);
    Entry& entry = found->second;
    if (std::exchange(entry.is_next, false)) {
      next = entry.newest;
    } else if ((status >= 200 && status < 300) || status == 404) {
      entries_.erase(found);
      return;
    } else {
      entry.under_way = false;
      entry.due_ms = 0;
      const bool is_first = entry.pause_ms == 0;
      entry.pause_ms = is_first ? kFirstPauseMs : std::min(2 * entry.pause_ms, kLongestPauseMs);
      if (!is_first) return;
    }
  }
  if (next) return send(*next);
  log_warn("the condition of a PodGroup could not be written; it is tried again",
           {{"podGroup", sent.ns + "/" + sent.name},
            {"status", status},
            {"error", shown(body.substr(0, 300))}});
}

}  // namespace plimsoll
