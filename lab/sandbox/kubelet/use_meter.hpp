#pragma once
// Measures how much of the zones is in use: currently, at most, and on average over a run.

#include <map>
#include <string>
#include <vector>

#include "node/report/node_report.hpp"

namespace plimsoll::sandbox {

// One resource over the zones of all nodes, in base units (milli for cpu). Shares are 0 to 1.
struct ZoneUse {
  std::int64_t allocatable = 0;
  std::int64_t used = 0;  // currently
  std::int64_t peak = 0;  // the maximum between these
  double mean = 0;        // from the first mark to the last
  double fullest = 0;     // current share of the most used zone
  double emptiest = 0;    // current share of the least used zone
  double spread = 0;  // fullest minus emptiest zone of a node, averaged over nodes and that time
};

// Averages are from the first mark to the last: what happens before and after does not count. If
// these are one moment, or there is none, what was used then counts, with everything that happened
// at that moment. One thread at a time.
class UseMeter {
 public:
  // `report`: NodeAdmission::zones(). `seconds` never decreases, nor does that of marks.
  void update(const std::string& node, const node::NodeReport& report, double seconds);
  void forget(const std::string& node, double seconds);
  // A pod came, or whatever else averages begin and end with.
  void mark(double seconds);
  // By resource; resources with nothing allocatable in any zone are left out.
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
    void begin();
    void pass(double seconds);
  };

  void advance(double seconds);  // adds to the integrals of all resources
  void take_out(const std::string& node);
  // As they were at the last mark; now if there was none.
  [[nodiscard]] const std::map<std::string, Total>& marked() const;

  std::map<std::string, std::map<std::string, Zones>> nodes_;  // node -> resource
  std::map<std::string, Total> totals_;                        // by resource
  double since_ = 0;                                           // the end of the integrals so far
  double first_mark_ = -1;                                     // -1: none
  double last_mark_ = -1;
  std::map<std::string, Total> at_last_mark_;  // empty while it is still that moment
};

}  // namespace plimsoll::sandbox
