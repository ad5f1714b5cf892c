// core/v1 Node.
#include "framework/api/decode/decode.hpp"
#include "framework/api/decode/decoder.hpp"
#include "framework/api/decode/pack.hpp"
#include "framework/api/decode/protobuf_schema.hpp"

namespace plimsoll {
namespace {

uint32_t taint_effect(std::string_view text) {
  if (text == "NoSchedule") return PLIMSOLL_EFFECT_NO_SCHEDULE;
  if (text == "PreferNoSchedule") return PLIMSOLL_EFFECT_PREFER_NO_SCHEDULE;
  if (text == "NoExecute") return PLIMSOLL_EFFECT_NO_EXECUTE;
  return PLIMSOLL_EFFECT_OTHER;
}

class NodeDecoder {
 public:
  NodeDecoder(SymbolTable& symbols, Arena& arena) : decode_(&symbols, arena) {}

  bool node(WireValue& value, plimsoll_node* out) {
    out->size = sizeof(plimsoll_node);
    const auto one = [&](std::string_view key, WireValue& field) {
      if (key == "metadata") return decode_.meta(field, &out->meta, Keep::kShared);
      if (key == "spec") return spec(field, out);
      if (key == "status") return status(field, out);
      return true;
    };
    if (!value.fields(one)) return false;
    if (out->meta.name.len == 0) return value.fail("metadata.name: a node needs a name");
    out->meta.name = decode_.keep(view(out->meta.name), Keep::kShared);
    return true;
  }

 private:
  bool spec(WireValue& value, plimsoll_node* out) {
    const auto taint = [this](WireValue& item, plimsoll_taint* element) {
      element->effect = PLIMSOLL_EFFECT_OTHER;
      return item.fields([&](std::string_view key, WireValue& field) {
        if (key == "key") return decode_.text(field, &element->key, Keep::kShared);
        if (key == "value") return decode_.text(field, &element->value, Keep::kShared);
        if (key != "effect") return true;
        std::string_view effect;
        if (!field.text(&effect)) return false;
        element->effect = taint_effect(effect);
        return true;
      });
    };
    return value.fields([&](std::string_view key, WireValue& field) {
      if (key == "unschedulable") return decode_.flag(field, &out->unschedulable);
      if (key == "taints") return decode_.list<plimsoll_taint>(field, &out->taints, taint);
      return true;
    });
  }

  bool status(WireValue& value, plimsoll_node* out) {
    const auto condition = [this](WireValue& item, plimsoll_condition* element) {
      return item.fields([&](std::string_view key, WireValue& field) {
        if (key == "type") return decode_.text(field, &element->type, Keep::kShared);
        if (key == "status") return decode_.text(field, &element->status, Keep::kShared);
        return true;
      });
    };
    const auto image = [this](WireValue& item, plimsoll_image* element) {
      return item.fields([&](std::string_view key, WireValue& field) {
        if (key == "names") return decode_.texts(field, &element->names, Keep::kShared);
        if (key == "sizeBytes") return field.integer(&element->bytes);
        return true;
      });
    };
    return value.fields([&](std::string_view key, WireValue& field) {
      if (key == "capacity") return resources(field, &out->capacity);
      if (key == "allocatable") return resources(field, &out->allocatable);
      if (key == "conditions") {
        return decode_.list<plimsoll_condition>(field, &out->conditions, condition);
      }
      if (key == "images") return decode_.list<plimsoll_image>(field, &out->images, image);
      if (key == "declaredFeatures") {
        return decode_.texts(field, &out->declared_features, Keep::kShared);
      }
      return true;
    });
  }

  bool resources(WireValue& value, plimsoll_list* out) {
    ResourceList amounts;
    if (!decode_.amounts(value, &amounts)) return false;
    *out = decode_.resources(amounts, Decoder::NamedBy::kNode);
    return true;
  }

  Decoder decode_;
};

}  // namespace

Result<NodeRef> decode_node(std::string_view object, SymbolTable& symbols, Encoding encoding) {
  thread_local Arena arena;
  arena.clear();
  NodeDecoder decoder(symbols, arena);
  plimsoll_node node{};
  const auto whole = [&](WireValue& root) { return decoder.node(root, &node); };
  Error error = encoding == Encoding::kJson ? read_json(object, whole)
                                            : read_protobuf(object, kNodeMessage, whole);
  if (!error.message.empty()) return fail(std::move(error));
  return pack_node(node, &symbols);
}

Result<std::shared_ptr<const plimsoll_node_affinity>> decode_node_affinity(std::string_view json) {
  Arena arena;
  Decoder decoder(nullptr, arena);
  const plimsoll_node_affinity* affinity = nullptr;
  Error error =
      read_json(json, [&](WireValue& root) { return decoder.node_affinity(root, &affinity); });
  if (!error.message.empty()) return fail(std::move(error));
  return pack_node_affinity(*affinity);
}

Result<std::shared_ptr<const plimsoll_label_selector>> decode_label_selector(
    std::string_view json) {
  Arena arena;
  Decoder decoder(nullptr, arena);
  plimsoll_label_selector selector{};
  Error error =
      read_json(json, [&](WireValue& root) { return decoder.label_selector(root, &selector); });
  if (!error.message.empty()) return fail(std::move(error));
  return pack_label_selector(selector);
}

}  // namespace plimsoll
