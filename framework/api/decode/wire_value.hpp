#pragma once
// Reads an object from an API server, as JSON or in Kubernetes' protobuf encoding, in one pass from
// front to back. Errors name the field. This header hides the parsers, so that the decoders do not
// compile them. In protobuf, fields have their JSON names (protobuf_schema.hpp).
//
// A value is read at most once, inside the callback that got it. A callback that does not want the
// value returns true. As in Kubernetes, null equals a missing field: the functions then leave their
// output unchanged. Every function returns false after an error; return that too. Texts of JSON
// point into buffers of this thread's reader and are valid until the next read_json on this thread.
// Texts of protobuf point into the object itself.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "framework/base/result.hpp"

namespace plimsoll {

struct WireContext;      // the reader's position, and the first error
struct ProtoOccurrence;  // one occurrence of a field in a protobuf message
struct ProtoMessage;

// What an error in an object does.
enum class Reading {
  kStrict,         // the reading fails
  kWhatCanBeRead,  // the wrong part is skipped like a missing field; all else is read
};

class WireValue {
 public:
  [[nodiscard]] bool text(std::string_view* out);
  [[nodiscard]] bool boolean(bool* out);
  [[nodiscard]] bool integer(int64_t* out, int64_t min = std::numeric_limits<int64_t>::min(),
                             int64_t max = std::numeric_limits<int64_t>::max());
  // The text of a string, or the digits of a number as written.
  [[nodiscard]] bool text_or_number(std::string_view* out);
  // The JSON of an object, as written. Not of protobuf.
  [[nodiscard]] bool raw(std::string_view* out);
  // A metav1.Time, in milliseconds since the epoch.
  [[nodiscard]] bool time(int64_t* out_ms);
  [[nodiscard]] bool is_null();

  // visit(std::string_view key, WireValue& value) -> bool for each member: `fields` of a struct
  // ("a.b" in errors), `entries` of a map ("a[b]").
  template <typename Visit>
  [[nodiscard]] bool fields(Visit&& visit) {
    return members(Step::kField, &visit, call_member<std::remove_reference_t<Visit>>);
  }
  template <typename Visit>
  [[nodiscard]] bool entries(Visit&& visit) {
    return members(Step::kEntry, &visit, call_member<std::remove_reference_t<Visit>>);
  }
  // visit(WireValue& value) -> bool for each element.
  template <typename Visit>
  [[nodiscard]] bool items(Visit&& visit) {
    return elements(&visit, call_element<std::remove_reference_t<Visit>>);
  }

  // Records that this value is wrong, and why. Returns false.
  bool fail(std::string_view why);

 private:
  using Call = bool (*)(const void*, WireValue&);
  using CallMember = bool (*)(const void*, std::string_view, WireValue&);
  friend Error read_json_with(std::string_view, const void*, Call, Reading);
  friend Error read_protobuf_with(std::string_view, const ProtoMessage&, const void*, Call,
                                  Reading);
  friend struct WireContext;
  enum class Step { kField, kEntry };

  template <typename Visit>
  static bool call_member(const void* visit, std::string_view key, WireValue& value) {
    return (*static_cast<Visit*>(const_cast<void*>(visit)))(key, value);
  }
  template <typename Visit>
  static bool call_element(const void* visit, WireValue& value) {
    return (*static_cast<Visit*>(const_cast<void*>(visit)))(value);
  }
  bool members(Step step, const void* visit, CallMember call);
  bool elements(const void* visit, Call call);
  bool proto_fields(const ProtoMessage& message, std::string_view bytes, const void* visit,
                    CallMember call);
  bool proto_members(Step step, const void* visit, CallMember call);
  bool proto_elements(const void* visit, Call call);
  bool proto_text(std::string_view* out);
  bool proto_integer(int64_t* out);
  bool proto_time(int64_t* out_ms);

  WireValue() = default;
  WireContext* context_ = nullptr;
  bool root_ = false;
  // Either value_ is set: the JSON parser's own value, on the stack of the visitor's caller. Or
  // proto_ is set: a field of a protobuf message with `count_` occurrences.
  void* value_ = nullptr;
  const ProtoOccurrence* proto_ = nullptr;
  size_t count_ = 0;
};

// Parses one object and passes its root to `visit`(WireValue&) -> bool. The result has an empty
// message if there is no error.
[[nodiscard]] Error read_json_with(std::string_view json, const void* visit,
                                   bool (*call)(const void*, WireValue&), Reading how);
[[nodiscard]] Error read_protobuf_with(std::string_view bytes, const ProtoMessage& message,
                                       const void* visit, bool (*call)(const void*, WireValue&),
                                       Reading how);

template <typename Visit>
[[nodiscard]] Error read_json(std::string_view json, Visit&& visit,
                              Reading how = Reading::kStrict) {
  using Function = std::remove_reference_t<Visit>;
  const auto call = [](const void* function, WireValue& root) {
    return (*static_cast<Function*>(const_cast<void*>(function)))(root);
  };
  return read_json_with(json, &visit, call, how);
}

// `bytes`: the message itself, without the "k8s\0" envelope around it.
template <typename Visit>
[[nodiscard]] Error read_protobuf(std::string_view bytes, const ProtoMessage& message,
                                  Visit&& visit, Reading how = Reading::kStrict) {
  using Function = std::remove_reference_t<Visit>;
  const auto call = [](const void* function, WireValue& root) {
    return (*static_cast<Function*>(const_cast<void*>(function)))(root);
  };
  return read_protobuf_with(bytes, message, &visit, call, how);
}

}  // namespace plimsoll
