#include "bench/engine/stopwatch.hpp"

#include <plimsoll/plugin.hpp>

#include <algorithm>

#include "bench/topology/timing.hpp"

namespace plimsoll::bench {
namespace {

std::vector<double>& laps() {  // milliseconds
  static std::vector<double> all;
  return all;
}

class Stopwatch {
 public:
  static constexpr const char* kName = kStopwatch;
  explicit Stopwatch(sdk::Host) {}
  sdk::Status reserve(plimsoll_cycle&, sdk::Pod, sdk::Node) {
    const double now = cpu_ms();
    if (last_ > 0) laps().push_back(now - last_);
    last_ = now;
    return {};
  }
  void unreserve(plimsoll_cycle&, sdk::Pod, std::string_view) {}

 private:
  double last_ = 0;
};

}  // namespace

const std::vector<StaticModule>& stopwatch_module() {
  static const std::vector<StaticModule> kModule{{kStopwatch, "1", sdk::create_fn<Stopwatch>}};
  return kModule;
}

void reset_stopwatch(size_t decisions) {
  laps().clear();
  laps().reserve(decisions);
}

double decision_us(double share) {
  std::vector<double>& all = laps();
  if (all.empty()) return 0;
  const auto at =
      all.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1) + 0.5);
  std::nth_element(all.begin(), at, all.end());
  return *at * 1e3;
}

}  // namespace plimsoll::bench
