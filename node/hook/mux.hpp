#pragma once
// NRI's connection: one socket carries two logical ones, each a stream of ttrpc messages. A frame
// is `u32 connection, u32 length, bytes`, a message `u32 length, u32 stream, u8 type, u8 flags,
// bytes`, all big-endian; a message may span frames. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::node::mux {

inline constexpr std::uint32_t kPlugin = 1;   // the runtime calls
inline constexpr std::uint32_t kRuntime = 2;  // the plugin calls
inline constexpr std::uint8_t kRequest = 1;
inline constexpr std::uint8_t kResponse = 2;

struct Message {
  std::uint32_t connection = 0;
  std::uint32_t stream = 0;
  std::uint8_t type = 0;
  std::string data;
};

// One message in one frame.
[[nodiscard]] std::string frame(std::uint32_t connection, std::uint32_t stream, std::uint8_t type,
                                std::string_view data);

class Reader {
 public:
  // Takes bytes off the socket. False: they are no frames, or one is larger than NRI allows.
  [[nodiscard]] bool add(std::string_view bytes);
  // The next message that is complete.
  [[nodiscard]] std::optional<Message> next();

 private:
  std::string bytes_;
  std::map<std::uint32_t, std::string> streams_;  // by connection
};

}  // namespace plimsoll::node::mux
