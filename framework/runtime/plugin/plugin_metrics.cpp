#include "framework/runtime/plugin/plugin_metrics.hpp"

#include <simdjson.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/base/log.hpp"

// Plugins hold a pointer to this. It lives as long as the PluginMetrics.
struct plimsoll_metric {
  struct Series {
    plimsoll::metrics::Counter counter;
    plimsoll::metrics::Gauge gauge;
    plimsoll::metrics::Histogram histogram;
  };

  std::string name;
  plimsoll::metrics::Type type{};
  size_t labels = 0;
  plimsoll::metrics::Registry::AnyFamily family;   // empty: not shown
  std::mutex mutex;                                // guards series and warned
  std::unordered_map<std::string, Series> series;  // by the values, each with its length in front
  bool warned = false;
};

namespace plimsoll {
namespace {

constexpr std::string_view kPrefix = "plimsoll_plugin_";
// kube-scheduler's own.
constexpr std::string_view kSchedulerPrefix = "scheduler_";
constexpr std::string_view kClaimsPrefix = "dynamic_resource_allocation_";

template <typename T>
std::vector<T> elements(const plimsoll_list& list) {
  std::vector<T> out;
  const auto* at = static_cast<const std::byte*>(list.data);
  for (uint32_t i = 0; i < list.count && list.stride >= sizeof(T); ++i) {
    out.push_back(*reinterpret_cast<const T*>(at + size_t{i} * list.stride));
  }
  return out;
}

Result<metrics::Type> type_of(uint32_t type) {
  switch (type) {
    case PLIMSOLL_METRIC_COUNTER:
      return metrics::Type::kCounter;
    case PLIMSOLL_METRIC_GAUGE:
      return metrics::Type::kGauge;
    case PLIMSOLL_METRIC_HISTOGRAM:
      return metrics::Type::kHistogram;
    default:
      return fail(ErrorCode::kInvalid,
                  "a metric is a counter (1), a gauge (2) or a histogram (3), "
                  "not " +
                      std::to_string(type));
  }
}

// Label values must be UTF-8 in the text format. Any other byte becomes '?'.
std::string printable(std::string_view text) {
  std::string out(text);
  if (simdjson::validate_utf8(text.data(), text.size())) return out;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return out;
}

void warn_once(plimsoll_metric& metric, std::string_view why) {
  if (metric.warned) return;
  metric.warned = true;
  log_warn("values of a plugin's metric are dropped", {{"metric", metric.name}, {"reason", why}});
}

plimsoll_metric::Series* find_series(plimsoll_metric& metric,
                                     std::span<const plimsoll_str> values) {
  if (values.size() != metric.labels) {
    warn_once(metric, "there must be a value for each label");
    return nullptr;
  }
  thread_local std::string key;
  key.clear();
  for (const plimsoll_str& value : values) {
    key += std::to_string(value.len);
    key += ':';
    key += view(value);
  }
  if (const auto found = metric.series.find(key); found != metric.series.end()) {
    return &found->second;
  }
  if (metric.series.size() >= PluginMetrics::kMaxSeries) {
    warn_once(metric, "too many combinations of label values");
    return nullptr;
  }
  std::vector<std::string> texts;
  for (const plimsoll_str& value : values) texts.push_back(printable(view(value)));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  plimsoll_metric::Series series;
  series.counter = metric.family.counters.with(views);
  series.gauge = metric.family.gauges.with(views);
  series.histogram = metric.family.histograms.with(views);
  return &metric.series.emplace(key, series).first->second;
}

}  // namespace

struct PluginMetrics::Impl {
  std::mutex mutex;
  metrics::Registry* registry = nullptr;
  metrics::Registry unseen;  // checks specs while there is no registry to show them in
  std::map<std::string, std::unique_ptr<plimsoll_metric>> all;
};

PluginMetrics::PluginMetrics() : impl_(std::make_unique<Impl>()) {}
PluginMetrics::~PluginMetrics() = default;

void PluginMetrics::show_in(metrics::Registry& registry) {
  const std::lock_guard lock(impl_->mutex);
  impl_->registry = &registry;
}

Result<plimsoll_metric*> PluginMetrics::add(const plimsoll_metric_spec& given, bool builtin) {
  const auto type = type_of(given.type);
  if (!type) return fail(type.error());
  metrics::Spec spec;
  spec.name = view(given.name);
  const bool own = spec.name.starts_with(kPrefix);
  const bool schedulers =
      builtin && (spec.name.starts_with(kSchedulerPrefix) || spec.name.starts_with(kClaimsPrefix));
  if (!own && !schedulers) spec.name.insert(0, kPrefix);
  spec.help = printable(view(given.help));
  for (const plimsoll_str& label : elements<plimsoll_str>(given.label_names)) {
    spec.labels.emplace_back(view(label));
  }
  const std::vector<double> buckets = elements<double>(given.buckets);

  const std::lock_guard lock(impl_->mutex);
  const bool shown = impl_->registry != nullptr;
  auto family = (shown ? *impl_->registry : impl_->unseen).add(*type, spec, buckets);
  if (!family) return fail(family.error());
  std::unique_ptr<plimsoll_metric>& metric = impl_->all[spec.name];
  if (!metric) {
    metric = std::make_unique<plimsoll_metric>();
    metric->name = spec.name;
    metric->type = *type;
    metric->labels = spec.labels.size();
    if (shown) metric->family = *family;
  }
  return metric.get();
}

void PluginMetrics::observe(plimsoll_metric& metric, std::span<const plimsoll_str> values,
                            double value) {
  const std::lock_guard lock(metric.mutex);
  if (!std::isfinite(value) || (metric.type == metrics::Type::kCounter && value < 0)) {
    return warn_once(metric, "a value is not finite, or a counter was to fall");
  }
  const plimsoll_metric::Series* series = find_series(metric, values);
  if (series == nullptr) return;
  switch (metric.type) {
    case metrics::Type::kCounter:
      return series->counter.add(value);
    case metrics::Type::kGauge:
      return series->gauge.set(value);
    case metrics::Type::kHistogram:
      return series->histogram.observe(value);
  }
}

}  // namespace plimsoll
