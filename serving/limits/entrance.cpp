#include "serving/limits/entrance.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace plimsoll::serving {

namespace net = boost::asio;
using tcp = net::ip::tcp;
using boost::system::error_code;

namespace {

constexpr int kTakenInAtATurn = 100;  // fewer than Asio looks at: those that go make room
constexpr int kServedAtATurn = 8;
constexpr auto kRetry = std::chrono::milliseconds(100);
constexpr unsigned char kTlsHandshake = 22;  // the first byte of a client that speaks TLS

// Its client learns at once, and nothing of it is left in the kernel.
void reset(int socket) {
  const linger none{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

// All on a local socket are one.
Peer peer_at(const Protocol::endpoint& from) {
  if (from.data()->sa_family == AF_UNIX) return 0;
  tcp::endpoint known;
  std::memcpy(known.data(), from.data(), std::min(from.size(), known.capacity()));
  return peer_of(known.address());
}

}  // namespace

Entrance::Entrance(net::io_context& io, EntranceOptions options, Serve serve)
    : io_(io),
      options_(std::move(options)),
      serve_(std::move(serve)),
      acceptor_(io),
      lobby_(options_.room) {}

bool Entrance::listen_at(const tcp::endpoint& where, error_code& error) {
  error_code ignored;
  acceptor_.close(ignored);
  const Protocol protocol(where.protocol());
  acceptor_.open(protocol, error);
  if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
  if (!error && where.protocol() == tcp::v6() && where.address().is_unspecified())
    acceptor_.set_option(net::ip::v6_only(false), error);
  if (!error) acceptor_.bind(Protocol::endpoint(where), error);
  if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  if (!error) acceptor_.non_blocking(true, error);
  return !error;
}

bool Entrance::listen_with(int socket, error_code& error) {
  acceptor_.assign(Protocol(AF_UNIX, 0), socket, error);
  return !error;
}

std::uint16_t Entrance::port() const {
  tcp::endpoint at;
  const Protocol::endpoint here = acceptor_.local_endpoint();
  std::memcpy(at.data(), here.data(), std::min(here.size(), at.capacity()));
  return at.port();
}

void Entrance::close() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  late_.cancel();
  while (const auto id = lobby_.shed()) waiting_.erase(*id);
}

void Entrance::wait_for_more() {
  acceptor_.async_wait(net::socket_base::wait_read, [this](error_code error) {
    // This may already have been queued when close() closed the acceptor.
    if (!error && acceptor_.is_open()) take_in();
  });
}

void Entrance::take_in() {
  wait_for_more();  // before anything can throw
  for (int i = 0; i < kTakenInAtATurn; ++i) {
    Protocol::endpoint from;
    auto size = static_cast<socklen_t>(from.capacity());
    const int socket =
        ::accept4(acceptor_.native_handle(), from.data(), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket >= 0) {
      from.resize(size);
      admit(socket, from);
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    const bool is_full = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    if (!is_full || make_room()) continue;
    error_code ignored;
    acceptor_.cancel(ignored);
    retry_.expires_after(kRetry);
    return retry_.async_wait([this](error_code stopped) {
      if (!stopped && acceptor_.is_open()) wait_for_more();
    });
  }
}

bool Entrance::make_room() {
  const auto gone = lobby_.shed();
  if (gone) turn_away(*gone);
  return gone.has_value();
}

// What the client has done so far.
Entrance::Sign Entrance::sign_of(int socket) const {
  unsigned char first = 0;
  const ssize_t size = ::recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0) {
    const bool may_come = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    return may_come ? Sign::kNone : Sign::kGone;
  }
  if (size == 0) return Sign::kGone;
  if (options_.tls && first != kTlsHandshake) return Sign::kGone;
  // It may have gone after it sent this. Whoever only sends no more may wait for an answer, but
  // cannot complete a handshake.
  const short no_more = options_.tls ? POLLRDHUP : 0;
  pollfd client{socket, no_more, 0};
  return ::poll(&client, 1, 0) > 0 ? Sign::kGone : Sign::kReady;
}

void Entrance::admit(int socket, const Protocol::endpoint& from) {
  const Sign sign = sign_of(socket);
  if (sign == Sign::kGone) {
    reset(socket);
    ::close(socket);
    return;
  }
  Socket held(io_);
  error_code error;
  held.assign(acceptor_.local_endpoint().protocol(), socket, error);
  if (error) {
    ::close(socket);
    return;
  }
  const Peer peer = peer_at(from);
  const Lobby::Id id = ++last_;
  waiting_.emplace(
      id, Waiting{std::move(held), peer, std::chrono::steady_clock::now() + options_.patience});
  if (const auto gone = lobby_.add(id, peer)) turn_away(*gone);
  follow(id, sign);
  if (!watches_time_) end_those_who_are_late();
}

void Entrance::follow(Lobby::Id id, Sign sign) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  Socket& socket = found->second.socket;
  switch (sign) {
    case Sign::kNone:
      return socket.async_wait(net::socket_base::wait_read, [this, id](error_code error) {
        const auto still = waiting_.find(id);
        if (error || still == waiting_.end()) return;
        follow(id, sign_of(still->second.socket.native_handle()));
      });
    case Sign::kReady:
      lobby_.make_ready(id);
      return serve_soon();
    case Sign::kGone:
      lobby_.remove(id);
      reset(socket.native_handle());
      waiting_.erase(found);
  }
}

void Entrance::serve_soon() {
  if (std::exchange(turn_is_coming_, true)) return;
  net::post(io_, [this] {
    turn_is_coming_ = false;
    serve_some();
  });
}

void Entrance::serve_some() {
  // Those that have gone meanwhile cost no turn, so no others pile up behind them.
  for (int served = 0; served < kServedAtATurn;) {
    const auto id = lobby_.next();
    if (!id) return;
    auto taken = waiting_.extract(*id);
    Waiting& one = taken.mapped();
    if (sign_of(one.socket.native_handle()) == Sign::kGone) {
      reset(one.socket.native_handle());
      continue;
    }
    ++served;
    serve_(std::move(one.socket), one.peer);
  }
  if (lobby_.any_ready()) serve_soon();
}

void Entrance::end_those_who_are_late() {
  const auto now = std::chrono::steady_clock::now();
  while (const auto oldest = lobby_.oldest()) {
    const auto until = waiting_.at(*oldest).until;
    if (until > now) {
      watches_time_ = true;
      late_.expires_at(until);
      return late_.async_wait([this](error_code stopped) {
        watches_time_ = false;
        if (!stopped && acceptor_.is_open()) end_those_who_are_late();
      });
    }
    lobby_.remove(*oldest);
    waiting_.erase(*oldest);
  }
}

// To make room for another one. It is not in the lobby any more.
void Entrance::turn_away(Lobby::Id id) {
  options_.metrics.turned_away.with({}).add();
  const auto gone = waiting_.find(id);
  reset(gone->second.socket.native_handle());
  waiting_.erase(gone);
}

}  // namespace plimsoll::serving
