#include "tests/conformance/default_profile.hpp"

#include <algorithm>
#include <stdexcept>

#include "config/profile/known_plugins.hpp"
#include "framework/api/decode/decode.hpp"
#include "framework/objects/kinds.hpp"
#include "framework/placement/cluster_backend.hpp"
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

bool is_needed(std::string_view plugin) {
  return plugin == "PrioritySort" || plugin == "DefaultBinder";
}

ProfileSpec default_spec(const Modules& modules, const std::set<std::string, std::less<>>& only,
                         const DefaultProfile::Args& own_args) {
  ProfileSpec spec;
  spec.scheduler_name = kSchedulerName;
  for (const config::DefaultPlugin& plugin : config::default_plugins()) {
    // The cases are of clusters without pod groups.
    if (modules.find(plugin.name) == nullptr || plugin.name == "GangScheduling") continue;
    if (!only.empty() && !only.contains(plugin.name) && !is_needed(plugin.name)) continue;
    const auto own = own_args.find(plugin.name);
    const std::string args = own == own_args.end() ? "{}" : own->second;
    for (const ExtensionPoint point : value_or_throw(modules.extension_points(plugin.name, args))) {
      spec.at(point).push_back({std::string(plugin.name), std::max(plugin.weight, 1)});
    }
    spec.args[std::string(plugin.name)] = args;
  }
  return spec;
}

}  // namespace

// A host that knows the cluster and writes nothing.
class DefaultProfile::Backend final : public ClusterBackend {
 public:
  explicit Backend(DefaultProfile& profile)
      : ClusterBackend(profile.cluster_, profile.nominator_), profile_(profile) {}

  const plimsoll_pod* pod_by_uid(std::string_view uid) override {
    return outside().pod_by_uid ? outside().pod_by_uid(uid) : ClusterBackend::pod_by_uid(uid);
  }
  std::unique_ptr<WhatIf> what_if(const CycleContext& cycle, const plimsoll_pod& pod,
                                  uint32_t slot) override {
    const NodeInfo* node = profile_.cluster_.node_at(slot);
    if (node == nullptr) return nullptr;
    auto made = make_what_if(*profile_.framework_, cycle, pod, *node, profile_.nominator_);
    return profile_.wrap_ ? profile_.wrap_(std::move(made)) : std::move(made);
  }
  int64_t now_ms() override { return outside().now_ms ? outside().now_ms() : 0; }
  void run_on_loop(int64_t delay_ms, std::function<void()> task) override {
    if (outside().run_on_loop) outside().run_on_loop(delay_ms, std::move(task));
  }
  void api_request(PluginRequest request, ApiAnswer done) override {
    if (outside().api_request) return outside().api_request(std::move(request), std::move(done));
    HostBackend::api_request(std::move(request), std::move(done));
  }

 private:
  [[nodiscard]] const Outside& outside() const { return profile_.outside_; }

  DefaultProfile& profile_;
};

DefaultProfile::DefaultProfile(const std::set<std::string, std::less<>>& only, const Args& args)
    : backend_(std::make_unique<Backend>(*this)),
      environment_(symbols_, *backend_),
      policy_(environment_, cluster_) {
  modules_.add_builtin(builtin_modules());
  auto made = Framework::create(default_spec(modules_, only, args), modules_, environment_);
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
  const bool is_new = cluster_.node(view(added->meta.name)) == nullptr;
  const uint32_t aspects = cluster_.upsert_node(added);
  framework_->node_event(is_new ? PLIMSOLL_NODE_ADDED : PLIMSOLL_NODE_CHANGED,
                         *cluster_.node(view(added->meta.name))->abi(), aspects);
}

void DefaultProfile::remove_node(std::string_view name) {
  const NodeInfo* info = cluster_.node(name);
  if (info == nullptr) return;
  framework_->node_event(PLIMSOLL_NODE_REMOVED, *info->abi(), 0);
  cluster_.remove_node(name);
}

void DefaultProfile::add_pod(const PodRef& pod_on_a_node) {
  cluster_.upsert_pod(pod_on_a_node);
  framework_->pod_event(PLIMSOLL_POD_ASSIGNED, *pod_on_a_node, view(pod_on_a_node->node_name));
}

void DefaultProfile::add_watched(const Json& test_case) {
  for (const auto& [list, resource] :
       {std::pair("namespaces", "namespaces"), std::pair("services", "services")}) {
    for (const Json& object : member(test_case, list)) {
      const Json& meta = object.at("metadata");
      put_object(
          decoded({resource, meta.value("namespace", ""), meta.at("name"), "", "", object.dump()}));
    }
  }
}

ClusterEvent DefaultProfile::put_object(const RawRef& object) {
  const ObjectStore::Before before = environment_.objects.put(*object);
  framework_->object_event(PLIMSOLL_OBJECT_UPSERT, object->resource, object->name, object->ns,
                           object->json);
  ClusterEvent event = object_event(before.existed ? object : nullptr, object);
  event.old_object = nullptr;  // as the scheduler: it does not keep the old text
  event.old_decoded = before.object;
  return event;
}

ClusterEvent DefaultProfile::delete_object(const RawRef& object) {
  const ObjectStore::Before before = environment_.objects.erase(*object);
  framework_->object_event(PLIMSOLL_OBJECT_DELETE, object->resource, object->name, object->ns,
                           object->json);
  ClusterEvent event = object_event(object, nullptr);
  event.old_decoded = before.object;
  return event;
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
