#include "serving/http_server.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "framework/base/log.hpp"
#include "serving/entrance.hpp"
#include "serving/http_session.hpp"
#include "serving/tls.hpp"

namespace plimsoll::serving {

namespace net = boost::asio;
namespace beast = boost::beast;
using tcp = net::ip::tcp;
using boost::system::error_code;

bool is_loopback(const std::string& address) {
  error_code error;
  const auto parsed = net::ip::make_address(address, error);
  return !error && parsed.is_loopback();
}

namespace {

// The rest of the process needs files too.
std::size_t room_to_wait(const ServerOptions& options) {
  if (options.max_waiting != 0) return options.max_waiting;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 64;
  return std::clamp<std::size_t>(files.rlim_cur / 4, 64, 4096);
}

EntranceOptions entrance_options(const ServerOptions& options) {
  return {options.tls.has_value(), room_to_wait(options), options.header_timeout, options.metrics};
}

}  // namespace

struct HttpServer::Impl {
  Impl(ServerOptions options, Handler handler)
      : shared(io, std::move(options), std::move(handler)),
        entrance(io, entrance_options(shared.options),
                 [this](tcp::socket socket, Peer peer) { serve(std::move(socket), peer); }) {}

  net::io_context io{1};
  std::optional<ServerTls> tls;
  Connections shared;
  Entrance entrance;
  std::uint16_t port = 0;
  std::thread thread;

  Result<void> load_certificate() {
    const ServerOptions& options = shared.options;
    if (!options.tls) return {};
    auto made = ServerTls::create(*options.tls, options.address, options.metrics);
    if (!made) return fail(made.error());
    tls.emplace(std::move(*made));
    return {};
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
    // As Go's servers take it: all addresses, of IPv6 too where the machine has it.
    const bool is_any = address == net::ip::address_v4::any();
    if (!is_any || !entrance.listen_at({net::ip::address_v6::any(), options.port}, error))
      (void)entrance.listen_at({address, options.port}, error);
    if (error) {
      return fail(ErrorCode::kUnavailable, "cannot serve metrics and health on " + options.address +
                                               ":" + std::to_string(options.port) + ": " +
                                               error.message() +
                                               "; choose another --port, or 0 to serve nothing");
    }
    port = entrance.port();
    return {};
  }

  void serve(tcp::socket socket, Peer peer) {
    shared.make_room_for(peer);
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (tls) {
      const ServerTls::Context context = tls->current();
      std::make_shared<Session<beast::ssl_stream<beast::tcp_stream>>>(shared, peer,
                                                                      std::move(socket), *context)
          ->run();
    } else {
      std::make_shared<Session<beast::tcp_stream>>(shared, peer, std::move(socket))->run();
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
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  if (auto loaded = impl->load_certificate(); !loaded) return fail(loaded.error());
  if (auto listening = impl->listen(); !listening) return fail(listening.error());
  impl->entrance.open();
  impl->thread = std::thread([raw = impl.get()] { raw->run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

// Without the memory to post the end, the process ends.
HttpServer::~HttpServer() {  // NOLINT(bugprone-exception-escape)
  stop();
}

void HttpServer::stop() {
  if (!impl_->thread.joinable()) return;
  impl_->shared.close_door();
  // The thread closes its connections, runs out of work and ends.
  net::post(impl_->io, [impl = impl_.get()] {
    impl->entrance.close();
    impl->shared.cut_all();
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
