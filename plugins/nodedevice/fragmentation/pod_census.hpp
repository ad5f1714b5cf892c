#pragma once
// Learns from the pods that there are what is going to be asked for: how many pods on nodes, and
// how many that wait, ask for the same.
//
// Of those that wait, the 4,096 that were tried last are remembered: nobody says when such a pod is
// deleted. The counts depend only on which pods there are, not on the order in which they came, so
// a restart finds the same once the waiting pods have been tried.
//
// Not synchronised: the scheduler loop's.

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plugins/nodedevice/fragmentation/gpu_mix.hpp"

namespace plimsoll::devices {

class PodCensus {
 public:
  static constexpr size_t kMaxWaiting = 4096;
  static constexpr size_t kMaxKinds = 4096;   // of what pods ask for; those beyond are not counted
  static constexpr size_t kMaxTypical = 128;  // in the mix

  // A pod was tried / is on a node. Idempotent. Weight does not matter.
  void waits(std::string_view uid, TypicalPod pod);
  void assigned(std::string_view uid, TypicalPod pod);
  void gone(std::string_view uid);

  // The most popular kinds that are 95 % of all pods. Nothing: the last mix that was taken holds
  // still; it does while fewer than one in 20 pods have come or gone since, so that what follows
  // from it need not be worked out for each pod.
  [[nodiscard]] std::optional<std::vector<TypicalPod>> changed_mix();

 private:
  struct Less {
    bool operator()(const TypicalPod& a, const TypicalPod& b) const;
  };
  using Kinds = std::map<TypicalPod, int64_t, Less>;
  struct Record {
    Kinds::iterator kind;
    std::optional<std::list<std::string>::iterator> waiting;  // its place among them
  };

  void put(std::string_view uid, TypicalPod pod, bool waiting);
  void erase(std::unordered_map<std::string, Record>::iterator it);

  Kinds kinds_;
  std::unordered_map<std::string, Record> pods_;
  std::list<std::string> waiting_;  // the one that was tried longest ago first
  uint64_t changes_ = 0;            // since the last mix
  bool taken_ = false;
};

}  // namespace plimsoll::devices
