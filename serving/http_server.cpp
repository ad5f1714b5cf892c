#include "serving/http_server.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "framework/base/log.hpp"
#include "serving/http_session.hpp"
#include "serving/limits/entrance.hpp"
#include "serving/socket_place.hpp"
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

// SO_PEERCRED; nothing for a client over TCP.
std::optional<std::uint32_t> local_user(int socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0) return std::nullopt;
  if (own.ss_family != AF_UNIX) return std::nullopt;
  ucred peer{};
  length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return peer.uid;
}

EntranceOptions entrance_options(const ServerOptions& options) {
  return {options.tls.has_value(), room_to_wait(options), options.header_timeout, options.metrics};
}

}  // namespace

struct HttpServer::Impl {
  Impl(ServerOptions options, LateHandler handler)
      : shared(io, std::move(options), std::move(handler)),
        entrance(io, entrance_options(shared.options),
                 [this](Socket socket, Peer peer) { serve(std::move(socket), peer); }) {}

  net::io_context io{1};
  std::optional<ServerTls> tls;
  std::optional<SocketPlace> place;
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

  Result<void> listen_on_socket() {
    auto taken = SocketPlace::take(shared.options.local_socket);
    if (!taken) return fail(taken.error());
    place.emplace(std::move(*taken));
    const auto socket = place->listen();
    if (!socket) return fail(socket.error());
    error_code error;
    if (entrance.listen_with(*socket, error)) return {};
    return fail(ErrorCode::kInvalid, "listening on " + place->path() + ": " + error.message());
  }

  Result<void> listen() {
    const ServerOptions& options = shared.options;
    if (!options.local_socket.empty()) return listen_on_socket();
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

  void serve(Socket socket, Peer peer) {
    shared.make_room_for(peer);
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    if (tls) {
      const ServerTls::Context context = tls->current();
      std::make_shared<Session<beast::ssl_stream<PlainStream>>>(shared, peer, std::move(socket),
                                                                std::nullopt, *context)
          ->run();
    } else {
      const auto user = local_user(socket.native_handle());
      std::make_shared<Session<PlainStream>>(shared, peer, std::move(socket), user)->run();
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
  return start(std::move(options), LateHandler([handler = std::move(handler)](
                                                   const Request& request, const Reply& reply) {
                 reply(ready(handler(request)));
               }));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, LateHandler handler) {
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
  if (impl_->place) impl_->place->remove_socket();
}

std::uint16_t HttpServer::port() const {
  return impl_->port;
}

std::string HttpServer::url() const {
  if (impl_->place) return impl_->place->path();
  const bool v6 = impl_->shared.options.address.find(':') != std::string::npos;
  const std::string& address = impl_->shared.options.address;
  return (impl_->tls ? "https://" : "http://") + (v6 ? "[" + address + "]" : address) + ":" +
         std::to_string(impl_->port);
}

}  // namespace plimsoll::serving
