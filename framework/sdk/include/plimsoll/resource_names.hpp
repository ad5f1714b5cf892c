// Plimsoll plugin SDK: what names of resources say, and what a pod's containers have together.
#pragma once

#include <plimsoll/objects.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace plimsoll::sdk {

// Of a domain that is not Kubernetes' own, and not a quota's name. Kubernetes:
// pkg/apis/core/v1/helper, IsExtendedResourceName, of a name that is valid.
[[nodiscard]] constexpr bool is_extended_resource(std::string_view name) {
  const bool native = name.find('/') == std::string_view::npos ||
                      name.find("kubernetes.io/") != std::string_view::npos;
  return !native && !name.starts_with("requests.");
}

// Containers and sidecars run together; each init container runs together with the sidecars before
// it. Kubernetes: component-helpers/resource, AggregateContainerRequests. `Sums` has add(amount),
// raise(amount), raise_all(sums) and with(amount), which is the amount and what the sums have of
// it.
template <typename Sums>
class Peak {
 public:
  // `kind`: PLIMSOLL_CONTAINER_*. Init containers and sidecars in the order of the spec.
  void add(uint32_t kind, const auto& amount) {
    if (kind == PLIMSOLL_CONTAINER_INIT) return peak_.raise(sidecars_.with(amount));
    running_.add(amount);
    if (kind == PLIMSOLL_CONTAINER_SIDECAR) sidecars_.add(amount);
  }
  // Nothing is to be added afterwards.
  [[nodiscard]] Sums take() {
    running_.raise_all(sidecars_);
    running_.raise_all(peak_);
    return std::move(running_);
  }

 private:
  Sums running_, sidecars_, peak_;
};

[[nodiscard]] constexpr int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// Of one resource, in base units.
struct AmountSum {
  int64_t value = 0;

  void add(int64_t amount) { value = saturating_sum(value, amount); }
  void raise(int64_t amount) { value = std::max(value, amount); }
  void raise_all(const AmountSum& other) { raise(other.value); }
  [[nodiscard]] int64_t with(int64_t amount) const { return saturating_sum(value, amount); }
};

}  // namespace plimsoll::sdk
