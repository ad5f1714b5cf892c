// Plimsoll plugin SDK, for unit tests: what becomes of pods, as the scheduler tells a plugin of it.
#pragma once

#include <plimsoll/fake/plugin.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace plimsoll::sdk {

// Plays assume, forget, bind and restart for one plugin:
//
//   FakeHost host;
//   host.add(node);
//   FakeScheduler<Seats> scheduler(host, R"({"each": 2})");
//   scheduler.assume(cycle, pod, node);   // on the node; pod_event if it counts assumed pods;
//   Reserve scheduler.forget(cycle, pod, node);   // Unreserve, and off the node
//   scheduler.confirm(pod, node);         // or: the API server says that it is bound
//   scheduler.restart();                  // a new instance that hears of what there is
//   scheduler.plugin().filter(cycle, other, node);
template <typename Class>
class FakeScheduler {
 public:
  using Verdict = typename FakePlugin<Class>::Verdict;

  // Makes and starts the plugin, and tells it of the host's nodes and their pods. Throws as
  // FakePlugin does.
  explicit FakeScheduler(FakeHost& host, std::string_view args_json = "{}",
                         std::string_view name = "test")
      : host_(host), args_(args_json), name_(name) {
    begin();
  }

  [[nodiscard]] FakePlugin<Class>& plugin() { return *plugin_; }

  // If Reserve refuses, the pod is forgotten at once, with Unreserve, as in the scheduler.
  Verdict assume(FakeCycle& cycle, FakePod& pod, FakeNode& node) {
    node.add(pod.on_node(node.name()));
    assumed_[&pod] = &node;
    tell_if_it_counts(PLIMSOLL_POD_ASSIGNED, pod, node);
    if (plugin_->slots().reserve == nullptr) return {};
    Verdict verdict = plugin_->reserve(cycle, pod, node);
    if (verdict.code != PLIMSOLL_SUCCESS) forget(cycle, pod, node);
    return verdict;
  }
  // A later step failed, the Binding say.
  void forget(FakeCycle& cycle, FakePod& pod, FakeNode& node) {
    if (plugin_->slots().unreserve != nullptr) plugin_->unreserve(cycle, pod, node.name());
    node.remove(pod);
    tell_if_it_counts(PLIMSOLL_POD_REMOVED, pod, node);
    assumed_.erase(&pod);
    pod.on_node("");
  }
  // The API server tells of a pod on the node: of one that was assumed, or any other.
  void confirm(FakePod& pod, FakeNode& node) {
    if (assumed_.erase(&pod) == 0) node.add(pod.on_node(node.name()));
    plugin_->pod_event(PLIMSOLL_POD_ASSIGNED, pod, node.name());
  }
  // It is deleted.
  void remove(FakePod& pod, FakeNode& node) {
    node.remove(pod);
    plugin_->pod_event(PLIMSOLL_POD_REMOVED, pod, node.name());
  }
  // An object of a kind that the plugin watches; an empty text: it is deleted.
  void object(std::string_view resource, std::string_view ns, std::string_view name,
              std::string_view json) {
    const auto key =
        std::pair(std::string(resource), std::pair(std::string(ns), std::string(name)));
    json.empty() ? static_cast<void>(objects_.erase(key))
                 : static_cast<void>(objects_[key] = std::string(json));
    plugin_->object_event(json.empty() ? PLIMSOLL_OBJECT_DELETE : PLIMSOLL_OBJECT_UPSERT, resource,
                          name, ns, json);
  }

  // The process ends as in a crash, and another one begins: pods that were assumed and not
  // confirmed are on no node, and the new instance knows only what it is told.
  void restart() {
    for (const auto& [pod, node] : std::exchange(assumed_, {})) {
      node->remove(*pod);
      pod->on_node("");
    }
    plugin_.reset();
    host_.drop_deferred();
    host_.services.clear();
    host_.watched.clear();
    begin();
  }

 private:
  void begin() {
    plugin_ = std::make_unique<FakePlugin<Class>>(host_, args_, name_);
    plugin_->start();
    for (FakeNode* node : host_.nodes()) plugin_->node_event(PLIMSOLL_NODE_ADDED, *node);
    for (const auto& [key, json] : objects_) {
      plugin_->object_event(PLIMSOLL_OBJECT_UPSERT, key.first, key.second.second, key.second.first,
                            json);
    }
    for (const std::string& resource : host_.watched) {
      plugin_->object_event(PLIMSOLL_OBJECT_SYNCED, resource);
    }
    for (FakeNode* node : host_.nodes()) {
      for (FakePod* pod : node->pods()) {
        plugin_->pod_event(PLIMSOLL_POD_ASSIGNED, *pod, node->name());
      }
    }
  }
  void tell_if_it_counts(uint32_t type, FakePod& pod, FakeNode& node) {
    if ((plugin_->slots().flags & PLIMSOLL_FLAG_COUNTS_ASSUMED_PODS) == 0) return;
    plugin_->pod_event(type, pod, node.name());
  }

  FakeHost& host_;
  const std::string args_;
  const std::string name_;
  std::map<FakePod*, FakeNode*> assumed_;
  // By resource, then namespace and name.
  std::map<std::pair<std::string, std::pair<std::string, std::string>>, std::string> objects_;
  std::unique_ptr<FakePlugin<Class>> plugin_;
};

}  // namespace plimsoll::sdk
