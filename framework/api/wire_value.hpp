#pragma once
// Reading an object as an API server sends it, as JSON or in Kubernetes' protobuf encoding, once,
// front to back, with errors that name the field. Hides the parsers, so that the decoders do not
// compile them; in protobuf, fields have the names that they have in JSON (protobuf_schema.hpp).
//
// A value is read at most once, inside the callback that got it; a callback that does not want it
// just returns true. As in Kubernetes, null is the same as a field that is not there: readers leave
// their output alone. Every function returns false after an error; pass that on. Texts of JSON
// point into buffers of this thread's reader: valid until the next read_json on this thread; those
// of protobuf into the object itself.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "framework/base/result.hpp"

namespace plimsoll {

struct WireContext;      // where the reader is, and the first error
struct ProtoOccurrence;  // a field as it was found in a protobuf message
struct ProtoMessage;

// What happens when something in an object is wrong.
enum class Reading {
  kStrict,         // that is all that is said of it
  kWhatCanBeRead,  // it is left out, like a field that is not there; all else is read
};

class WireValue {
 public:
  [[nodiscard]] bool text(std::string_view* out);
  [[nodiscard]] bool boolean(bool* out);
  [[nodiscard]] bool integer(int64_t* out, int64_t min = std::numeric_limits<int64_t>::min(),
                             int64_t max = std::numeric_limits<int64_t>::max());
  // The text of a string, or the digits of a number as they are written.
  [[nodiscard]] bool text_or_number(std::string_view* out);
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
  // One of the two: the JSON parser's own value, on the stack of whoever calls the visitor; or a
  // field of a protobuf message, of `count_` occurrences.
  void* value_ = nullptr;
  const ProtoOccurrence* proto_ = nullptr;
  size_t count_ = 0;
};

// Parses one object and hands its root to `visit`(WireValue&) -> bool. The error, if any, has an
// empty message otherwise.
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
