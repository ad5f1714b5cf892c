// The window of writes under way, in front of servers made of arithmetic, on a clock of their own.

#include "informer/write/write_window.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <queue>
#include <random>

namespace plimsoll::informer {
namespace {

using namespace std::chrono_literals;
using Time = WriteWindow::Time;
using std::chrono::duration;
using std::chrono::duration_cast;

// A server that works on `hands` writes at a time, each for `work`, all others waiting; the network
// and the disk add `delay`, during which nobody's hands are busy.
class Server {
 public:
  int hands = 4;  // 0: as many as it takes
  std::chrono::microseconds work{2'000};
  std::chrono::microseconds delay{1'000};
  std::function<TryEnd(std::size_t in_flight)> verdict = [](std::size_t) {
    return TryEnd::kAnswered;
  };
  std::minstd_rand random{1};  // seed: 1

  // Keeps the window full (or `most_waiting` writes, if that is less) for so long.
  void run(WriteWindow& window, std::chrono::milliseconds time,
           std::size_t most_waiting = 1'000'000) {
    const Time until = now_ + time;
    while (true) {
      while (in_flight_ < std::min(window.size(), most_waiting)) send();
      if (ends_.empty() || ends_.top().first > until) break;
      const auto [end, sent] = ends_.top();
      ends_.pop();
      now_ = end;
      const TryEnd how = verdict(in_flight_);
      --in_flight_;
      if (how == TryEnd::kAnswered) ++carried_out;
      window.ended(how, sent, now_, most_waiting > window.size());
      smallest = std::min(smallest, window.size());
      largest = std::max(largest, window.size());
    }
    now_ = until;
  }

  long carried_out = 0;
  std::size_t smallest = 1'000'000, largest = 0;

 private:
  void send() {
    // A fifth more or less, as it happens.
    const double luck = std::uniform_real_distribution<double>(0.8, 1.2)(random);
    const auto takes = duration_cast<Time::duration>(
        duration<double, std::micro>(static_cast<double>(work.count()) * luck));
    Time done = now_ + takes;
    if (hands > 0) {
      busy_until_.resize(static_cast<std::size_t>(hands), Time{});
      const auto hand = std::min_element(busy_until_.begin(), busy_until_.end());
      done = *hand = std::max(*hand, now_) + takes;
    }
    ends_.push({done + delay, now_});
    ++in_flight_;
  }

  using End = std::pair<Time, Time>;  // when, and when it was sent
  Time now_{1h};
  std::vector<Time> busy_until_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::size_t in_flight_ = 0;
};

TEST(WriteWindow, GrowsWhileMoreIsCarriedOut) {
  Server server;
  server.hands = 0;  // a disk that takes all at once
  server.delay = 20ms;
  WriteWindow window({4, 16, 128});
  server.run(window, 5s);
  EXPECT_EQ(window.size(), 128u);
}

TEST(WriteWindow, StaysSmallWhereMoreInFlightOnlyWaits) {
  Server server;  // full at 6 in flight
  WriteWindow window({4, 16, 128});
  server.run(window, 20s);
  EXPECT_LE(server.largest, 24u) << "one step, to find out";
  EXPECT_LE(window.size(), 16u);
  const long before = server.carried_out;
  server.run(window, 10s);
  EXPECT_GE(server.carried_out - before, 19'000) << "of 20,000 that it can";
}

TEST(WriteWindow, FollowsAServerThatSlowsDownAndRecovers) {
  Server server;
  server.hands = 100;
  server.work = 40ms;
  WriteWindow window({4, 16, 128});
  server.run(window, 10s);
  EXPECT_GE(window.size(), 80u);
  server.hands = 4;  // everything queues
  server.smallest = 1'000;
  server.run(window, 60s);
  EXPECT_LE(server.smallest, 32u);
  EXPECT_LE(window.size(), 43u);
  server.hands = 100;
  server.run(window, 40s);
  EXPECT_GE(window.size(), 64u);
}

TEST(WriteWindow, IsHalvedByA429AndNotByEachOfThem) {
  Server server;
  server.hands = 0;
  server.delay = 20ms;
  WriteWindow window({4, 16, 128});
  server.run(window, 5s);
  ASSERT_EQ(window.size(), 128u);
  // All that is under way is turned down at once: it is one piece of news.
  const Time now = Time{2h};
  for (int i = 0; i < 128; ++i) window.ended(TryEnd::kThrottled, now - 10ms, now, true);
  EXPECT_EQ(window.size(), 64u);
  // What is sent from then on says more.
  window.ended(TryEnd::kThrottled, now + 1ms, now + 5ms, true);
  EXPECT_EQ(window.size(), 32u);
}

TEST(WriteWindow, StaysBelowAServersLimit) {
  Server server;
  server.hands = 0;
  server.delay = 20ms;
  long refused = 0;
  server.verdict = [&](std::size_t in_flight) {
    const bool much = in_flight > 40;
    if (much) ++refused;
    return much ? TryEnd::kThrottled : TryEnd::kAnswered;
  };
  WriteWindow window({4, 16, 128});
  server.run(window, 30s);
  EXPECT_GE(window.size(), 16u);
  EXPECT_LE(window.size(), 54u);
  EXPECT_LT(refused, server.carried_out / 20);
  EXPECT_GT(server.carried_out, 15'000) << "of 54,000 with 40 always in flight";
}

TEST(WriteWindow, FailuresHalveItToTheLeast) {
  WriteWindow window({4, 16, 128});
  Time now{1h};
  window.ended(TryEnd::kFailed, now, now + 15s, true);
  EXPECT_EQ(window.size(), 16u) << "one may be about its pod";
  for (int i = 0; i < 100; ++i) {
    now += 1s;
    window.ended(TryEnd::kFailed, now, now, true);
  }
  EXPECT_EQ(window.size(), 4u);
}

TEST(WriteWindow, WithoutAnythingWaitingItStays) {
  Server server;
  server.hands = 0;
  server.delay = 20ms;
  WriteWindow window({4, 16, 128});
  server.run(window, 30s, 10);
  EXPECT_EQ(window.size(), 16u);
  EXPECT_EQ(server.largest, 16u);
}

TEST(WriteWindow, LimitsThatLeaveNothingToTry) {
  WriteWindow one({4, 16, 1});
  EXPECT_EQ(one.size(), 1u);
  Server server;
  server.run(one, 5s);
  EXPECT_EQ(server.largest, 1u);
  WriteWindow none({0, 0, 0});
  EXPECT_EQ(none.size(), 1u);
}

}  // namespace
}  // namespace plimsoll::informer
