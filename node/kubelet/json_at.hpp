#pragma once
// Reads the JSON texts of a kubelet: what is absent counts as empty, and what has another type than
// it must have is an error that names the field. Pure; any thread.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"

namespace plimsoll::node {

// Says which field is not as it must be. Caught by read_json().
struct WrongField : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A value and where it stands: "entries.UID.main".
struct At {
  const nlohmann::json* value;  // null: absent
  std::string path;

  [[nodiscard]] bool absent() const { return value == nullptr || value->is_null(); }
  [[nodiscard]] At operator[](const std::string& key) const {
    const std::string below = path.empty() ? key : path + "." + key;
    if (absent()) return {nullptr, below};
    if (!value->is_object()) throw WrongField(path + ": must be an object");
    const auto found = value->find(key);
    return {found == value->end() ? nullptr : &*found, below};
  }
  // For each member: key and value. Nothing if it is absent.
  template <typename Each>
  void members(Each&& each) const {
    if (absent()) return;
    if (!value->is_object()) throw WrongField(path + ": must be an object");
    for (const auto& [key, member] : value->items()) each(key, At{&member, path + "." + key});
  }
  template <typename Each>
  void elements(Each&& each) const {
    if (absent()) return;
    if (!value->is_array()) throw WrongField(path + ": must be a list");
    for (std::size_t i = 0; i < value->size(); ++i) {
      each(At{&(*value)[i], path + "[" + std::to_string(i) + "]"});
    }
  }
  // "", false and 0 if it is absent.
  [[nodiscard]] std::string text() const {
    if (absent()) return {};
    if (!value->is_string()) throw WrongField(path + ": must be a string");
    return value->get<std::string>();
  }
  [[nodiscard]] bool flag() const {
    if (absent()) return false;
    if (!value->is_boolean()) throw WrongField(path + ": must be true or false");
    return value->get<bool>();
  }
  [[nodiscard]] std::int64_t number() const {
    if (absent()) return 0;
    if (!value->is_number_integer() ||
        (value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX)) {
      throw WrongField(path + ": must be an integer");
    }
    return value->get<std::int64_t>();
  }
};

// Calls `read` with the parsed text; what it throws becomes an error.
template <typename State, typename Read>
Result<State> read_json(std::string_view json, Read&& read) {
  const auto document = nlohmann::json::parse(json, nullptr, false);
  if (!document.is_object()) return fail(ErrorCode::kInvalid, "is no JSON object");
  try {
    State state;
    read(At{&document, ""}, state);
    return state;
  } catch (const WrongField& wrong) {
    return fail(ErrorCode::kInvalid, wrong.what());
  }
}

}  // namespace plimsoll::node
