#include "framework/metrics/registry.hpp"

#include <plimsoll/join.hpp>

#include <prometheus/check_names.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

namespace plimsoll::metrics {
namespace {

template <typename Handle>
struct Library;
template <>
struct Library<Counter> {
  using Cell = prometheus::Counter;
};
template <>
struct Library<Gauge> {
  using Cell = prometheus::Gauge;
};
template <>
struct Library<Histogram> {
  using Cell = prometheus::Histogram;
};

// The state behind a Family.
template <typename Cell>
struct FamilyState {
  prometheus::Family<Cell>* family;
  std::vector<std::string> labels;
  std::vector<double> buckets;  // of histograms
};

prometheus::Histogram& add_cell(const FamilyState<prometheus::Histogram>& state,
                                const prometheus::Labels& labels) {
  return state.family->Add(labels, state.buckets);
}
template <typename Cell>
Cell& add_cell(const FamilyState<Cell>& state, const prometheus::Labels& labels) {
  return state.family->Add(labels);
}

// The library does not escape HELP texts, but the format requires these two escapes.
std::string escaped_help(const std::string& help) {
  std::string out;
  for (const char c : help) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c != '\r') {
      out += c;
    }
  }
  return out;
}

std::string in_words(Type type) {
  return type == Type::kCounter ? "counter" : type == Type::kGauge ? "gauge" : "histogram";
}

Result<void> check(Type type, const Spec& spec, const std::vector<double>& buckets) {
  const std::string what = "metric \"" + spec.name + "\": ";
  if (!prometheus::CheckMetricName(spec.name)) {
    return fail(ErrorCode::kInvalid,
                what +
                    "a name has letters, digits, '_' and ':', does not begin with a digit and "
                    "not with \"__\"");
  }
  std::set<std::string> seen;
  for (const std::string& label : spec.labels) {
    const bool reserved = type == Type::kHistogram && label == "le";
    if (reserved || !prometheus::CheckLabelName(label)) {
      return fail(ErrorCode::kInvalid, what + "\"" + label + "\" cannot be the name of a label");
    }
    if (!seen.insert(label).second) {
      return fail(ErrorCode::kInvalid, what + "label \"" + label + "\" is given twice");
    }
  }
  if (type != Type::kHistogram && !buckets.empty()) {
    return fail(ErrorCode::kInvalid, what + "only histograms have buckets");
  }
  if (type == Type::kHistogram && buckets.empty()) {
    return fail(ErrorCode::kInvalid, what + "a histogram needs buckets");
  }
  const bool finite = std::all_of(buckets.begin(), buckets.end(),
                                  [](double bound) { return std::isfinite(bound); });
  const bool rising =
      std::adjacent_find(buckets.begin(), buckets.end(), std::greater_equal<>()) == buckets.end();
  if (!finite || !rising) {
    return fail(ErrorCode::kInvalid, what + "the bounds of buckets are finite and rise");
  }
  return {};
}

}  // namespace

// ---- handles

void Counter::add(double by) const {
  if (cell_ != nullptr) static_cast<prometheus::Counter*>(cell_)->Increment(by);
}
void Counter::raise_to(double total) const {
  if (cell_ == nullptr) return;
  auto* counter = static_cast<prometheus::Counter*>(cell_);
  if (const double more = total - counter->Value(); more > 0) counter->Increment(more);
}
double Counter::value() const {
  return cell_ == nullptr ? 0 : static_cast<prometheus::Counter*>(cell_)->Value();
}
void Gauge::set(double value) const {
  if (cell_ != nullptr) static_cast<prometheus::Gauge*>(cell_)->Set(value);
}
void Gauge::add(double by) const {
  if (cell_ != nullptr) static_cast<prometheus::Gauge*>(cell_)->Increment(by);
}
double Gauge::value() const {
  return cell_ == nullptr ? 0 : static_cast<prometheus::Gauge*>(cell_)->Value();
}
void Histogram::observe(double value) const {
  if (cell_ != nullptr) static_cast<prometheus::Histogram*>(cell_)->Observe(value);
}

template <typename Handle>
Handle Family<Handle>::with(std::span<const std::string_view> values) const {
  Handle handle;
  if (state_ == nullptr) return handle;
  using Cell = typename Library<Handle>::Cell;
  const auto& state = *static_cast<const FamilyState<Cell>*>(state_);
  if (values.size() != state.labels.size()) {
    throw std::logic_error("metric " + state.family->GetName() + " has " +
                           std::to_string(state.labels.size()) + " labels, not " +
                           std::to_string(values.size()));
  }
  prometheus::Labels labels;
  for (size_t i = 0; i < values.size(); ++i) labels.emplace(state.labels[i], values[i]);
  handle.cell_ = &add_cell(state, labels);
  return handle;
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

std::vector<double> exponential_buckets(double first, double factor, int count) {
  std::vector<double> bounds;
  for (double bound = first; count > 0; --count, bound *= factor) bounds.push_back(bound);
  return bounds;
}

// ---- Registry

struct Registry::Impl {
  struct Known {
    Type type;
    Spec spec;
    std::vector<double> buckets;
    AnyFamily family;
  };

  prometheus::Registry library;
  mutable std::mutex mutex;  // guards known, counters, gauges and histograms
  std::map<std::string, Known> known;
  std::deque<FamilyState<prometheus::Counter>> counters;  // never move
  std::deque<FamilyState<prometheus::Gauge>> gauges;
  std::deque<FamilyState<prometheus::Histogram>> histograms;

  mutable std::mutex collecting;  // held while collectors run
  std::map<uint64_t, std::function<void()>> collectors;
  uint64_t next_collector = 1;

  template <typename Cell, typename Builder, typename States>
  const void* make(Builder builder, const Spec& spec, const std::vector<double>& buckets,
                   States& states) {
    auto& family = builder.Name(spec.name).Help(escaped_help(spec.help)).Register(library);
    states.push_back({&family, spec.labels, buckets});
    // A metric without labels exists from the start, with value 0.
    if (spec.labels.empty()) add_cell(states.back(), {});
    return &states.back();
  }
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Result<Registry::AnyFamily> Registry::add(Type type, const Spec& spec,
                                          const std::vector<double>& buckets) {
  if (auto checked = check(type, spec, buckets); !checked) return fail(checked.error());
  const std::lock_guard lock(impl_->mutex);
  if (const auto found = impl_->known.find(spec.name); found != impl_->known.end()) {
    const Impl::Known& known = found->second;
    if (known.type == type && known.spec.labels == spec.labels && known.buckets == buckets) {
      return known.family;
    }
    return fail(ErrorCode::kConflict, "metric \"" + spec.name + "\" is there already, as a " +
                                          in_words(known.type) + " with the labels [" +
                                          sdk::join(known.spec.labels) +
                                          "]; give it another name, or the same type, labels and "
                                          "buckets");
  }
  AnyFamily family;
  switch (type) {
    case Type::kCounter:
      family.counters.state_ = impl_->make<prometheus::Counter>(prometheus::BuildCounter(), spec,
                                                                buckets, impl_->counters);
      break;
    case Type::kGauge:
      family.gauges.state_ =
          impl_->make<prometheus::Gauge>(prometheus::BuildGauge(), spec, buckets, impl_->gauges);
      break;
    case Type::kHistogram:
      family.histograms.state_ = impl_->make<prometheus::Histogram>(
          prometheus::BuildHistogram(), spec, buckets, impl_->histograms);
      break;
  }
  impl_->known.emplace(spec.name, Impl::Known{type, spec, buckets, family});
  return family;
}

namespace {

Registry::AnyFamily or_throw(Result<Registry::AnyFamily> added) {
  if (!added) throw std::logic_error(added.error().message);
  return *added;
}

}  // namespace

Family<Counter> Registry::counters(const Spec& spec) {
  return or_throw(add(Type::kCounter, spec, {})).counters;
}
Family<Gauge> Registry::gauges(const Spec& spec) {
  return or_throw(add(Type::kGauge, spec, {})).gauges;
}
Family<Histogram> Registry::histograms(const Spec& spec, const std::vector<double>& buckets) {
  return or_throw(add(Type::kHistogram, spec, buckets)).histograms;
}

Registry::Collector::Collector(Collector&& other) noexcept
    : registry_(std::exchange(other.registry_, nullptr)), id_(other.id_) {}

Registry::Collector& Registry::Collector::operator=(Collector&& other) noexcept {
  if (this != &other) {
    reset();
    registry_ = std::exchange(other.registry_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void Registry::Collector::reset() {
  if (registry_ == nullptr) return;
  const std::lock_guard lock(registry_->impl_->collecting);
  registry_->impl_->collectors.erase(id_);
  registry_ = nullptr;
}

Registry::Collector Registry::on_collect(std::function<void()> bring_up_to_date) {
  const std::lock_guard lock(impl_->collecting);
  Collector token;
  token.registry_ = this;
  token.id_ = impl_->next_collector++;
  impl_->collectors.emplace(token.id_, std::move(bring_up_to_date));
  return token;
}

std::string Registry::text() const {
  {
    const std::lock_guard lock(impl_->collecting);
    for (const auto& [id, collect] : impl_->collectors) collect();
  }
  std::vector<prometheus::MetricFamily> families = impl_->library.Collect();
  std::sort(families.begin(), families.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return prometheus::TextSerializer().Serialize(families);
}

std::vector<Description> Registry::describe() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<Description> all;
  for (const auto& [name, known] : impl_->known) {
    all.push_back({name, known.type, known.spec.labels, known.spec.help});
  }
  return all;
}

}  // namespace plimsoll::metrics
