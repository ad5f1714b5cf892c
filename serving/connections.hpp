#pragma once
// What the connections of an HttpServer share; for serving/*.cpp only. Everything runs on the
// server's thread unless it says otherwise.

#include <boost/asio/io_context.hpp>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "serving/http_server.hpp"
#include "serving/lobby.hpp"

namespace plimsoll::serving {

// A connection that can be cut from outside.
class Connection {
 public:
  explicit Connection(Peer from) : peer(from) {}
  virtual ~Connection() = default;
  virtual void cut() = 0;
  // The gate's verdict on the request that it waits with.
  virtual void checked(const std::function<Response()>& instead) = 0;

  const Peer peer;
  // Which of a peer's goes first when room must be made: one that waits before one that is being
  // answered, and among those the one that has done it for the longest time.
  struct Stage {
    bool answered = false;    // otherwise there is no complete request, or the gate has it
    std::uint64_t since = 0;  // serial number of the moment
    auto operator<=>(const Stage&) const = default;
  };
  Stage stage;
};

// What all connections of a server share.
class Connections {
 public:
  Connections(boost::asio::io_context& io, ServerOptions how, Handler handler)
      : options(std::move(how)), handler_(std::move(handler)), door_(std::make_shared<Door>()) {
    door_->io = &io;
  }

  const ServerOptions options;

  void add(Connection* connection) {
    if (open_.insert(connection).second) ++of_peer_[connection->peer];
  }
  void remove(Connection* connection) {
    if (open_.erase(connection) == 0) return;
    const auto count = of_peer_.find(connection->peer);
    if (--count->second == 0) of_peer_.erase(count);
  }
  [[nodiscard]] std::uint64_t now() { return ++moments_; }
  // Makes room for one more connection of the peer: one goes of the peer that has the most.
  void make_room_for(Peer peer);
  // Asks the gate; the connection is kept until the verdict is there.
  void ask_gate(const Request& request, std::shared_ptr<Connection> connection);
  // The handler's answer, or that of `instead` if it is there. An exception is a 500.
  [[nodiscard]] Response answer(const Request& request,
                                const std::function<Response()>& instead) const;
  void cut_all();
  // No verdict comes in after this. Any thread.
  void close_door();

 private:
  // Where verdicts come in, from any thread and for as long as the gate keeps it.
  struct Door {
    std::mutex mutex;
    boost::asio::io_context* io = nullptr;  // null: closed
  };

  Handler handler_;
  std::shared_ptr<Door> door_;
  std::set<Connection*> open_;
  std::unordered_map<Peer, std::size_t> of_peer_;  // how many of open_
  std::map<std::uint64_t, std::shared_ptr<Connection>> at_gate_;
  std::uint64_t moments_ = 0;
};

}  // namespace plimsoll::serving
