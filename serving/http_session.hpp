#pragma once
// One connection of an HttpServer; for serving/*.cpp only. Everything runs on the server's thread.

#include <algorithm>
#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "serving/connections.hpp"
#include "serving/http_server.hpp"
#include "serving/limits/entrance.hpp"
#include "serving/tls.hpp"

namespace plimsoll::serving {

[[nodiscard]] std::string in_small_letters(std::string_view text);
// The token of an Authorization header ("Bearer TOKEN"), read as kube-apiserver reads it; empty:
// there is none.
[[nodiscard]] std::string bearer_token(std::string_view header);

// A connection as it comes in, over TCP or on a local socket.
using PlainStream = boost::beast::basic_stream<Protocol>;

// One connection, which serves requests one after the other.
template <typename Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
  using error_code = boost::system::error_code;

 public:
  template <typename... Arguments>
  Session(Connections& shared, Peer from, Socket socket, std::optional<std::uint32_t> local_user,
          Arguments&... arguments)
      : Connection(from), shared_(shared), stream_(std::move(socket), arguments...) {
    request_.local_user = local_user;
    shared_.add(this);
  }
  ~Session() override { shared_.remove(this); }

  void run() {
    stage = {.since = shared_.now()};
    if constexpr (kTls) {
      expire_after(shared_.options.header_timeout);
      stream_.async_handshake(boost::asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](error_code error) {
                                if (error) return;
                                self->request_.certificate_user =
                                    certificate_user(self->stream_.native_handle());
                                self->read();
                              });
    } else {
      read();
    }
  }

  void cut() override { boost::beast::get_lowest_layer(stream_).close(); }

  [[nodiscard]] const Request& request() const override { return request_; }
  void respond(Response response) override { answer(std::move(response), keep_alive_); }

 private:
  static constexpr std::chrono::minutes kLongestWithCertificate{5};
  static constexpr bool kTls = !std::is_same_v<Stream, PlainStream>;

  void expire_after(std::chrono::milliseconds time) {
    boost::beast::get_lowest_layer(stream_).expires_after(time);
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_.options.max_header));
    parser_->body_limit(shared_.options.max_body);
    stage = {.since = shared_.now()};
    expire_after(shared_.options.header_timeout);
    boost::beast::http::async_read_header(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](error_code error, std::size_t) {
          if (error || self->parser_->is_done()) return self->on_read(error);
          self->read_body();
        });
  }

  void read_body() {
    expire_after(shared_.options.read_timeout);
    boost::beast::http::async_read(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](error_code error, std::size_t) { self->on_read(error); });
  }

  void on_read(error_code error) {
    using http_error = boost::beast::http::error;
    if (error == http_error::body_limit) return answer({413, "the body is too large\n"}, false);
    if (error == http_error::header_limit) return answer({431, "the header is too large\n"}, false);
    if (error == http_error::end_of_stream || error == boost::beast::error::timeout) {
      return close();
    }
    if (error.category() == make_error_code(http_error::bad_method).category()) {
      return answer({400, "this is not HTTP/1.1: " + error.message() + "\n"}, false);
    }
    if (error) return;
    take_request();
    stage = {.since = shared_.now()};
    shared_.ask(this->shared_from_this());
  }

  void take_request() {
    auto& message = parser_->get();
    const auto text = [](auto from) { return std::string_view(from.data(), from.size()); };
    const std::string_view target = text(message.target());
    const std::size_t question = std::min(target.find('?'), target.size());
    request_.path = decode_url(target.substr(0, question), false);
    request_.query = target.substr(std::min(question + 1, target.size()));
    request_.verb = in_small_letters(text(message.method_string()));
    request_.host = text(message[boost::beast::http::field::host]);
    request_.bearer_token = bearer_token(text(message[boost::beast::http::field::authorization]));
    request_.body = std::move(message.body());
    head_ = message.method() == boost::beast::http::verb::head;
    request_.method = head_ ? "GET" : std::string(text(message.method_string()));
    // A certificate was checked when the connection began. It may have ended since.
    const bool old = request_.certificate_user &&
                     std::chrono::steady_clock::now() - begun_ > kLongestWithCertificate;
    keep_alive_ = message.keep_alive() && !old;
  }

  void answer(Response answered, bool keep_alive) {
    using boost::beast::http::field;
    auto response =
        std::make_shared<boost::beast::http::response<boost::beast::http::string_body>>();
    response->result(static_cast<unsigned>(answered.status));
    response->set(field::content_type, answered.content_type);
    response->set("X-Content-Type-Options", "nosniff");
    response->set(field::cache_control, "no-cache, private");
    if (answered.status == 401) response->set(field::www_authenticate, "Bearer");
    for (const auto& [name, value] : answered.headers) response->set(name, value);
    response->keep_alive(keep_alive);
    if (head_) {
      response->content_length(answered.body.size());
    } else {
      response->body() = std::move(answered.body);
      response->prepare_payload();
    }
    stage = {.answered = true, .since = shared_.now()};
    expire_after(shared_.options.write_timeout);
    boost::beast::http::async_write(
        stream_, *response,
        [self = this->shared_from_this(), response, keep_alive](error_code error, std::size_t) {
          if (error) return;
          if (!keep_alive) return self->close();
          self->read();
        });
  }

  void close() {
    stage = {.since = shared_.now()};  // a client that never says goodbye takes nobody's place
    if constexpr (kTls) {
      expire_after(shared_.options.read_timeout);
      stream_.async_shutdown([self = this->shared_from_this()](error_code) {});
    } else {
      error_code ignored;
      stream_.socket().shutdown(boost::asio::socket_base::shutdown_send, ignored);
    }
  }

  Connections& shared_;
  Stream stream_;
  // The parser bounds neither the line of a chunk's size nor trailers.
  boost::beast::flat_buffer buffer_{4 * shared_.options.max_header};
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  Request request_;
  bool head_ = false;
  bool keep_alive_ = false;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace plimsoll::serving
