#include "plugins/dynamicresources/extended/extended_ask.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

namespace plimsoll::dra {

using sdk::List;
using sdk::view;

namespace {

struct Container {
  std::string name;
  bool lives_long = true;  // not an init container that ends
  std::map<std::string, int64_t> requests;
};

std::vector<Container> containers_of(sdk::Pod pod) {
  std::vector<Container> made;
  for (const auto& list : {pod.init_containers(), pod.containers()}) {
    for (const plimsoll_container& each : list) {
      Container& container = made.emplace_back();
      container.name = view(each.name);
      container.lives_long = each.kind != PLIMSOLL_CONTAINER_INIT;
      for (const plimsoll_resource& request : List<plimsoll_resource>(each.requests)) {
        const bool whole = (request.flags & PLIMSOLL_RESOURCE_NOT_INT64) == 0;
        container.requests.emplace(view(request.name), whole ? request.value : 0);
      }
    }
  }
  return made;
}

// One resource.
class Asker {
 public:
  Asker(const std::vector<Container>& containers, std::string resource, std::string class_name)
      : containers_(containers),
        resource_(std::move(resource)),
        class_(std::move(class_name)),
        long_lived_(containers.size()) {}

  void run(ExtendedAsk& ask) {
    for (size_t i = 0; i < containers_.size(); ++i) {
      if (containers_[i].lives_long) long_lived_[i] = request_of(i, ask.mappings, false);
    }
    std::vector<ExtendedMapping> mappings;  // of the others
    std::optional<DeviceRequest> largest;
    std::set<std::string> names;
    for (size_t i = 0; i < containers_.size(); ++i) {
      if (containers_[i].lives_long) continue;
      auto request = request_of(i, mappings, true);
      if (!request) continue;
      names.insert(request->name);
      if (!largest || largest->count < request->count) largest = std::move(request);
    }
    for (ExtendedMapping& each : mappings) {
      if (largest && names.count(each.request) != 0) each.request = largest->name;
      ask.mappings.push_back(std::move(each));
    }
    if (largest) add(ask, *std::move(largest));
    for (auto& request : long_lived_) {
      if (request) add(ask, *std::move(request));
    }
  }

 private:
  static void add(ExtendedAsk& ask, DeviceRequest request) {
    std::string name = request.name;
    ask.requests.push_back({std::move(name), false, {std::move(request)}});
  }

  // What the container needs beyond what it may reuse of those after it.
  std::optional<DeviceRequest> request_of(size_t at, std::vector<ExtendedMapping>& mappings,
                                          bool reuses) const {
    const Container& container = containers_[at];
    const auto wanted = container.requests.find(resource_);
    if (wanted == container.requests.end() || wanted->second <= 0) return std::nullopt;
    int64_t reused = 0;
    for (size_t i = at; reuses && i < long_lived_.size(); ++i) {
      if (!long_lived_[i]) continue;
      reused += long_lived_[i]->count;
      mappings.push_back({container.name, resource_, long_lived_[i]->name});
      if (reused >= wanted->second) return std::nullopt;
    }
    DeviceRequest made;
    made.name = "container-" + std::to_string(at) + "-request-" +
                std::to_string(std::distance(container.requests.begin(), wanted));
    made.class_name = class_;
    made.count = wanted->second - reused;
    mappings.push_back({container.name, resource_, made.name});
    return made;
  }

  const std::vector<Container>& containers_;
  std::string resource_, class_;
  std::vector<std::optional<DeviceRequest>> long_lived_;  // by container
};

}  // namespace

ExtendedAsk extended_ask(sdk::Pod pod, const std::map<std::string, std::string>& classes) {
  const std::vector<Container> containers = containers_of(pod);
  ExtendedAsk ask;
  for (const auto& [resource, class_name] : classes)
    Asker(containers, resource, class_name).run(ask);
  std::sort(ask.requests.begin(), ask.requests.end(),
            [](const Request& a, const Request& b) { return a.name < b.name; });
  return ask;
}

}  // namespace plimsoll::dra
