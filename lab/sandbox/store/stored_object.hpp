#pragma once
// An object as the store keeps it: its text, next to the few fields that selectors need. Pure; any
// thread.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lab/sandbox/store/kinds.hpp"
#include "lab/sandbox/store/selectors.hpp"

namespace plimsoll::sandbox {

struct ObjectKey {
  std::string ns;  // "" for cluster-scoped kinds
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
};

struct StoredObject {
  ObjectKey key;
  std::string uid;
  std::uint64_t resource_version = 0;
  std::string text;  // JSON in the kind's storage version
  Fields labels;     // sorted by key
  Fields fields;     // the fields that field selectors may use; sorted by name

  // The same text with another resourceVersion, as in a DELETED event.
  [[nodiscard]] std::string text_at(std::uint64_t version) const;
  [[nodiscard]] nlohmann::json parse() const;
  // The value in `fields`; empty if it is missing.
  [[nodiscard]] std::string field(std::string_view name) const;

  std::size_t version_offset = 0;  // where the digits of resourceVersion start in `text`
};
using ObjectPtr = std::shared_ptr<const StoredObject>;

// Serialises an object that gets its resource version later, by stamp().
[[nodiscard]] std::shared_ptr<StoredObject> render(const ResourceName& resource,
                                                   nlohmann::json& object);
[[nodiscard]] ObjectPtr stamp(std::shared_ptr<StoredObject> rendered, std::uint64_t version);
[[nodiscard]] bool same_apart_from_version(const StoredObject& rendered,
                                           const StoredObject& current);

// Restores in `object` the fields that no update may change, and sets the generation, which counts
// changes of the spec. `before`: its metadata and spec until now.
void keep_identity_of(const StoredObject& current, const nlohmann::json& before,
                      nlohmann::json& object);
[[nodiscard]] bool has_finalizers(const nlohmann::json& object);

// A member that is a scalar, as a text; empty if it is missing.
[[nodiscard]] std::string scalar_at(const nlohmann::json& object, const char* key);

// The fields that a field selector of this kind may use.
[[nodiscard]] const std::vector<std::string>& selectable_fields(const ResourceName& resource);

}  // namespace plimsoll::sandbox
