#include "plugins/dynamicresources/allocator/capacity.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace plimsoll::dra {
namespace {

using Nanos = Quantity::Nanos;
constexpr Nanos kNanosOfOne = 1'000'000'000;
constexpr Nanos kNanosOfMilli = 1'000'000;
constexpr Nanos kMostWhole = std::numeric_limits<int64_t>::max();

// The units in which a range counts: thousandths where all its bounds are whole thousandths, else
// whole numbers, rounded away from zero as Quantity.Value does.
class Units {
 public:
  explicit Units(const RequestPolicy::Range& range) {
    const auto representable = [](const std::optional<Quantity>& bound) {
      return !bound || is_milli(*bound);
    };
    milli_ = representable(range.min) && representable(range.max) && representable(range.step) &&
             (!range.step || range.step->nanos() >= kNanosOfMilli);
  }
  [[nodiscard]] bool milli() const { return milli_; }
  [[nodiscard]] bool can_count(const Quantity& amount) const {
    return milli_ ? is_milli(amount) : amount.nanos() <= kMostWhole * kNanosOfOne;
  }
  [[nodiscard]] Nanos count(const Quantity& amount) const {
    if (milli_) return amount.nanos() / kNanosOfMilli;
    const Nanos whole = amount.nanos() / kNanosOfOne;
    const Nanos rest = amount.nanos() % kNanosOfOne;
    return whole + (rest > 0 ? 1 : rest < 0 ? -1 : 0);
  }
  [[nodiscard]] Quantity amount(Nanos count, Quantity::Format format) const {
    return {count * (milli_ ? kNanosOfMilli : kNanosOfOne), format};
  }

 private:
  static bool is_milli(const Quantity& amount) {
    const Nanos milli = amount.nanos() / kNanosOfMilli;
    return amount.nanos() % kNanosOfMilli == 0 && milli <= kMostWhole && milli >= -kMostWhole - 1;
  }
  bool milli_ = false;
};

struct Taken {
  Quantity amount;
  bool rounded = false;  // to a step
  std::string error;     // what cannot be represented
};

// roundUpRange
Taken round_up(const Quantity& request, const RequestPolicy::Range& range) {
  if (request < *range.min) return {*range.min, false, {}};
  if (!range.step) return {request, false, {}};
  const Units units(range);
  const std::string asked = "request " + request.text();
  if (!units.can_count(request)) {
    return {{},
            false,
            asked + (units.milli() ? " is not a representable milli value" : " exceeds MaxInt64")};
  }
  const Nanos step = units.count(*range.step);
  const Nanos min = units.count(*range.min);
  if (step <= 0) {  // the API server admits no such step
    return {{}, false, "step " + range.step->text() + " is not positive"};
  }
  const Nanos added = units.count(request) - min;
  const Nanos steps = added / step + (added % step != 0 ? 1 : 0);
  if (steps > (kMostWhole - min) / step) {
    return {{},
            false,
            "rounding " + asked + " up to the next step passes " +
                (units.milli() ? "the milli-value range" : "MaxInt64")};
  }
  return {units.amount(min + step * steps, range.step->format()), true, {}};
}

Taken consumed(const Quantity* request, const Capacity& capacity) {
  const auto& policy = capacity.policy;
  if (request == nullptr) {
    return {policy && policy->fallback ? *policy->fallback : capacity.value, false, {}};
  }
  if (!policy) return {*request, false, {}};
  if (policy->valid_range && policy->valid_range->min) {
    return round_up(*request, *policy->valid_range);
  }
  for (const Quantity& valid : policy->valid_values) {
    if (*request <= valid) return {valid, false, {}};
  }
  return {*request, false, {}};
}

// Whether the reference takes the amount for the policy's default, with which no rule is broken. It
// compares Go structs, which hold more than the value: the format, the text as it was read unless
// that is a multiple of eight with a binary suffix, and, where the digits are many, a pointer.
bool is_default(const Taken& taken, const Quantity& fallback) {
  if (taken.amount != fallback || taken.amount.format() != fallback.format()) return false;
  const std::string text = fallback.text();  // as the API server stores it
  const size_t first = text.starts_with('-') ? 1 : 0;
  const size_t digits = text.find_first_not_of("0123456789", first) == std::string::npos
                            ? text.size() - first
                            : text.find_first_not_of("0123456789", first) - first;
  if (fallback.format() != Quantity::Format::kBinary) return digits <= 18 && !taken.rounded;
  const std::string suffix = text.substr(first + digits);
  const size_t thousands = suffix.empty() ? 0 : std::string_view("KMGTPE").find(suffix.front()) + 1;
  if (digits + 3 * thousands + 1 > 15) return false;
  return !taken.rounded || std::stoll(text.substr(first, digits)) % 8 == 0;
}

bool violates(const Taken& taken, const RequestPolicy& policy) {
  const Quantity& amount = taken.amount;
  if (policy.fallback && is_default(taken, *policy.fallback)) return false;
  if (const auto& range = policy.valid_range) {
    if (range->max && amount > *range->max) return true;
    if (!range->step) return false;
    const Units units(*range);
    if (units.milli() && !units.can_count(amount)) return true;
    const Nanos step = units.count(*range->step);
    const Nanos min = range->min ? units.count(*range->min) : 0;
    return step == 0 || (units.count(amount) - min) % step != 0;
  }
  return !policy.valid_values.empty() &&
         std::find(policy.valid_values.begin(), policy.valid_values.end(), amount) ==
             policy.valid_values.end();
}

}  // namespace

Consumption consumption(const Device& device, const std::map<std::string, Quantity>& requests) {
  Consumption result;
  for (const auto& [name, amount] : requests) {
    if (!device.capacity.contains(name)) return result;
  }
  result.fits = true;
  for (const auto& [name, capacity] : device.capacity) {
    const auto request = requests.find(name);
    const Taken taken = consumed(request == requests.end() ? nullptr : &request->second, capacity);
    const Quantity& amount = taken.amount;
    std::string error = taken.error;
    if (!error.empty()) {
      result.fault = CapacityFault::kNotRepresentable;
      error = "capacity request cannot be represented in the device's range arithmetic: " + error;
    } else if (amount.nanos() < 0) {
      result.fault = CapacityFault::kNegative;
      error = "capacity value is negative";
    }
    if (result.fault != CapacityFault::kNone) {
      result.error = "capacity \"" + name + "\": " + error;
      return result;
    }
    result.fits = result.fits && amount <= capacity.value &&
                  !(capacity.policy && violates(taken, *capacity.policy));
    result.amounts.push_back(amount);
  }
  return result;
}

}  // namespace plimsoll::dra
