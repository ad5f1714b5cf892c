#pragma once
// The kinds that are not followed now, and the pods that wait for one of them. What is not known is
// not promised: a pod whose verdict rests on such a kind is not decided on, all others are.
//
// Scheduler loop only.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/runtime/framework.hpp"

namespace plimsoll {

class LostKinds {
 public:
  struct Loss {
    std::string why;
    bool wanted = false;  // it is listed afresh, and nothing failed meanwhile
    int64_t since_ms = 0;
  };
  // A kind that a pod waits for.
  struct Need {
    std::string kind;
    std::string why;
    int64_t since_ms = 0;
    PluginIndex plugin = kNoPlugin;  // that needs it; none: pods and nodes, which every pod needs
  };

  // Remembered with the time of the first loss and the newest reason.
  void lost(const std::string& kind, const std::string& why, bool wanted, int64_t now_ms);
  // Nothing: it was not lost.
  std::optional<Loss> found(const std::string& kind);

  [[nodiscard]] bool none() const { return kinds_.empty(); }
  // Pods or nodes: nothing at all can be decided.
  [[nodiscard]] bool blind() const { return blind_; }
  // Of pods and nodes, those that are not followed.
  [[nodiscard]] std::vector<Need> needs_of_all() const;
  // All that the pod would have to wait for.
  [[nodiscard]] std::vector<Need> needs_of(const Framework& framework,
                                           const plimsoll_pod& pod) const;

  // Pods that were sent back for such a kind, by UID.
  void waits(std::string uid) { waiting_.insert(std::move(uid)); }
  void forget(std::string_view uid) {
    if (!waiting_.empty()) waiting_.erase(std::string(uid));
  }
  [[nodiscard]] size_t waiting() const { return waiting_.size(); }
  [[nodiscard]] std::unordered_set<std::string> take_waiting() {
    return std::exchange(waiting_, {});
  }

 private:
  std::map<std::string, Loss, std::less<>> kinds_;
  bool blind_ = false;
  std::unordered_set<std::string> waiting_;
};

// "waiting for devices.v1alpha1.scheduling.koordinator.sh, which is not followed: connection
// refused". The same for as long as the reason is.
[[nodiscard]] std::string waiting_message(const std::vector<LostKinds::Need>& needs);

}  // namespace plimsoll
