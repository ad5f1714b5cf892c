#include "framework/api/pack.hpp"

#include <algorithm>
#include <cstring>

#include "framework/api/arena.hpp"
#include "framework/api/decode.hpp"

namespace plimsoll {
namespace {

// Walks an object twice with the same code: without a block it only counts, with one it copies and
// turns the pointers of the copy to the copies of what they point to.
class Packer {
 public:
  Packer() = default;
  Packer(std::byte* block, size_t struct_bytes) : block_(block), text_at_(struct_bytes) {}

  [[nodiscard]] size_t struct_bytes() const { return struct_at_; }
  [[nodiscard]] size_t text_bytes() const { return text_at_; }

  template <typename T>
  T* root(const T& object) {
    T copy = object;
    T* placed = place(&copy, 1);
    walk(placed != nullptr ? *placed : copy);
    return placed;
  }

 private:
  template <typename T>
  T* place(const T* elements, size_t count) {
    static_assert(alignof(T) <= 8);
    const size_t at = struct_at_;
    struct_at_ += (sizeof(T) * count + 7) / 8 * 8;
    if (block_ == nullptr) return nullptr;
    std::memcpy(block_ + at, elements, sizeof(T) * count);
    return reinterpret_cast<T*>(block_ + at);
  }

  void walk(plimsoll_str& text) {
    if (text.symbol != PLIMSOLL_SYMBOL_NONE) return;
    const size_t at = text_at_;
    text_at_ += text.len;
    if (block_ == nullptr) return;
    if (text.len != 0) std::memcpy(block_ + at, text.data, text.len);
    text.data = reinterpret_cast<const char*>(block_ + at);
  }

  template <typename T>
  void list(plimsoll_list& list) {
    const auto* from = static_cast<const std::byte*>(list.data);
    const size_t at = struct_at_;
    struct_at_ += sizeof(T) * list.count;
    for (uint32_t i = 0; i < list.count; ++i) {
      T element;
      std::memcpy(&element, from + size_t{i} * list.stride, sizeof(T));
      walk(element);
      if (block_ != nullptr) std::memcpy(block_ + at + sizeof(T) * i, &element, sizeof(T));
    }
    list.data = block_ == nullptr || list.count == 0 ? nullptr : block_ + at;
    list.stride = sizeof(T);
  }

  template <typename T>
  void pointer(const T*& object) {
    if (object != nullptr) object = root(*object);
  }

  void walk(plimsoll_label& label) {
    walk(label.key);
    walk(label.value);
  }
  void walk(plimsoll_resource& resource) { walk(resource.name); }
  void walk(plimsoll_owner& owner) {
    for (plimsoll_str* text : {&owner.api_version, &owner.kind, &owner.name, &owner.uid})
      walk(*text);
  }
  void walk(plimsoll_meta& meta) {
    for (plimsoll_str* text : {&meta.name, &meta.ns, &meta.uid, &meta.resource_version})
      walk(*text);
    list<plimsoll_label>(meta.labels);
    list<plimsoll_label>(meta.annotations);
    list<plimsoll_owner>(meta.owners);
  }
  void walk(plimsoll_requirement& requirement) {
    walk(requirement.key);
    list<plimsoll_str>(requirement.values);
  }
  void walk(plimsoll_label_selector& selector) {
    list<plimsoll_label>(selector.match_labels);
    list<plimsoll_requirement>(selector.expressions);
  }
  void walk(plimsoll_node_selector_term& term) {
    list<plimsoll_requirement>(term.expressions);
    list<plimsoll_requirement>(term.fields);
  }
  void walk(plimsoll_node_affinity& affinity) {
    list<plimsoll_node_selector_term>(affinity.required);
    list<plimsoll_node_selector_term>(affinity.preferred);
  }
  void walk(plimsoll_pod_affinity_term& term) {
    walk(term.selector);
    walk(term.namespace_selector);
    list<plimsoll_str>(term.namespaces);
    walk(term.topology_key);
  }
  void walk(plimsoll_pod_affinity& affinity) {
    list<plimsoll_pod_affinity_term>(affinity.required);
    list<plimsoll_pod_affinity_term>(affinity.preferred);
  }
  void walk(plimsoll_taint& taint) {
    walk(taint.key);
    walk(taint.value);
  }
  void walk(plimsoll_toleration& toleration) {
    walk(toleration.key);
    walk(toleration.value);
  }
  void walk(plimsoll_spread_constraint& constraint) {
    walk(constraint.topology_key);
    walk(constraint.selector);
    list<plimsoll_str>(constraint.match_label_keys);
  }
  void walk(plimsoll_host_port& port) {
    walk(port.ip);
    walk(port.protocol);
  }
  void walk(plimsoll_container& container) {
    walk(container.name);
    walk(container.image);
    list<plimsoll_resource>(container.requests);
    list<plimsoll_resource>(container.limits);
    list<plimsoll_host_port>(container.ports);
  }
  void walk(plimsoll_volume& volume) {
    for (plimsoll_str* text : {&volume.name, &volume.kind, &volume.target}) walk(*text);
  }
  void walk(plimsoll_pod& pod) {
    walk(pod.meta);
    for (plimsoll_str* text :
         {&pod.node_name, &pod.nominated_node_name, &pod.scheduler_name, &pod.priority_class_name,
          &pod.runtime_class_name, &pod.scheduled_status, &pod.scheduled_reason,
          &pod.scheduled_message, &pod.disruption_reason, &pod.status_reason}) {
      walk(*text);
    }
    list<plimsoll_container>(pod.init_containers);
    list<plimsoll_container>(pod.containers);
    for (plimsoll_list* resources :
         {&pod.overhead, &pod.pod_requests, &pod.pod_limits, &pod.requests, &pod.used}) {
      list<plimsoll_resource>(*resources);
    }
    list<plimsoll_label>(pod.node_selector);
    pointer(pod.node_affinity);
    pointer(pod.pod_affinity);
    pointer(pod.pod_anti_affinity);
    list<plimsoll_toleration>(pod.tolerations);
    list<plimsoll_spread_constraint>(pod.spread_constraints);
    list<plimsoll_str>(pod.scheduling_gates);
    list<plimsoll_volume>(pod.volumes);
    list<plimsoll_str>(pod.resource_claims);
  }
  void walk(plimsoll_image& image) { list<plimsoll_str>(image.names); }
  void walk(plimsoll_condition& condition) {
    walk(condition.type);
    walk(condition.status);
  }
  void walk(plimsoll_node& node) {
    walk(node.meta);
    list<plimsoll_taint>(node.taints);
    list<plimsoll_resource>(node.capacity);
    list<plimsoll_resource>(node.allocatable);
    list<plimsoll_image>(node.images);
    list<plimsoll_condition>(node.conditions);
    list<plimsoll_str>(node.declared_features);
  }

  std::byte* block_ = nullptr;
  size_t struct_at_ = 0;
  size_t text_at_ = 0;
};

template <typename T>
std::shared_ptr<const T> pack(const T& object) {
  Packer count;
  count.root(object);
  auto block = make_block(count.struct_bytes() + count.text_bytes());
  Packer copy(block.get(), count.struct_bytes());
  const T* packed = copy.root(object);
  return {std::move(block), packed};
}

}  // namespace

PodRef pack_pod(const plimsoll_pod& pod) {
  return pack(pod);
}

NodeRef pack_node(const plimsoll_node& node) {
  return pack(node);
}

std::shared_ptr<const plimsoll_node_affinity> pack_node_affinity(
    const plimsoll_node_affinity& affinity) {
  return pack(affinity);
}

std::shared_ptr<const plimsoll_label_selector> pack_label_selector(
    const plimsoll_label_selector& selector) {
  return pack(selector);
}

namespace {

// A pod that differs from another in one name. All else is the other's, which is kept for it.
struct Renamed {
  PodRef original;
  plimsoll_pod pod;
  std::string node_name;
};

PodRef with_node(const PodRef& pod, plimsoll_str plimsoll_pod::*which, std::string_view node_name) {
  auto copy = std::make_shared<Renamed>(Renamed{pod, *pod, std::string(node_name)});
  copy->pod.*which = str(copy->node_name);
  return {copy, &copy->pod};
}

}  // namespace

PodRef assigned_copy(const PodRef& pod, std::string_view node_name) {
  return with_node(pod, &plimsoll_pod::node_name, node_name);
}

PodRef nominated_copy(const PodRef& pod, std::string_view node_name) {
  return with_node(pod, &plimsoll_pod::nominated_node_name, node_name);
}

std::string full_name(const plimsoll_pod& pod) {
  return std::string(view(pod.meta.ns)) + "/" + std::string(view(pod.meta.name));
}

}  // namespace plimsoll
