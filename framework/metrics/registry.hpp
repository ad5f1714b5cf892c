#pragma once
// Metrics for operators: counters, gauges and histograms, and their text in the Prometheus format.
//
//   auto bound = registry.counters({"pods_bound_total", "Pods bound.", {"profile"}});
//   const Counter mine = bound.with({"default-scheduler"});  // looked up once
//   mine.add();                                              // on the hot path
//
// Any thread may use everything. A handle is as large as a pointer. A handle that was made without
// a registry does nothing, so code need not check whether there are metrics.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::metrics {

enum class Type : uint8_t { kCounter, kGauge, kHistogram };

// The definition of a metric. Two specs with the same name define the same metric; their labels,
// type and buckets must then agree.
struct Spec {
  std::string name;
  std::string help;
  std::vector<std::string> labels;  // names
};

struct Description {
  std::string name;
  Type type;
  std::vector<std::string> labels;
  std::string help;
};

// ---- handles: valid as long as the registry

class Handle {
 public:
  explicit operator bool() const { return cell_ != nullptr; }

 protected:
  void* cell_ = nullptr;

 private:
  template <typename>
  friend class Family;
  template <typename>
  friend class Cached;
};

class Counter : public Handle {
 public:
  void add(double by = 1) const;
  // For totals that are counted elsewhere. Never decreases the value.
  void raise_to(double total) const;
  [[nodiscard]] double value() const;
};

class Gauge : public Handle {
 public:
  void set(double value) const;
  void add(double by) const;
  [[nodiscard]] double value() const;
};

class Histogram : public Handle {
 public:
  void observe(double value) const;
};

// A metric with all of its label values.
template <typename Handle>
class Family {
 public:
  Family() = default;
  // The handle for these label values, in the order of the names. Takes a lock and a look-up.
  [[nodiscard]] Handle with(std::span<const std::string_view> values) const;
  [[nodiscard]] Handle with(std::initializer_list<std::string_view> values) const {
    return with(std::span(values.begin(), values.size()));
  }
  explicit operator bool() const { return state_ != nullptr; }

 private:
  friend class Registry;
  const void* state_ = nullptr;
};

// first, first * factor, ... : Kubernetes' ExponentialBuckets.
[[nodiscard]] std::vector<double> exponential_buckets(double first, double factor, int count);

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // For the scheduler's own metrics. A wrong or clashing spec is a bug, so these throw an
  // exception, which ends the program.
  Family<Counter> counters(const Spec& spec);
  Family<Gauge> gauges(const Spec& spec);
  Family<Histogram> histograms(const Spec& spec, const std::vector<double>& buckets);

  // For metrics of plugins. kInvalid: Prometheus does not accept a name or label, or the buckets
  // are not ascending. kConflict: another spec has the name. Only the family of `type` is set; the
  // other two stay empty.
  struct AnyFamily {
    Family<Counter> counters;
    Family<Gauge> gauges;
    Family<Histogram> histograms;
  };
  Result<AnyFamily> add(Type type, const Spec& spec, const std::vector<double>& buckets);

  // The token of a function that updates gauges and is called before each text(). Destroying the
  // token waits for a running call; after that the function is not called any more.
  class Collector {
   public:
    Collector() = default;
    ~Collector() { reset(); }
    Collector(Collector&& other) noexcept;
    Collector& operator=(Collector&& other) noexcept;
    void reset();

   private:
    friend class Registry;
    Registry* registry_ = nullptr;
    uint64_t id_ = 0;
  };
  [[nodiscard]] Collector on_collect(std::function<void()> bring_up_to_date);

  // Everything, in the Prometheus text format (version 0.0.4), sorted by name.
  [[nodiscard]] std::string text() const;
  // What is registered, sorted by name, whether it has values yet or not.
  [[nodiscard]] std::vector<Description> describe() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::metrics
