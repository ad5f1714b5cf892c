// Plimsoll plugin SDK: C++ views of the objects of <plimsoll/objects.h>.
//
// A view is a pointer; it copies nothing. It is valid as long as its object: for the call that
// passed the object. `*` and `->` give the underlying struct, for fields that have no accessor.
#pragma once

#include <plimsoll/lists.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace plimsoll::sdk {

// Labels or annotations: sorted by key.
class Labels : public List<plimsoll_label> {
 public:
  using List::List;
  Labels(const plimsoll_list& list) : List(list) {}  // NOLINT: a view of the same thing

  [[nodiscard]] const plimsoll_str* find(std::string_view key) const {
    auto at = std::lower_bound(
        begin(), end(), key,
        [](const plimsoll_label& label, std::string_view k) { return view(label.key) < k; });
    return at != end() && view(at->key) == key ? &at->value : nullptr;
  }
  [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const {
    const plimsoll_str* value = find(key);
    return value == nullptr ? std::nullopt : std::optional(view(*value));
  }
};

// Amounts of resources, in base units.
class Resources : public List<plimsoll_resource> {
 public:
  using List::List;
  Resources(const plimsoll_list& list) : List(list) {}  // NOLINT: a view of the same thing

  [[nodiscard]] const plimsoll_resource* find(std::string_view name) const {
    for (const plimsoll_resource& resource : *this) {
      if (view(resource.name) == name) return &resource;
    }
    return nullptr;
  }
  // `index` is the position in resource vectors (host.resource_index()).
  [[nodiscard]] const plimsoll_resource* find(uint32_t index) const {
    for (const plimsoll_resource& resource : *this) {
      if (resource.index == index) return &resource;
    }
    return nullptr;
  }
  // The amount, or 0 if the resource is not in the list.
  template <typename Key>
  [[nodiscard]] int64_t amount(const Key& key) const {
    const plimsoll_resource* resource = find(key);
    return resource == nullptr ? 0 : resource->value;
  }
};

class Pod {
 public:
  Pod() = default;
  explicit Pod(const plimsoll_pod* pod) : pod_(pod) {}

  const plimsoll_pod* operator->() const { return pod_; }
  const plimsoll_pod& operator*() const { return *pod_; }
  explicit operator bool() const { return pod_ != nullptr; }

  [[nodiscard]] std::string_view name() const { return view(pod_->meta.name); }
  [[nodiscard]] std::string_view ns() const { return view(pod_->meta.ns); }
  [[nodiscard]] std::string_view uid() const { return view(pod_->meta.uid); }
  [[nodiscard]] std::string_view node_name() const { return view(pod_->node_name); }
  [[nodiscard]] Labels labels() const { return pod_->meta.labels; }
  [[nodiscard]] Labels annotations() const { return pod_->meta.annotations; }
  [[nodiscard]] auto label(std::string_view key) const { return labels().get(key); }
  [[nodiscard]] auto annotation(std::string_view key) const { return annotations().get(key); }
  [[nodiscard]] List<plimsoll_container> containers() const { return pod_->containers; }
  [[nodiscard]] List<plimsoll_container> init_containers() const { return pod_->init_containers; }
  [[nodiscard]] List<plimsoll_toleration> tolerations() const { return pod_->tolerations; }
  // What the pod requests of a node: the sum of all containers and the overhead.
  [[nodiscard]] Resources requests() const { return pod_->requests; }
  [[nodiscard]] int64_t request(std::string_view resource) const {
    return requests().amount(resource);
  }
  [[nodiscard]] bool terminating() const { return pod_->meta.deletion_ms != 0; }

 private:
  const plimsoll_pod* pod_ = nullptr;
};

// A node and its pods.
class Node {
 public:
  Node() = default;
  explicit Node(const plimsoll_node_info* info) : info_(info) {}

  const plimsoll_node_info* operator->() const { return info_; }
  const plimsoll_node_info& operator*() const { return *info_; }
  explicit operator bool() const { return info_ != nullptr; }

  [[nodiscard]] std::string_view name() const { return view(info_->node->meta.name); }
  // Dense and small; reused after the node is gone.
  [[nodiscard]] uint32_t slot() const { return info_->slot; }
  [[nodiscard]] const plimsoll_node& object() const { return *info_->node; }
  [[nodiscard]] Labels labels() const { return info_->node->meta.labels; }
  [[nodiscard]] Labels annotations() const { return info_->node->meta.annotations; }
  [[nodiscard]] auto label(std::string_view key) const { return labels().get(key); }
  [[nodiscard]] auto annotation(std::string_view key) const { return annotations().get(key); }
  [[nodiscard]] List<plimsoll_taint> taints() const { return info_->node->taints; }
  // `resource` is the position in resource vectors: PLIMSOLL_RESOURCE_CPU, or
  // host.resource_index(name).
  [[nodiscard]] int64_t allocatable(uint32_t resource) const {
    return resource < info_->resource_count ? info_->allocatable[resource] : 0;
  }
  [[nodiscard]] int64_t requested(uint32_t resource) const {
    return resource < info_->resource_count ? info_->requested[resource] : 0;
  }
  [[nodiscard]] std::span<const plimsoll_pod* const> pods() const {
    return {info_->pods, info_->pod_count};
  }

 private:
  const plimsoll_node_info* info_ = nullptr;
};

}  // namespace plimsoll::sdk
