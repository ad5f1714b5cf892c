#include "tests/sandbox/http_client.hpp"

#include <utility>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace plimsoll::sandbox::test {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;

tcp::socket connect(net::io_context& io, std::uint16_t port) {
  tcp::socket socket(io);
  error_code error;
  socket.connect({net::ip::address_v4::loopback(), port}, error);
  return socket;
}

}  // namespace

struct HttpClient::Impl {
  explicit Impl(std::uint16_t port) : socket(connect(io, port)) {}
  net::io_context io;
  tcp::socket socket;
  beast::flat_buffer buffer;
};

HttpClient::HttpClient(std::uint16_t port) : impl_(std::make_unique<Impl>(port)) {}
HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::request(const std::string& method, const std::string& target,
                               const std::string& body, const std::string& content_type,
                               const std::string& token) {
  http::request<http::string_body> request;
  request.version(11);
  request.method_string(method);
  request.target(target);
  request.set(http::field::host, "127.0.0.1");
  request.set(http::field::content_type, content_type);
  if (!token.empty()) request.set(http::field::authorization, "Bearer " + token);
  request.body() = body;
  request.prepare_payload();
  error_code error;
  http::write(impl_->socket, request, error);
  if (error) return {};
  http::response_parser<http::string_body> parser;
  parser.body_limit(1ULL << 30);
  http::read(impl_->socket, impl_->buffer, parser, error);
  if (error) return {};
  auto& response = parser.get();
  return {static_cast<int>(response.result_int()), std::move(response.body()),
          std::string(response[http::field::retry_after])};
}

struct WatchClient::Impl {
  explicit Impl(std::uint16_t port) : stream(connect(io, port)) { parser.body_limit(boost::none); }
  net::io_context io;
  beast::tcp_stream stream;
  beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  std::string text;
  std::size_t start = 0;
  std::string failure;
  bool ended = false;

  // Reads a piece of the body into `text`; false at the end, on an error or a timeout.
  bool read_some(int timeout_ms) {
    if (ended || parser.is_done()) {
      ended = true;
      return false;
    }
    char piece[16384];
    parser.get().body().data = piece;
    parser.get().body().size = sizeof piece;
    parser.get().body().more = true;
    error_code error;
    bool done = false;
    stream.expires_after(std::chrono::milliseconds(timeout_ms));
    http::async_read_some(stream, buffer, parser, [&](error_code e, std::size_t) {
      error = e;
      done = true;
    });
    io.restart();
    while (!done) io.run_one();
    const std::size_t size = sizeof piece - parser.get().body().size;
    if (start > 0) text.erase(0, std::exchange(start, 0));
    text.append(piece, size);
    if (error && error != http::error::need_buffer) return size > 0;
    return true;
  }
};

WatchClient::WatchClient(std::uint16_t port, const std::string& target)
    : impl_(std::make_unique<Impl>(port)) {
  http::request<http::empty_body> request(http::verb::get, target, 11);
  request.set(http::field::host, "127.0.0.1");
  error_code error;
  http::write(impl_->stream, request, error);
  http::read_header(impl_->stream, impl_->buffer, impl_->parser, error);
  if (error || code() != 200) {
    while (!error && impl_->read_some(2000)) {
    }
    impl_->failure = impl_->text;
    impl_->ended = true;
  }
}

WatchClient::~WatchClient() = default;

int WatchClient::code() const {
  return static_cast<int>(impl_->parser.get().result_int());
}
std::string WatchClient::failure() const {
  return impl_->failure;
}
bool WatchClient::ended() const {
  return impl_->parser.is_done();
}

std::optional<nlohmann::json> WatchClient::next(int timeout_ms) {
  while (true) {
    const std::size_t end = impl_->text.find('\n', impl_->start);
    if (end != std::string::npos) {
      auto event = nlohmann::json::parse(impl_->text.substr(impl_->start, end - impl_->start));
      impl_->start = end + 1;
      return event;
    }
    if (!impl_->read_some(timeout_ms)) return std::nullopt;
  }
}

}  // namespace plimsoll::sandbox::test
