#pragma once
// Where connections come in; for serving/*.cpp only. Everything runs on the server's thread.
//
// However many come, they are all taken in at once, and a connection costs next to nothing until
// its client has sent something: it waits in the lobby (lobby.hpp). One whose client is gone, or
// does not begin with TLS where TLS is spoken, is closed there. Of the others a few are served at
// each turn of the thread, so that those that are being served go on meanwhile.

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <unordered_map>

#include "serving/limits/lobby.hpp"
#include "serving/limits/serving_metrics.hpp"

namespace plimsoll::serving {

// TCP, or a local socket.
using Protocol = boost::asio::generic::stream_protocol;
using Socket = Protocol::socket;

struct EntranceOptions {
  bool tls = false;
  std::size_t room = 0;                  // connections that may wait
  std::chrono::milliseconds patience{};  // so long one waits for its client
  ServingMetrics metrics = {};
};

class Entrance {
 public:
  using Serve = std::function<void(Socket, Peer)>;

  Entrance(boost::asio::io_context& io, EntranceOptions options, Serve serve);

  [[nodiscard]] bool listen_at(const boost::asio::ip::tcp::endpoint& where,
                               boost::system::error_code& error);
  // A socket that listens already, of which it becomes the owner.
  [[nodiscard]] bool listen_with(int socket, boost::system::error_code& error);
  [[nodiscard]] std::uint16_t port() const;  // of TCP
  // Begins to take connections in.
  void open() { wait_for_more(); }
  // Closes those that wait, and takes no more in.
  void close();

 private:
  struct Waiting {
    Socket socket;
    Peer peer;
    std::chrono::steady_clock::time_point until;
  };
  enum class Sign { kNone, kReady, kGone };

  void wait_for_more();
  void take_in();
  void admit(int socket, const Protocol::endpoint& from);
  [[nodiscard]] bool make_room();
  [[nodiscard]] Sign sign_of(int socket) const;
  void follow(Lobby::Id id, Sign sign);
  void serve_soon();
  void serve_some();
  void end_those_who_are_late();
  void turn_away(Lobby::Id id);

  boost::asio::io_context& io_;
  const EntranceOptions options_;
  const Serve serve_;
  boost::asio::basic_socket_acceptor<Protocol> acceptor_;
  boost::asio::steady_timer retry_{io_}, late_{io_};
  Lobby lobby_;
  std::unordered_map<Lobby::Id, Waiting> waiting_;  // those in the lobby
  Lobby::Id last_ = 0;
  bool turn_is_coming_ = false, watches_time_ = false;
};

}  // namespace plimsoll::serving
