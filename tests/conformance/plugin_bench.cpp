#include "tests/conformance/plugin_bench.hpp"

#include <algorithm>
#include <plimsoll/views.hpp>
#include <stdexcept>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/objects/kinds.hpp"
#include "plugins/builtin/builtin.hpp"
#include "tests/conformance/bench_host.hpp"

namespace plimsoll::conformance {
namespace {

constexpr std::pair<const char*, const char*> kWatchedLists[] = {
    {"namespaces", "namespaces"},
    {"services", "services"},
    {"replicaSets", "replicasets.v1.apps"},
};

// A node with what is on it, kept as NodeInfo keeps it.
struct BenchNode {
  NodeRef node;
  std::vector<const plimsoll_pod*> pods;
  std::vector<int64_t> allocatable;
  std::vector<int64_t> requested;
  std::vector<plimsoll_host_port> ports;
  plimsoll_node_info info{};
};

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

std::string code_name(int32_t code) {
  switch (code) {
    case PLIMSOLL_SUCCESS:
      return "Success";
    case PLIMSOLL_UNSCHEDULABLE:
      return "Unschedulable";
    case PLIMSOLL_UNSCHEDULABLE_AND_UNRESOLVABLE:
      return "UnschedulableAndUnresolvable";
    case PLIMSOLL_SKIP:
      return "Skip";
    default:
      return "Error";
  }
}

void add(std::vector<int64_t>& vector, const plimsoll_list& resources) {
  for (const plimsoll_resource& resource : sdk::Resources(resources)) {
    vector.resize(std::max<size_t>(vector.size(), resource.index + 1));
    vector[resource.index] += resource.value;
  }
}

void put_on(BenchNode& node, const plimsoll_pod& pod) {
  node.pods.push_back(&pod);
  add(node.requested, pod.used);
  node.info.nonzero_cpu += pod.nonzero_cpu;
  node.info.nonzero_memory += pod.nonzero_memory;
  for (const auto* containers : {&pod.containers, &pod.init_containers}) {
    for (const auto& container : sdk::List<plimsoll_container>(*containers)) {
      if (container.kind == PLIMSOLL_CONTAINER_INIT) continue;
      for (const auto& port : sdk::List<plimsoll_host_port>(container.ports)) {
        node.ports.push_back(port);
      }
    }
  }
}

void finish(BenchNode& node, uint32_t slot) {
  const size_t count = std::max(node.allocatable.size(), node.requested.size());
  node.allocatable.resize(count);
  node.requested.resize(count);
  plimsoll_node_info& info = node.info;
  info.size = sizeof(plimsoll_node_info);
  info.slot = slot;
  info.generation = 1;
  info.node = node.node.get();
  info.pods = node.pods.data();
  info.pod_count = static_cast<uint32_t>(node.pods.size());
  info.resource_count = static_cast<uint32_t>(count);
  info.allocatable = node.allocatable.data();
  info.requested = node.requested.data();
  info.host_ports = {node.ports.data(), static_cast<uint32_t>(node.ports.size()),
                     sizeof(plimsoll_host_port)};
}

}  // namespace

struct PluginBench::Impl {
  SymbolTable symbols;
  PodRef pod;
  std::vector<PodRef> existing;
  std::vector<std::unique_ptr<BenchNode>> nodes;
  std::vector<RawRef> objects;
  std::vector<const plimsoll_node_info*> rows;
  std::vector<const plimsoll_node_info*> scored;  // those that Score is asked about
  BenchContext context{symbols, rows, {}, {{}}, {}};

  [[nodiscard]] static plimsoll_nodes of(const std::vector<const plimsoll_node_info*>& some) {
    return {sizeof(plimsoll_nodes), static_cast<uint32_t>(some.size()), some.data(), nullptr,
            nullptr};
  }
  [[nodiscard]] static std::string name(const plimsoll_node_info& row) {
    return std::string(view(row.node->meta.name));
  }

  // As the scheduler does: nodes, other kinds, pods.
  void tell_of_cluster(const plimsoll_plugin& plugin) const {
    if (plugin.start != nullptr) plugin.start(plugin.self);
    for (const plimsoll_node_info* row : rows) {
      if (plugin.node_event != nullptr) {
        plugin.node_event(plugin.self, PLIMSOLL_NODE_ADDED, row, UINT32_MAX);
      }
    }
    for (const RawRef& object : objects) {
      if (plugin.object_event == nullptr) continue;
      plugin.object_event(plugin.self, PLIMSOLL_OBJECT_UPSERT, str(object->resource),
                          str(object->name), str(object->ns), str(object->json));
    }
    for (const PodRef& each : existing) {
      if (plugin.pod_event == nullptr) continue;
      plugin.pod_event(plugin.self, PLIMSOLL_POD_ASSIGNED, each.get(), each->node_name);
    }
  }

  [[nodiscard]] Json status(int32_t code, uint32_t reason) const {
    Json result = {{"code", code_name(code)}};
    std::vector<std::string> texts = context.reasons.at(reason);
    std::sort(texts.begin(), texts.end());
    if (code == PLIMSOLL_ERROR) texts = {context.error};
    if (!texts.empty()) result["reasons"] = texts;
    return result;
  }

  // True if the Filter is to be run.
  bool pre_filter(const plimsoll_plugin& plugin, plimsoll_cycle& cycle, const Json& expected,
                  Findings& findings, const std::string& what) {
    if (plugin.pre_filter == nullptr) return true;
    uint32_t reason = 0;
    uint32_t narrowed = 0;
    plimsoll_list names{};
    const int32_t code =
        plugin.pre_filter(plugin.self, &cycle, pod.get(), &reason, &names, &narrowed);
    Json outcome = status(code, reason);
    if (narrowed != 0) {
      std::vector<std::string> texts;
      for (const plimsoll_str& text : sdk::Strings(names)) texts.emplace_back(view(text));
      std::sort(texts.begin(), texts.end());
      outcome["nodeNames"] = texts;
    }
    if (expected.is_object()) findings.expect(what + ".preFilter", expected, outcome);
    return code == PLIMSOLL_SUCCESS;
  }

  Json filter(const plimsoll_plugin& plugin, const plimsoll_cycle& cycle, bool only_rejected) {
    std::vector<uint8_t> codes(rows.size());
    std::vector<uint32_t> reasons(rows.size());
    const plimsoll_nodes nodes_view = of(rows);
    const int32_t code =
        plugin.filter(plugin.self, &cycle, pod.get(), &nodes_view, codes.data(), reasons.data());
    if (code != PLIMSOLL_SUCCESS) throw std::runtime_error("filter: " + context.error);
    Json outcome = Json::object();
    for (size_t i = 0; i < rows.size(); ++i) {
      if (only_rejected && codes[i] == PLIMSOLL_SUCCESS) continue;
      outcome[name(*rows[i])] = status(codes[i], reasons[i]);
    }
    return outcome;
  }

  Json scores_json(const std::vector<int64_t>& scores) const {
    Json result = Json::object();
    for (size_t i = 0; i < scored.size(); ++i) result[name(*scored[i])] = scores[i];
    return result;
  }

  void score(const plimsoll_plugin& plugin, plimsoll_cycle& cycle, const Json& expected,
             Findings& findings, const std::string& what) {
    const plimsoll_nodes nodes_view = of(scored);
    int32_t code = PLIMSOLL_SUCCESS;
    if (plugin.pre_score != nullptr) {
      code = plugin.pre_score(plugin.self, &cycle, pod.get(), &nodes_view);
    }
    Json wanted = member(expected, "preScore");
    // The text of an error is for people, and our own.
    if (wanted.is_object() && wanted["code"] == "Error") wanted = status(PLIMSOLL_ERROR, 0);
    findings.expect(what + ".preScore", wanted, status(code, 0));
    if (code != PLIMSOLL_SUCCESS || !expected.contains("raw")) return;
    std::vector<int64_t> scores(scored.size());
    code = plugin.score(plugin.self, &cycle, pod.get(), &nodes_view, scores.data());
    if (code != PLIMSOLL_SUCCESS) throw std::runtime_error("score: " + context.error);
    findings.expect(what + ".raw", expected.at("raw"), scores_json(scores));
    if (!expected.contains("normalized")) return;
    if (plugin.normalize != nullptr) {
      code = plugin.normalize(plugin.self, &cycle, pod.get(), &nodes_view, scores.data());
      if (code != PLIMSOLL_SUCCESS) throw std::runtime_error("normalize: " + context.error);
    }
    findings.expect(what + ".normalized", expected["normalized"], scores_json(scores));
  }
};

PluginBench::PluginBench(const Json& test_case) : impl_(std::make_unique<Impl>()) {
  Impl& impl = *impl_;
  impl.pod = value_or_throw(decode_pod(test_case.at("pod").dump(), impl.symbols));
  for (const Json& json : test_case.at("nodes")) {
    auto node = std::make_unique<BenchNode>();
    node->node = value_or_throw(decode_node(json.dump(), impl.symbols));
    add(node->allocatable, node->node->allocatable);
    impl.nodes.push_back(std::move(node));
  }
  for (const Json& json : member(test_case, "existingPods")) {
    impl.existing.push_back(value_or_throw(decode_pod(json.dump(), impl.symbols)));
    const PodRef& pod = impl.existing.back();
    for (auto& node : impl.nodes) {
      if (equal(node->node->meta.name, pod->node_name)) put_on(*node, *pod);
    }
  }
  for (auto& node : impl.nodes) {
    finish(*node, static_cast<uint32_t>(impl.rows.size()));
    impl.rows.push_back(&node->info);
  }
  const Json& scored = member(test_case, "scoredNodes");
  for (const plimsoll_node_info* row : impl.rows) {
    const bool named = std::find(scored.begin(), scored.end(), Impl::name(*row)) != scored.end();
    if (scored.is_null() || named) impl.scored.push_back(row);
  }
  for (const auto& [list, resource] : kWatchedLists) {
    for (const Json& json : member(test_case, list)) {
      const Json& meta = json.at("metadata");
      impl.objects.push_back(
          decoded({resource, meta.value("namespace", ""), meta.at("name"), "", "", json.dump()}));
      impl.context.objects.put(*impl.objects.back());
    }
  }
}

PluginBench::~PluginBench() = default;

void PluginBench::check(const std::string& name, const std::string& args_json, const Json& expected,
                        Findings& findings) {
  const auto modules = builtin_modules();
  const auto module = std::find_if(modules.begin(), modules.end(),
                                   [&](const auto& each) { return each.name == name; });
  if (module == modules.end()) return findings.add("there is no builtin plugin " + name);
  const plimsoll_host host = bench_host(impl_->context);
  plimsoll_plugin plugin{};
  plugin.size = sizeof(plimsoll_plugin);
  if (module->create(&host, str(args_json), &plugin) != PLIMSOLL_SUCCESS) {
    return findings.add(name + ": not created: " + impl_->context.error);
  }
  impl_->tell_of_cluster(plugin);
  {
    BenchCycle bench_cycle;
    plimsoll_cycle& cycle = bench_cycle.abi();
    const bool run =
        impl_->pre_filter(plugin, cycle, member(expected, "preFilter"), findings, name);
    const bool only_rejected = expected.contains("filterRejected");
    const Json& filter = member(expected, only_rejected ? "filterRejected" : "filter");
    if (run != filter.is_object() && plugin.filter != nullptr) {
      findings.add(name + ".filter: " + (run ? "ran and should not have" : "did not run"));
    } else if (filter.is_object()) {
      findings.expect(name + ".filter", filter, impl_->filter(plugin, cycle, only_rejected));
    }
    const Json& score = member(expected, "score");
    if (score.is_object()) impl_->score(plugin, cycle, score, findings, name + ".score");
  }
  if (plugin.destroy != nullptr) plugin.destroy(plugin.self);
}

}  // namespace plimsoll::conformance
