#pragma once
// wire.hpp for Kubernetes' protobuf encoding: cuts bytes into single messages and reads the parts
// that the reflector needs. An object is passed on without the envelope ("k8s\0" and a
// runtime.Unknown) that surrounds a list and the object of a watch event. Kubernetes:
// k8s.io/apimachinery/pkg/runtime/serializer/protobuf.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "informer/wire/status_answer.hpp"
#include "informer/wire/wire.hpp"

namespace plimsoll::informer {

inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";
// What client-go accepts of core kinds: protobuf, and JSON from a server that has only JSON.
inline constexpr std::string_view kAcceptProtobuf =
    "application/vnd.kubernetes.protobuf,application/json";

// Splits a list into its items while it arrives: only one item is held at a time.
class ProtobufListFramer {
 public:
  // Calls `on_item` with every complete message of the list's items. kInvalid if it is not a list.
  [[nodiscard]] Result<void> feed(std::string_view chunk,
                                  const std::function<void(std::string_view)>& on_item);
  // Call it after the last chunk. kInvalid if the list is truncated or has no resource version.
  [[nodiscard]] Result<ListFramer::Meta> finish();
  void reset() { *this = ProtobufListFramer(); }

 private:
  enum class Step { kMagic, kEnvelope, kList, kEnd };
  // Consumes as much of `data` as possible. Returns false if it needs more bytes.
  [[nodiscard]] bool advance(std::string_view& data,
                             const std::function<void(std::string_view)>& on_item);

  std::string buffer_;  // not consumed yet
  Step step_ = Step::kMagic;
  std::uint64_t list_left_ = 0;  // bytes of the list that are not consumed yet
  std::string metadata_;
  bool broken_ = false;
};

// Splits a watch stream into its frames: a length of four bytes, then a WatchEvent.
class ProtobufFrameCutter {
 public:
  // kInvalid if a frame is longer than `max_frame`; the stream is unusable then.
  [[nodiscard]] Result<void> feed(std::string_view chunk,
                                  const std::function<void(std::string_view)>& on_frame);
  void reset() { buffer_.clear(); }

  std::size_t max_frame = std::size_t{64} << 20;

 private:
  std::string buffer_;
};

// Whether the body is a message in its envelope, as opposed to JSON or plain text.
[[nodiscard]] bool is_protobuf(std::string_view body);

// Results are views into the argument. kInvalid: not such a message, or without metadata.name.
[[nodiscard]] Result<ObjectKey> read_protobuf_object(std::string_view message);
[[nodiscard]] Result<WatchEvent> read_protobuf_event(std::string_view frame);

// Reads the body of an answer, including the envelope. kInvalid: it is not protobuf.
[[nodiscard]] Result<StatusAnswer> read_protobuf_status(std::string_view body);

}  // namespace plimsoll::informer
