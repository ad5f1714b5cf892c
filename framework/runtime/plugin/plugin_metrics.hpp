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

  // Shows the metrics in this registry. Before this call, specs are only checked and values
  // dropped.
  void show_in(metrics::Registry& registry);

  // The metric of this spec. The same spec always gives the same metric, whichever plugin calls.
  // The name gets the prefix "plimsoll_plugin_". Plugins that are linked in may also use the
  // scheduler's own metrics ("scheduler_...") with the scheduler's labels and buckets.
  Result<plimsoll_metric*> add(const plimsoll_metric_spec& spec, bool builtin);

  // Ignored, with one warning per metric, if the number of values differs from the number of
  // labels, or if there are more than kMaxSeries combinations of values. The limit keeps a plugin
  // from filling the memory with label values.
  static void observe(plimsoll_metric& metric, std::span<const plimsoll_str> values, double value);
  static constexpr size_t kMaxSeries = 10'000;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
