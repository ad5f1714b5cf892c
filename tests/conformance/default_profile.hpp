#pragma once
// kube-scheduler's default profile as far as its plugins exist here: in its order, with its weights
// and default args, on the real runtime and the real cluster state. Nothing is ever bound.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "framework/api/symbols.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "framework/cycle/profiles_policy.hpp"
#include "framework/placement/nominator.hpp"
#include "framework/queue/events.hpp"
#include "framework/runtime/framework.hpp"
#include "framework/runtime/plugin/environment.hpp"
#include "framework/runtime/plugin/host_backend.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "framework/runtime/plugin/what_if.hpp"
#include "tests/conformance/findings.hpp"

namespace plimsoll::conformance {

class DefaultProfile {
 public:
  // Args of plugins that have others than the default ones.
  using Args = std::map<std::string, std::string, std::less<>>;

  // `only`: the plugins that there are besides the two that every profile needs; empty: all. Throws
  // std::runtime_error if the profile cannot be made.
  explicit DefaultProfile(const std::set<std::string, std::less<>>& only = {},
                          const Args& args = {});
  ~DefaultProfile();
  DefaultProfile(const DefaultProfile&) = delete;
  DefaultProfile& operator=(const DefaultProfile&) = delete;

  // An object's JSON, decoded; throws for one that cannot be.
  [[nodiscard]] PodRef pod(const Json& object);
  [[nodiscard]] NodeRef node(const Json& object);

  // Brings the cluster up to date and tells the plugins, as the scheduler does.
  void add_node(const Json& object);
  void add_pod(const PodRef& pod_on_a_node);
  // Namespaces and services of a case, for plugins that watch them.
  void add_watched(const Json& test_case);
  // An object that plugins watch: another version of it, or that it is gone. Returns the event that
  // the queue would get.
  ClusterEvent put_object(const RawRef& object);
  ClusterEvent delete_object(const RawRef& object);

  void remove_node(std::string_view name);

  // What lies outside of the loop. What is not set: no time passes, nothing runs later, there is no
  // API server.
  struct Outside {
    std::function<int64_t()> now_ms;
    std::function<void(int64_t delay_ms, std::function<void()>)> run_on_loop;
    std::function<void(PluginRequest, HostBackend::ApiAnswer)> api_request;
    std::function<const plimsoll_pod*(std::string_view uid)> pod_by_uid;
  };
  void set_outside(Outside outside) { outside_ = std::move(outside); }

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
  Outside outside_;
  std::unique_ptr<Backend> backend_;
  Environment environment_;
  Modules modules_;
  ProfilesPolicy policy_;
  std::unique_ptr<Framework> framework_;
};

}  // namespace plimsoll::conformance
