#include "serving/limits/lobby.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::serving {
namespace {

using ::testing::ElementsAre;

constexpr Peer kMany = 1, kFew = 2, kOne = 3;

std::vector<Lobby::Id> all_served(Lobby& lobby) {
  std::vector<Lobby::Id> order;
  while (const auto id = lobby.next()) order.push_back(*id);
  return order;
}

TEST(Lobby, APeerIsAnAddressOrTheNetworkOfAnIPv6Address) {
  const auto peer = [](const char* text) { return peer_of(boost::asio::ip::make_address(text)); };
  EXPECT_NE(peer("127.0.0.1"), peer("127.0.0.2"));
  EXPECT_EQ(peer("10.1.2.3"), peer("::ffff:10.1.2.3"));
  EXPECT_EQ(peer("2001:db8::1"), peer("2001:db8::ffff:2"));
  EXPECT_NE(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
  EXPECT_NE(peer("::1"), peer("127.0.0.1"));
}

TEST(Lobby, PeersTakeTurnsAndTheOldestOfEachGoesFirst) {
  Lobby lobby(100);
  for (Lobby::Id id = 1; id <= 4; ++id) {
    EXPECT_EQ(lobby.add(id, kMany), std::nullopt);
    lobby.make_ready(id);
  }
  EXPECT_EQ(lobby.add(5, kFew), std::nullopt);
  EXPECT_EQ(lobby.add(6, kOne), std::nullopt);
  EXPECT_EQ(lobby.add(7, kFew), std::nullopt);
  lobby.make_ready(7);
  lobby.make_ready(5);
  EXPECT_THAT(all_served(lobby), ElementsAre(1, 5, 2, 7, 3, 4)) << "6 has sent nothing";
  EXPECT_FALSE(lobby.any_ready());
  lobby.make_ready(6);
  EXPECT_TRUE(lobby.any_ready());
  EXPECT_EQ(lobby.next(), 6u);
  EXPECT_EQ(lobby.size(), 0u);
}

TEST(Lobby, ThePeerWithTheMostLosesItsOldest) {
  Lobby lobby(4);
  EXPECT_EQ(lobby.add(1, kOne), std::nullopt);
  EXPECT_EQ(lobby.add(2, kMany), std::nullopt);
  EXPECT_EQ(lobby.add(3, kMany), std::nullopt);
  EXPECT_EQ(lobby.add(4, kMany), std::nullopt);
  lobby.make_ready(2);
  for (Lobby::Id id = 5; id < 1000; ++id) EXPECT_EQ(lobby.add(id, kMany), id - 3);
  EXPECT_EQ(lobby.oldest(), 1u);
  EXPECT_EQ(lobby.add(1000, kFew), 997u) << "room for one that has none";
  EXPECT_FALSE(lobby.any_ready()) << "2 has gone";
  EXPECT_EQ(lobby.size(), 4u);
}

TEST(Lobby, AmongPeersWithAsManyTheOldestGoes) {
  Lobby lobby(3);
  for (Lobby::Id id = 1; id <= 3; ++id) EXPECT_EQ(lobby.add(id, 10 - id), std::nullopt);
  EXPECT_EQ(lobby.add(4, 100), 1u);
  EXPECT_EQ(lobby.add(5, 0), 2u);
  EXPECT_EQ(lobby.shed(), 3u);
  EXPECT_EQ(lobby.shed(), 4u);
  EXPECT_EQ(lobby.shed(), 5u);
  EXPECT_EQ(lobby.shed(), std::nullopt);
}

TEST(Lobby, ForgetsWhoHasGone) {
  Lobby lobby(10);
  EXPECT_EQ(lobby.add(1, kMany), std::nullopt);
  EXPECT_EQ(lobby.add(2, kMany), std::nullopt);
  lobby.make_ready(1);
  lobby.make_ready(2);
  lobby.remove(2);
  lobby.remove(2);
  EXPECT_EQ(lobby.next(), 1u);
  EXPECT_EQ(lobby.next(), std::nullopt);
  EXPECT_EQ(lobby.oldest(), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::serving
