#include "serving/limits/lobby.hpp"

#include <utility>

namespace plimsoll::serving {

Peer peer_of(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  if (address.is_v4()) return 0xffff'0000'0000U | address.to_v4().to_uint();
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) return peer_of(ip::make_address_v4(ip::v4_mapped, v6));
  Peer prefix = 0;
  const auto bytes = v6.to_bytes();
  for (std::size_t i = 0; i < sizeof prefix; ++i) prefix = prefix << 8U | bytes[i];
  return prefix;
}

std::optional<Lobby::Id> Lobby::add(Id id, Peer peer) {
  Waiting& of = peers_[peer];
  if (!of.all.empty()) ranks_.erase(rank(peer, of));
  of.all.insert(of.all.end(), id);
  ranks_.insert(rank(peer, of));
  peer_of_.emplace(id, peer);
  all_.insert(all_.end(), id);
  return size() > room_ ? shed() : std::nullopt;
}

void Lobby::take_turn(Peer peer, Waiting& of) {
  of.turn = ++last_turn_;
  turns_.emplace(of.turn, peer);
}

void Lobby::make_ready(Id id) {
  const Peer peer = peer_of_.at(id);
  Waiting& of = peers_.at(peer);
  if (of.ready.empty()) take_turn(peer, of);
  of.ready.insert(id);
}

void Lobby::remove(Id id) {
  const auto found = peer_of_.find(id);
  if (found == peer_of_.end()) return;
  const Peer peer = found->second;
  peer_of_.erase(found);
  all_.erase(id);
  Waiting& of = peers_.at(peer);
  ranks_.erase(rank(peer, of));
  of.all.erase(id);
  if (of.ready.erase(id) != 0 && of.ready.empty()) turns_.erase({of.turn, peer});
  if (of.all.empty()) {
    peers_.erase(peer);
  } else {
    ranks_.insert(rank(peer, of));
  }
}

std::optional<Lobby::Id> Lobby::next() {
  if (turns_.empty()) return std::nullopt;
  const Peer peer = turns_.begin()->second;
  Waiting& of = peers_.at(peer);
  turns_.erase(turns_.begin());
  take_turn(peer, of);
  const Id oldest = *of.ready.begin();
  remove(oldest);
  return oldest;
}

std::optional<Lobby::Id> Lobby::shed() {
  if (ranks_.empty()) return std::nullopt;
  const Id gone = ranks_.rbegin()->oldest;
  remove(gone);
  return gone;
}

std::optional<Lobby::Id> Lobby::oldest() const {
  return all_.empty() ? std::nullopt : std::optional<Id>(*all_.begin());
}

}  // namespace plimsoll::serving
