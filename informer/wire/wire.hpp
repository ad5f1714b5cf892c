#pragma once
// Turns bytes on the wire into single objects. Framing (finding where an object begins and ends) is
// separate from decoding (reading its content). Nothing here blocks or does I/O; each object
// belongs to one thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "framework/base/result.hpp"
#include "informer/wire/status_answer.hpp"

namespace plimsoll::informer {

// Every text from a framer has this many readable bytes behind it, so that simdjson need not copy
// it.
inline constexpr std::size_t kJsonPadding = 64;

// Identifies one state of one object. Views: valid only during the call that passes them.
struct ObjectKey {
  std::string_view ns;  // empty for cluster-scoped kinds
  std::string_view name;
  std::string_view uid;
  std::string_view resource_version;
};

// Splits a watch stream into lines, independent of its chunks.
class LineFramer {
 public:
  // Calls `on_line` for every complete line that is not empty (padded, without its newline). Fails
  // with kInvalid if a line grows beyond `max_line`; the stream is unusable then.
  [[nodiscard]] Result<void> feed(std::string_view chunk,
                                  const std::function<void(std::string_view)>& on_line);
  void reset() { line_.clear(); }

  std::size_t max_line = std::size_t{64} << 20;

 private:
  std::string line_;
};

// Splits a Kubernetes list into its items while it arrives: only one item is held at a time,
// however large the list is.
class ListFramer {
 public:
  // Calls `on_item` with the text of every complete element of the top-level "items" (padded).
  // Fails with kInvalid if the text cannot be a list.
  [[nodiscard]] Result<void> feed(std::string_view chunk,
                                  const std::function<void(std::string_view)>& on_item);

  // The list's own metadata.
  struct Meta {
    std::string resource_version;
    std::string continue_token;
  };

  // Call it after the last chunk. Fails with kInvalid if the list is truncated or has no
  // metadata.resourceVersion.
  [[nodiscard]] Result<Meta> finish();
  void reset() { *this = ListFramer(); }

 private:
  void in_frame(char c);
  [[nodiscard]] bool in_items(char c, const std::function<void(std::string_view)>& on_item);
  void emit(const std::function<void(std::string_view)>& on_item);

  std::string frame_;  // the list without its items
  std::string item_;
  std::string last_string_;  // at the top level: the key in front of a value
  std::size_t depth_ = 0;    // of braces and brackets in the whole text
  bool in_string_ = false;
  bool escaped_ = false;
  bool items_ = false;  // inside the items array
  bool item_open_ = false;
  bool ended_ = false;
};

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

// One event of a watch. Its views are valid as long as its line or frame.
struct WatchEvent {
  WatchEventType type = WatchEventType::kError;
  std::string_view object;  // its JSON text, or its protobuf message
  ObjectKey key;
  bool initial_events_end = false;  // BOOKMARK: the streamed list is complete
  StatusAnswer error;               // ERROR
};

// Sets the event's type from its name and checks that the event is complete for that type: every
// event has an object, a bookmark has a resource version, the others have a name. kInvalid if not.
// Used by the readers of both encodings.
[[nodiscard]] Result<WatchEvent> finish_event(std::string_view type, WatchEvent event);

// Extracts from JSON text what the reflector itself needs. Keeps its parsers' memory between calls;
// a result is valid until the next call.
class ObjectReader {
 public:
  ObjectReader();
  ~ObjectReader();

  // `json` must be padded (kJsonPadding). kInvalid: not an object, or without metadata.name.
  [[nodiscard]] Result<ObjectKey> read_object(std::string_view json);
  [[nodiscard]] Result<WatchEvent> read_event(std::string_view line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::informer
