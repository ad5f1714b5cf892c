#pragma once
// What the readers of all kinds share (private to framework/objects).

#include <plimsoll/claims.h>

#include <string_view>

#include "framework/api/decode/decoder.hpp"
#include "framework/api/decode/pack.hpp"
#include "framework/api/decode/wire_value.hpp"
#include "framework/api/objects.hpp"

namespace plimsoll {

enum class Annotations { kDropped, kKept };

// Reads an object with `read(decoder, key, field, object)`, which is called for all fields but the
// metadata, and for its finalizers. `object` has the values of absent fields. Nothing in it gets a
// symbol.
template <typename Object, typename Read>
ObjectRef decode(std::string_view ns, std::string_view name, std::string_view json,
                 Annotations annotations, const Object& absent, const Read& read) {
  thread_local Arena arena;
  arena.clear();
  Decoder decoder(nullptr, arena);
  Object object = absent;
  auto* head = reinterpret_cast<plimsoll_object*>(&object);
  const Error error = read_json(json, [&](WireValue& root) {
    return root.fields([&](std::string_view key, WireValue& field) {
      if (key != "metadata") return read(decoder, key, field, object);
      const bool readable = decoder.meta(
          field, &head->meta, Keep::kPlain,
          [&](WireValue& finalizers) { return read(decoder, "finalizers", finalizers, object); });
      if (annotations == Annotations::kDropped)
        head->meta.annotations = {nullptr, 0, sizeof(plimsoll_label)};
      return readable;
    });
  });
  if (!error.message.empty()) {
    object = absent;
    head->unreadable = str(error.message);
  }
  head->size = sizeof(Object);
  head->meta.size = sizeof(plimsoll_meta);
  head->meta.ns = str(ns);
  head->meta.name = str(name);
  const auto packed = pack_object(object);
  return {packed, reinterpret_cast<const plimsoll_object*>(packed.get())};
}

// Those of kinds.hpp about resource claims. Null: it is none of them.
[[nodiscard]] ObjectRef decode_claim_object(std::string_view resource, std::string_view ns,
                                            std::string_view name, std::string_view json);

// Those about storage.
[[nodiscard]] ObjectRef decode_storage_object(std::string_view resource, std::string_view ns,
                                              std::string_view name, std::string_view json);

}  // namespace plimsoll
