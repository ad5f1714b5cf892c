#include "tests/conformance/default_profile.hpp"

#include <stdexcept>

#include "config/known_plugins.hpp"
#include "config/plugin_args.hpp"
#include "framework/api/decode.hpp"
#include "framework/placement/what_if.hpp"
#include "plugins/builtin/builtin.hpp"

namespace plimsoll::conformance {
namespace {

constexpr std::string_view kSchedulerName = "default-scheduler";

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

ProfileSpec default_spec(const Modules& modules) {
  ProfileSpec spec;
  spec.scheduler_name = kSchedulerName;
  for (const config::DefaultPlugin& plugin : config::default_plugins()) {
    if (modules.find(plugin.name) == nullptr) continue;
    const std::string args = config::default_args(plugin.name);
    for (const ExtensionPoint point : value_or_throw(modules.extension_points(plugin.name, args))) {
      const bool score = point == ExtensionPoint::kScore;
      spec.at(point).push_back({std::string(plugin.name), score ? plugin.weight : 0});
    }
    spec.args[std::string(plugin.name)] = args;
  }
  return spec;
}

}  // namespace

// A host that knows the cluster and writes nothing.
class DefaultProfile::Backend final : public HostBackend {
 public:
  explicit Backend(DefaultProfile& profile) : profile_(profile), cluster_(profile.cluster_) {}

  const plimsoll_node_info* node_by_name(std::string_view node_name) override {
    const NodeInfo* info = cluster_.node(node_name);
    return info == nullptr ? nullptr : info->abi();
  }
  const plimsoll_node_info* node_by_slot(uint32_t slot) override {
    const NodeInfo* info = cluster_.node_at(slot);
    return info == nullptr ? nullptr : info->abi();
  }
  uint32_t slot_count() override { return cluster_.slot_count(); }
  void touch_node(uint32_t slot, uint32_t aspects) override { cluster_.touch(slot, aspects); }
  Result<void> watch(std::string_view, std::string_view, std::string_view) override { return {}; }
  void requeue_rejected(std::string_view) override {}
  void emit_event(std::string_view, const plimsoll_pod&, bool, std::string_view, std::string_view,
                  std::string_view) override {}
  const plimsoll_pod* pod_by_uid(std::string_view uid) override { return cluster_.pod(uid).get(); }
  std::vector<WaitingPod> waiting_pods() override { return {}; }
  std::unique_ptr<WhatIf> what_if(const CycleContext& cycle, const plimsoll_pod& pod,
                                  uint32_t slot) override {
    const NodeInfo* node = cluster_.node_at(slot);
    if (node == nullptr) return nullptr;
    auto made = make_what_if(*profile_.framework_, cycle, pod, *node, profile_.nominator_);
    return profile_.wrap_ ? profile_.wrap_(std::move(made)) : std::move(made);
  }
  void nominate(const plimsoll_pod&, std::string_view) override {}
  std::vector<const plimsoll_pod*> nominated_pods(std::string_view node_name) override {
    std::vector<const plimsoll_pod*> pods;
    for (const PodRef& pod : profile_.nominator_.pods_of(node_name)) pods.push_back(pod.get());
    return pods;
  }
  void allow_waiting(std::string_view, std::string_view) override {}
  void reject_waiting(std::string_view, std::string_view, std::string_view) override {}
  void post_binding(BindingPost, std::function<void(Result<void>)> done) override {
    done(fail(ErrorCode::kUnavailable, "vectors are not bound"));
  }
  int64_t now_ms() override { return 0; }
  bool cancel_binding(std::string_view, std::string_view) override { return false; }
  void activate(std::string_view) override {}
  void run_on_loop(int64_t, std::function<void()>) override {}
  void api_request(PluginRequest, ApiAnswer done) override { done(0, "there is no API server"); }

 private:
  DefaultProfile& profile_;
  ClusterState& cluster_;
};

DefaultProfile::DefaultProfile()
    : backend_(std::make_unique<Backend>(*this)),
      environment_(symbols_, *backend_),
      policy_(environment_.reasons) {
  modules_.add_builtin(builtin_modules());
  auto made = Framework::create(default_spec(modules_), modules_, environment_);
  if (!made) throw std::runtime_error(made.error().front().message);
  framework_ = std::move(*made);
  if (auto started = framework_->start(); !started) {
    throw std::runtime_error(started.error().message);
  }
  policy_.add(*framework_);
}

DefaultProfile::~DefaultProfile() = default;

PodRef DefaultProfile::pod(const Json& object) {
  return value_or_throw(decode_pod(object.dump(), symbols_));
}

NodeRef DefaultProfile::node(const Json& object) {
  return value_or_throw(decode_node(object.dump(), symbols_));
}

void DefaultProfile::add_node(const Json& object) {
  const NodeRef added = node(object);
  const uint32_t aspects = cluster_.upsert_node(added);
  framework_->node_event(PLIMSOLL_NODE_ADDED, *cluster_.node(view(added->meta.name))->abi(),
                         aspects);
}

void DefaultProfile::add_pod(PodRef pod_on_a_node) {
  cluster_.upsert_pod(pod_on_a_node);
  framework_->pod_event(PLIMSOLL_POD_ASSIGNED, *pod_on_a_node, view(pod_on_a_node->node_name));
}

PluginIndex DefaultProfile::find(std::string_view plugin) const {
  for (size_t i = 0; i < framework_->plugin_count(); ++i) {
    const auto index = static_cast<PluginIndex>(i);
    if (framework_->plugin_name(index) == plugin) return index;
  }
  return kNoPlugin;
}

std::string DefaultProfile::name(PluginIndex plugin) const {
  return plugin < framework_->plugin_count() ? std::string(framework_->plugin_name(plugin))
                                             : std::string();
}

}  // namespace plimsoll::conformance
