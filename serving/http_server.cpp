#include "serving/http_server.hpp"

#include <pthread.h>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll::serving {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = net::ip::tcp;
using boost::system::error_code;

constexpr int kHandlerFailed = 500;

// A connection that can be closed from outside.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void cut() = 0;

  // The serial number of the moment since when there is no complete request; zero: there is one,
  // and it is being answered.
  std::uint64_t waiting_since = 0;
};

struct Shared {
  ServerOptions options;
  Handler handler;
  // Used by the server's thread only.
  std::set<Connection*> connections;
  std::uint64_t moments = 0;

  // Makes room for one more connection; returns false if all are being answered.
  bool make_room() {
    if (connections.size() < options.max_connections) return true;
    Connection* oldest = nullptr;
    for (Connection* each : connections) {
      if (each->waiting_since == 0) continue;
      if (oldest == nullptr || each->waiting_since < oldest->waiting_since) oldest = each;
    }
    if (oldest == nullptr) return false;
    connections.erase(oldest);
    oldest->cut();
    return true;
  }
};

std::string decode(std::string_view text, bool plus_is_space) {
  std::string out;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// One connection, which serves requests one after the other. Everything runs on the server's
// thread.
template <typename Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <typename... Arguments>
  Session(Shared& shared, tcp::socket socket, Arguments&... arguments)
      : shared_(shared), stream_(std::move(socket), arguments...) {
    shared_.connections.insert(this);
  }
  ~Session() override { shared_.connections.erase(this); }

  void run() {
    waiting_since = ++shared_.moments;
    if constexpr (kTls) {
      expire_after(shared_.options.header_timeout);
      stream_.async_handshake(net::ssl::stream_base::server,
                              [self = this->shared_from_this()](error_code error) {
                                if (!error) self->read();
                              });
    } else {
      read();
    }
  }

  void cut() override { beast::get_lowest_layer(stream_).close(); }

 private:
  static constexpr bool kTls = !std::is_same_v<Stream, beast::tcp_stream>;

  void expire_after(std::chrono::milliseconds time) {
    beast::get_lowest_layer(stream_).expires_after(time);
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(shared_.options.max_header));
    parser_->body_limit(shared_.options.max_body);
    waiting_since = ++shared_.moments;
    expire_after(shared_.options.header_timeout);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](error_code error, std::size_t) {
                              if (error || self->parser_->is_done()) return self->on_read(error);
                              self->read_body();
                            });
  }

  void read_body() {
    expire_after(shared_.options.read_timeout);
    http::async_read(
        stream_, buffer_, *parser_,
        [self = this->shared_from_this()](error_code error, std::size_t) { self->on_read(error); });
  }

  void on_read(error_code error) {
    if (error == http::error::body_limit) return answer({413, "the body is too large\n"}, false);
    if (error == http::error::header_limit) {
      return answer({431, "the header is too large\n"}, false);
    }
    if (error == http::error::end_of_stream || error == beast::error::timeout) return close();
    if (error.category() == http::make_error_code(http::error::bad_method).category()) {
      return answer({400, "this is not HTTP/1.1: " + error.message() + "\n"}, false);
    }
    if (error) return;
    auto& message = parser_->get();
    Request request;
    request.method = std::string(message.method_string());
    const std::string target(message.target());
    const size_t question = target.find('?');
    request.path = decode(std::string_view(target).substr(0, question), false);
    if (question != std::string::npos) request.query = target.substr(question + 1);
    request.body = std::move(message.body());
    head_ = message.method() == http::verb::head;
    if (head_) request.method = "GET";
    answer(call_handler(request), message.keep_alive());
  }

  Response call_handler(const Request& request) {
    try {
      return shared_.handler(request);
    } catch (const std::exception& error) {
      log_error("answering a request failed", {{"path", request.path}, {"error", error.what()}});
      return {kHandlerFailed, "internal server error\n"};
    }
  }

  void answer(Response answered, bool keep_alive) {
    auto response = std::make_shared<http::response<http::string_body>>();
    response->result(static_cast<unsigned>(answered.status));
    response->set(http::field::content_type, answered.content_type);
    response->set("X-Content-Type-Options", "nosniff");
    response->set(http::field::cache_control, "no-cache, private");
    response->keep_alive(keep_alive);
    if (head_) {
      response->content_length(answered.body.size());
    } else {
      response->body() = std::move(answered.body);
      response->prepare_payload();
    }
    waiting_since = 0;
    expire_after(shared_.options.write_timeout);
    http::async_write(
        stream_, *response,
        [self = this->shared_from_this(), response, keep_alive](error_code error, std::size_t) {
          if (error) return;
          if (!keep_alive) return self->close();
          self->read();
        });
  }

  void close() {
    if constexpr (kTls) {
      expire_after(shared_.options.read_timeout);
      stream_.async_shutdown([self = this->shared_from_this()](error_code) {});
    } else {
      error_code ignored;
      stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }
  }

  Shared& shared_;
  Stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  bool head_ = false;
};

}  // namespace

std::vector<std::string> Request::parameters(std::string_view name) const {
  std::vector<std::string> values;
  std::string_view rest = query;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t equals = std::min(part.find('='), part.size());
    if (part.empty() || decode(part.substr(0, equals), true) != name) continue;
    values.push_back(equals == part.size() ? "" : decode(part.substr(equals + 1), true));
  }
  return values;
}

struct HttpServer::Impl {
  explicit Impl(Shared what) : shared(std::move(what)), acceptor(io) {}

  net::io_context io{1};
  std::optional<net::ssl::context> tls;
  Shared shared;
  tcp::acceptor acceptor;
  net::steady_timer retry{io};
  std::uint16_t port = 0;
  std::thread thread;

  Result<void> load_certificate() {
    const ServerOptions& options = shared.options;
    if (options.tls_cert_file.empty() && options.tls_private_key_file.empty()) return {};
    if (options.tls_cert_file.empty() || options.tls_private_key_file.empty()) {
      return fail(ErrorCode::kInvalid,
                  "--tls-cert-file and --tls-private-key-file go together: give both or neither");
    }
    tls.emplace(net::ssl::context::tls_server);
    tls->set_options(net::ssl::context::default_workarounds | net::ssl::context::no_tlsv1 |
                     net::ssl::context::no_tlsv1_1);
    error_code error;
    tls->use_certificate_chain_file(options.tls_cert_file, error);
    if (error) return bad_file(options.tls_cert_file, "certificate", error);
    tls->use_private_key_file(options.tls_private_key_file, net::ssl::context::pem, error);
    if (error) return bad_file(options.tls_private_key_file, "private key", error);
    return {};
  }

  static Result<void> bad_file(const std::string& file, const std::string& what,
                               const error_code& error) {
    return fail(ErrorCode::kInvalid, "the " + what + " " + file + " cannot be used: " +
                                         error.message() + "; it must be a readable PEM file");
  }

  Result<void> listen() {
    const ServerOptions& options = shared.options;
    error_code error;
    const auto address = net::ip::make_address(options.address, error);
    if (error) {
      return fail(ErrorCode::kInvalid, "--bind-address " + options.address +
                                           " is not an IP address; give one of this machine, such "
                                           "as 127.0.0.1 or 0.0.0.0");
    }
    const tcp::endpoint where(address, options.port);
    acceptor.open(where.protocol(), error);
    if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(where, error);
    if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
    if (error) {
      return fail(ErrorCode::kUnavailable, "cannot serve metrics and health on " + options.address +
                                               ":" + std::to_string(options.port) + ": " +
                                               error.message() +
                                               "; choose another --port, or 0 to serve nothing");
    }
    port = acceptor.local_endpoint().port();
    return {};
  }

  void accept() {
    acceptor.async_accept([this](error_code error, tcp::socket socket) {
      // This may already have been queued when stop() closed the acceptor.
      if (!acceptor.is_open() || error == net::error::operation_aborted) return;
      if (error) {  // probably out of file descriptors: do not retry at once
        retry.expires_after(std::chrono::milliseconds(100));
        retry.async_wait([this](error_code stopped) {
          if (!stopped && acceptor.is_open()) accept();
        });
        return;
      }
      if (shared.make_room()) open(std::move(socket));
      accept();
    });
  }

  void open(tcp::socket socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (tls) {
      std::make_shared<Session<beast::ssl_stream<beast::tcp_stream>>>(shared, std::move(socket),
                                                                      *tls)
          ->run();
    } else {
      std::make_shared<Session<beast::tcp_stream>>(shared, std::move(socket))->run();
    }
  }

  void run() {
    pthread_setname_np(pthread_self(), "plimsoll-serve");
    while (true) {
      try {
        io.run();
        return;
      } catch (const std::exception& error) {
        log_error("serving goes on after an exception", {{"error", error.what()}});
      }
    }
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, Handler handler) {
  auto impl = std::make_unique<Impl>(Shared{std::move(options), std::move(handler), {}});
  if (auto loaded = impl->load_certificate(); !loaded) return fail(loaded.error());
  if (auto listening = impl->listen(); !listening) return fail(listening.error());
  impl->accept();
  impl->thread = std::thread([raw = impl.get()] { raw->run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  stop();
}

void HttpServer::stop() {
  if (!impl_->thread.joinable()) return;
  // The thread closes its connections, runs out of work and ends.
  net::post(impl_->io, [impl = impl_.get()] {
    error_code ignored;
    impl->acceptor.close(ignored);
    impl->retry.cancel();
    const std::set<Connection*> open = impl->shared.connections;
    for (Connection* connection : open) connection->cut();
  });
  impl_->thread.join();
}

std::uint16_t HttpServer::port() const {
  return impl_->port;
}

std::string HttpServer::url() const {
  const bool v6 = impl_->shared.options.address.find(':') != std::string::npos;
  const std::string& address = impl_->shared.options.address;
  return (impl_->tls ? "https://" : "http://") + (v6 ? "[" + address + "]" : address) + ":" +
         std::to_string(impl_->port);
}

}  // namespace plimsoll::serving
