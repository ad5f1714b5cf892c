// The parts of a pod's spec that restrict its placement.
#include <limits>

#include "framework/api/decode/pod_decoder.hpp"
#include "framework/api/lists.hpp"

namespace plimsoll {
namespace {

uint32_t toleration_effect(std::string_view text) {
  if (text.empty()) return PLIMSOLL_EFFECT_ANY;
  if (text == "NoSchedule") return PLIMSOLL_EFFECT_NO_SCHEDULE;
  if (text == "PreferNoSchedule") return PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE;
  if (text == "NoExecute") return PLIMSOLL_EFFECT_NO_EXECUTE;
  return PLIMSOLL_EFFECT_OTHER;
}

}  // namespace

bool PodDecoder::toleration(WireValue& value, plimsoll_toleration* out) {
  out->op = PLIMSOLL_TOLERATION_EQUAL;
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "key") return decode_.text(field, &out->key, Keep::kShared);
    if (key == "value") return decode_.text(field, &out->value, Keep::kFind);
    std::string_view text;
    if (key == "effect") {
      if (!field.text(&text)) return false;
      out->effect = toleration_effect(text);
    } else if (key == "operator") {
      if (!field.text(&text)) return false;
      out->op = text.empty() || text == "Equal" ? PLIMSOLL_TOLERATION_EQUAL
                : text == "Exists"              ? PLIMSOLL_TOLERATION_EXISTS
                                                : PLIMSOLL_TOLERATION_OTHER;
    }
    return true;
  });
}

bool PodDecoder::affinity(WireValue& value, plimsoll_pod* out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "nodeAffinity") return decode_.node_affinity(field, &out->node_affinity);
    if (key == "podAffinity") return pod_affinity(field, &out->pod_affinity);
    if (key == "podAntiAffinity") return pod_affinity(field, &out->pod_anti_affinity);
    return true;
  });
}

bool PodDecoder::pod_affinity(WireValue& value, const plimsoll_pod_affinity** out) {
  if (value.is_null()) return true;
  auto* affinity = decode_.arena().make<plimsoll_pod_affinity>();
  affinity->size = sizeof(plimsoll_pod_affinity);
  const auto required = [this](WireValue& item, plimsoll_pod_affinity_term* term) {
    return pod_affinity_term(item, term);
  };
  const auto preferred = [this](WireValue& item, plimsoll_pod_affinity_term* term) {
    return item.fields([&](std::string_view key, WireValue& field) {
      if (key == "weight") return decode_.int32(field, &term->weight);
      if (key == "podAffinityTerm") return pod_affinity_term(field, term);
      return true;
    });
  };
  *out = affinity;
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      return decode_.list<plimsoll_pod_affinity_term>(field, &affinity->required, required);
    }
    if (key == "preferredDuringSchedulingIgnoredDuringExecution") {
      return decode_.list<plimsoll_pod_affinity_term>(field, &affinity->preferred, preferred);
    }
    return true;
  });
}

bool PodDecoder::pod_affinity_term(WireValue& value, plimsoll_pod_affinity_term* out) {
  out->size = sizeof(plimsoll_pod_affinity_term);
  out->selector.size = out->namespace_selector.size = sizeof(plimsoll_label_selector);
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "labelSelector") return decode_.label_selector(field, &out->selector);
    if (key == "namespaceSelector") return decode_.label_selector(field, &out->namespace_selector);
    if (key == "namespaces") return decode_.sorted_texts(field, &out->namespaces, Keep::kShared);
    if (key == "topologyKey") return decode_.text(field, &out->topology_key, Keep::kShared);
    return true;
  });
}

bool PodDecoder::spread_constraint(WireValue& value, plimsoll_spread_constraint* out) {
  out->size = sizeof(plimsoll_spread_constraint);
  out->selector.size = sizeof(plimsoll_label_selector);
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "maxSkew") return decode_.int32(field, &out->max_skew);
    if (key == "minDomains") return decode_.int32(field, &out->min_domains);
    if (key == "topologyKey") return decode_.text(field, &out->topology_key, Keep::kShared);
    if (key == "labelSelector") return decode_.label_selector(field, &out->selector);
    if (key == "matchLabelKeys") {
      return decode_.texts(field, &out->match_label_keys, Keep::kShared);
    }
    std::string_view text;
    if (key == "whenUnsatisfiable") {
      if (!field.text(&text)) return false;
      out->do_not_schedule = text == "DoNotSchedule" ? 1 : 0;
    } else if (key == "nodeAffinityPolicy") {
      if (!field.text(&text)) return false;
      out->node_affinity_ignore = text == "Ignore" ? 1 : 0;
    } else if (key == "nodeTaintsPolicy") {
      if (!field.text(&text)) return false;
      out->node_taints_honor = text == "Honor" ? 1 : 0;
    }
    return true;
  });
}

bool PodDecoder::volume(WireValue& value, plimsoll_volume* out) {
  out->size = sizeof(plimsoll_volume);
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "name") return decode_.text(field, &out->name, Keep::kPlain);
    if (field.is_null()) return true;
    out->kind = decode_.keep(key, Keep::kShared);
    return decode_.volume_source(key, field, out);
  });
}

}  // namespace plimsoll
