#include "tests/api/describe.hpp"

#include <sstream>

#include "framework/api/objects.hpp"

namespace plimsoll::test {
namespace {

class Writer {
 public:
  [[nodiscard]] std::string text() const { return out_.str(); }

  void put(std::string_view name, const plimsoll_str& value) {
    out_ << name << '=' << view(value) << '#' << value.symbol << ' ';
  }
  template <typename Number>
  void number(std::string_view name, Number value) {
    out_ << name << '=' << static_cast<int64_t>(value) << ' ';
  }
  template <typename T>
  void list(std::string_view name, const plimsoll_list& values) {
    out_ << name << "=[";
    for (uint32_t i = 0; i < values.count; ++i) {
      const char* at = static_cast<const char*>(values.data) + size_t{i} * values.stride;
      out_ << '{';
      write(*reinterpret_cast<const T*>(at));
      out_ << '}';
    }
    out_ << "] ";
  }

  void write(const plimsoll_str& value) { put("", value); }
  void write(const plimsoll_label& value) {
    put("key", value.key);
    put("value", value.value);
  }
  void write(const plimsoll_resource& value) {
    put("name", value.name);
    number("value", value.value);
    number("index", value.index);
  }
  void write(const plimsoll_owner& value) {
    put("api", value.api_version);
    put("kind", value.kind);
    put("name", value.name);
    put("uid", value.uid);
    number("controller", value.controller);
  }
  void write(const plimsoll_meta& value) {
    put("name", value.name);
    put("ns", value.ns);
    put("uid", value.uid);
    put("rv", value.resource_version);
    list<plimsoll_label>("labels", value.labels);
    list<plimsoll_label>("annotations", value.annotations);
    list<plimsoll_owner>("owners", value.owners);
    number("created", value.creation_ms);
    number("deleted", value.deletion_ms);
    number("generation", value.generation);
  }
  void write(const plimsoll_requirement& value) {
    put("key", value.key);
    list<plimsoll_str>("values", value.values);
    number("op", value.op);
  }
  void write(const plimsoll_label_selector& value) {
    number("present", value.present);
    list<plimsoll_label>("labels", value.match_labels);
    list<plimsoll_requirement>("expressions", value.expressions);
  }
  void write(const plimsoll_node_selector_term& value) {
    number("weight", value.weight);
    list<plimsoll_requirement>("expressions", value.expressions);
    list<plimsoll_requirement>("fields", value.fields);
  }
  void write(const plimsoll_node_affinity& value) {
    number("has_required", value.has_required);
    list<plimsoll_node_selector_term>("required", value.required);
    list<plimsoll_node_selector_term>("preferred", value.preferred);
  }
  void write(const plimsoll_pod_affinity_term& value) {
    number("weight", value.weight);
    write(value.selector);
    write(value.namespace_selector);
    list<plimsoll_str>("namespaces", value.namespaces);
    put("topology", value.topology_key);
  }
  void write(const plimsoll_pod_affinity& value) {
    list<plimsoll_pod_affinity_term>("required", value.required);
    list<plimsoll_pod_affinity_term>("preferred", value.preferred);
  }
  void write(const plimsoll_taint& value) {
    put("key", value.key);
    put("value", value.value);
    number("effect", value.effect);
  }
  void write(const plimsoll_toleration& value) {
    put("key", value.key);
    put("value", value.value);
    number("op", value.op);
    number("effect", value.effect);
  }
  void write(const plimsoll_spread_constraint& value) {
    number("skew", value.max_skew);
    put("topology", value.topology_key);
    write(value.selector);
    list<plimsoll_str>("keys", value.match_label_keys);
    number("domains", value.min_domains);
    number("hard", value.do_not_schedule);
    number("affinity", value.node_affinity_ignore);
    number("taints", value.node_taints_honor);
  }
  void write(const plimsoll_host_port& value) {
    put("ip", value.ip);
    put("protocol", value.protocol);
    number("port", value.port);
  }
  void write(const plimsoll_container& value) {
    number("kind", value.kind);
    put("name", value.name);
    put("image", value.image);
    list<plimsoll_resource>("requests", value.requests);
    list<plimsoll_resource>("limits", value.limits);
    list<plimsoll_host_port>("ports", value.ports);
  }
  void write(const plimsoll_pod_claim& value) {
    put("name", value.name);
    put("claim", value.claim);
    put("template", value.template_name);
    number("needless", value.needless);
    list<plimsoll_str>("containers", value.containers);
  }
  void write(const plimsoll_volume& value) {
    put("name", value.name);
    put("kind", value.kind);
    put("target", value.target);
    number("read_only", value.read_only);
    list<plimsoll_str>("details", value.details);
  }
  void write(const plimsoll_claim_amount& value) {
    put("claim", value.claim);
    put("resource", value.resource);
    number("mapped", value.mapped);
    number("overhead", value.overhead);
  }
  void write(const plimsoll_image& value) {
    list<plimsoll_str>("names", value.names);
    number("bytes", value.bytes);
  }
  void write(const plimsoll_condition& value) {
    put("type", value.type);
    put("status", value.status);
  }
  template <typename T>
  void pointer(std::string_view name, const T* value) {
    out_ << name << '=';
    if (value == nullptr) {
      out_ << "null ";
    } else {
      write(*value);
    }
  }

 private:
  std::ostringstream out_;
};

}  // namespace

std::string describe(const plimsoll_pod& pod) {
  Writer out;
  out.write(pod.meta);
  out.number("priority", pod.priority);
  out.put("node", pod.node_name);
  out.put("nominated", pod.nominated_node_name);
  out.put("scheduler", pod.scheduler_name);
  out.put("class", pod.priority_class_name);
  out.put("runtime", pod.runtime_class_name);
  out.number("phase", pod.phase);
  out.number("qos", pod.qos);
  out.number("preemption", pod.preemption_policy);
  out.number("host_network", pod.host_network);
  out.list<plimsoll_container>("init", pod.init_containers);
  out.list<plimsoll_container>("containers", pod.containers);
  out.list<plimsoll_resource>("overhead", pod.overhead);
  out.list<plimsoll_resource>("pod_requests", pod.pod_requests);
  out.list<plimsoll_resource>("pod_limits", pod.pod_limits);
  out.list<plimsoll_resource>("requests", pod.requests);
  out.list<plimsoll_resource>("used", pod.used);
  out.number("nonzero_cpu", pod.nonzero_cpu);
  out.number("nonzero_memory", pod.nonzero_memory);
  out.list<plimsoll_label>("selector", pod.node_selector);
  out.pointer("node_affinity", pod.node_affinity);
  out.pointer("pod_affinity", pod.pod_affinity);
  out.pointer("pod_anti_affinity", pod.pod_anti_affinity);
  out.list<plimsoll_toleration>("tolerations", pod.tolerations);
  out.list<plimsoll_spread_constraint>("spread", pod.spread_constraints);
  out.list<plimsoll_str>("gates", pod.scheduling_gates);
  out.list<plimsoll_volume>("volumes", pod.volumes);
  out.list<plimsoll_str>("claim names", pod.resource_claims);
  out.list<plimsoll_pod_claim>("claims", pod.claims);
  out.put("extended_claim", pod.extended_claim);
  out.list<plimsoll_claim_amount>("claim amounts", pod.claim_amounts);
  out.put("group", pod.group);
  out.put("status", pod.scheduled_status);
  out.put("reason", pod.scheduled_reason);
  out.put("message", pod.scheduled_message);
  out.number("start", pod.start_ms);
  out.put("disruption", pod.disruption_reason);
  out.put("status_reason", pod.status_reason);
  out.number("uses", pod.uses);
  return out.text();
}

std::string describe(const plimsoll_node& node) {
  Writer out;
  out.write(node.meta);
  out.number("unschedulable", node.unschedulable);
  out.list<plimsoll_taint>("taints", node.taints);
  out.list<plimsoll_resource>("capacity", node.capacity);
  out.list<plimsoll_resource>("allocatable", node.allocatable);
  out.list<plimsoll_image>("images", node.images);
  out.list<plimsoll_condition>("conditions", node.conditions);
  out.list<plimsoll_str>("features", node.declared_features);
  return out.text();
}

}  // namespace plimsoll::test
