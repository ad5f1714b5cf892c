#pragma once
// Reading JSON once, front to back, with errors that name the field. Hides the parser, so that the
// decoders do not compile it.
//
// A value is read at most once, inside the callback that got it; a callback that does not want it
// just returns true. As in Kubernetes, null is the same as a field that is not there: readers leave
// their output alone. Every function returns false after an error; pass that on. Texts point into
// buffers of this thread's reader: valid until the next read_json on this thread.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "framework/base/result.hpp"

namespace plimsoll {

struct JsonContext;  // where the reader is, and the first error

class JsonValue {
 public:
  [[nodiscard]] bool text(std::string_view* out);
  [[nodiscard]] bool boolean(bool* out);
  [[nodiscard]] bool integer(int64_t* out, int64_t min = std::numeric_limits<int64_t>::min(),
                             int64_t max = std::numeric_limits<int64_t>::max());
  // The text of a string, or the digits of a number as they are written.
  [[nodiscard]] bool text_or_number(std::string_view* out);
  [[nodiscard]] bool is_null();

  // visit(std::string_view key, JsonValue& value) -> bool for each member: `fields` of a struct
  // ("a.b" in errors), `entries` of a map ("a[b]").
  template <typename Visit>
  [[nodiscard]] bool fields(Visit&& visit) {
    return members(Step::kField, &visit, call_member<std::remove_reference_t<Visit>>);
  }
  template <typename Visit>
  [[nodiscard]] bool entries(Visit&& visit) {
    return members(Step::kEntry, &visit, call_member<std::remove_reference_t<Visit>>);
  }
  // visit(JsonValue& value) -> bool for each element.
  template <typename Visit>
  [[nodiscard]] bool items(Visit&& visit) {
    return elements(&visit, call_element<std::remove_reference_t<Visit>>);
  }

  // Records that this value is wrong, and why. Returns false.
  bool fail(std::string_view why);

 private:
  friend Error read_json_with(std::string_view, const void*, bool (*)(const void*, JsonValue&));
  friend struct JsonContext;
  enum class Step { kField, kEntry };

  template <typename Visit>
  static bool call_member(const void* visit, std::string_view key, JsonValue& value) {
    return (*static_cast<Visit*>(const_cast<void*>(visit)))(key, value);
  }
  template <typename Visit>
  static bool call_element(const void* visit, JsonValue& value) {
    return (*static_cast<Visit*>(const_cast<void*>(visit)))(value);
  }
  bool members(Step step, const void* visit,
               bool (*call)(const void*, std::string_view, JsonValue&));
  bool elements(const void* visit, bool (*call)(const void*, JsonValue&));

  JsonValue() = default;
  JsonContext* context_ = nullptr;
  bool root_ = false;
  void* value_ = nullptr;  // the parser's own value, on the stack of whoever calls the visitor
};

// Parses one JSON text and hands its root to `visit`(JsonValue&) -> bool. The error, if any, has an
// empty message otherwise.
[[nodiscard]] Error read_json_with(std::string_view json, const void* visit,
                                   bool (*call)(const void*, JsonValue&));

template <typename Visit>
[[nodiscard]] Error read_json(std::string_view json, Visit&& visit) {
  using Function = std::remove_reference_t<Visit>;
  return read_json_with(json, &visit, [](const void* function, JsonValue& root) {
    return (*static_cast<Function*>(const_cast<void*>(function)))(root);
  });
}

}  // namespace plimsoll
