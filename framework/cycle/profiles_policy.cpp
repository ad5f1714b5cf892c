#include "framework/cycle/profiles_policy.hpp"

#include <plimsoll/services/pre_queueing_hint.h>

#include <plimsoll/args.hpp>

#include <algorithm>
#include <string>

#include "framework/base/log.hpp"
#include "framework/cluster/cluster_state.hpp"
#include "framework/cycle/groups/topology_wish.hpp"
#include "framework/cycle/queue_metrics.hpp"
#include "framework/objects/gang_terms.hpp"
#include "framework/placement/timing.hpp"
#include "framework/runtime/coscheduling_args.hpp"
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

// Of a plugin; without fields: it is not there.
sdk::ArgsValue args_of(const ProfilesPolicy::Args& args, std::string_view plugin) {
  const auto given = args.find(std::string(plugin));
  sdk::ArgsValue all;
  if (given == args.end() || !sdk::detail::ArgsReader(given->second).read(all)) return {};
  return all;
}

// Null: it is not there.
const sdk::ArgsValue& field_of(const sdk::ArgsValue& args, std::string_view name) {
  static const sdk::ArgsValue none;
  const auto found = args.fields.find(name);
  return found == args.fields.end() ? none : found->second;
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

bool ProfilesPolicy::add(Framework& framework, bool extended, const Args& args) {
  const auto profile = static_cast<ProfileIndex>(frameworks_.size());
  if (!by_scheduler_name_.emplace(framework.scheduler_name(), profile).second) return false;
  frameworks_.push_back(&framework);
  Groups& groups = groups_.emplace_back();
  for (size_t i = 0; i < framework.plugin_count(); ++i) {
    const auto plugin = static_cast<PluginIndex>(i);
    const std::string_view name = framework.plugin_name(plugin);
    const auto stands_for = [&](GroupKind kind) {
      groups.kinds.set(index_of(kind));
      groups.plugins[index_of(kind)] = plugin;
    };
    if (name == kGangScheduling) stands_for(GroupKind::kPodGroup);
    if (name == kCoscheduling) {
      stands_for(GroupKind::kCoscheduling);
      if (const auto given = args.find(std::string(name)); given != args.end())
        groups.coscheduling_backoff_ms = read_coscheduling_args(given->second).backoff_ms;
    }
    if (name != kNodeDevice) continue;
    stands_for(GroupKind::kGang);
    if (!groups.kinds.test(index_of(GroupKind::kCoscheduling)))
      stands_for(GroupKind::kCoscheduling);
  }
  group_kinds_ |= groups.kinds;
  const sdk::ArgsValue gangs = args_of(args, kGangScheduling);
  for (const sdk::ArgsValue& level : field_of(gangs, "topologyLevels").items)
    groups.domains.levels.push_back(level.text);
  const sdk::ArgsValue fit = args_of(args, "NodeResourcesFit");
  for (const char* field : {"ignoredResources", "ignoredResourceGroups"}) {
    const bool ignores = !field_of(fit, field).items.empty();
    groups.domains.fit_ignores = groups.domains.fit_ignores || ignores;
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

GroupName ProfilesPolicy::group_of(const plimsoll_pod& pod) {
  const GroupName name = plimsoll::group_of(pod, group_kinds_);
  if (!name) return name;
  const ProfileIndex own = profile(pod);
  const bool counts = own != kNoProfile && groups_[own].kinds.test(index_of(name.kind));
  return counts ? name : GroupName();
}

std::optional<PluginIndex> ProfilesPolicy::group_gate(const plimsoll_pod& pod) {
  const GroupName name = group_of(pod);
  if (!name) return std::nullopt;
  return groups_[profile(pod)].plugins[index_of(name.kind)];
}

GroupFacts ProfilesPolicy::group(const GroupName& name, const plimsoll_pod& member) {
  GroupFacts facts;
  PodGroup own;
  const bool is_gang = name.kind == GroupKind::kGang;
  const GangTerms terms = is_gang ? gang_terms(member) : GangTerms();
  const PodGroup* group = describe_group(environment_.objects, name, terms, own);
  if (group == nullptr) return facts;
  if (!group->unreadable.empty()) {
    facts.problem = group->unreadable;
    return facts;
  }
  facts.known = group->object.meta.deletion_ms == 0;
  if (name.kind == GroupKind::kPodGroup) facts.priority = group->priority;
  if (name.kind == GroupKind::kCoscheduling) {
    facts.since_ms = group->object.meta.creation_ms;
    facts.least_backoff_ms = groups_[profile(member)].coscheduling_backoff_ms;
  }
  facts.needed = static_cast<size_t>(group->min_count);
  const TopologyWish wish = wish_of(*group, member);
  facts.wish = group->uid + " " + wish.required + " " + wish.preferred;
  const PlacedMembers* placed = cluster_.members(name);
  if (placed != nullptr) facts.placed = placed->living;
  if (!is_gang) return facts;
  facts.wish += terms.problem;
  if (terms.match == GangTerms::Match::kOnlyWaiting) facts.placed = 0;
  facts.goes_on = terms.match == GangTerms::Match::kOnceSatisfied;
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
