// Plimsoll plugin SDK: a plugin's own metrics, shown together with the scheduler's.
//
//   sdk::CounterMetric refused_ =
//       host.counter("seats_refused_total", "Pods without a seat.", {"zone"});
//   refused_.add(1, "west");
//
// Create metrics in the constructor or in start; use them from any thread. Names get the prefix
// "plimsoll_plugin_" unless they already begin with it. Take label values from small sets: never
// use the name of a pod. See plimsoll_host.metric in <plimsoll/plugin_abi.h>.
#pragma once

#include <plimsoll/plugin_abi.h>
#include <plimsoll/views.hpp>

#include <array>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace plimsoll::sdk {

namespace detail {

class Metric {
 public:
  Metric() = default;  // a metric that does nothing
  Metric(const plimsoll_host* table, plimsoll_metric* metric) : table_(table), metric_(metric) {}

 protected:
  // `values`: one text for each label, in the order of the label names.
  template <typename... Values>
  void observe(double value, const Values&... values) const {
    if (metric_ == nullptr) return;
    const std::array<plimsoll_str, sizeof...(values) + 1> texts{str(std::string_view(values))...,
                                                                plimsoll_str{}};
    table_->metric_observe(table_->ctx, metric_, texts.data(),
                           static_cast<uint32_t>(sizeof...(values)), value);
  }

 private:
  const plimsoll_host* table_ = nullptr;
  plimsoll_metric* metric_ = nullptr;
};

// Null if the scheduler refuses the metric; the plugin's error text then says why.
inline plimsoll_metric* make_metric(const plimsoll_host* table, uint32_t type,
                                    std::string_view name, std::string_view help,
                                    std::initializer_list<std::string_view> labels,
                                    std::initializer_list<double> buckets) {
  std::vector<plimsoll_str> names;
  for (const std::string_view label : labels) names.push_back(str(label));
  plimsoll_metric_spec spec{};
  spec.size = sizeof spec;
  spec.type = type;
  spec.name = str(name);
  spec.help = str(help);
  spec.label_names = {names.data(), static_cast<uint32_t>(names.size()), sizeof(plimsoll_str)};
  spec.buckets = {buckets.begin(), static_cast<uint32_t>(buckets.size()), sizeof(double)};
  return table->metric(table->ctx, &spec);
}

}  // namespace detail

class CounterMetric : public detail::Metric {
 public:
  using Metric::Metric;
  template <typename... Values>
  void add(double by, const Values&... label_values) const {
    observe(by, label_values...);
  }
};

class GaugeMetric : public detail::Metric {
 public:
  using Metric::Metric;
  template <typename... Values>
  void set(double value, const Values&... label_values) const {
    observe(value, label_values...);
  }
};

class HistogramMetric : public detail::Metric {
 public:
  using Metric::Metric;
  template <typename... Values>
  void observe_value(double value, const Values&... label_values) const {
    observe(value, label_values...);
  }
};

}  // namespace plimsoll::sdk
