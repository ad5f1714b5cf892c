#include "framework/objects/pod_group.hpp"

#include <algorithm>
#include <memory>

#include "framework/api/decode/wire_value.hpp"
#include "framework/objects/object_store.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view kCondition = "PodGroupInitiallyScheduled";

bool own(WireValue& value, std::string* out) {
  std::string_view text;
  if (!value.text(&text)) return false;
  *out = text;
  return true;
}

bool any_of(WireValue& value, bool* out) {
  return value.items([out](WireValue&) {
    *out = true;
    return true;
  });
}

bool annotations(WireValue& value, PodGroup& group) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == kPreferredTopology) return own(field, &group.preferred_topology);
    // The spec counts first.
    if (key != kRequiredTopology || !group.required_topology.empty()) return true;
    return own(field, &group.required_topology);
  });
}

bool metadata(WireValue& value, PodGroup& group) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "uid") return own(field, &group.uid);
    if (key == "generation") return field.integer(&group.object.meta.generation);
    if (key == "annotations") return annotations(field, group);
    if (key == "creationTimestamp") return field.time(&group.object.meta.creation_ms);
    return key != "deletionTimestamp" || field.time(&group.object.meta.deletion_ms);
  });
}

bool policy(WireValue& value, PodGroup& group) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key != "gang" || field.is_null()) return true;
    group.gang = true;
    return field.fields([&](std::string_view name, WireValue& count) {
      return name != "minCount" || count.integer(&group.min_count, 1, INT32_MAX);
    });
  });
}

// As Coscheduling reads it: a group of 0 or fewer needs no particular number.
bool min_member(WireValue& value, PodGroup& group) {
  if (!value.integer(&group.min_count, INT32_MIN, INT32_MAX)) return false;
  group.min_count = std::max<int64_t>(group.min_count, 1);
  return true;
}

// The API server allows for one.
bool topology(WireValue& value, PodGroup& group) {
  std::string asked;
  const bool read = value.fields(
      [&](std::string_view key, WireValue& field) { return key != "key" || own(field, &asked); });
  if (asked.empty() && group.not_honoured.empty())
    group.not_honoured = "schedulingConstraints.topology without a key";
  group.required_topology = std::move(asked);
  return read;
}

bool spec(WireValue& value, GroupKind kind, PodGroup& group) {
  const auto refuse_if = [&group](bool asked, std::string_view what) {
    if (asked && group.not_honoured.empty()) group.not_honoured = what;
    return true;
  };
  return value.fields([&](std::string_view key, WireValue& field) {
    if (kind != GroupKind::kPodGroup) return key != "minMember" || min_member(field, group);
    if (key == "schedulingPolicy") return policy(field, group);
    if (key == "priority") {
      int64_t priority = 0;
      if (!field.integer(&priority, INT32_MIN, INT32_MAX)) return false;
      group.priority = static_cast<int32_t>(priority);
      return true;
    }
    if (key == "preemptionPolicy") return own(field, &group.preemption_policy);
    if (key == "disruptionMode") {
      return field.fields([&](std::string_view mode, WireValue& settings) {
        if (mode == "all" && !settings.is_null()) group.disrupts_all = true;
        return true;
      });
    }
    if (key == "parentCompositePodGroupName") {
      std::string parent;
      return own(field, &parent) && refuse_if(!parent.empty(), "parentCompositePodGroupName");
    }
    bool any = false;
    if (key == "resourceClaims") return any_of(field, &any) && refuse_if(any, "resourceClaims");
    if (key != "schedulingConstraints") return true;
    return field.fields([&](std::string_view name, WireValue& constraints) {
      return name != "topology" ||
             constraints.items([&](WireValue& item) { return topology(item, group); });
    });
  });
}

bool condition(WireValue& value, PodGroup& group) {
  std::string type, status, reason, message, time;
  const bool read = value.fields([&](std::string_view key, WireValue& field) {
    if (key == "type") return own(field, &type);
    if (key == "status") return own(field, &status);
    if (key == "reason") return own(field, &reason);
    if (key == "message") return own(field, &message);
    return key != "lastTransitionTime" || own(field, &time);
  });
  if (!read || type != kCondition) return read;
  group.status = std::move(status);
  group.reason = std::move(reason);
  group.message = std::move(message);
  group.transition_time = std::move(time);
  return true;
}

}  // namespace

ObjectRef decode_pod_group(std::string_view resource, std::string_view ns, std::string_view name,
                           std::string_view json) {
  const GroupKind kind = group_kind(resource);
  if (kind == GroupKind::kNone) return nullptr;
  auto group = std::make_shared<PodGroup>();
  const Error error = read_json(json, [&](WireValue& root) {
    return root.fields([&](std::string_view key, WireValue& field) {
      if (key == "metadata") return metadata(field, *group);
      if (key == "spec") return spec(field, kind, *group);
      if (key != "status" || kind != GroupKind::kPodGroup) return true;
      return field.fields([&](std::string_view part, WireValue& conditions) {
        return part != "conditions" ||
               conditions.items([&](WireValue& item) { return condition(item, *group); });
      });
    });
  });
  if (!error.message.empty()) {
    *group = PodGroup();
    group->unreadable = error.message;
  }
  group->ns = ns;
  group->name = name;
  const size_t begin = resource.find('.') + 1;
  group->version = resource.substr(begin, resource.find('.', begin) - begin);
  plimsoll_object& head = group->object;
  head.size = sizeof(PodGroup);
  head.meta.size = sizeof(plimsoll_meta);
  head.meta.ns = str(group->ns);
  head.meta.name = str(group->name);
  head.meta.uid = str(group->uid);
  head.unreadable = str(group->unreadable);
  const plimsoll_object* object = &head;
  return {std::move(group), object};
}

GroupKind group_kind(std::string_view resource) {
  const auto found = std::ranges::find(kPodGroupResources, resource, &PodGroupResource::name);
  return found == kPodGroupResources.end() ? GroupKind::kNone : found->kind;
}

const PodGroup* find_pod_group(const ObjectStore& objects, const GroupName& name) {
  for (const PodGroupResource& resource : kPodGroupResources) {
    if (resource.kind != name.kind) continue;
    // `object` comes first, and all objects of these resources are decoded by the function above.
    if (const plimsoll_object* found = objects.find(resource.name, name.ns, name.name))
      return reinterpret_cast<const PodGroup*>(found);
  }
  return nullptr;
}

}  // namespace plimsoll
