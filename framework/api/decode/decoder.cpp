#include "framework/api/decode/decoder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "framework/api/decode/pack.hpp"
#include "framework/api/lists.hpp"
#include "framework/api/selectors.hpp"
#include "framework/api/short_list.hpp"

namespace plimsoll {
namespace {

bool by_key(const plimsoll_label& a, const plimsoll_label& b) {
  return view(a.key) < view(b.key);
}

bool is_less(const plimsoll_str& a, const plimsoll_str& b) {
  return view(a) < view(b);
}

// See Decoder::label_selector.
bool is_asked_before(const plimsoll_requirement& a, const plimsoll_requirement& b) {
  const auto turn = [](const plimsoll_requirement& each) {
    if (each.op == PLIMSOLL_OP_INVALID) return 0;
    if (each.op == PLIMSOLL_OP_DOES_NOT_EXIST) return 2;
    return each.op == PLIMSOLL_OP_NOT_IN ? 3 : 1;
  };
  return turn(a) != turn(b) ? turn(a) < turn(b) : view(a.key) < view(b.key);
}

}  // namespace

plimsoll_str Decoder::keep(std::string_view text, Keep how) const {
  if (symbols_ == nullptr || how == Keep::kPlain || text.empty()) return str(text);
  if (how == Keep::kFind) return symbols_->find(text);
  return {text.data(), static_cast<uint32_t>(text.size()), kToShare};
}

bool Decoder::text(WireValue& value, plimsoll_str* out, Keep how) const {
  std::string_view text = view(*out);
  if (!value.text(&text)) return false;
  if (text.size() > std::numeric_limits<uint32_t>::max()) return value.fail("the text is too long");
  *out = keep(text, how);
  return true;
}

bool Decoder::flag(WireValue& value, uint32_t* out) const {
  bool set = *out != 0;
  if (!value.boolean(&set)) return false;
  *out = set ? 1 : 0;
  return true;
}

bool Decoder::int32(WireValue& value, int32_t* out) const {
  int64_t number = *out;
  if (!value.integer(&number, std::numeric_limits<int32_t>::min(),
                     std::numeric_limits<int32_t>::max())) {
    return false;
  }
  *out = static_cast<int32_t>(number);
  return true;
}

bool Decoder::texts(WireValue& value, plimsoll_list* out, Keep how) {
  return list<plimsoll_str>(
      value, out, [&](WireValue& item, plimsoll_str* element) { return text(item, element, how); });
}

bool Decoder::sorted_texts(WireValue& value, plimsoll_list* out, Keep how) {
  if (!texts(value, out, how)) return false;
  *out = sorted<plimsoll_str>(*out, is_less);
  return true;
}

bool Decoder::labels(WireValue& value, plimsoll_list* out, Keep values, std::string_view skip) {
  std::vector<plimsoll_label> entries;
  const auto entry = [&](std::string_view key, WireValue& item) {
    if (!skip.empty() && key == skip) return true;
    plimsoll_label label{keep(key, Keep::kShared), str("")};
    if (!text(item, &label.value, values)) return false;
    entries.push_back(label);
    return true;
  };
  if (!value.entries(entry)) return false;
  std::stable_sort(entries.begin(), entries.end(), by_key);
  *out = arena_.list(entries);
  return true;
}

bool Decoder::meta(WireValue& value, plimsoll_meta* out, Keep label_values,
                   const Visit& finalizers) {
  const auto owner = [&](WireValue& item, plimsoll_owner* element) {
    return item.fields([&](std::string_view key, WireValue& field) {
      if (key == "apiVersion") return text(field, &element->api_version, Keep::kShared);
      if (key == "kind") return text(field, &element->kind, Keep::kShared);
      if (key == "name") return text(field, &element->name, Keep::kPlain);
      if (key == "uid") return text(field, &element->uid, Keep::kPlain);
      if (key == "controller") return flag(field, &element->controller);
      return true;
    });
  };
  out->size = sizeof(plimsoll_meta);
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "name") return text(field, &out->name, Keep::kPlain);
    if (key == "namespace") return text(field, &out->ns, Keep::kShared);
    if (key == "uid") return text(field, &out->uid, Keep::kPlain);
    if (key == "resourceVersion") return text(field, &out->resource_version, Keep::kPlain);
    if (key == "labels") return labels(field, &out->labels, label_values);
    if (key == "annotations") {
      return labels(field, &out->annotations, Keep::kPlain,
                    "kubectl.kubernetes.io/last-applied-configuration");
    }
    if (key == "ownerReferences") return list<plimsoll_owner>(field, &out->owners, owner);
    if (key == "creationTimestamp") return field.time(&out->creation_ms);
    if (key == "deletionTimestamp") return field.time(&out->deletion_ms);
    if (key == "generation") return field.integer(&out->generation);
    return key != "finalizers" || finalizers == nullptr || finalizers(field);
  });
}

bool Decoder::amounts(WireValue& value, ResourceList* out) const {
  out->clear();
  return value.entries([&](std::string_view key, WireValue& item) {
    std::string_view text;
    if (item.is_null()) {
      text = "0";
    } else if (!item.text_or_number(&text)) {
      return false;
    }
    auto quantity = Quantity::parse(text);
    if (!quantity) return item.fail(quantity.error().message);
    out->push_back({str(key), std::move(*quantity)});
    return true;
  });
}

bool Decoder::quantity(WireValue& value, plimsoll_str* out) const {
  if (value.is_null()) return true;
  std::string_view text;
  if (!value.text_or_number(&text)) return false;
  if (const auto quantity = Quantity::parse(text); !quantity) {
    return value.fail(quantity.error().message);
  }
  *out = str(text);
  return true;
}

plimsoll_list Decoder::resources(const ResourceList& amounts, NamedBy who, bool only_of_nodes) {
  std::vector<plimsoll_resource> entries;
  entries.reserve(amounts.size());
  for (const Amount& amount : amounts) {
    const std::string_view name = view(amount.name);
    if (only_of_nodes && !is_node_resource(name)) continue;
    const auto [kept, index] =
        who == NamedBy::kNode ? symbols_->resource(name) : symbols_->resource_of_pod(name);
    const bool is_name = kept.symbol != PLIMSOLL_SYMBOL_NONE;
    const bool whole = name == "cpu" || is_int64(amount.quantity);
    entries.push_back({is_name ? kept : keep(name, Keep::kShared),
                       base_units(name, amount.quantity), index,
                       whole ? 0U : uint32_t{PLIMSOLL_RESOURCE_NOT_INT64}});
  }
  std::sort(entries.begin(), entries.end(), comes_before);
  return arena_.list(entries);
}

bool Decoder::requirement(WireValue& value, RequirementOf where, plimsoll_requirement* out) {
  out->op = PLIMSOLL_OP_INVALID;
  const bool read = value.fields([&](std::string_view key, WireValue& field) {
    if (key == "key") return text(field, &out->key, Keep::kShared);
    if (key == "values") return sorted_texts(field, &out->values, Keep::kShared);
    if (key != "operator") return true;
    std::string_view name;
    if (!field.text(&name)) return false;
    out->op = operator_of(name);
    return true;
  });
  // Requirements on metadata.name are not changed: PreFilter reads some that Filter rejects.
  if (where != RequirementOf::kNodeFields && !is_valid(*out, where)) out->op = PLIMSOLL_OP_INVALID;
  return read;
}

bool Decoder::label_selector(WireValue& value, plimsoll_label_selector* out) {
  const auto expression = [this](WireValue& item, plimsoll_requirement* element) {
    return requirement(item, RequirementOf::kLabelSelector, element);
  };
  out->size = sizeof(plimsoll_label_selector);
  if (value.is_null()) return true;
  out->present = 1;
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "matchLabels") return labels(field, &out->match_labels, Keep::kShared);
    if (key != "matchExpressions") return true;
    if (!list<plimsoll_requirement>(field, &out->expressions, expression)) return false;
    if (out->expressions.count > kShortList) {
      out->expressions = sorted<plimsoll_requirement>(out->expressions, is_asked_before);
    }
    return true;
  });
}

bool Decoder::node_selector_term(WireValue& value, plimsoll_node_selector_term* out) {
  const auto expression = [this](WireValue& item, plimsoll_requirement* element) {
    return requirement(item, RequirementOf::kNodeLabels, element);
  };
  const auto name = [this](WireValue& item, plimsoll_requirement* element) {
    return requirement(item, RequirementOf::kNodeFields, element);
  };
  out->size = sizeof(plimsoll_node_selector_term);
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "matchExpressions") {
      return list<plimsoll_requirement>(field, &out->expressions, expression);
    }
    if (key == "matchFields") return list<plimsoll_requirement>(field, &out->fields, name);
    return true;
  });
}

bool Decoder::node_selector_terms(WireValue& value, plimsoll_list* out) {
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key != "nodeSelectorTerms") return true;
    return list<plimsoll_node_selector_term>(
        field, out, [this](WireValue& item, plimsoll_node_selector_term* term) {
          return node_selector_term(item, term);
        });
  });
}

bool Decoder::node_affinity(WireValue& value, const plimsoll_node_affinity** out) {
  if (value.is_null()) return true;
  auto* affinity = arena_.make<plimsoll_node_affinity>();
  affinity->size = sizeof(plimsoll_node_affinity);
  const auto preferred = [this](WireValue& item, plimsoll_node_selector_term* term) {
    term->size = sizeof(plimsoll_node_selector_term);
    return item.fields([&](std::string_view key, WireValue& field) {
      if (key == "weight") return int32(field, &term->weight);
      if (key == "preference") return node_selector_term(field, term);
      return true;
    });
  };
  *out = affinity;
  return value.fields([&](std::string_view key, WireValue& field) {
    if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
      if (field.is_null()) return true;
      affinity->has_required = 1;
      return node_selector_terms(field, &affinity->required);
    }
    if (key == "preferredDuringSchedulingIgnoredDuringExecution") {
      return list<plimsoll_node_selector_term>(field, &affinity->preferred, preferred);
    }
    return true;
  });
}

}  // namespace plimsoll
