#pragma once
// How much of the zones is in use: now, at most, and on average over a run.

#include <map>
#include <string>
#include <vector>

#include "sandbox/kubelet/node_report.hpp"

namespace plimsoll::sandbox {

// Of one resource, over the zones of all nodes, in base units (milli for cpu). Shares are 0 to 1.
struct ZoneUse {
  std::int64_t allocatable = 0;
  std::int64_t used = 0;  // now
  std::int64_t peak = 0;  // the most at one time
  double mean = 0;        // over time, from the first change to the last
  double fullest = 0;     // share of the zone that is used most, now
  double emptiest = 0;    // and least
  double spread = 0;      // fullest less emptiest zone of a node, averaged over nodes and time
};

// Averages are over the time in which pods came and went: they begin when a known node is updated
// for the first time and end with the last update. How long a run waits before its first pod and
// after its last change does not matter. One thread at a time.
class UseMeter {
 public:
  // `report`: NodeAdmission::zones(). `seconds` never goes back. The first one of a node says what
  // ran there before.
  void update(const std::string& node, const NodeReport& report, double seconds);
  void forget(const std::string& node, double seconds);
  // By resource; those that no zone may give away are left out.
  [[nodiscard]] std::map<std::string, ZoneUse> result() const;

 private:
  struct Zones {
    std::int64_t allocatable = 0;
    std::int64_t used = 0;
    double fullest = 0;
    double emptiest = 0;
  };
  struct Total {
    std::int64_t allocatable = 0;
    std::int64_t used = 0;
    std::int64_t peak = 0;
    double spread = 0;  // summed over nodes
    std::size_t nodes = 0;
    double used_seconds = 0;
    double spread_seconds = 0;  // of the mean over nodes
    void pass(double seconds);
  };

  void advance(double seconds);  // the integrals of all resources
  void take_out(const std::string& node);

  std::map<std::string, std::map<std::string, Zones>> nodes_;  // node -> resource
  std::map<std::string, Total> totals_;                        // by resource
  bool running_ = false;                                       // the first change has been
  double begin_ = 0;                                           // then
  double since_ = 0;                                           // up to when the integrals go
};

}  // namespace plimsoll::sandbox
