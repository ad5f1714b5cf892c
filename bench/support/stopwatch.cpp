#include "bench/support/stopwatch.hpp"

#include <algorithm>
#include <plimsoll/plugin.hpp>

#include "bench/support/timing.hpp"

namespace plimsoll::bench {
namespace {

class StopwatchPlugin {
 public:
  static constexpr const char* kName = "Stopwatch";

  explicit StopwatchPlugin(sdk::Host) {}

  sdk::Status pre_filter(plimsoll_cycle&, sdk::Pod) {
    Stopwatch::here().start();
    return sdk::Status::skip();
  }
  sdk::Status reserve(plimsoll_cycle&, sdk::Pod, sdk::Node) {
    Stopwatch::here().stop();
    return sdk::Status::success();
  }
  void unreserve(plimsoll_cycle&, sdk::Pod, std::string_view) {}
  // Reads nothing of the pod.
  sdk::Status sign(sdk::Pod, sdk::Sink&) { return sdk::Status::success(); }
};

}  // namespace

Stopwatch& Stopwatch::here() {
  thread_local Stopwatch watch;
  return watch;
}

void Stopwatch::start() {
  started_ms_ = -1;
  if (until_next_ != 0) {
    --until_next_;
    return;
  }
  until_next_ = one_in_ - 1;
  started_ms_ = cpu_ms();
}

void Stopwatch::stop() {
  if (started_ms_ < 0) return;
  microseconds_.push_back((cpu_ms() - started_ms_) * 1e3);
  started_ms_ = -1;
}

void Stopwatch::reset() {
  started_ms_ = -1;
  microseconds_.clear();
}

StaticModule stopwatch_module() {
  return {StopwatchPlugin::kName, "1.0.0", sdk::create_fn<StopwatchPlugin>};
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace plimsoll::bench
