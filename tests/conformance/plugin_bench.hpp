#pragma once
// Builtin plugins on a small cluster in memory, driven the way a scheduling attempt does:
// PreFilter, Filter on every node, PreScore, Score, NormalizeScore. What they said is compared with
// a vector.

#include <memory>
#include <string>
#include <string_view>

#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

class PluginBench {
 public:
  // `test_case` has pod, nodes, existingPods. Throws std::runtime_error for an object that cannot
  // be decoded.
  explicit PluginBench(const Json& test_case);
  ~PluginBench();
  PluginBench(const PluginBench&) = delete;
  PluginBench& operator=(const PluginBench&) = delete;

  // Makes the plugin, tells it of the cluster, runs it for the pod and compares with `expected`
  // ({preFilter, filter, score}). Of a pod that is not rejected by PreFilter, filterRejected may
  // name the rejecting nodes only; scoredNodes of the case, those that are scored.
  void check(const std::string& plugin, const std::string& args_json, const Json& expected,
             Findings& findings);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::conformance
