#pragma once
// A node's kubelet for the random-event test: takes pods in the order of their binding, each onto
// the lowest NUMA zone that holds it (policy single-numa-node), and knows what its zones have left.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plimsoll::testing {

class RandomKubelet {
 public:
  struct Amounts {
    int64_t cpu = 0;  // whole ones
    int64_t gib = 0;  // of memory
    friend bool operator==(const Amounts&, const Amounts&) = default;
  };
  static constexpr int64_t kZoneCpu = 4;
  static constexpr int64_t kZoneGib = 8;
  static constexpr size_t kZones = 2;

  // Whether the node's pods get zones of their own at all.
  bool zoned = false;

  // Empty: it is admitted; or the reason. Only Guaranteed pods take something of a zone.
  std::string admit(const nlohmann::json& pod);
  void release(const std::string& uid) { held_.erase(uid); }

  [[nodiscard]] Amounts free(size_t zone) const;
  // Where a pod is; kZones: in no zone.
  [[nodiscard]] size_t zone_of(const std::string& uid) const {
    const auto held = held_.find(uid);
    return held == held_.end() ? kZones : held->second.zone;
  }
  [[nodiscard]] const std::map<std::string, std::string>& names() const { return names_; }
  // The pods that it runs, by UID; pods that have ended are taken out by ended().
  void ended(const std::string& uid) {
    names_.erase(uid);
    release(uid);
  }

 private:
  struct Held {
    size_t zone;
    Amounts amounts;
  };
  std::map<std::string, Held> held_;          // by UID
  std::map<std::string, std::string> names_;  // of its pods, by UID
};

}  // namespace plimsoll::testing
