#pragma once
// Who waits to be served, by peer. Pure; for one thread.
//
// Peers take turns, so that one with thousands of connections costs another one a turn. Each is
// served in the order in which its connections came. If there are too many, the peer with the most
// loses its oldest: nobody waits for that any more, if for any.

#include <boost/asio/ip/address.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>

namespace plimsoll::serving {

// An IPv4 address, or the /64 of an IPv6 address: whoever has one address of it has all.
using Peer = std::uint64_t;
[[nodiscard]] Peer peer_of(const boost::asio::ip::address& address);

class Lobby {
 public:
  using Id = std::uint64_t;  // ascending: the order in which they came

  explicit Lobby(std::size_t room) : room_(room) {}

  // One more waits. Returns the one that must go, if there are too many now; it is removed.
  [[nodiscard]] std::optional<Id> add(Id id, Peer peer);
  // It has sent something, so it can be served. Not for one that is ready.
  void make_ready(Id id);
  void remove(Id id);  // nothing happens if it is not there
  // The one to serve now; it is removed. None: nobody is ready.
  [[nodiscard]] std::optional<Id> next();
  // Of the peer that has the most; it is removed. None: nobody waits.
  [[nodiscard]] std::optional<Id> shed();

  [[nodiscard]] std::optional<Id> oldest() const;
  [[nodiscard]] bool any_ready() const { return !turns_.empty(); }
  [[nodiscard]] std::size_t size() const { return peer_of_.size(); }

 private:
  struct Waiting {
    std::set<Id> all, ready;
    std::uint64_t turn = 0;  // its place in turns_, while any is ready
  };
  // Who goes first when there are too many comes last.
  struct Rank {
    std::size_t waiting = 0;
    Id oldest = 0;
    Peer peer = 0;
    auto operator<=>(const Rank& other) const {
      if (const auto by = waiting <=> other.waiting; by != 0) return by;
      if (const auto by = other.oldest <=> oldest; by != 0) return by;
      return peer <=> other.peer;
    }
    bool operator==(const Rank&) const = default;
  };
  static Rank rank(Peer peer, const Waiting& of) { return {of.all.size(), *of.all.begin(), peer}; }
  void take_turn(Peer peer, Waiting& of);

  const std::size_t room_;
  std::unordered_map<Peer, Waiting> peers_;
  std::unordered_map<Id, Peer> peer_of_;
  std::set<Id> all_;
  std::set<Rank> ranks_;
  std::set<std::pair<std::uint64_t, Peer>> turns_;
  std::uint64_t last_turn_ = 0;
};

}  // namespace plimsoll::serving
