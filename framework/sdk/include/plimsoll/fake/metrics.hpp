// Plimsoll plugin SDK, for unit tests: the metrics of a plugin.
#pragma once

#include <plimsoll/plugin_abi.h>
#include <plimsoll/views.hpp>

#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace plimsoll::sdk {

class FakeMetrics {
 public:
  // Null if the name is that of another metric.
  plimsoll_metric* add(const plimsoll_metric_spec& spec) {
    auto made = std::make_unique<Metric>();
    made->type = spec.type;
    made->name = view(spec.name);
    for (const auto& label : Strings(spec.label_names)) made->labels.emplace_back(view(label));
    const List<double> buckets(spec.buckets);
    made->buckets.assign(buckets.begin(), buckets.end());
    for (const auto& known : metrics_) {
      if (known->name != made->name) continue;
      return *known == *made ? reinterpret_cast<plimsoll_metric*>(known.get()) : nullptr;
    }
    metrics_.push_back(std::move(made));
    return reinterpret_cast<plimsoll_metric*>(metrics_.back().get());
  }
  // Puts the value into `metrics` as FakeRecords says.
  static void observe(plimsoll_metric* raw, std::span<const plimsoll_str> values, double value,
                      std::map<std::string, std::vector<double>>& metrics) {
    const Metric& metric = *reinterpret_cast<const Metric*>(raw);
    if (values.size() != metric.labels.size()) {
      throw std::invalid_argument("metric \"" + metric.name + "\": one value for each label");
    }
    std::string key = metric.name;
    for (size_t i = 0; i < values.size(); ++i) {
      key += (i == 0 ? "{" : ",") + std::string(view(values[i]));
    }
    if (!values.empty()) key += "}";
    std::vector<double>& seen = metrics[key];
    if (metric.type == PLIMSOLL_METRIC_COUNTER && !seen.empty()) value += seen.back();
    if (metric.type != PLIMSOLL_METRIC_HISTOGRAM) seen.clear();
    seen.push_back(value);
  }

 private:
  struct Metric {
    uint32_t type;
    std::string name;
    std::vector<std::string> labels;
    std::vector<double> buckets;
    bool operator==(const Metric&) const = default;
  };

  std::vector<std::unique_ptr<Metric>> metrics_;
};

}  // namespace plimsoll::sdk
