#include "plugins/nodedevice/requests/second_names.hpp"

#include <algorithm>
#include <map>

namespace plimsoll::devices {
namespace {

std::string_view domain_of(std::string_view resource) {
  return resource.substr(0, resource.find('/'));
}

// What a container asks for, by type, as far as other names beside it depend on it.
class Beside {
 public:
  Beside(const DeviceTypes& types, std::span<const ResourceQuantity> container) {
    for (const ResourceQuantity& request : container) {
      if (request.value <= 0) continue;
      const auto found = types.find_request(request.name);
      if (!found) {
        any_ |= types.find_same_hardware(request.name).devices;
        continue;
      }
      const auto [type, name] = *found;
      any_ |= 1U << type;
      if (types.type(type).names[static_cast<size_t>(name)].by_device_plugin) continue;
      const std::string_view domain = domain_of(request.name);
      auto& [first, another] = domains_[static_cast<size_t>(type)];
      if (first.empty())
        first = domain;
      else if (domain != first)
        another = domain;
    }
  }

  // The container asks for all of it by another name already.
  [[nodiscard]] bool has(const DeviceTypes::Uses& uses, std::string_view name) const {
    if ((uses.amounts & ~any_) != 0) return false;
    for (size_t type = 0; type < domains_.size(); ++type)
      if ((uses.devices >> type & 1U) != 0 && !named_for_scheduler(type, domain_of(name)))
        return false;
    return true;
  }

 private:
  // By a name that no device plugin knows. Names of one domain are for different devices.
  [[nodiscard]] bool named_for_scheduler(size_t type, std::string_view other_domain) const {
    const auto& [first, another] = domains_[type];
    return !first.empty() && (first != other_domain || !another.empty());
  }

  uint32_t any_ = 0;  // types whose devices it asks for, whatever they are called
  std::array<std::pair<std::string_view, std::string_view>, kMaxTypes> domains_{};
};

// As Kubernetes counts a pod: the most that is asked for at the same time.
class Peak {
 public:
  void add(ContainerKind kind, int64_t value) {
    const int64_t now = std::min(stays_ + std::min(value, kMaxAmount), kMaxAmount);
    most_ = std::max(most_, now);
    if (kind != ContainerKind::kInit) stays_ = now;
  }
  [[nodiscard]] int64_t value() const { return most_; }

 private:
  int64_t stays_ = 0;
  int64_t most_ = 0;
};

}  // namespace

void leave_out_second_names(const DeviceTypes& types, std::span<const ContainerRequests> containers,
                            std::vector<ResourceQuantity>& requests) {
  struct Peaks {
    Peak all;
    Peak its_own;
  };
  std::map<std::string_view, Peaks> by_name;
  for (const ContainerRequests& container : containers) {
    const Beside beside(types, container.requests);
    for (const ResourceQuantity& request : container.requests) {
      if (request.value <= 0 || types.find_request(request.name)) continue;
      Peaks& peaks = by_name[request.name];
      peaks.all.add(container.kind, request.value);
      if (!beside.has(types.find_same_hardware(request.name), request.name))
        peaks.its_own.add(container.kind, request.value);
    }
  }
  for (ResourceQuantity& request : requests) {
    const auto found = by_name.find(request.name);
    if (found == by_name.end()) continue;
    const auto& [all, its_own] = found->second;
    const int64_t rest = std::min(request.value, kMaxAmount) - all.value();
    request.value = its_own.value() + std::max<int64_t>(rest, 0);
  }
  std::erase_if(requests, [](const ResourceQuantity& request) { return request.value <= 0; });
}

}  // namespace plimsoll::devices
