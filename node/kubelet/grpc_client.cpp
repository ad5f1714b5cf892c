#include "node/kubelet/grpc_client.hpp"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <vector>

namespace plimsoll::node {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPrefix = 5;  // of a gRPC message: whether it is compressed, and its length
constexpr std::size_t kMostAnswer = std::size_t{64} << 20;

// Status codes of gRPC ("Status codes and their use in gRPC").
constexpr int kOk = 0;
constexpr int kResourceExhausted = 8;
constexpr int kUnimplemented = 12;
constexpr int kUnavailable = 14;
constexpr int kNone = -1;  // none came

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct Exchange {
  std::string body;  // of the request
  std::size_t sent = 0;
  std::string answer;
  std::string message;  // grpc-message
  std::string http_status;
  int status = kNone;
  bool too_long = false;
  bool ended = false;
};

std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name,
              std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
              std::uint8_t, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view header = text(name, name_size);
  const std::string_view content = text(value, value_size);
  if (header == ":status") exchange.http_status = content;
  if (header == "grpc-message") exchange.message = content;
  if (header == "grpc-status") {
    std::from_chars(content.data(), content.data() + content.size(), exchange.status);
  }
  return 0;
}

int on_data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data,
            std::size_t size, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  exchange.too_long = exchange.too_long || exchange.answer.size() + size > kMostAnswer + kPrefix;
  if (exchange.too_long) return NGHTTP2_ERR_CALLBACK_FAILURE;
  exchange.answer.append(text(data, size));
  return 0;
}

int on_end(nghttp2_session*, std::int32_t, std::uint32_t, void* user) {
  static_cast<Exchange*>(user)->ended = true;
  return 0;
}

ssize_t read_body(nghttp2_session*, std::int32_t, std::uint8_t* into, std::size_t room,
                  std::uint32_t* flags, nghttp2_data_source* source, void*) {
  auto& exchange = *static_cast<Exchange*>(source->ptr);
  const std::size_t count = std::min(room, exchange.body.size() - exchange.sent);
  std::memcpy(into, exchange.body.data() + exchange.sent, count);
  exchange.sent += count;
  if (exchange.sent == exchange.body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(count);
}

struct SessionEnd {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};
using Session = std::unique_ptr<nghttp2_session, SessionEnd>;

Session start(Exchange& exchange, std::string_view method) {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return nullptr;
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_end);
  nghttp2_session* made = nullptr;
  nghttp2_session_client_new(&made, callbacks, &exchange);
  nghttp2_session_callbacks_del(callbacks);
  Session session(made);
  if (session == nullptr) return nullptr;
  nghttp2_submit_settings(session.get(), NGHTTP2_FLAG_NONE, nullptr, 0);
  const auto field = [](std::string_view name, std::string_view value) {
    const auto bytes = [](std::string_view of) {
      return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(of.data()));
    };
    return nghttp2_nv{bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  };
  const std::array headers{field(":method", "POST"),
                           field(":scheme", "http"),
                           field(":path", method),
                           field(":authority", "localhost"),
                           field("content-type", "application/grpc"),
                           field("te", "trailers"),
                           field("user-agent", "plimsoll-node")};
  nghttp2_data_provider body{};
  body.source.ptr = &exchange;
  body.read_callback = read_body;
  const std::int32_t stream = nghttp2_submit_request(session.get(), nullptr, headers.data(),
                                                     headers.size(), &body, nullptr);
  return stream < 0 ? nullptr : std::move(session);
}

// Waits until the socket is ready for `events`; false: the deadline.
bool wait(int fd, short events, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd ready{fd, events, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (count > 0) return true;
    if (count < 0 && errno != EINTR) return false;
  }
}

std::string system_text(int error) {
  return std::error_code(error, std::generic_category()).message();
}

// Null: all is sent that there is to send.
const char* send_all(nghttp2_session* session, int fd, Clock::time_point until) {
  for (;;) {
    const std::uint8_t* data = nullptr;
    ssize_t size = nghttp2_session_mem_send(session, &data);
    if (size < 0) return "HTTP/2 failed";
    if (size == 0) return nullptr;
    while (size > 0) {
      const ssize_t count = ::send(fd, data, static_cast<std::size_t>(size), MSG_NOSIGNAL);
      if (count >= 0) {
        data += count;
        size -= count;
      } else if (errno == EAGAIN) {
        if (!wait(fd, POLLOUT, until)) return "no answer in time";
      } else if (errno != EINTR) {
        return "the connection was lost";
      }
    }
  }
}

// Null: the call has ended, by whatever status.
const char* run(Exchange& exchange, nghttp2_session* session, int fd, Clock::time_point until) {
  std::array<std::uint8_t, 65536> buffer;
  while (!exchange.ended) {
    if (const char* failed = send_all(session, fd, until)) return failed;
    if (!wait(fd, POLLIN, until)) return "no answer in time";
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return "the connection was lost";
    if (nghttp2_session_mem_recv(session, buffer.data(), static_cast<std::size_t>(count)) < 0) {
      return exchange.too_long ? nullptr : "HTTP/2 failed";
    }
  }
  return nullptr;
}

ErrorCode code_of(int status) {
  switch (status) {
    case kResourceExhausted:
      return ErrorCode::kThrottled;
    case kUnimplemented:
      return ErrorCode::kNotFound;
    case kUnavailable:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInvalid;
  }
}

// The one message of a unary answer.
Result<std::string> message_of(Exchange& exchange) {
  if (exchange.too_long) return fail(ErrorCode::kInvalid, "the answer is longer than 64 MiB");
  if (exchange.status == kNone) {
    return fail(ErrorCode::kUnavailable,
                "the call ended without a gRPC status (HTTP status " + exchange.http_status + ")");
  }
  if (exchange.status != kOk) {
    return fail(code_of(exchange.status), "gRPC status " + std::to_string(exchange.status) +
                                              (exchange.message.empty() ? "" : ": ") +
                                              exchange.message);
  }
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(exchange.answer[at]); };
  if (exchange.answer.size() < kPrefix || byte(0) != 0) {
    return fail(ErrorCode::kInvalid, "the answer is no plain gRPC message");
  }
  const std::size_t length =
      std::size_t{byte(1)} << 24 | std::size_t{byte(2)} << 16 | std::size_t{byte(3)} << 8 | byte(4);
  if (exchange.answer.size() != kPrefix + length) {
    return fail(ErrorCode::kInvalid, "the answer is not one gRPC message");
  }
  return exchange.answer.substr(kPrefix);
}

Result<std::string> call(const std::filesystem::path& socket, std::string_view method,
                         std::string_view request, Clock::time_point until) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = socket.string();
  if (path.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::kInvalid, "the path of a socket has at most 107 bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return fail(ErrorCode::kUnavailable, system_text(errno));
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(ErrorCode::kUnavailable, system_text(errno));
  }
  Exchange exchange;
  exchange.body.assign(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) {
    exchange.body += static_cast<char>(request.size() >> shift & 0xff);
  }
  exchange.body += request;
  const Session session = start(exchange, method);
  if (session == nullptr) return fail(ErrorCode::kInternal, "HTTP/2 could not be started");
  if (const char* failed = run(exchange, session.get(), fd.get(), until)) {
    return fail(ErrorCode::kUnavailable, failed);
  }
  return message_of(exchange);
}

}  // namespace

Result<std::string> grpc_call(const std::filesystem::path& socket, std::string_view method,
                              std::string_view request, std::chrono::milliseconds deadline) {
  auto answer = call(socket, method, request, Clock::now() + deadline);
  if (answer) return answer;
  return fail(answer.error().within(socket.string() + " " + std::string(method)));
}

}  // namespace plimsoll::node
