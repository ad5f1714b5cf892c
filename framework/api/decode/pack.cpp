#include "framework/api/decode/pack.hpp"

#include <cstring>

#include "framework/api/arena.hpp"
#include "framework/api/symbols.hpp"

namespace plimsoll {
namespace {

// The same code visits an object in three ways. Without a block it only counts. With a block it
// copies, and sets the pointers of the copy to the copied parts. At the end of the block's life it
// releases the shared texts.
class Packer {
 public:
  Packer() = default;
  Packer(std::byte* block, size_t struct_bytes, SymbolTable* symbols)
      : block_(block), symbols_(symbols), text_at_(struct_bytes) {}
  // Releases the shared texts of a block before it is freed: texts outside of the block that are
  // not names.
  static void release_shared(const auto& object, std::byte* block, size_t bytes) {
    Packer packer;
    packer.begin_ = reinterpret_cast<const char*>(block);
    packer.end_ = packer.begin_ + bytes;
    packer.root(object);
  }

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
    if (text.symbol == kToShare) {
      if (block_ != nullptr) text = symbols_->share(view(text));
      return;
    }
    if (text.symbol != PLIMSOLL_SYMBOL_NONE) return;
    if (begin_ != nullptr) {
      if (text.data < begin_ || text.data >= end_) SymbolTable::release(text);
      return;
    }
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
    list<plimsoll_str>(volume.details);
  }
  void walk(plimsoll_pod_claim& claim) {
    for (plimsoll_str* text : {&claim.name, &claim.claim, &claim.template_name}) walk(*text);
    list<plimsoll_str>(claim.containers);
  }
  void walk(plimsoll_claim_amount& amount) {
    walk(amount.claim);
    walk(amount.resource);
  }
  void walk(plimsoll_pod& pod) {
    walk(pod.meta);
    for (plimsoll_str* text :
         {&pod.node_name, &pod.nominated_node_name, &pod.scheduler_name, &pod.priority_class_name,
          &pod.runtime_class_name, &pod.scheduled_status, &pod.scheduled_reason,
          &pod.scheduled_message, &pod.disruption_reason, &pod.status_reason, &pod.unreadable}) {
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
    list<plimsoll_pod_claim>(pod.claims);
    walk(pod.extended_claim);
    list<plimsoll_claim_amount>(pod.claim_amounts);
    walk(pod.group);
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
  void walk(plimsoll_object& object) {
    walk(object.meta);
    walk(object.unreadable);
  }
  void walk(plimsoll_pod_selector& service) {
    walk(service.object);
    walk(service.selector);
  }
  void walk(plimsoll_disruption_budget& budget) {
    walk(budget.object);
    walk(budget.selector);
    list<plimsoll_str>(budget.disrupted_pods);
  }
  void walk(plimsoll_claim_reference& claim) {
    for (plimsoll_str* text : {&claim.ns, &claim.name, &claim.uid, &claim.resource_version})
      walk(*text);
  }
  void walk(plimsoll_persistent_volume& volume) {
    walk(volume.object);
    for (plimsoll_str* text :
         {&volume.capacity, &volume.storage_class, &volume.volume_mode, &volume.attributes_class,
          &volume.phase, &volume.csi_driver, &volume.csi_handle}) {
      walk(*text);
    }
    list<plimsoll_str>(volume.access_modes);
    pointer(volume.claim);
    list<plimsoll_node_selector_term>(volume.node_affinity);
    pointer(volume.source);
  }
  void walk(plimsoll_persistent_volume_claim& claim) {
    walk(claim.object);
    for (plimsoll_str* text : {&claim.volume_name, &claim.request, &claim.storage_class,
                               &claim.volume_mode, &claim.attributes_class, &claim.phase}) {
      walk(*text);
    }
    list<plimsoll_str>(claim.access_modes);
    walk(claim.selector);
  }
  void walk(plimsoll_storage_class& storage_class) {
    walk(storage_class.object);
    walk(storage_class.provisioner);
    walk(storage_class.binding_mode);
    list<plimsoll_node_selector_term>(storage_class.allowed_topologies);
  }
  void walk(plimsoll_csi_node_driver& driver) { walk(driver.name); }
  void walk(plimsoll_csi_node& node) {
    walk(node.object);
    list<plimsoll_csi_node_driver>(node.drivers);
  }
  void walk(plimsoll_csi_driver& driver) { walk(driver.object); }
  void walk(plimsoll_csi_storage_capacity& capacity) {
    walk(capacity.object);
    for (plimsoll_str* text :
         {&capacity.storage_class, &capacity.capacity, &capacity.maximum_volume_size}) {
      walk(*text);
    }
    walk(capacity.node_topology);
  }
  void walk(plimsoll_volume_attachment& attachment) {
    walk(attachment.object);
    for (plimsoll_str* text :
         {&attachment.attacher, &attachment.node_name, &attachment.volume_name}) {
      walk(*text);
    }
  }

  void walk(plimsoll_device_value& value) { walk(value.text); }
  void walk(plimsoll_device_attribute& attribute) {
    walk(attribute.name);
    list<plimsoll_device_value>(attribute.values);
  }
  void walk(plimsoll_named_quantity& quantity) {
    walk(quantity.name);
    walk(quantity.value);
  }
  void walk(plimsoll_device_capacity& capacity) {
    for (plimsoll_str* text : {&capacity.name, &capacity.value, &capacity.fallback, &capacity.min,
                               &capacity.max, &capacity.step}) {
      walk(*text);
    }
    list<plimsoll_str>(capacity.valid_values);
  }
  void walk(plimsoll_device_taint& taint) {
    for (plimsoll_str* text : {&taint.key, &taint.value, &taint.effect}) walk(*text);
  }
  void walk(plimsoll_device_toleration& toleration) {
    for (plimsoll_str* text :
         {&toleration.key, &toleration.op, &toleration.value, &toleration.effect}) {
      walk(*text);
    }
  }
  void walk(plimsoll_counter_set& set) {
    walk(set.name);
    list<plimsoll_named_quantity>(set.counters);
  }
  void walk(plimsoll_device_place& place) {
    walk(place.node_name);
    list<plimsoll_node_selector_term>(place.node_selector);
  }
  void walk(plimsoll_device_allocatable& use) {
    for (plimsoll_str* text : {&use.name, &use.capacity_key, &use.capacity_multiplier,
                               &use.device_multiplier, &use.per_pod, &use.per_container}) {
      walk(*text);
    }
  }
  void walk(plimsoll_device& device) {
    walk(device.name);
    list<plimsoll_device_attribute>(device.attributes);
    list<plimsoll_device_capacity>(device.capacity);
    list<plimsoll_device_taint>(device.taints);
    list<plimsoll_counter_set>(device.consumes);
    walk(device.place);
    list<plimsoll_str>(device.binding_conditions);
    list<plimsoll_str>(device.binding_failure_conditions);
    list<plimsoll_device_allocatable>(device.allocatable);
  }
  void walk(plimsoll_resource_slice& slice) {
    walk(slice.object);
    walk(slice.driver);
    walk(slice.pool);
    walk(slice.place);
    list<plimsoll_device>(slice.devices);
    list<plimsoll_counter_set>(slice.shared_counters);
  }
  void walk(plimsoll_device_config& config) {
    walk(config.source);
    list<plimsoll_str>(config.requests);
    walk(config.opaque);
  }
  void walk(plimsoll_device_class& device_class) {
    walk(device_class.object);
    list<plimsoll_str>(device_class.selectors);
    list<plimsoll_device_config>(device_class.config);
    walk(device_class.extended_resource_name);
  }
  void walk(plimsoll_device_taint_rule& rule) {
    walk(rule.object);
    for (plimsoll_str* text : {&rule.driver, &rule.pool, &rule.device}) walk(*text);
    walk(rule.taint);
  }
  void walk(plimsoll_device_ask& ask) {
    for (plimsoll_str* text : {&ask.name, &ask.device_class, &ask.mode}) walk(*text);
    list<plimsoll_str>(ask.selectors);
    list<plimsoll_device_toleration>(ask.tolerations);
    list<plimsoll_named_quantity>(ask.capacity);
  }
  void walk(plimsoll_device_request& request) {
    walk(request.name);
    list<plimsoll_device_ask>(request.asks);
  }
  void walk(plimsoll_device_constraint& constraint) {
    list<plimsoll_str>(constraint.requests);
    walk(constraint.match_attribute);
    walk(constraint.distinct_attribute);
  }
  void walk(plimsoll_device_result& result) {
    for (plimsoll_str* text :
         {&result.request, &result.driver, &result.pool, &result.device, &result.share_id}) {
      walk(*text);
    }
    list<plimsoll_named_quantity>(result.consumed_capacity);
    list<plimsoll_device_toleration>(result.tolerations);
    list<plimsoll_str>(result.binding_conditions);
    list<plimsoll_str>(result.binding_failure_conditions);
  }
  void walk(plimsoll_claim_user& user) {
    for (plimsoll_str* text : {&user.api_group, &user.resource, &user.name, &user.uid}) walk(*text);
  }
  void walk(plimsoll_device_status& status) {
    for (plimsoll_str* text : {&status.driver, &status.pool, &status.device, &status.share_id})
      walk(*text);
    list<plimsoll_condition>(status.conditions);
  }
  void walk(plimsoll_resource_claim& claim) {
    walk(claim.object);
    list<plimsoll_str>(claim.finalizers);
    list<plimsoll_device_request>(claim.requests);
    list<plimsoll_device_constraint>(claim.constraints);
    list<plimsoll_device_config>(claim.config);
    list<plimsoll_claim_user>(claim.reserved_for);
    list<plimsoll_device_status>(claim.devices);
    list<plimsoll_node_selector_term>(claim.node_selector);
    list<plimsoll_device_result>(claim.results);
    list<plimsoll_device_config>(claim.allocation_config);
  }

  std::byte* block_ = nullptr;
  SymbolTable* symbols_ = nullptr;
  const char* begin_ = nullptr;  // the block that is freed
  const char* end_ = nullptr;
  size_t struct_at_ = 0;
  size_t text_at_ = 0;
};

template <typename T>
std::shared_ptr<const T> pack(const T& object, SymbolTable* symbols) {
  Packer count;
  count.root(object);
  // One byte more, so that an empty text at the end also lies in the block.
  const BlockEnd end = [](std::byte* block, size_t bytes) {
    Packer::release_shared(*reinterpret_cast<const T*>(block), block, bytes);
  };
  auto block =
      make_block(count.struct_bytes() + count.text_bytes() + 1, symbols == nullptr ? nullptr : end);
  Packer copy(block.get(), count.struct_bytes(), symbols);
  const T* packed = copy.root(object);
  return {std::move(block), packed};
}

}  // namespace

PodRef pack_pod(const plimsoll_pod& pod, SymbolTable* symbols) {
  return pack(pod, symbols);
}

NodeRef pack_node(const plimsoll_node& node, SymbolTable* symbols) {
  return pack(node, symbols);
}

template <typename Object>
std::shared_ptr<const Object> pack_object(const Object& object) {
  return pack(object, nullptr);
}
#define PLIMSOLL_PACKED(type) template std::shared_ptr<const type> pack_object(const type&)
PLIMSOLL_PACKED(plimsoll_object);
PLIMSOLL_PACKED(plimsoll_pod_selector);
PLIMSOLL_PACKED(plimsoll_disruption_budget);
PLIMSOLL_PACKED(plimsoll_persistent_volume);
PLIMSOLL_PACKED(plimsoll_persistent_volume_claim);
PLIMSOLL_PACKED(plimsoll_storage_class);
PLIMSOLL_PACKED(plimsoll_csi_node);
PLIMSOLL_PACKED(plimsoll_csi_driver);
PLIMSOLL_PACKED(plimsoll_csi_storage_capacity);
PLIMSOLL_PACKED(plimsoll_volume_attachment);
PLIMSOLL_PACKED(plimsoll_resource_claim);
PLIMSOLL_PACKED(plimsoll_resource_slice);
PLIMSOLL_PACKED(plimsoll_device_class);
PLIMSOLL_PACKED(plimsoll_device_taint_rule);
#undef PLIMSOLL_PACKED

std::shared_ptr<const plimsoll_node_affinity> pack_node_affinity(
    const plimsoll_node_affinity& affinity) {
  return pack(affinity, nullptr);
}

std::shared_ptr<const plimsoll_label_selector> pack_label_selector(
    const plimsoll_label_selector& selector) {
  return pack(selector, nullptr);
}

}  // namespace plimsoll
