#pragma once
// kube-scheduler's default profile as far as its plugins exist here: in its order, with its weights
// and default args, on the real runtime and the real cluster state. Nothing is ever bound.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "framework/api/symbols.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "framework/cycle/profiles_policy.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/runtime/environment.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/modules.hpp"
#include "framework/runtime/what_if.hpp"
#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

class DefaultProfile {
 public:
  // Throws std::runtime_error if the profile cannot be made.
  DefaultProfile();
  ~DefaultProfile();
  DefaultProfile(const DefaultProfile&) = delete;
  DefaultProfile& operator=(const DefaultProfile&) = delete;

  // An object's JSON, decoded; throws for one that cannot be.
  [[nodiscard]] PodRef pod(const Json& object);
  [[nodiscard]] NodeRef node(const Json& object);

  // Brings the cluster up to date and tells the plugins, as the scheduler does.
  void add_node(const Json& object);
  void add_pod(PodRef pod_on_a_node);

  [[nodiscard]] Framework& framework() { return *framework_; }
  [[nodiscard]] ProfilesPolicy& policy() { return policy_; }
  [[nodiscard]] const ClusterState& cluster() const { return cluster_; }
  [[nodiscard]] Nominator& nominator() { return nominator_; }
  [[nodiscard]] Environment& environment() { return environment_; }
  [[nodiscard]] const ReasonTable& reasons() const { return environment_.reasons; }

  // Every what-if that plugins begin from here on goes through `wrap`, if it is set.
  using Wrap = std::function<std::unique_ptr<WhatIf>(std::unique_ptr<WhatIf>)>;
  void wrap_what_ifs(Wrap wrap) { wrap_ = std::move(wrap); }

  // kNoPlugin: not one of the profile.
  [[nodiscard]] PluginIndex find(std::string_view plugin) const;
  [[nodiscard]] std::string name(PluginIndex plugin) const;

 private:
  class Backend;

  SymbolTable symbols_;
  ClusterState cluster_;
  Nominator nominator_{[](std::string_view) {}};
  Wrap wrap_;
  std::unique_ptr<Backend> backend_;
  Environment environment_;
  Modules modules_;
  ProfilesPolicy policy_;
  std::unique_ptr<Framework> framework_;
};

}  // namespace plimsoll::conformance
