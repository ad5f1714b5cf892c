#pragma once
// One builtin plugin on a host of its own, for tests.

#include <plimsoll/plugin_abi.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"
#include "tests/conformance/bench_host.hpp"

namespace plimsoll::builtin_test {

// A node with pods on it, as far as the plugins under test look.
struct TestNode {
  NodeRef node;
  std::vector<PodRef> pods;
  std::vector<const plimsoll_pod*> pod_pointers;
  plimsoll_node_info info{};
};

class Bench {
 public:
  Bench();
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // The error of the plugin's constructor; nothing if it was made.
  std::optional<std::string> create(std::string_view plugin, std::string_view args_json = "");

  // Spec and labels are JSON.
  PodRef pod(const std::string& name, const std::string& spec, const std::string& labels = "{}");
  // `rest` is the JSON of spec and status: "\"spec\": {..}".
  NodeRef node(const std::string& name, const std::string& rest);
  TestNode& add_node(const std::string& name, const std::string& labels);
  void put(TestNode& node, const PodRef& pod);  // tells the plugin, too

  // The hint for a pod that this plugin rejected.
  bool queues(const PodRef& pod, const PodRef& old_pod, const PodRef& new_pod);
  bool queues(const PodRef& pod, const NodeRef& old_node, const NodeRef& new_node);

  [[nodiscard]] std::string reason(uint32_t id) const;

  SymbolTable symbols;
  std::vector<std::unique_ptr<TestNode>> nodes;
  std::vector<const plimsoll_node_info*> rows;
  conformance::BenchContext context{symbols, rows, {}, {{}}, {}};
  plimsoll_host host;
  plimsoll_plugin plugin{};
};

}  // namespace plimsoll::builtin_test
