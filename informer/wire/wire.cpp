#include "informer/wire/wire.hpp"

#include <simdjson.h>

#include <array>
#include <nlohmann/json.hpp>

#include "framework/base/json_field.hpp"

namespace plimsoll::informer {
namespace {

namespace od = simdjson::ondemand;

static_assert(kJsonPadding >= simdjson::SIMDJSON_PADDING);

// Bytes that change the scanner's state outside and inside of strings.
constexpr std::array<bool, 256> table_of(std::string_view bytes) {
  std::array<bool, 256> table{};
  for (const char c : bytes) table[static_cast<unsigned char>(c)] = true;
  return table;
}
constexpr auto kStructural = table_of("{}[]\",:");
constexpr auto kStringEnd = table_of("\"\\");

od::document parse(od::parser& parser, std::string_view json, simdjson::error_code& error) {
  od::document document;
  error = parser.iterate(json.data(), json.size(), json.size() + kJsonPadding).get(document);
  return document;
}

std::string describe(simdjson::error_code error) {
  return std::string("not valid JSON: ") + simdjson::error_message(error);
}

// The fields of `metadata` that make up a key, and the annotation that ends a streamed list.
struct Metadata {
  ObjectKey key;
  bool initial_events_end = false;
};

simdjson::error_code read_metadata(od::object metadata, Metadata& into) {
  for (auto next : metadata) {
    od::field field;
    if (auto error = std::move(next).get(field)) return error;
    std::string_view key;
    if (auto error = field.unescaped_key().get(key)) return error;
    std::string_view* text = key == "name"              ? &into.key.name
                             : key == "namespace"       ? &into.key.ns
                             : key == "uid"             ? &into.key.uid
                             : key == "resourceVersion" ? &into.key.resource_version
                                                        : nullptr;
    if (text != nullptr) {
      if (auto error = field.value().get_string().get(*text)) return error;
    } else if (key == "annotations") {
      od::object annotations;
      if (field.value().get_object().get(annotations)) continue;
      for (auto inner : annotations) {
        od::field annotation;
        if (auto error = std::move(inner).get(annotation)) return error;
        std::string_view name;
        if (auto error = annotation.unescaped_key().get(name)) return error;
        std::string_view value;
        if (name == "k8s.io/initial-events-end" &&
            annotation.value().get_string().get(value) == simdjson::SUCCESS) {
          into.initial_events_end = value == "true";
        }
      }
    }
  }
  return simdjson::SUCCESS;
}

simdjson::error_code find_metadata(od::parser& parser, std::string_view json, Metadata& into) {
  simdjson::error_code error = simdjson::SUCCESS;
  od::document document = parse(parser, json, error);
  if (error) return error;
  od::object root;
  if ((error = document.get_object().get(root))) return error;
  for (auto next : root) {
    od::field field;
    if ((error = std::move(next).get(field))) return error;
    std::string_view key;
    if ((error = field.unescaped_key().get(key))) return error;
    if (key != "metadata") continue;
    od::object metadata;
    if ((error = field.value().get_object().get(metadata))) return error;
    return read_metadata(metadata, into);
  }
  return simdjson::SUCCESS;
}

}  // namespace

// ---- framing ----

Result<void> LineFramer::feed(std::string_view chunk,
                              const std::function<void(std::string_view)>& on_line) {
  while (!chunk.empty()) {
    const std::size_t end = chunk.find('\n');
    line_.append(chunk.substr(0, end));
    if (line_.size() > max_line) {
      line_.clear();
      return fail(ErrorCode::kInvalid, "a line of the watch stream is longer than " +
                                           std::to_string(max_line) + " bytes");
    }
    if (end == std::string_view::npos) return {};
    chunk.remove_prefix(end + 1);
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (line_.empty()) continue;
    const std::size_t size = line_.size();
    line_.resize(size + kJsonPadding);
    on_line(std::string_view(line_.data(), size));
    line_.clear();
  }
  return {};
}

Result<void> ListFramer::feed(std::string_view chunk,
                              const std::function<void(std::string_view)>& on_item) {
  std::size_t i = 0;
  while (i < chunk.size()) {
    // Copies the bytes up to the next relevant one at once.
    const auto& stops = in_string_ ? kStringEnd : kStructural;
    std::size_t stop = i;
    if (!escaped_ && !(items_ && !item_open_)) {
      while (stop < chunk.size() && !stops[static_cast<unsigned char>(chunk[stop])]) ++stop;
    }
    if (stop > i) {
      const std::string_view piece = chunk.substr(i, stop - i);
      (items_ ? item_ : frame_).append(piece);
      if (in_string_ && !items_ && depth_ == 1) last_string_.append(piece);
      i = stop;
      continue;
    }
    if (items_) {
      if (!in_items(chunk[i], on_item)) {
        return fail(ErrorCode::kInvalid,
                    "the answer is not a Kubernetes list: its brackets do not "
                    "match");
      }
    } else {
      in_frame(chunk[i]);
    }
    ++i;
  }
  if (frame_.size() > (std::size_t{16} << 20) || item_.size() > (std::size_t{64} << 20)) {
    return fail(ErrorCode::kInvalid,
                "the answer is not a Kubernetes list: one part of it is larger "
                "than 64 MiB");
  }
  return {};
}

void ListFramer::in_frame(char c) {
  frame_ += c;
  if (in_string_) {
    if (escaped_) {
      escaped_ = false;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (c == '"') {
      in_string_ = false;
      return;
    }
    if (depth_ == 1) last_string_ += c;
    return;
  }
  switch (c) {
    case '"':
      in_string_ = true;
      if (depth_ == 1) last_string_.clear();
      break;
    case ',':
      if (depth_ == 1) last_string_.clear();
      break;
    case '[':
    case '{':
      ++depth_;
      if (c == '[' && depth_ == 2 && last_string_ == "items") items_ = true;
      break;
    case ']':
    case '}':
      if (depth_ > 0) --depth_;
      if (depth_ == 0) ended_ = true;
      break;
    default:
      break;
  }
}

bool ListFramer::in_items(char c, const std::function<void(std::string_view)>& on_item) {
  if (item_open_) {
    if (in_string_) {
      item_ += c;
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
      return true;
    }
    const bool closes = c == '}' || c == ']';
    if (depth_ == 2 && (c == ',' || closes)) {  // the end of an item that is a bare scalar
      emit(on_item);
    } else {
      item_ += c;
      if (c == '"') in_string_ = true;
      if (c == '{' || c == '[') ++depth_;
      if (closes && --depth_ == 2) emit(on_item);
      return true;
    }
  }
  if (c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == ',') return true;
  if (c == '}') return false;
  if (c == ']') {
    items_ = false;
    depth_ = 1;
    last_string_.clear();
    frame_ += c;
    return true;
  }
  item_open_ = true;
  item_ += c;
  if (c == '"') in_string_ = true;
  if (c == '{' || c == '[') ++depth_;
  return true;
}

void ListFramer::emit(const std::function<void(std::string_view)>& on_item) {
  const std::size_t size = item_.size();
  item_.resize(size + kJsonPadding);
  on_item(std::string_view(item_.data(), size));
  item_.clear();
  item_open_ = false;
}

Result<ListFramer::Meta> ListFramer::finish() {
  if (!ended_ || items_ || in_string_ || depth_ != 0) {
    return fail(ErrorCode::kInvalid, "the list is cut off");
  }
  const auto frame = nlohmann::json::parse(frame_, nullptr, false);
  if (!frame.is_object()) {
    return fail(ErrorCode::kInvalid, "the answer is not a Kubernetes list: not valid JSON");
  }
  const auto metadata = frame.find("metadata");
  Meta meta;
  if (metadata != frame.end()) {
    meta.resource_version = text_at(*metadata, "resourceVersion");
    meta.continue_token = text_at(*metadata, "continue");
  }
  if (meta.resource_version.empty()) {
    return fail(ErrorCode::kInvalid,
                "the answer is not a Kubernetes list: metadata.resourceVersion is missing");
  }
  return meta;
}

// ---- decoding ----

struct ObjectReader::Impl {
  od::parser event_parser;
  od::parser object_parser;
};

ObjectReader::ObjectReader() : impl_(std::make_unique<Impl>()) {}
ObjectReader::~ObjectReader() = default;

Result<ObjectKey> ObjectReader::read_object(std::string_view json) {
  Metadata metadata;
  if (const auto error = find_metadata(impl_->object_parser, json, metadata)) {
    return fail(ErrorCode::kInvalid, describe(error));
  }
  if (metadata.key.name.empty()) {
    return fail(ErrorCode::kInvalid, "metadata.name is missing");
  }
  return metadata.key;
}

Result<WatchEvent> ObjectReader::read_event(std::string_view line) {
  simdjson::error_code error = simdjson::SUCCESS;
  od::document document = parse(impl_->event_parser, line, error);
  if (error) return fail(ErrorCode::kInvalid, describe(error));
  od::object root;
  if ((error = document.get_object().get(root))) return fail(ErrorCode::kInvalid, describe(error));
  WatchEvent event;
  std::string_view type;
  for (auto next : root) {
    od::field field;
    if ((error = std::move(next).get(field))) return fail(ErrorCode::kInvalid, describe(error));
    std::string_view key;
    if ((error = field.unescaped_key().get(key))) {
      return fail(ErrorCode::kInvalid, describe(error));
    }
    if (key == "type") {
      error = field.value().get_string().get(type);
    } else if (key == "object") {
      od::object object;
      error = field.value().get_object().get(object);
      if (!error) error = object.raw_json().get(event.object);
    }
    if (error) return fail(ErrorCode::kInvalid, describe(error));
  }
  if (type == "ERROR") {
    event.error = read_json_status(event.object);
    return event;
  }
  if (!event.object.empty()) {
    Metadata metadata;
    if ((error = find_metadata(impl_->object_parser, event.object, metadata))) {
      return fail(ErrorCode::kInvalid, describe(error));
    }
    event.key = metadata.key;
    event.initial_events_end = metadata.initial_events_end;
  }
  return finish_event(type, std::move(event));
}

Result<WatchEvent> finish_event(std::string_view type, WatchEvent event) {
  if (type == "ADDED") {
    event.type = WatchEventType::kAdded;
  } else if (type == "MODIFIED") {
    event.type = WatchEventType::kModified;
  } else if (type == "DELETED") {
    event.type = WatchEventType::kDeleted;
  } else if (type == "BOOKMARK") {
    event.type = WatchEventType::kBookmark;
  } else {
    return fail(ErrorCode::kInvalid,
                "a watch event of the unknown type '" + std::string(type) + "'");
  }
  if (event.object.empty()) return fail(ErrorCode::kInvalid, "a watch event without an object");
  if (event.type == WatchEventType::kBookmark) {
    if (event.key.resource_version.empty()) {
      return fail(ErrorCode::kInvalid, "a bookmark without metadata.resourceVersion");
    }
  } else if (event.key.name.empty()) {
    return fail(ErrorCode::kInvalid, "metadata.name is missing");
  }
  return event;
}

}  // namespace plimsoll::informer
