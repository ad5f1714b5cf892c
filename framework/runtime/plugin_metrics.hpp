#pragma once
// Metrics that plugins register through the host (plimsoll_host.metric). Any thread.

#include <plimsoll/plugin_abi.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"
#include "framework/metrics/registry.hpp"

namespace plimsoll {

class PluginMetrics {
 public:
  PluginMetrics();
  ~PluginMetrics();

  // Where they are shown. Before that, and without it, specs are checked and values dropped.
  void show_in(metrics::Registry& registry);

  // The metric of this spec: the same one for the same spec, whichever plugin asks. A name is put
  // behind "plimsoll_plugin_"; plugins that are linked in may also use the scheduler's own
  // ("scheduler_...") with the scheduler's labels and buckets. The error says what is wrong.
  Result<plimsoll_metric*> add(const plimsoll_metric_spec& spec, bool builtin);

  // Ignored, with one warning per metric, if there are not as many values as labels, or more
  // combinations of values than kMaxSeries: a plugin must not fill the memory with label values.
  static void observe(plimsoll_metric& metric, std::span<const plimsoll_str> values, double value);
  static constexpr size_t kMaxSeries = 10'000;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
