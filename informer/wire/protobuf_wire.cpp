#include "informer/wire/protobuf_wire.hpp"

#include <optional>
#include <protozero/pbf_reader.hpp>

namespace plimsoll::informer {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr std::string_view kMagic("k8s\0", 4);
constexpr std::uint64_t kMaxItem = std::uint64_t{64} << 20;

std::string_view view_of(protozero::data_view data) {
  return {data.data(), data.size()};
}

// Visits the fields of one message: length-delimited ones as (number, bytes), numbers as (number,
// value).
template <typename OnBytes, typename OnNumber>
void each_field(std::string_view message, OnBytes&& on_bytes, OnNumber&& on_number) {
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    const std::uint32_t number = reader.tag();  // read before the value is taken
    if (reader.wire_type() == pbf_wire_type::length_delimited) {
      on_bytes(number, view_of(reader.get_view()));
    } else if (reader.wire_type() == pbf_wire_type::varint) {
      on_number(number, reader.get_uint64());
    } else {
      reader.skip();
    }
  }
}

constexpr auto kNoNumber = [](std::uint32_t, std::uint64_t) {};

// metav1.ObjectMeta.
void read_metadata(std::string_view message, ObjectKey& key, bool& initial_events_end) {
  each_field(
      message,
      [&](std::uint32_t number, std::string_view bytes) {
        if (number == 1) key.name = bytes;
        if (number == 3) key.ns = bytes;
        if (number == 5) key.uid = bytes;
        if (number == 6) key.resource_version = bytes;
        if (number != 12) return;  // annotations
        std::string_view name;
        std::string_view value;
        each_field(
            bytes,
            [&](std::uint32_t part, std::string_view text) { (part == 1 ? name : value) = text; },
            kNoNumber);
        if (name == "k8s.io/initial-events-end") initial_events_end = value == "true";
      },
      kNoNumber);
}

// Every kind has its metadata in field 1.
void read_object(std::string_view message, ObjectKey& key, bool& initial_events_end) {
  each_field(
      message,
      [&](std::uint32_t number, std::string_view bytes) {
        if (number == 1) read_metadata(bytes, key, initial_events_end);
      },
      kNoNumber);
}

// Returns runtime.Unknown.raw, which follows the magic bytes.
std::string_view without_envelope(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return {};
  std::string_view raw;
  each_field(
      bytes.substr(kMagic.size()),
      [&](std::uint32_t number, std::string_view field) {
        if (number == 2) raw = field;
      },
      kNoNumber);
  return raw;
}

Error malformed(std::string_view why) {
  return Error{ErrorCode::kInvalid, "malformed protobuf: " + std::string(why)};
}

// metav1.Status.
StatusAnswer status_in(std::string_view message) {
  StatusAnswer status;
  each_field(
      message,
      [&](std::uint32_t number, std::string_view bytes) {
        if (number == 3) status.message = bytes;
        if (number != 5) return;  // details
        each_field(
            bytes, [](std::uint32_t, std::string_view) {},
            [&](std::uint32_t part, std::uint64_t value) {
              if (part == 5) status.retry_after_seconds = static_cast<std::int64_t>(value);
            });
      },
      [&](std::uint32_t number, std::uint64_t value) {
        if (number == 6) status.code = static_cast<int>(value);
      });
  return status;
}

// Takes one varint off `data`; returns nothing if it is incomplete. A varint has at most ten bytes.
std::optional<std::uint64_t> take_varint(std::string_view& data) {
  const char* at = data.data();
  std::uint64_t value = 0;
  try {
    value = protozero::decode_varint(&at, data.data() + data.size());
  } catch (const protozero::end_of_buffer_exception&) {
    return std::nullopt;
  }
  data.remove_prefix(static_cast<std::size_t>(at - data.data()));
  return value;
}

struct Header {
  std::uint32_t field;
  std::uint64_t length;
};

// Takes tag and length of a length-delimited field; returns nothing if they are incomplete. No
// other field type occurs at the two outer levels of a list before the end of its items.
std::optional<Header> take_header(std::string_view& data) {
  std::string_view rest = data;
  const auto tag = take_varint(rest);
  if (!tag) return std::nullopt;
  if ((*tag & 7) != 2) throw protozero::unknown_pbf_wire_type_exception();
  const auto length = take_varint(rest);
  if (!length) return std::nullopt;
  data = rest;
  return Header{static_cast<std::uint32_t>(*tag >> 3), *length};
}

}  // namespace

// ---- lists

bool ProtobufListFramer::advance(std::string_view& data,
                                 const std::function<void(std::string_view)>& on_item) {
  std::string_view rest = data;
  switch (step_) {
    case Step::kMagic:
      if (data.size() < kMagic.size()) return false;
      if (!data.starts_with(kMagic)) throw protozero::invalid_tag_exception();
      data.remove_prefix(kMagic.size());
      step_ = Step::kEnvelope;
      return true;
    case Step::kEnvelope: {
      const auto header = take_header(rest);
      if (!header) return false;
      if (header->field == 2) {  // raw: the list itself
        list_left_ = header->length;
        step_ = list_left_ == 0 ? Step::kEnd : Step::kList;
        data = rest;
        return true;
      }
      if (header->length > kMaxItem) throw protozero::invalid_length_exception();
      if (rest.size() < header->length) return false;
      data = rest.substr(header->length);
      return true;
    }
    case Step::kList: {
      const auto header = take_header(rest);
      if (!header) return false;
      const std::uint64_t size = data.size() - rest.size() + header->length;
      if (header->length > kMaxItem || size > list_left_) {
        throw protozero::invalid_length_exception();
      }
      if (rest.size() < header->length) return false;
      const std::string_view field = rest.substr(0, header->length);
      if (header->field == 1) metadata_ = field;
      if (header->field == 2) on_item(field);
      data.remove_prefix(size);
      list_left_ -= size;
      if (list_left_ == 0) step_ = Step::kEnd;
      return true;
    }
    case Step::kEnd:
      data = {};  // contentEncoding and contentType carry no information
      return false;
  }
  return false;
}

Result<void> ProtobufListFramer::feed(std::string_view chunk,
                                      const std::function<void(std::string_view)>& on_item) {
  if (broken_) return fail(malformed("the list is broken"));
  buffer_.append(chunk);
  std::string_view data = buffer_;
  try {
    while (advance(data, on_item)) {
    }
  } catch (const protozero::exception& error) {
    broken_ = true;
    return fail(malformed(error.what()).within("the answer is not a Kubernetes list"));
  }
  buffer_.erase(0, buffer_.size() - data.size());
  return {};
}

Result<ListFramer::Meta> ProtobufListFramer::finish() {
  if (broken_ || step_ != Step::kEnd) return fail(ErrorCode::kInvalid, "the list is cut off");
  ListFramer::Meta meta;
  try {
    each_field(
        metadata_,
        [&](std::uint32_t number, std::string_view bytes) {
          if (number == 2) meta.resource_version = bytes;
          if (number == 3) meta.continue_token = bytes;
        },
        kNoNumber);
  } catch (const protozero::exception& error) {
    return fail(malformed(error.what()));
  }
  if (meta.resource_version.empty()) {
    return fail(ErrorCode::kInvalid,
                "the answer is not a Kubernetes list: metadata.resourceVersion is missing");
  }
  return meta;
}

// ---- watches

Result<void> ProtobufFrameCutter::feed(std::string_view chunk,
                                       const std::function<void(std::string_view)>& on_frame) {
  buffer_.append(chunk);
  std::string_view data = buffer_;
  while (data.size() >= 4) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<unsigned char>(data[i]);
    if (length > max_frame) {
      buffer_.clear();
      return fail(ErrorCode::kInvalid, "a frame of the watch stream is longer than " +
                                           std::to_string(max_frame) + " bytes");
    }
    if (data.size() < 4 + length) break;
    on_frame(data.substr(4, length));
    data.remove_prefix(4 + length);
  }
  buffer_.erase(0, buffer_.size() - data.size());
  return {};
}

Result<ObjectKey> read_protobuf_object(std::string_view message) {
  ObjectKey key;
  bool ignored = false;
  try {
    read_object(message, key, ignored);
  } catch (const protozero::exception& error) {
    return fail(malformed(error.what()));
  }
  if (key.name.empty()) return fail(ErrorCode::kInvalid, "metadata.name is missing");
  return key;
}

bool is_protobuf(std::string_view body) {
  return body.starts_with(kMagic);
}

Result<StatusAnswer> read_protobuf_status(std::string_view body) {
  if (!is_protobuf(body)) return fail(malformed("it does not begin with k8s"));
  try {
    return status_in(without_envelope(body));
  } catch (const protozero::exception& error) {
    return fail(malformed(error.what()));
  }
}

Result<WatchEvent> read_protobuf_event(std::string_view frame) {
  WatchEvent event;
  std::string_view type;
  try {
    each_field(
        frame,
        [&](std::uint32_t number, std::string_view bytes) {
          if (number == 1) type = bytes;
          if (number != 2) return;
          each_field(  // runtime.RawExtension
              bytes,
              [&](std::uint32_t part, std::string_view raw) {
                if (part == 1) event.object = without_envelope(raw);
              },
              kNoNumber);
        },
        kNoNumber);
    if (type == "ERROR") {
      event.error = status_in(event.object);
      return event;
    }
    if (!event.object.empty()) read_object(event.object, event.key, event.initial_events_end);
  } catch (const protozero::exception& error) {
    return fail(malformed(error.what()));
  }
  return finish_event(type, std::move(event));
}

}  // namespace plimsoll::informer
