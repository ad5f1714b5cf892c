#include <algorithm>
#include <limits>
#include <map>

#include "framework/api/decode/decode.hpp"
#include "framework/api/decode/pack.hpp"
#include "framework/api/decode/pod_decoder.hpp"
#include "framework/api/decode/protobuf_schema.hpp"

namespace plimsoll {
namespace {

uint8_t phase_of(std::string_view text) {
  if (text == "Pending" || text.empty()) return PLIMSOLL_PHASE_PENDING;
  if (text == "Running") return PLIMSOLL_PHASE_RUNNING;
  if (text == "Succeeded") return PLIMSOLL_PHASE_SUCCEEDED;
  if (text == "Failed") return PLIMSOLL_PHASE_FAILED;
  return PLIMSOLL_PHASE_UNKNOWN;
}

constexpr uint8_t kQosNotSet = 0xff;

uint8_t qos_of(std::string_view text) {
  if (text == "BestEffort") return PLIMSOLL_QOS_BEST_EFFORT;
  if (text == "Burstable") return PLIMSOLL_QOS_BURSTABLE;
  if (text == "Guaranteed") return PLIMSOLL_QOS_GUARANTEED;
  return kQosNotSet;
}

}  // namespace

bool PodDecoder::pod(WireValue& value, plimsoll_pod* out) {
  out->size = sizeof(plimsoll_pod);
  out->meta.size = sizeof(plimsoll_meta);
  out->qos = kQosNotSet;
  const auto one = [&](std::string_view key, WireValue& field) {
    if (key == "metadata") return decode_.meta(field, &out->meta, Keep::kFind);
    if (key == "spec") return spec(field, out);
    if (key == "status") return status(field, out);
    return true;
  };
  if (!value.fields(one)) return false;
  if (out->meta.name.len == 0) return value.fail("metadata.name: a pod needs a name");
  join_statuses();
  return true;
}

void PodDecoder::finish(plimsoll_pod* out) {
  ResourceOptions options;
  out->overhead = decode_.resources(resources_.overhead, Decoder::NamedBy::kPod);
  out->pod_requests = decode_.resources(resources_.pod_requests, Decoder::NamedBy::kPod);
  out->pod_limits = decode_.resources(resources_.pod_limits, Decoder::NamedBy::kPod);
  out->requests =
      decode_.resources(plimsoll::pod_requests(resources_, options), Decoder::NamedBy::kPod, true);
  options.use_status = true;
  out->used =
      decode_.resources(plimsoll::pod_requests(resources_, options), Decoder::NamedBy::kPod, true);
  const NonZero nonzero = nonzero_requests(resources_);
  out->nonzero_cpu = nonzero.cpu;
  out->nonzero_memory = nonzero.memory;
  if (out->qos == kQosNotSet) out->qos = compute_qos(resources_);
  out->uses = uses_;
  join_claims(out);
}

bool PodDecoder::spec_text(std::string_view key, WireValue& value, plimsoll_pod* out, bool* found) {
  *found = true;
  if (key == "nodeName") return decode_.text(value, &out->node_name, Keep::kShared);
  if (key == "schedulerName") return decode_.text(value, &out->scheduler_name, Keep::kShared);
  if (key == "priorityClassName")
    return decode_.text(value, &out->priority_class_name, Keep::kShared);
  if (key == "runtimeClassName")
    return decode_.text(value, &out->runtime_class_name, Keep::kShared);
  if (key == "preemptionPolicy") {
    std::string_view policy;
    if (!value.text(&policy)) return false;
    out->preemption_policy =
        policy == "Never" ? PLIMSOLL_PREEMPT_NEVER : PLIMSOLL_PREEMPT_LOWER_PRIORITY;
    return true;
  }
  *found = false;
  return true;
}

bool PodDecoder::spec(WireValue& value, plimsoll_pod* out) {
  const auto one_toleration = [this](WireValue& item, plimsoll_toleration* element) {
    return toleration(item, element);
  };
  const auto one_constraint = [this](WireValue& item, plimsoll_spread_constraint* element) {
    return spread_constraint(item, element);
  };
  const auto one_volume = [this](WireValue& item, plimsoll_volume* element) {
    return volume(item, element);
  };
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "containers") return containers(field, &out->containers, false);
    if (key == "initContainers") return containers(field, &out->init_containers, true);
    if (key == "priority") return decode_.int32(field, &out->priority);
    if (key == "hostNetwork") {
      bool host_network = false;
      if (!field.boolean(&host_network)) return false;
      out->host_network = host_network ? 1 : 0;
      return true;
    }
    if (key == "hostUsers") {
      bool host_users = true;
      if (!field.boolean(&host_users)) return false;
      if (!host_users) uses_ |= PLIMSOLL_USES_USER_NAMESPACE;
      return true;
    }
    if (key == "overhead") return decode_.amounts(field, &resources_.overhead);
    if (key == "resources") {
      return requests_and_limits(field, &resources_.pod_requests, &resources_.pod_limits);
    }
    if (key == "nodeSelector") return decode_.labels(field, &out->node_selector, Keep::kShared);
    if (key == "affinity") return affinity(field, out);
    if (key == "tolerations") {
      return decode_.list<plimsoll_toleration>(field, &out->tolerations, one_toleration);
    }
    if (key == "topologySpreadConstraints") {
      return decode_.list<plimsoll_spread_constraint>(field, &out->spread_constraints,
                                                      one_constraint);
    }
    if (key == "schedulingGates") return names(field, &out->scheduling_gates);
    if (key == "resourceClaims") return claims(field, out);
    if (key == "schedulingGroup") return scheduling_group(field, out);
    if (key == "volumes") return decode_.list<plimsoll_volume>(field, &out->volumes, one_volume);
    bool found = false;
    return spec_text(key, field, out, &found);
  });
}

bool PodDecoder::names(WireValue& value, plimsoll_list* out) {
  return decode_.list<plimsoll_str>(value, out, [this](WireValue& item, plimsoll_str* element) {
    return item.fields([&](std::string_view key, WireValue& field) {
      return key != "name" || decode_.text(field, element, Keep::kPlain);
    });
  });
}

bool PodDecoder::claims(WireValue& value, plimsoll_pod* out) {
  claims_.clear();
  std::vector<plimsoll_str> names;
  const auto one = [&](WireValue& item) {
    plimsoll_pod_claim claim{};
    const auto field_of = [&](std::string_view key, WireValue& field) {
      if (key == "name") return decode_.text(field, &claim.name, Keep::kPlain);
      if (key == "resourceClaimName") return decode_.text(field, &claim.claim, Keep::kPlain);
      return key != "resourceClaimTemplateName" ||
             decode_.text(field, &claim.template_name, Keep::kPlain);
    };
    if (!item.fields(field_of)) return false;
    claims_.push_back(claim);
    names.push_back(claim.name);
    return true;
  };
  if (!value.items(one)) return false;
  out->resource_claims = decode_.arena().list(names);
  return true;
}

bool PodDecoder::claim_status(WireValue& value) {
  ClaimStatus status{};
  const auto one = [&](std::string_view key, WireValue& field) {
    if (key == "name") return decode_.text(field, &status.name, Keep::kPlain);
    return key != "resourceClaimName" || decode_.text(field, &status.claim, Keep::kPlain);
  };
  if (!value.fields(one)) return false;
  claim_statuses_.push_back(status);
  return true;
}

// Kubernetes: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim, Name.
void PodDecoder::join_claims(plimsoll_pod* out) {
  std::map<std::string_view, plimsoll_str> by_name;  // the first entry with a name counts
  for (const ClaimStatus& status : claim_statuses_)
    by_name.emplace(view(status.name), status.claim);
  for (plimsoll_pod_claim& claim : claims_) {
    const auto said = by_name.find(view(claim.name));
    if (claim.template_name.len == 0 || said == by_name.end()) continue;
    claim.claim = said->second;
    claim.needless = said->second.len == 0 ? 1 : 0;
  }
  std::map<std::string_view, std::vector<plimsoll_str>> users;  // by the name in the pod
  for (const std::vector<ClaimUse>* uses : {&init_uses_, &app_uses_}) {
    for (const ClaimUse& use : *uses) users[view(use.claim)].push_back(use.container);
  }
  for (plimsoll_pod_claim& claim : claims_) {
    const auto found = users.find(view(claim.name));
    if (found != users.end()) claim.containers = decode_.arena().list(found->second);
  }
  out->claims = decode_.arena().list(claims_);
  out->claim_amounts = decode_.arena().list(claim_amounts_);
}

bool PodDecoder::requests_and_limits(WireValue& value, ResourceList* requests, ResourceList* limits,
                                     std::vector<plimsoll_str>* claims) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "requests") return decode_.amounts(field, requests);
    if (key == "limits") return decode_.amounts(field, limits);
    if (key != "claims" || claims == nullptr) return true;
    return field.items([&](WireValue& item) {
      return item.fields([&](std::string_view name, WireValue& text) {
        return name != "name" || decode_.text(text, &claims->emplace_back(), Keep::kPlain);
      });
    });
  });
}

// Kubernetes: component-helpers/resource, addDRANodeAllocatableClaimResources.
bool PodDecoder::claim_amounts(WireValue& value) {
  struct Part {
    plimsoll_str resource{};
    Quantity mapped, per_pod, per_container;
  };
  plimsoll_str claim{};
  std::vector<Part> parts;
  plimsoll_list containers{};
  const auto quantity = [this](WireValue& field, Quantity* out) {
    plimsoll_str text{};
    if (!decode_.quantity(field, &text)) return false;
    if (text.len > 0) *out = *Quantity::parse(view(text));
    return true;
  };
  const auto part = [&](WireValue& item) {
    Part& one = parts.emplace_back();
    return item.fields([&](std::string_view key, WireValue& field) {
      if (key == "name") return decode_.text(field, &one.resource, Keep::kShared);
      if (key == "quantity") return quantity(field, &one.mapped);
      if (key == "perPod") return quantity(field, &one.per_pod);
      return key != "perContainer" || quantity(field, &one.per_container);
    });
  };
  const auto one = [&](std::string_view key, WireValue& field) {
    if (key == "resourceClaimName") return decode_.text(field, &claim, Keep::kPlain);
    if (key == "containers") return decode_.texts(field, &containers, Keep::kPlain);
    return (key != "mapping" && key != "overhead") || field.items(part);
  };
  if (!value.fields(one)) return false;
  for (Part& added : parts) {
    Quantity overhead = std::move(added.per_pod);
    for (uint32_t count = containers.count; count > 0; count /= 2) {  // as often as containers
      if (count % 2 == 1) overhead.add(added.per_container);
      added.per_container.add(Quantity(added.per_container));
    }
    const std::string_view name = view(added.resource);
    claim_amounts_.push_back(
        {claim, added.resource, base_units(name, added.mapped), base_units(name, overhead)});
    overhead.add(added.mapped);
    resources_.claim_amounts.push_back({added.resource, std::move(overhead)});
  }
  return true;
}

bool PodDecoder::containers(WireValue& value, plimsoll_list* out, bool init) {
  auto& all = init ? resources_.init_containers : resources_.containers;
  all.clear();
  (init ? init_uses_ : app_uses_).clear();
  return decode_.list<plimsoll_container>(
      value, out, [&](WireValue& item, plimsoll_container* element) {
        element->size = sizeof(plimsoll_container);
        element->kind = init ? PLIMSOLL_CONTAINER_INIT : PLIMSOLL_CONTAINER_APP;
        ContainerResources resources;
        resources.kind = element->kind;
        std::vector<plimsoll_str> claims;
        if (!container(item, element, &resources, &claims)) return false;
        for (const plimsoll_str& claim : claims)
          (init ? init_uses_ : app_uses_).push_back({claim, element->name});
        element->requests = decode_.resources(resources.requests, Decoder::NamedBy::kPod);
        element->limits = decode_.resources(resources.limits, Decoder::NamedBy::kPod);
        resources.kind = element->kind;
        resources.name = view(element->name);
        all.push_back(std::move(resources));
        return true;
      });
}

bool PodDecoder::container(WireValue& value, plimsoll_container* out, ContainerResources* resources,
                           std::vector<plimsoll_str>* claims) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "name") return decode_.text(field, &out->name, Keep::kPlain);
    if (key == "image") return decode_.text(field, &out->image, Keep::kShared);
    if (key == "ports") return ports(field, &out->ports);
    if (key == "resources") {
      return requests_and_limits(field, &resources->requests, &resources->limits, claims);
    }
    if (key == "restartPolicyRules") return restart_rules(field);
    if (key == "volumeMounts") return volume_mounts(field);
    if (key != "restartPolicy" || out->kind == PLIMSOLL_CONTAINER_APP) return true;
    std::string_view policy;
    if (!field.text(&policy)) return false;
    out->kind = policy == "Always" ? PLIMSOLL_CONTAINER_SIDECAR : PLIMSOLL_CONTAINER_INIT;
    return true;
  });
}

bool PodDecoder::restart_rules(WireValue& value) {
  return value.items([this](WireValue& item) {
    return item.fields([this](std::string_view key, WireValue& field) {
      if (key != "action") return true;
      std::string_view action;
      if (!field.text(&action)) return false;
      if (action == "RestartAllContainers") uses_ |= PLIMSOLL_USES_RESTART_ALL_CONTAINERS;
      return true;
    });
  });
}

bool PodDecoder::volume_mounts(WireValue& value) {
  return value.items([this](WireValue& item) {
    return item.fields([this](std::string_view key, WireValue& field) {
      if (key != "bindMountOptions") return true;
      return field.items([this](WireValue&) {
        uses_ |= PLIMSOLL_USES_BIND_MOUNT_OPTIONS;
        return true;
      });
    });
  });
}

bool PodDecoder::scheduling_group(WireValue& value, plimsoll_pod* out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key != "podGroupName") return true;
    if (!decode_.text(field, &out->group, Keep::kShared)) return false;
    if (out->group.len > 0) uses_ |= PLIMSOLL_USES_SCHEDULING_GROUP;
    return true;
  });
}

bool PodDecoder::ports(WireValue& value, plimsoll_list* out) {
  std::vector<plimsoll_host_port> used;
  const auto one = [&](WireValue& item) {
    plimsoll_host_port port{};
    const auto field_of = [&](std::string_view key, WireValue& field) {
      if (key == "hostPort") return decode_.int32(field, &port.port);
      if (key == "hostIP") return decode_.text(field, &port.ip, Keep::kShared);
      if (key == "protocol") return decode_.text(field, &port.protocol, Keep::kShared);
      return true;
    };
    if (!item.fields(field_of)) return false;
    if (port.port <= 0) return true;
    if (port.ip.len == 0) port.ip = decode_.keep("0.0.0.0", Keep::kShared);
    if (port.protocol.len == 0) port.protocol = decode_.keep("TCP", Keep::kShared);
    used.push_back(port);
    return true;
  };
  if (!value.items(one)) return false;
  *out = decode_.arena().list(used);
  return true;
}

bool PodDecoder::status(WireValue& value, plimsoll_pod* out) {
  const auto one_status = [this](WireValue& item) { return container_status(item); };
  const auto one_condition = [&](WireValue& item) { return condition(item, out); };
  const auto one_claim = [this](WireValue& item) { return claim_status(item); };
  const auto one_amount = [this](WireValue& item) { return claim_amounts(item); };
  return value.fields([&](std::string_view key, WireValue& field) {
    std::string_view text;
    if (key == "phase") {
      if (!field.text(&text)) return false;
      out->phase = phase_of(text);
      return true;
    }
    if (key == "qosClass") {
      if (!field.text(&text)) return false;
      out->qos = qos_of(text);
      return true;
    }
    if (key == "nominatedNodeName") {
      return decode_.text(field, &out->nominated_node_name, Keep::kShared);
    }
    if (key == "reason") return decode_.text(field, &out->status_reason, Keep::kPlain);
    if (key == "startTime") return field.time(&out->start_ms);
    if (key == "conditions") return field.items(one_condition);
    if (key == "containerStatuses" || key == "initContainerStatuses")
      return field.items(one_status);
    if (key == "resources") {
      resources_.has_pod_status = !field.is_null();
      return requests_and_limits(field, &resources_.pod_actuated_requests,
                                 &resources_.pod_actuated_limits);
    }
    if (key == "allocatedResources") return decode_.amounts(field, &resources_.pod_allocated);
    if (key == "resourceClaimStatuses") return field.items(one_claim);
    if (key == "nodeAllocatableResourceClaimStatuses") return field.items(one_amount);
    if (key != "extendedResourceClaimStatus") return true;
    return field.fields([&](std::string_view name, WireValue& claim) {
      return name != "resourceClaimName" || decode_.text(claim, &out->extended_claim, Keep::kPlain);
    });
  });
}

bool PodDecoder::condition(WireValue& value, plimsoll_pod* out) {
  std::string_view type;
  std::string_view status;
  std::string_view reason;
  std::string_view message;
  const auto one = [&](std::string_view key, WireValue& field) {
    if (key == "type") return field.text(&type);
    if (key == "status") return field.text(&status);
    if (key == "reason") return field.text(&reason);
    if (key == "message") return field.text(&message);
    return true;
  };
  if (!value.fields(one)) return false;
  if (type == "PodScheduled") {
    out->scheduled_status = decode_.keep(status, Keep::kShared);
    out->scheduled_reason = decode_.keep(reason, Keep::kShared);
    out->scheduled_message = str(message);
  } else if (type == "DisruptionTarget") {
    if (status == "True") out->disruption_reason = decode_.keep(reason, Keep::kShared);
  } else if (type == "PodResizePending") {
    resources_.resize_infeasible = reason == "Infeasible";
  }
  return true;
}

bool PodDecoder::container_status(WireValue& value) {
  ContainerStatus status;
  const auto one = [&](std::string_view key, WireValue& field) {
    if (key == "name") return field.text(&status.name);
    if (key == "allocatedResources") return decode_.amounts(field, &status.resources.allocated);
    if (key != "resources") return true;
    return requests_and_limits(field, &status.resources.actuated_requests,
                               &status.resources.actuated_limits);
  };
  if (!value.fields(one)) return false;
  statuses_.push_back(std::move(status));
  return true;
}

void PodDecoder::join_statuses() {
  std::map<std::string_view, ContainerStatus*> by_name;  // the first entry with a name counts
  for (ContainerStatus& status : statuses_) {
    const ContainerResources& said = status.resources;
    if (!said.actuated_requests.empty() || !said.actuated_limits.empty() || !said.allocated.empty())
      by_name.emplace(status.name, &status);
  }
  if (by_name.empty()) return;
  for (auto* list : {&resources_.containers, &resources_.init_containers}) {
    for (ContainerResources& container : *list) {
      const auto status = by_name.find(container.name);
      if (status == by_name.end()) continue;
      const ContainerResources& said = status->second->resources;
      container.has_status = true;
      container.actuated_requests = said.actuated_requests;
      container.actuated_limits = said.actuated_limits;
      container.allocated = said.allocated;
    }
  }
}

namespace {

// Reads with `how` and packs the result. The returned error has an empty message on success.
Error read_pod(std::string_view object, Encoding encoding, Reading how, PodDecoder& decoder,
               plimsoll_pod* pod) {
  const auto whole = [&](WireValue& root) { return decoder.pod(root, pod); };
  return encoding == Encoding::kJson ? read_json(object, whole, how)
                                     : read_protobuf(object, kPodMessage, whole, how);
}

}  // namespace

Result<PodRef> decode_pod(std::string_view object, SymbolTable& symbols, Encoding encoding) {
  thread_local Arena arena;
  arena.clear();
  PodDecoder decoder(symbols, arena);
  plimsoll_pod pod{};
  Error error = read_pod(object, encoding, Reading::kStrict, decoder, &pod);
  if (!error.message.empty()) return fail(std::move(error));
  decoder.finish(&pod);
  return pack_pod(pod, &symbols);
}

Result<PodRef> decode_readable(std::string_view object, const PodIdentity& identity,
                               SymbolTable& symbols, Encoding encoding) {
  Arena arena;
  PodDecoder decoder(symbols, arena);
  plimsoll_pod pod{};
  pod.size = sizeof(plimsoll_pod);
  pod.meta.size = sizeof(plimsoll_meta);
  const Error error = read_pod(object, encoding, Reading::kWhatCanBeRead, decoder, &pod);
  if (error.message.empty()) return fail(ErrorCode::kInvalid, "nothing is wrong with the pod");
  decoder.finish(&pod);
  for (const auto& [text, known] : {std::pair{&pod.meta.ns, identity.ns},
                                    {&pod.meta.name, identity.name},
                                    {&pod.meta.uid, identity.uid}}) {
    if (text->len == 0) *text = str(known);
  }
  if (pod.meta.name.len == 0 || pod.meta.uid.len == 0) return fail(error);
  pod.unreadable = str(error.message);
  return pack_pod(pod, &symbols);
}

Result<PodResources> decode_pod_resources(std::string_view json, SymbolTable& symbols) {
  Arena arena;
  PodDecoder decoder(symbols, arena);
  plimsoll_pod pod{};
  Error error = read_pod(json, Encoding::kJson, Reading::kStrict, decoder, &pod);
  if (!error.message.empty()) return fail(std::move(error));
  PodResources resources = std::move(decoder.resources());
  const auto keep_names = [&](ResourceList& list) {
    for (Amount& amount : list) amount.name = symbols.intern(view(amount.name));
  };
  for (auto* containers : {&resources.containers, &resources.init_containers}) {
    for (ContainerResources& container : *containers) {
      container.name = {};
      for (ResourceList* list :
           {&container.requests, &container.limits, &container.actuated_requests,
            &container.actuated_limits, &container.allocated}) {
        keep_names(*list);
      }
    }
  }
  for (ResourceList* list : {&resources.overhead, &resources.pod_requests, &resources.pod_limits,
                             &resources.pod_actuated_requests, &resources.pod_actuated_limits,
                             &resources.pod_allocated}) {
    keep_names(*list);
  }
  return resources;
}

}  // namespace plimsoll
