#include "framework/cycle/profiles_policy.hpp"

#include <plimsoll/services/pre_queueing_hint.h>

#include <algorithm>
#include <string>

#include "framework/base/log.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "framework/cycle/queue_metrics.hpp"
#include "framework/objects/pod_group.hpp"
#include "framework/placement/timing.hpp"
#include "framework/runtime/plugin/environment.hpp"

namespace plimsoll {
namespace {

constexpr ProfileIndex kNoProfile = 0xffff;

bool registers_only_node_add(const EventInterests& events) {
  uint32_t actions = 0;
  for (const plimsoll_event_interest& interest : events.interests) {
    if (view(interest.resource) == kResourceNode) actions |= interest.actions;
  }
  return (actions & PLIMSOLL_ACTION_ADD) != 0 && (actions & PLIMSOLL_ACTION_UPDATE_NODE_TAINT) == 0;
}

plimsoll_event as_plugins_see_it(const ClusterEvent& event) {
  plimsoll_event seen{};
  seen.size = sizeof(seen);
  seen.actions = event.actions;
  seen.resource = str(event.resource);
  seen.old_pod = event.old_pod.get();
  seen.new_pod = event.new_pod.get();
  seen.old_node = event.old_node.get();
  seen.new_node = event.new_node.get();
  const RawRef& object = event.new_object ? event.new_object : event.old_object;
  if (object) seen.name = str(object->name);
  if (event.old_object) seen.old_json = str(event.old_object->json);
  if (event.new_object) seen.new_json = str(event.new_object->json);
  seen.old_object = event.old_decoded.get();
  if (event.new_object) seen.new_object = event.new_object->decoded.get();
  return seen;
}

}  // namespace

bool ProfilesPolicy::Registered::by_itself(const ClusterEvent& event) const {
  if (events.all) return !event.wildcard;
  return std::any_of(
      events.interests.begin(), events.interests.end(),
      [&](const plimsoll_event_interest& interest) { return matches(interest, event); });
}

bool ProfilesPolicy::Registered::by_default(const ClusterEvent& event) const {
  return node_taints_too && event.resource == kResourceNode &&
         event.actions == PLIMSOLL_ACTION_UPDATE_NODE_TAINT;
}

bool ProfilesPolicy::add(Framework& framework, bool extended) {
  const auto profile = static_cast<ProfileIndex>(frameworks_.size());
  if (!by_scheduler_name_.emplace(framework.scheduler_name(), profile).second) return false;
  frameworks_.push_back(&framework);
  std::optional<PluginIndex>& groups = group_plugins_.emplace_back();
  for (const Framework::Slot& slot : framework.at(ExtensionPoint::kPreEnqueue)) {
    if (framework.plugin_name(slot.plugin) == kGangScheduling) groups = slot.plugin;
  }
  kinds_.clear();
  for (const EventInterests& events : framework.events()) {
    registered_.push_back({plugin_key(profile, events.plugin), &framework, events,
                           !events.all && registers_only_node_add(events)});
  }
  if (extended) {
    const EventInterests all{framework.extender_index(), true, {}};
    registered_.push_back({plugin_key(profile, all.plugin), &framework, all, false});
  }
  std::sort(registered_.begin(), registered_.end(),
            [](const Registered& a, const Registered& b) { return a.key < b.key; });
  return true;
}

Framework* ProfilesPolicy::framework_for(const plimsoll_pod& pod) const {
  const auto found = by_scheduler_name_.find(view(pod.scheduler_name));
  return found == by_scheduler_name_.end() ? nullptr : frameworks_[found->second];
}

ProfileIndex ProfilesPolicy::profile(const plimsoll_pod& pod) {
  const auto found = by_scheduler_name_.find(view(pod.scheduler_name));
  return found == by_scheduler_name_.end() ? kNoProfile : found->second;
}

std::optional<PluginIndex> ProfilesPolicy::gate(const plimsoll_pod& pod) {
  Framework* framework = framework_for(pod);
  if (framework == nullptr) return std::nullopt;
  const Status status = timed(*framework, metrics::Point::kPreEnqueue,
                              [&] { return framework->run_pre_enqueue(pod); });
  if (status.ok()) return std::nullopt;
  if (status.is_error()) {
    log_error("PreEnqueue failed; the pod is held back",
              {{"pod", full_name(pod)}, {"error", status.message(environment_.reasons)}});
  }
  return status.plugin_index;
}

std::optional<PluginIndex> ProfilesPolicy::group_plugin(const plimsoll_pod& pod) const {
  const auto found = by_scheduler_name_.find(view(pod.scheduler_name));
  return found == by_scheduler_name_.end() ? std::nullopt : group_plugins_[found->second];
}

GroupFacts ProfilesPolicy::group(std::string_view ns, std::string_view name) {
  GroupFacts facts;
  const PodGroup* group = find_pod_group(environment_.objects, ns, name);
  if (group == nullptr || !group->unreadable.empty()) return facts;
  facts.known = group->object.meta.deletion_ms == 0;
  facts.priority = group->priority;
  facts.needed = static_cast<size_t>(group->min_count);
  facts.wish = group->uid + " " + group->required_topology + " " + group->preferred_topology;
  const PlacedMembers* placed = cluster_.members(ns, name);
  if (placed != nullptr) facts.placed = placed->living;
  return facts;
}

SortKey ProfilesPolicy::sort_key(const plimsoll_pod& pod, int64_t queued_ms) {
  SortKey key{};
  if (Framework* framework = framework_for(pod)) framework->sort_key(pod, queued_ms, key);
  return key;
}

std::vector<PluginKey> ProfilesPolicy::interested(const ClusterEvent& event) {
  if (metrics_ != nullptr) metrics_->happened(event.label);
  std::vector<PluginKey> plugins;
  if (event.resource == kResourceRequeue) {
    for (size_t profile = 0; profile < frameworks_.size(); ++profile) {
      for (size_t i = 0; i < frameworks_[profile]->plugin_count(); ++i) {
        const auto plugin = static_cast<PluginIndex>(i);
        if (frameworks_[profile]->plugin_name(plugin) != event.label) continue;
        plugins.push_back(plugin_key(static_cast<ProfileIndex>(profile), plugin));
      }
    }
    return plugins;
  }
  for (const Kind& kind : kinds_) {
    if (kind.actions == event.actions && kind.wildcard == event.wildcard &&
        kind.resource == event.resource) {
      return kind.interested;
    }
  }
  for (const Registered& each : registered_) {
    if (each.by_itself(event) || each.by_default(event)) plugins.push_back(each.key);
  }
  if (kinds_.size() == kMostKinds) kinds_.clear();
  kinds_.push_back({event.resource, event.actions, event.wildcard, plugins});
  return plugins;
}

const ProfilesPolicy::Registered* ProfilesPolicy::find(PluginKey plugin) const {
  const auto found =
      std::lower_bound(registered_.begin(), registered_.end(), plugin,
                       [](const Registered& each, PluginKey key) { return each.key < key; });
  return found != registered_.end() && found->key == plugin ? &*found : nullptr;
}

bool ProfilesPolicy::named_only(PluginKey plugin, const ClusterEvent& event) {
  const Registered* asked = find(plugin);
  if (asked == nullptr || asked->events.all || !asked->by_itself(event)) return false;
  const std::string_view name = asked->framework->plugin_name(asked->events.plugin);
  const auto* service = static_cast<const plimsoll_pre_queueing_hint*>(
      environment_.services.find(PLIMSOLL_PRE_QUEUEING_HINT_SERVICE_PREFIX + std::string(name),
                                 PLIMSOLL_PRE_QUEUEING_HINT_VERSION));
  if (service == nullptr) return false;
  const plimsoll_event seen = as_plugins_see_it(event);
  return service->named_only(service->self, &seen) != 0;
}

QueueHint ProfilesPolicy::hint(const plimsoll_pod& pod, PluginKey plugin,
                               const ClusterEvent& event) {
  if (event.resource == kResourceRequeue) return QueueHint::kQueue;
  const Registered* asked = find(plugin);
  if (asked == nullptr) return QueueHint::kSkip;
  if (asked->events.all || !asked->by_itself(event)) return QueueHint::kQueue;
  Framework& framework = *asked->framework;
  const bool measured = metrics_ != nullptr && metrics_->sample_hint();
  const auto start = measured ? metrics::Clock::now() : metrics::Clock::time_point();
  const bool queue =
      framework.hint(asked->events.plugin, pod, as_plugins_see_it(event)) == PLIMSOLL_HINT_QUEUE;
  if (measured) {
    metrics_->hint(framework.plugin_name(asked->events.plugin), event.label, queue,
                   metrics::seconds_since(start));
  }
  return queue ? QueueHint::kQueue : QueueHint::kSkip;
}

}  // namespace plimsoll
