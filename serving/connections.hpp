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
#include "serving/limits/lobby.hpp"

namespace plimsoll::serving {

// A connection that can be cut from outside.
class Connection {
 public:
  explicit Connection(Peer from) : peer(from) {}
  virtual ~Connection() = default;
  virtual void cut() = 0;
  // The request that it waits with, and the answer to it.
  [[nodiscard]] virtual const Request& request() const = 0;
  virtual void respond(Response response) = 0;

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
  Connections(boost::asio::io_context& io, ServerOptions how, LateHandler handler)
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
  // Has the connection's request answered: by the gate, or else by the handler. The connection is
  // kept until the answer is there.
  void ask(std::shared_ptr<Connection> connection);
  void cut_all();
  // No answer comes in after this. Any thread.
  void close_door();

 private:
  using Make = std::function<Response()>;
  using Then = void (Connections::*)(const std::shared_ptr<Connection>&, const Make& make);
  // Asks one of them; what it replies goes to `then`, on the server's thread.
  void ask(const LateHandler& whom, std::shared_ptr<Connection> connection, Then then);
  void checked(const std::shared_ptr<Connection>& connection, const Make& instead);
  void answered(const std::shared_ptr<Connection>& connection, const Make& make);

  // Where replies come in, from any thread and for as long as somebody keeps them.
  struct Door {
    std::mutex mutex;
    boost::asio::io_context* io = nullptr;  // null: closed
  };

  LateHandler handler_;
  std::shared_ptr<Door> door_;
  std::set<Connection*> open_;
  std::unordered_map<Peer, std::size_t> of_peer_;  // how many of open_
  std::map<std::uint64_t, std::shared_ptr<Connection>> asked_;
  std::uint64_t moments_ = 0;
};

}  // namespace plimsoll::serving
