#include "tests/plugins/builtin/support.hpp"

#include <stdexcept>

#include "framework/api/decode/decode.hpp"
#include "plugins/builtin/builtin.hpp"

namespace plimsoll::builtin_test {

Bench::Bench() : host(conformance::bench_host(context)) {
  plugin.size = sizeof(plimsoll_plugin);
}

Bench::~Bench() {
  if (plugin.destroy != nullptr) plugin.destroy(plugin.self);
}

std::optional<std::string> Bench::create(std::string_view name, std::string_view args_json) {
  for (const StaticModule& module : builtin_modules()) {
    if (module.name != name) continue;
    if (module.create(&host, str(args_json), &plugin) != PLIMSOLL_SUCCESS) return context.error;
    if (plugin.start != nullptr && plugin.start(plugin.self) != PLIMSOLL_SUCCESS)
      return context.error;
    return std::nullopt;
  }
  return "no such plugin";
}

PodRef Bench::pod(const std::string& name, const std::string& spec, const std::string& labels) {
  auto decoded =
      decode_pod(R"({"metadata": {"name": ")" + name + R"(", "namespace": "ns", "uid": ")" + name +
                     R"(", "labels": )" + labels + R"(}, "spec": )" + spec + "}",
                 symbols);
  if (!decoded) throw std::runtime_error(decoded.error().message);
  return *decoded;
}

NodeRef Bench::node(const std::string& name, const std::string& rest) {
  auto decoded = decode_node(R"({"metadata": {"name": ")" + name + R"("}, )" + rest + "}", symbols);
  if (!decoded) throw std::runtime_error(decoded.error().message);
  return *decoded;
}

TestNode& Bench::add_node(const std::string& name, const std::string& labels) {
  auto decoded = decode_node(
      R"({"metadata": {"name": ")" + name + R"(", "labels": )" + labels + "}}", symbols);
  if (!decoded) throw std::runtime_error(decoded.error().message);
  nodes.push_back(std::make_unique<TestNode>());
  TestNode& added = *nodes.back();
  added.node = *decoded;
  added.info.size = sizeof(plimsoll_node_info);
  added.info.slot = static_cast<uint32_t>(rows.size());
  added.info.node = added.node.get();
  rows.push_back(&added.info);
  return added;
}

void Bench::put(TestNode& node, const PodRef& pod) {
  node.pods.push_back(pod);
  node.pod_pointers.push_back(pod.get());
  node.info.pods = node.pod_pointers.data();
  node.info.pod_count = static_cast<uint32_t>(node.pods.size());
  if (plugin.pod_event != nullptr) {
    plugin.pod_event(plugin.self, PLIMSOLL_POD_ASSIGNED, pod.get(), node.node->meta.name);
  }
}

bool Bench::queues(const PodRef& pod, const PodRef& old_pod, const PodRef& new_pod) {
  plimsoll_event event{};
  event.size = sizeof(event);
  event.resource = str("AssignedPod");
  event.old_pod = old_pod.get();
  event.new_pod = new_pod.get();
  return plugin.hint(plugin.self, pod.get(), &event) == PLIMSOLL_HINT_QUEUE;
}

bool Bench::queues(const PodRef& pod, const NodeRef& old_node, const NodeRef& new_node) {
  plimsoll_event event{};
  event.size = sizeof(event);
  event.resource = str("Node");
  event.old_node = old_node.get();
  event.new_node = new_node.get();
  return plugin.hint(plugin.self, pod.get(), &event) == PLIMSOLL_HINT_QUEUE;
}

std::string Bench::reason(uint32_t id) const {
  std::string joined;
  for (const std::string& text : context.reasons.at(id)) {
    joined += (joined.empty() ? "" : ", ") + text;
  }
  return joined;
}

}  // namespace plimsoll::builtin_test
