#pragma once
// Members of the JSON objects in a pod's annotations (private to their readers). Errors call a
// member by its key, "requiredScope must be one of SamePCIe", and are thrown as WrongField, which
// read_annotation() catches. Pure; any thread.

#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "plugins/nodedevice/devices/device_types.hpp"
#include "plugins/nodedevice/devices/json_fields.hpp"

namespace plimsoll::devices::fields {

// Calls `read` with the object in an annotation's text; null is one without members, and no text
// at all is left alone. Fails with Koordinator's text, "invalid NAME annotation, err: ...", or with
// the field of the error in its place: "FIELD, err: ...".
[[nodiscard]] Result<void> read_annotation(std::string_view text, const char* name,
                                           const std::function<void(const nlohmann::json&)>& read);

// Absent and null are empty. `where` goes before the key in errors.
[[nodiscard]] std::string text_of(const nlohmann::json& object, const char* key,
                                  const std::string& where = {});
// The position of the member's text in `known`, counted from 1; 0: empty.
[[nodiscard]] int choice_of(const nlohmann::json& object, const char* key,
                            std::initializer_list<std::string_view> known,
                            const std::string& where = {});

}  // namespace plimsoll::devices::fields
