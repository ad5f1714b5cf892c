// The stream of an API server, in JSON and in protobuf, in pieces of any size. The messages that
// are cut out of it must not depend on the pieces.

#include "informer/wire/wire.hpp"

#include <vector>

#include "fuzz/target.hpp"
#include "informer/http/http_client.hpp"
#include "informer/wire/protobuf_wire.hpp"
#include "informer/write/pod_answer.hpp"

namespace plimsoll::fuzz {
namespace {

using informer::ListFramer;
using informer::ObjectKey;
using informer::WatchEvent;

struct Cut {
  std::vector<std::string> pieces;
  bool failed = false;
};

template <typename Framer>
Cut cut(Framer& framer, std::string_view input, std::size_t step) {
  Cut out;
  const auto keep = [&](std::string_view piece) { out.pieces.emplace_back(piece); };
  for (std::size_t at = 0; at < input.size() && !out.failed; at += step) {
    // A copy in its own memory, so that reads beyond its end are detected.
    const std::string chunk(input.substr(at, step));
    out.failed = !framer.feed(chunk, keep);
  }
  return out;
}

// Compares the stream in one piece and in small pieces. The messages before an error may differ.
template <typename Framer>
Cut cut_twice(std::string_view input, std::size_t step, Framer& whole, Framer& framer) {
  const Cut once = cut(whole, input, input.size() + 1);
  const Cut often = cut(framer, input, step);
  require(once.failed == often.failed, "pieces do not decide whether a stream is good");
  if (!once.failed)
    require(once.pieces == often.pieces, "pieces do not decide what is in a stream");
  return once;
}

template <typename Framer>
Cut list(std::string_view input, std::size_t step) {
  Framer whole;
  Framer framer;
  Cut items = cut_twice(input, step, whole, framer);
  if (items.failed) return items;
  const auto meta = whole.finish();
  const auto same = framer.finish();
  require(meta.has_value() == same.has_value(), "pieces do not decide whether a list is complete");
  if (meta) {
    require(meta->resource_version == same->resource_version &&
                meta->continue_token == same->continue_token,
            "pieces do not decide what a list says");
    require(!meta->resource_version.empty(), "a list has a resource version");
  }
  return items;
}

void look_at(const ObjectKey& key) {
  require(!key.name.empty(), "an object has a name");
  (void)std::string(key.ns).append(key.uid).append(key.resource_version);
}

void look_at(const Result<WatchEvent>& event) {
  if (!event) return require(!event.error().message.empty(), "an error says something");
  (void)std::string(event->object);
  if (event->type == informer::WatchEventType::kBookmark) {
    require(!event->key.resource_version.empty(), "a bookmark has a resource version");
  } else if (event->type != informer::WatchEventType::kError) {
    look_at(event->key);
    require(!event->object.empty(), "an event has an object");
  }
}

// The text with the padding that JSON readers may read.
std::string padded(const std::string& text) {
  return text + std::string(informer::kJsonPadding, '\0');
}

void answer(std::string_view input) {
  informer::HttpResponse response;
  response.status = 200 + 9 * static_cast<int>(take_byte(input) % 40);
  response.body = input;
  require(!informer::response_error("asking", response).message.empty(), "an error says something");
  if (const auto wait = informer::retry_after(response)) {
    require(wait->count() > 0 && wait->count() <= 3'600'000, "a wait is bounded");
  }
  (void)informer::read_pod_answer(input);
}

}  // namespace

void wire_json(std::string_view input) {
  answer(input);
  const std::size_t step = 1 + take_byte(input) % 64;
  informer::ObjectReader reader;
  for (const std::string& item : list<ListFramer>(input, step).pieces) {
    const std::string text = padded(item);
    const auto key = reader.read_object(std::string_view(text).substr(0, item.size()));
    if (key) look_at(*key);
  }
  informer::LineFramer whole;
  informer::LineFramer framer;
  whole.max_line = framer.max_line = 2000;
  for (const std::string& line : cut_twice(input, step, whole, framer).pieces) {
    const std::string text = padded(line);
    look_at(reader.read_event(std::string_view(text).substr(0, line.size())));
  }
}

void wire_protobuf(std::string_view input) {
  answer(input);
  const std::size_t step = 1 + take_byte(input) % 64;
  for (const std::string& item : list<informer::ProtobufListFramer>(input, step).pieces) {
    const auto key = informer::read_protobuf_object(item);
    if (key) look_at(*key);
  }
  informer::ProtobufFrameCutter whole;
  informer::ProtobufFrameCutter framer;
  whole.max_frame = framer.max_frame = 2000;
  for (const std::string& frame : cut_twice(input, step, whole, framer).pieces) {
    look_at(informer::read_protobuf_event(frame));
  }
}

}  // namespace plimsoll::fuzz
