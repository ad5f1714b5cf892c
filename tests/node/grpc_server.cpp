#include "tests/node/grpc_server.hpp"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace plimsoll::node::test {
namespace {

constexpr int kPollMs = 20;

struct Connection {
  const GrpcServer::Handler* handler = nullptr;
  int fd = -1;
  std::string method;
  std::string request;
  GrpcAnswer answer;
  std::string body;
  std::size_t sent = 0;
  bool cut = false;
};

nghttp2_nv field(const std::string& name, const std::string& value) {
  const auto bytes = [](const std::string& text) {
    return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

void send_trailers(nghttp2_session* session, std::int32_t stream, const Connection& connection) {
  const std::string status = "grpc-status";
  const std::string number = std::to_string(connection.answer.status);
  const std::string message = "grpc-message";
  const std::array trailers{field(status, number), field(message, connection.answer.text)};
  nghttp2_submit_trailer(session, stream, trailers.data(), trailers.size());
}

ssize_t read_body(nghttp2_session* session, std::int32_t stream, std::uint8_t* into,
                  std::size_t room, std::uint32_t* flags, nghttp2_data_source* source, void*) {
  auto& connection = *static_cast<Connection*>(source->ptr);
  const std::size_t count = std::min(room, connection.body.size() - connection.sent);
  std::memcpy(into, connection.body.data() + connection.sent, count);
  connection.sent += count;
  if (connection.sent == connection.body.size()) {
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    send_trailers(session, stream, connection);
  }
  return static_cast<ssize_t>(count);
}

int on_header(nghttp2_session*, const nghttp2_frame*, const std::uint8_t* name, std::size_t size,
              const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
  if (std::string(reinterpret_cast<const char*>(name), size) == ":path") {
    static_cast<Connection*>(user)->method.assign(reinterpret_cast<const char*>(value), value_size);
  }
  return 0;
}

int on_data(nghttp2_session*, std::uint8_t, std::int32_t, const std::uint8_t* data,
            std::size_t size, void* user) {
  static_cast<Connection*>(user)->request.append(reinterpret_cast<const char*>(data), size);
  return 0;
}

int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
  auto& connection = *static_cast<Connection*>(user);
  const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  if (!ends || (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS)) return 0;
  connection.answer = (*connection.handler)(connection.method, connection.request.substr(5));
  connection.cut = connection.answer.cut;
  if (connection.cut || connection.answer.hang) return 0;
  const std::string& message = connection.answer.message;
  connection.body.assign(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) {
    connection.body += static_cast<char>(message.size() >> shift & 0xff);
  }
  connection.body += message;
  if (connection.answer.status != 0) connection.body.clear();
  const std::string status = ":status";
  const std::string ok = "200";
  const std::string type = "content-type";
  const std::string grpc = "application/grpc";
  const std::array headers{field(status, ok), field(type, grpc)};
  nghttp2_data_provider body{};
  body.source.ptr = &connection;
  body.read_callback = read_body;
  nghttp2_submit_response(session, frame->hd.stream_id, headers.data(), headers.size(), &body);
  return 0;
}

ssize_t on_send(nghttp2_session*, const std::uint8_t* data, std::size_t size, int, void* user) {
  const ssize_t count = ::send(static_cast<Connection*>(user)->fd, data, size, MSG_NOSIGNAL);
  return count < 0 ? static_cast<ssize_t>(NGHTTP2_ERR_CALLBACK_FAILURE) : count;
}

}  // namespace

GrpcServer::GrpcServer(const std::filesystem::path& socket, Handler handler)
    : handler_(std::move(handler)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 16) != 0) {
    throw std::runtime_error("cannot listen at " + socket.string());
  }
  thread_ = std::thread([this] { run(); });
}

GrpcServer::~GrpcServer() {
  stopping_ = true;
  thread_.join();
  for (std::thread& connection : connections_) connection.join();
  ::close(listener_);
}

void GrpcServer::run() {
  while (!stopping_) {
    pollfd ready{listener_, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) <= 0) continue;
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    connections_.emplace_back([this, fd] {
      serve(fd);
      ::close(fd);
    });
  }
}

void GrpcServer::serve(int fd) {
  const GrpcServer::Handler one_by_one = [this](const auto& method, const auto& request) {
    const std::lock_guard lock(calling_);
    return handler_(method, request);
  };
  const int drops = drops_;
  Connection connection;
  connection.handler = &one_by_one;
  connection.fd = fd;
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
  nghttp2_session* session = nullptr;
  nghttp2_session_server_new(&session, callbacks, &connection);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
  std::array<std::uint8_t, 4096> buffer;
  while (!stopping_ && !connection.cut && drops == drops_) {
    if (nghttp2_session_send(session) != 0) break;
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, kPollMs) <= 0) continue;
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count <= 0) break;
    if (nghttp2_session_mem_recv(session, buffer.data(), static_cast<std::size_t>(count)) < 0)
      break;
  }
  nghttp2_session_del(session);
}

}  // namespace plimsoll::node::test
