#include "node/hook/mux.hpp"

namespace plimsoll::node::mux {
namespace {

constexpr std::size_t kHead = 8;          // of a frame
constexpr std::size_t kMessageHead = 10;  // of a message
constexpr std::size_t kMost = (4u << 20) + kMessageHead;

void put(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

std::uint32_t number(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i)
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  return value;
}

}  // namespace

std::string frame(std::uint32_t connection, std::uint32_t stream, std::uint8_t type,
                  std::string_view data) {
  std::string out;
  put(out, connection);
  put(out, static_cast<std::uint32_t>(kMessageHead + data.size()));
  put(out, static_cast<std::uint32_t>(data.size()));
  put(out, stream);
  out += static_cast<char>(type);
  out += '\0';
  out += data;
  return out;
}

bool Reader::add(std::string_view bytes) {
  bytes_ += bytes;
  std::size_t at = 0;
  while (bytes_.size() - at >= kHead) {
    const std::uint32_t connection = number(bytes_, at);
    const std::size_t size = number(bytes_, at + 4);
    if ((connection != kPlugin && connection != kRuntime) || size > kMost) return false;
    if (bytes_.size() - at - kHead < size) break;
    std::string& stream = streams_[connection];
    stream.append(bytes_, at + kHead, size);
    if (stream.size() >= 4 && number(stream, 0) > kMost) return false;
    at += kHead + size;
  }
  bytes_.erase(0, at);
  return true;
}

std::optional<Message> Reader::next() {
  for (auto& [connection, stream] : streams_) {
    if (stream.size() < kMessageHead) continue;
    const std::size_t size = number(stream, 0);
    if (stream.size() - kMessageHead < size) continue;
    Message message{connection, number(stream, 4), static_cast<std::uint8_t>(stream[8]),
                    stream.substr(kMessageHead, size)};
    stream.erase(0, kMessageHead + size);
    return message;
  }
  return std::nullopt;
}

}  // namespace plimsoll::node::mux
