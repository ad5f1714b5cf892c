// The protobuf part of WireValue. A message is scanned once for the fields of the schema. They are
// then visited in the order of their first occurrence; a repeated field is visited once, with all
// of its occurrences.

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <utility>
#include <vector>

#include "framework/api/decode/protobuf_schema.hpp"
#include "framework/api/decode/wire_context.hpp"
#include "framework/api/decode/wire_value.hpp"

namespace plimsoll {

struct ProtoOccurrence {
  const ProtoField* field;  // null for a root or a list element: see message and kind
  ProtoKind kind;
  const ProtoMessage* message;
  std::string_view bytes;  // of a length-delimited field
  uint64_t number = 0;     // of a varint
};

namespace {

// The range of RFC 3339: the years 0 to 9999.
constexpr int64_t kFirstSecond = -62'167'219'200;
constexpr int64_t kLastSecond = 253'402'300'799;

std::string_view view_of(protozero::data_view data) {
  return {data.data(), data.size()};
}

// The occurrence at the reader's position. A wire type that does not fit the kind is an error.
ProtoOccurrence occurrence_at(protozero::pbf_reader& reader, const ProtoField& field) {
  ProtoOccurrence found{&field, field.kind, field.message, {}};
  if (field.kind == ProtoKind::kInteger) {
    if (reader.wire_type() != protozero::pbf_wire_type::varint) {
      throw protozero::unknown_pbf_wire_type_exception();
    }
    found.number = reader.get_uint64();
  } else {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      throw protozero::unknown_pbf_wire_type_exception();
    }
    found.bytes = view_of(reader.get_view());
  }
  return found;
}

const ProtoField* field_of(const ProtoMessage& message, uint32_t number) {
  for (const ProtoField& field : message.fields) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

// Key and value of one entry of a map<string, T>.
std::pair<std::string_view, ProtoOccurrence> map_entry(const ProtoOccurrence& map) {
  std::pair<std::string_view, ProtoOccurrence> entry{{}, {nullptr, map.kind, map.message, {}}};
  protozero::pbf_reader reader(map.bytes.data(), map.bytes.size());
  while (reader.next()) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) {
      reader.skip();
    } else if (reader.tag() == 1) {
      entry.first = view_of(reader.get_view());
    } else if (reader.tag() == 2) {
      entry.second.bytes = view_of(reader.get_view());
    } else {
      reader.skip();
    }
  }
  return entry;
}

// resource.Quantity: its only field is its text.
std::string_view quantity_text(std::string_view bytes) {
  std::string_view text;
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    if (reader.tag() == 1 && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      text = view_of(reader.get_view());
    } else {
      reader.skip();
    }
  }
  return text;
}

// Reads a part. If its bytes are not a message: in lenient reading only this part is wrong, like
// one with a wrong value; otherwise the whole object is malformed.
template <typename Read>
bool read_part(WireContext& context, const WireContext::PathStep& at, const Read& read) {
  return context.part(at, [&] {
    if (!context.lenient) return read();
    try {
      return read();
    } catch (const protozero::exception& error) {
      return context.fail(std::string("malformed protobuf: ") + error.what());
    }
  });
}

}  // namespace

bool WireValue::proto_integer(int64_t* out) {
  if (proto_->kind != ProtoKind::kInteger) return context_->fail("expected a number");
  *out = static_cast<int64_t>(proto_->number);
  return true;
}

// metav1.Time: seconds and nanoseconds since the epoch; both 0 when it is not set.
bool WireValue::proto_time(int64_t* out_ms) {
  int64_t seconds = 0;
  int64_t nanoseconds = 0;
  protozero::pbf_reader reader(proto_->bytes.data(), proto_->bytes.size());
  while (reader.next()) {
    if (reader.wire_type() != protozero::pbf_wire_type::varint) {
      reader.skip();
    } else if (reader.tag() == 1) {
      seconds = reader.get_int64();
    } else if (reader.tag() == 2) {
      nanoseconds = reader.get_int64();
    } else {
      reader.skip();
    }
  }
  // Clamps to the range of the text form: readers add to times, which must not overflow.
  seconds = std::clamp(seconds, kFirstSecond, kLastSecond);
  nanoseconds = std::clamp<int64_t>(nanoseconds, 0, 999'999'999);
  *out_ms = seconds * 1000 + nanoseconds / 1'000'000;
  return true;
}

bool WireValue::proto_fields(const ProtoMessage& message, std::string_view bytes, const void* visit,
                             CallMember call) {
  // Messages nest, and each level needs its own occurrences until it is done, so this is a stack.
  std::vector<ProtoOccurrence> found;
  found.reserve(16);
  protozero::pbf_reader reader(bytes.data(), bytes.size());
  while (reader.next()) {
    const ProtoField* field = field_of(message, reader.tag());
    if (field == nullptr) {
      reader.skip();
      continue;
    }
    found.push_back(occurrence_at(reader, *field));
  }
  // Groups the occurrences of a field. Messages that Kubernetes writes are already in order.
  const auto by_field = [](const auto& a, const auto& b) { return a.field < b.field; };
  if (!std::is_sorted(found.begin(), found.end(), by_field)) {
    std::stable_sort(found.begin(), found.end(), by_field);
  }
  for (size_t first = 0, end = 0; first < found.size(); first = end) {
    const ProtoField& field = *found[first].field;
    for (end = first + 1; end < found.size() && found[end].field == &field;) ++end;
    WireValue child;
    child.context_ = context_;
    if (field.shape == ProtoShape::kInline) {
      if (!proto_fields(*field.message, found[end - 1].bytes, visit, call)) return false;
      continue;
    }
    const bool several = field.shape != ProtoShape::kOne;
    child.proto_ =
        &found[several ? first : end - 1];  // the last value of a field that is set twice counts
    child.count_ = several ? end - first : 1;
    const WireContext::PathStep at{WireContext::PathStep::kField, field.name, 0};
    if (!read_part(*context_, at, [&] { return call(visit, field.name, child); })) return false;
  }
  return true;
}

bool WireValue::proto_members(Step step, const void* visit, CallMember call) {
  if (step == Step::kField) {
    if (proto_->kind != ProtoKind::kMessage) return context_->fail("expected an object");
    return proto_fields(*proto_->message, proto_->bytes, visit, call);
  }
  for (size_t i = 0; i < count_; ++i) {
    const auto [key, value] = map_entry(proto_[i]);
    WireValue child;
    child.context_ = context_;
    child.proto_ = &value;
    child.count_ = 1;
    const WireContext::PathStep at{WireContext::PathStep::kEntry, key, 0};
    if (!read_part(*context_, at, [&, &key = key] { return call(visit, key, child); }))
      return false;
  }
  return true;
}

bool WireValue::proto_elements(const void* visit, Call call) {
  for (size_t i = 0; i < count_; ++i) {
    WireValue child;
    child.context_ = context_;
    child.proto_ = &proto_[i];
    child.count_ = 1;
    const WireContext::PathStep at{WireContext::PathStep::kIndex, {}, i};
    if (!read_part(*context_, at, [&] { return call(visit, child); })) return false;
  }
  return true;
}

bool WireValue::proto_text(std::string_view* out) {
  if (proto_->kind == ProtoKind::kText) {
    *out = proto_->bytes;
    return true;
  }
  if (proto_->kind != ProtoKind::kQuantity) return context_->fail("expected a string");
  *out = quantity_text(proto_->bytes);
  return true;
}

Error read_protobuf_with(std::string_view bytes, const ProtoMessage& message, const void* visit,
                         bool (*call)(const void*, WireValue&), Reading how) {
  WireContext context;
  context.lenient = how == Reading::kWhatCanBeRead;
  const ProtoOccurrence root{nullptr, ProtoKind::kMessage, &message, bytes};
  WireValue value;
  value.context_ = &context;
  value.proto_ = &root;
  value.count_ = 1;
  try {
    if (!call(visit, value)) context.fail("rejected");
  } catch (const protozero::exception& error) {
    context.fail(std::string("malformed protobuf: ") + error.what());
  }
  return Error{ErrorCode::kInvalid, context.error};
}

}  // namespace plimsoll
