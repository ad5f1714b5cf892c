// Leader election on a clock and a lease of the test's own: every way to come to lead, to go on
// leading, and to stop.

#include <plimsoll/time_text.hpp>

#include "informer/lease/leader_elector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "framework/base/log.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::informer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

const BootClock::time_point kStart{nanoseconds(1'000'000s)};

// Time passes only when somebody sleeps or a request takes its time. What the test has planned
// happens on the way.
class FakeClock final : public ElectionClock {
 public:
  BootClock::time_point now() override { return now_; }
  std::chrono::system_clock::time_point wall_now() override {
    return std::chrono::system_clock::time_point(std::chrono::hours(500'000)) +
           std::chrono::duration_cast<std::chrono::system_clock::duration>(now_ - kStart);
  }
  bool sleep_until(BootClock::time_point time, const std::stop_token& stop) override {
    if (stop.stop_requested()) return false;
    pass_to(time, stop);
    return !stop.stop_requested();
  }

  // `stop`: do not go on past its request.
  void pass_to(BootClock::time_point time, const std::stop_token& stop = {}) {
    while (!plans_.empty() && plans_.begin()->first <= time) {
      auto plan = plans_.extract(plans_.begin());
      now_ = std::max(now_, plan.key());
      plan.mapped()();
      if (stop.stop_requested()) return;
    }
    now_ = std::max(now_, time);
  }
  void plan(nanoseconds after_start, std::function<void()> what) {
    plans_.emplace(kStart + after_start, std::move(what));
  }
  void forget_plans() { plans_.clear(); }
  [[nodiscard]] nanoseconds passed() const { return now_ - kStart; }

 private:
  BootClock::time_point now_ = kStart;
  std::multimap<BootClock::time_point, std::function<void()>> plans_;
};

// A lease with optimistic concurrency, as the API server keeps it; several stores may share one.
struct SharedLease {
  std::optional<LeaseRecord> record;
  int version = 0;

  void put(LeaseRecord next) {
    record = std::move(next);
    ++version;
  }
};

class FakeStore final : public LeaseStore {
 public:
  // What happens to a request instead of its success.
  enum class Fault { kNone, kUnavailable, kRefused, kLostAnswer, kHang };

  FakeStore(SharedLease& lease, FakeClock& clock) : lease_(lease), clock_(clock) {}

  Result<LeaseRecord> get(milliseconds timeout) override {
    if (auto failed = begin("get", timeout)) return fail(*failed);
    if (!lease_.record) return fail(ErrorCode::kNotFound, "no lease");
    seen_ = lease_.version;
    return *lease_.record;
  }
  Result<void> create(const LeaseRecord& record, milliseconds timeout) override {
    if (auto failed = begin("create", timeout)) return fail(*failed);
    if (lease_.record) return fail(ErrorCode::kConflict, "it exists already");
    return accept(record);
  }
  Result<void> update(const LeaseRecord& record, milliseconds timeout) override {
    if (auto failed = begin("update", timeout)) return fail(*failed);
    if (!lease_.record) return fail(ErrorCode::kNotFound, "no lease");
    if (lease_.version != seen_) return fail(ErrorCode::kConflict, "the object has been modified");
    return accept(record);
  }

  Fault fault = Fault::kNone;
  std::deque<Fault> faults;  // of the next requests, before `fault`
  std::string refusal = "403";
  nanoseconds takes = 0ns;
  std::vector<std::string> asked;
  std::vector<nanoseconds> asked_at;
  std::vector<milliseconds> timeouts;
  std::function<void()> before;  // every request reaches the server

 private:
  std::optional<Error> begin(const char* verb, milliseconds timeout) {
    asked.emplace_back(verb);
    asked_at.push_back(clock_.passed());
    timeouts.push_back(timeout);
    current_ = fault;
    if (!faults.empty()) {
      current_ = faults.front();
      faults.pop_front();
    }
    if (before) before();
    clock_.pass_to(clock_.now() + (current_ == Fault::kHang ? nanoseconds(timeout) : takes));
    if (current_ == Fault::kUnavailable) return Error{ErrorCode::kUnavailable, "refused"};
    if (current_ == Fault::kRefused) {
      return Error{ErrorCode::kUnauthorized, asked.back() + ": the API server answered " + refusal};
    }
    if (current_ == Fault::kHang) return Error{ErrorCode::kUnavailable, "timed out"};
    return {};
  }
  Result<void> accept(const LeaseRecord& record) {
    lease_.put(record);
    if (current_ == Fault::kLostAnswer) return fail(ErrorCode::kUnavailable, "the answer was lost");
    seen_ = lease_.version;
    return {};
  }

  SharedLease& lease_;
  FakeClock& clock_;
  Fault current_ = Fault::kNone;
  int seen_ = -1;
};
using Fault = FakeStore::Fault;

class LeaderElectorTest : public ::testing::Test {
 protected:
  LeaderElectorTest() {
    set_log_level(LogLevel::kError);
    options.identity = "me";
    options.lease = "ns/lease";
  }

  // Runs until it ends by itself, or for so long.
  LeaderElector::End run(nanoseconds at_most) {
    elector.emplace(
        store, fence, options,
        LeaderElectionCallbacks{[this] { led_at.push_back(clock.passed()); },
                                [this](const std::string& holder) { holders.push_back(holder); },
                                [this]() -> std::optional<std::string> {
                                  const auto now = clock.passed();
                                  if (now < unfit_from || now >= unfit_until) return std::nullopt;
                                  return "it hangs";
                                }},
        clock);
    clock.plan(at_most, [this] { stop.request_stop(); });
    return elector->run(stop.get_token());
  }

  [[nodiscard]] bool may_write() { return fence.allowance(clock.now()) > 0ns; }

  // Somebody else holds the lease and renews it now.
  void renew_other(const std::string& holder, std::int64_t duration_seconds = 15) {
    const std::string now = sdk::time_text(clock.wall_now(), true);
    lease.put({holder, duration_seconds, "2026-01-01T00:00:00.000000Z", now, 3});
  }

  FakeClock clock;
  SharedLease lease;
  FakeStore store{lease, clock};
  LeaderElectionOptions options;
  WriteFence fence{options.lease_duration - options.renew_deadline};
  std::stop_source stop;
  std::optional<LeaderElector> elector;
  std::vector<nanoseconds> led_at;
  std::vector<std::string> holders;
  nanoseconds unfit_from = nanoseconds::max();
  nanoseconds unfit_until = nanoseconds::max();
};

TEST_F(LeaderElectorTest, WhoFindsNoLeaseCreatesItAndRenewsWithoutReading) {
  EXPECT_FALSE(may_write());
  EXPECT_EQ(run(7s), LeaderElector::End::kStopped);
  EXPECT_THAT(led_at, ElementsAre(0ns));
  EXPECT_TRUE(elector->took_free_lease()) << "nobody led before";
  EXPECT_THAT(store.asked, ElementsAre("get", "create", "update", "update", "update"));
  EXPECT_THAT(store.asked_at, ElementsAre(0s, 0s, 2s, 4s, 6s));
  EXPECT_EQ(lease.record->holder, "me");
  EXPECT_EQ(lease.record->duration_seconds, 15);
  EXPECT_EQ(lease.record->transitions, 0);
  EXPECT_LT(lease.record->acquire_time, lease.record->renew_time);
  EXPECT_TRUE(may_write());
  EXPECT_TRUE(elector->status().leading);
  EXPECT_EQ(elector->status().holder, "me");
  EXPECT_EQ(elector->status().last_renewal, kStart + 6s);
}

TEST_F(LeaderElectorTest, WhoCreatesSecondStandsBy) {
  store.before = [this] {
    if (store.asked.back() == "create") renew_other("faster");
  };
  clock.plan(1s, [this] { store.before = nullptr; });
  EXPECT_EQ(run(10s), LeaderElector::End::kStopped);
  EXPECT_THAT(led_at, IsEmpty());
  EXPECT_THAT(holders, ElementsAre("faster"));
  EXPECT_FALSE(may_write());
  EXPECT_EQ(lease.record->holder, "faster");
}

// The other's clock and what it wrote down do not count, only how long nothing has changed here.
TEST_F(LeaderElectorTest, ASilentHolderIsReplacedAfterItsDurationAsSeenFromHere) {
  renew_other("dead", 20);
  EXPECT_EQ(run(40s), LeaderElector::End::kStopped);
  ASSERT_EQ(led_at.size(), 1u);
  EXPECT_THAT(led_at[0], AllOf(Ge(20s), Lt(20s + 4400ms))) << "the next try after its end";
  EXPECT_EQ(lease.record->transitions, 4);
  EXPECT_FALSE(elector->took_free_lease());
  EXPECT_EQ(lease.record->duration_seconds, 15) << "our own from here on";
  EXPECT_NE(lease.record->acquire_time, "2026-01-01T00:00:00.000000Z");
  EXPECT_THAT(holders, ElementsAre("dead", "me"));
}

TEST_F(LeaderElectorTest, ALivingHolderIsNotReplaced) {
  for (auto at = 0s; at < 200s; at += 12s) clock.plan(at, [this] { renew_other("alive"); });
  clock.plan(0s, [this] { renew_other("alive"); });
  EXPECT_EQ(run(200s), LeaderElector::End::kStopped);
  EXPECT_THAT(led_at, IsEmpty());
  EXPECT_THAT(store.asked, ::testing::Each(std::string("get")));
}

TEST_F(LeaderElectorTest, CandidatesTryAtRandomTimes) {
  renew_other("alive", 100'000);
  EXPECT_EQ(run(10'000s), LeaderElector::End::kStopped);
  nanoseconds shortest = 1h;
  nanoseconds longest = 0s;
  for (std::size_t i = 1; i < store.asked_at.size(); ++i) {
    shortest = std::min(shortest, store.asked_at[i] - store.asked_at[i - 1]);
    longest = std::max(longest, store.asked_at[i] - store.asked_at[i - 1]);
  }
  EXPECT_THAT(shortest, AllOf(Ge(2s), Lt(2200ms)));
  EXPECT_THAT(longest, AllOf(Ge(4200ms), Lt(4400ms)));
}

TEST_F(LeaderElectorTest, AReleasedLeaseIsTakenAtOnce) {
  renew_other("", 1);
  EXPECT_EQ(run(1s), LeaderElector::End::kStopped);
  EXPECT_THAT(led_at, ElementsAre(0ns));
  EXPECT_TRUE(elector->took_free_lease());
  EXPECT_EQ(lease.record->transitions, 4);
}

// Somebody has deleted it: its holder may still be writing.
TEST_F(LeaderElectorTest, ALeaseThatVanishesUnderItsHolderWasNotFree) {
  renew_other("alive", 20);
  clock.plan(5s, [this] { lease.record.reset(); });
  EXPECT_EQ(run(12s), LeaderElector::End::kStopped);
  ASSERT_EQ(led_at.size(), 1u);
  EXPECT_FALSE(elector->took_free_lease());
}

TEST_F(LeaderElectorTest, OfTwoThatTakeAnExpiredLeaseOneDoes) {
  renew_other("dead", 5);
  bool raced = false;
  store.before = [&] {
    if (store.asked.back() != "update" || raced) return;
    raced = true;
    renew_other("faster");
  };
  EXPECT_EQ(run(12s), LeaderElector::End::kStopped);
  EXPECT_TRUE(raced);
  EXPECT_THAT(led_at, IsEmpty());
  EXPECT_EQ(lease.record->holder, "faster");
}

TEST_F(LeaderElectorTest, ACandidateOutlivesServerErrors) {
  store.fault = Fault::kUnavailable;
  clock.plan(60s, [this] { store.fault = Fault::kNone; });
  EXPECT_EQ(run(70s), LeaderElector::End::kStopped);
  ASSERT_EQ(led_at.size(), 1u);
  EXPECT_THAT(led_at[0], AllOf(Ge(60s), Lt(64400ms)));
}

// One warning per reason for a standby, one per try for a leader, and each says what it is.
TEST_F(LeaderElectorTest, ARefusedLeaseIsSaidInTheRightWords) {
  set_log_level(LogLevel::kWarn);
  testing::internal::CaptureStderr();
  std::string standby;
  std::string leader;
  std::string after;
  store.fault = Fault::kRefused;
  clock.plan(20s, [&] {
    standby = elector->status().refusal;
    store.fault = Fault::kNone;
  });
  clock.plan(40s, [&] {
    after = elector->status().refusal;
    store.refusal = "401";
    store.fault = Fault::kRefused;
  });
  clock.plan(45s, [&] {
    leader = elector->status().refusal;
    store.fault = Fault::kNone;
  });
  EXPECT_EQ(run(60s), LeaderElector::End::kStopped) << elector->loss();
  const std::string log = testing::internal::GetCapturedStderr();
  set_log_level(LogLevel::kError);
  EXPECT_EQ(led_at.size(), 1u);
  EXPECT_EQ(standby, "get: the API server answered 403");
  EXPECT_EQ(after, "");
  EXPECT_EQ(leader, "get: the API server answered 401");
  EXPECT_EQ(elector->status().refusal, "");
  const auto lines = [&log](const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = log.find(text, at)) != log.npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(lines("is refused to this process, which cannot lead"), 1u) << log;
  const auto tries = static_cast<std::size_t>(
      std::ranges::count_if(store.asked_at, [](nanoseconds at) { return at >= 40s && at < 45s; }));
  EXPECT_EQ(lines("is refused to this leader"), tries / 2) << "each writes and reads\n" << log;
  EXPECT_EQ(lines("[warning]"), 1 + tries / 2) << log;
  EXPECT_EQ(lines("rbac"), 0u) << "the API server's answer says what helps";
}

// The write was made, but nobody told us: the lease says that it is ours.
TEST_F(LeaderElectorTest, AnAcquisitionWhoseAnswerWasLostIsFound) {
  store.faults = {Fault::kNone, Fault::kLostAnswer};
  EXPECT_EQ(run(5s), LeaderElector::End::kStopped);
  ASSERT_EQ(led_at.size(), 1u);
  EXPECT_THAT(led_at[0], AllOf(Ge(2s), Lt(4400ms)));
  EXPECT_EQ(lease.record->transitions, 0);
}

TEST_F(LeaderElectorTest, HowTheOneBeforeEndedIsKnownFromBeforeAWriteWhoseAnswerWasLost) {
  renew_other("", 1);
  store.faults = {Fault::kNone, Fault::kLostAnswer};
  EXPECT_EQ(run(7s), LeaderElector::End::kStopped);
  ASSERT_EQ(led_at.size(), 1u);
  EXPECT_TRUE(elector->took_free_lease());
}

TEST_F(LeaderElectorTest, ARenewalThatMeetsAnotherVersionIsReadAndMadeAgain) {
  clock.plan(3s, [this] { ++lease.version; });  // somebody has put a label on it
  EXPECT_EQ(run(7s), LeaderElector::End::kStopped);
  EXPECT_THAT(store.asked,
              ElementsAre("get", "create", "update", "update", "get", "update", "update"));
  EXPECT_TRUE(may_write());
}

TEST_F(LeaderElectorTest, ADeletedLeaseIsCreatedAgainByItsHolder) {
  clock.plan(3s, [this] { lease.record.reset(); });
  EXPECT_EQ(run(7s), LeaderElector::End::kStopped);
  EXPECT_THAT(store.asked,
              ElementsAre("get", "create", "update", "update", "get", "create", "update"));
  EXPECT_EQ(lease.record->holder, "me");
}

TEST_F(LeaderElectorTest, AnOutageWithinTheDeadlineIsOutlived) {
  clock.plan(3s, [this] { store.fault = Fault::kUnavailable; });
  clock.plan(9s, [this] { store.fault = Fault::kNone; });
  EXPECT_EQ(run(20s), LeaderElector::End::kStopped) << elector->loss();
  EXPECT_TRUE(may_write());
  EXPECT_THAT(led_at, ElementsAre(0ns));
}

// Renewed at 2 s, refused from 3 s on: at 12 s it is over, three seconds before anybody else may
// lead.
TEST_F(LeaderElectorTest, AnOutageBeyondTheDeadlineLosesTheLease) {
  clock.plan(3s, [this] { store.fault = Fault::kUnavailable; });
  std::vector<bool> open;
  for (const auto at : {11999ms, 12001ms}) {
    clock.plan(at, [this, &open] { open.push_back(may_write()); });
  }
  EXPECT_EQ(run(60s), LeaderElector::End::kLost);
  EXPECT_EQ(clock.passed(), 12s);
  EXPECT_FALSE(may_write());
  EXPECT_FALSE(elector->status().leading);
  EXPECT_THAT(elector->loss(), AllOf(HasSubstr("not renewed for 10s"), HasSubstr("refused")));
  EXPECT_THAT(open, ElementsAre(true)) << "the second look would come after the end";
  EXPECT_EQ(lease.record->holder, "me") << "it runs to its end";
}

TEST_F(LeaderElectorTest, ARequestThatHangsEndsAtTheDeadline) {
  clock.plan(3s, [this] { store.fault = Fault::kHang; });
  EXPECT_EQ(run(60s), LeaderElector::End::kLost);
  EXPECT_EQ(clock.passed(), 12s);
  EXPECT_EQ(store.timeouts.front(), 5s) << "half of the deadline";
}

// A renewal that was made but never answered does not count: who knows when it was.
TEST_F(LeaderElectorTest, LostAnswersDoNotProlong) {
  clock.plan(3s, [this] {
    store.before = [this] {
      if (store.asked.back() == "update") store.faults = {};
      store.fault = store.asked.back() == "update" ? Fault::kLostAnswer : Fault::kUnavailable;
    };
    store.fault = Fault::kLostAnswer;
  });
  EXPECT_EQ(run(60s), LeaderElector::End::kLost);
  EXPECT_EQ(clock.passed(), 12s);
}

TEST_F(LeaderElectorTest, AnotherHolderEndsItAtOnce) {
  clock.plan(5s, [this] { renew_other("thief"); });
  EXPECT_EQ(run(60s), LeaderElector::End::kLost);
  EXPECT_EQ(clock.passed(), 6s);
  EXPECT_FALSE(may_write());
  EXPECT_THAT(elector->loss(), HasSubstr("held by thief"));
  EXPECT_EQ(lease.record->holder, "thief");
}

// Stopped by a debugger or a host that swaps: nobody runs, and still nothing may be written.
TEST_F(LeaderElectorTest, AProcessThatWasSuspendedMayNotWriteWhenItWakes) {
  bool open_before = false;
  bool open_after = true;
  clock.plan(5s, [&] {
    open_before = may_write();
    clock.pass_to(kStart + 15s);
    open_after = may_write();
  });
  EXPECT_EQ(run(60s), LeaderElector::End::kLost);
  EXPECT_TRUE(open_before);
  EXPECT_FALSE(open_after);
  EXPECT_EQ(store.asked.size(), 4u) << "not even a renewal is tried";
}

TEST_F(LeaderElectorTest, TheFenceCountsFromWhenARenewalWasSent) {
  store.takes = 1s;
  EXPECT_EQ(run(3s), LeaderElector::End::kStopped);
  // Read at 0 s, created from 1 s to 2 s.
  EXPECT_EQ(fence.allowance(kStart + 2s), 14s) << "of the 15 s from 1 s on";
  EXPECT_EQ(fence.allowance(kStart + 10999ms), 5001ms);
  EXPECT_EQ(fence.allowance(kStart + 11s), 0s);
}

TEST_F(LeaderElectorTest, ACleanStopReleases) {
  EXPECT_EQ(run(5s), LeaderElector::End::kStopped);
  EXPECT_TRUE(elector->release());
  EXPECT_FALSE(may_write());
  EXPECT_FALSE(elector->status().leading);
  EXPECT_EQ(lease.record->holder, "");
  EXPECT_EQ(lease.record->duration_seconds, 1);
  EXPECT_EQ(lease.record->acquire_time, lease.record->renew_time);

  FakeStore others(lease, clock);
  WriteFence other_fence(5s);
  options.identity = "next";
  LeaderElector next(others, other_fence, options, {}, clock);
  std::stop_source soon;
  clock.plan(clock.passed() + 1s, [&] { soon.request_stop(); });
  const auto before = clock.passed();
  EXPECT_EQ(next.run(soon.get_token()), LeaderElector::End::kStopped);
  EXPECT_TRUE(next.status().leading);
  EXPECT_EQ(next.status().last_renewal, kStart + before) << "at once";
}

// Asked to stop while the lease was being written: it never leads, and leaves nothing behind.
TEST_F(LeaderElectorTest, AnAcquisitionThatEndsAfterTheStopIsReleased) {
  store.takes = 200ms;  // the read ends at 200 ms, the write at 400 ms
  EXPECT_EQ(run(300ms), LeaderElector::End::kStopped);
  EXPECT_THAT(led_at, IsEmpty());
  ASSERT_TRUE(lease.record);
  EXPECT_EQ(lease.record->holder, "me");
  EXPECT_TRUE(elector->release());
  EXPECT_EQ(lease.record->holder, "");
  EXPECT_FALSE(may_write());
}

TEST_F(LeaderElectorTest, AnAcquisitionWhoseAnswerIsLostAtTheStopIsReleased) {
  store.takes = 200ms;
  store.faults = {Fault::kNone, Fault::kLostAnswer};
  EXPECT_EQ(run(300ms), LeaderElector::End::kStopped);
  EXPECT_THAT(led_at, IsEmpty());
  ASSERT_TRUE(lease.record);
  EXPECT_EQ(lease.record->holder, "me");
  EXPECT_TRUE(elector->release());
  EXPECT_EQ(lease.record->holder, "");
}

TEST_F(LeaderElectorTest, WhoDoesNotHoldItReleasesNothing) {
  renew_other("alive");
  EXPECT_EQ(run(3s), LeaderElector::End::kStopped);
  const auto asked = store.asked.size();
  EXPECT_TRUE(elector->release());
  EXPECT_EQ(store.asked.size(), asked);
  EXPECT_EQ(lease.record->holder, "alive");
}

TEST_F(LeaderElectorTest, AReleaseDoesNotTouchSomebodyElsesLease) {
  EXPECT_EQ(run(5s), LeaderElector::End::kStopped);
  renew_other("thief");
  EXPECT_TRUE(elector->release());
  EXPECT_EQ(lease.record->holder, "thief");
  store.fault = Fault::kUnavailable;
}

TEST_F(LeaderElectorTest, AFailedReleaseIsSaid) {
  EXPECT_EQ(run(5s), LeaderElector::End::kStopped);
  store.fault = Fault::kUnavailable;
  const auto released = elector->release();
  ASSERT_FALSE(released);
  EXPECT_FALSE(may_write()) << "all the same";
}

TEST_F(LeaderElectorTest, TheWatchdogBarksAtALeaderThatShouldHaveEnded) {
  EXPECT_EQ(run(5s), LeaderElector::End::kStopped);
  EXPECT_FALSE(elector->overdue());
  clock.pass_to(kStart + 4s + 15s + 20s);
  EXPECT_FALSE(elector->overdue());
  clock.pass_to(clock.now() + 1ms);
  EXPECT_TRUE(elector->overdue());
}

// A loop that hangs: whoever takes over must not wait until somebody looks.
TEST_F(LeaderElectorTest, ALeaderThatIsNotFitLetsTheLeaseGo) {
  unfit_from = 5s;
  EXPECT_EQ(run(60s), LeaderElector::End::kLost);
  EXPECT_EQ(elector->loss(), "it hangs");
  EXPECT_FALSE(may_write());
  EXPECT_THAT(store.asked_at, ElementsAre(0s, 0s, 2s, 4s)) << "no renewal since";
  EXPECT_EQ(lease.record->holder, "me") << "what was written may still be under way";
}

TEST_F(LeaderElectorTest, ACandidateThatIsNotFitDoesNotStand) {
  unfit_from = 0s;
  unfit_until = 20s;
  EXPECT_EQ(run(40s), LeaderElector::End::kStopped);
  ASSERT_EQ(led_at.size(), 1U);
  EXPECT_GE(led_at.front(), 20s);
}

TEST_F(LeaderElectorTest, PartsOfASecondAreRoundedUp) {
  options.lease_duration = 2500ms;
  options.renew_deadline = 1800ms;
  options.retry_period = 400ms;
  EXPECT_EQ(run(1s), LeaderElector::End::kStopped);
  EXPECT_EQ(lease.record->duration_seconds, 3);
}

// Lives that end at any moment, without a word, each followed by the next one at once, while the
// API server fails in every way: who leads never does so while a write of an earlier leader may
// still be under way.
TEST(Leadership, IsNeverSharedByTwo) {
  set_log_level(LogLevel::kError);
  std::mt19937 random(plimsoll::test::test_seed());
  const auto pick = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  SharedLease lease;
  FakeClock clock;
  BootClock::time_point last_write{};
  int leaders = 0;
  for (int life = 0; life < 2000; ++life) {
    FakeStore store(lease, clock);
    store.takes = milliseconds(pick(0, 3000));
    LeaderElectionOptions options;
    options.identity = "life-" + std::to_string(life);
    WriteFence fence(options.lease_duration - options.renew_deadline);
    BootClock::time_point led{};
    LeaderElector elector(store, fence, options,
                          {[&] { led = clock.now(); }, [](const std::string&) {}}, clock);
    for (int i = pick(0, 6); i > 0; --i) {
      static constexpr Fault kFaults[] = {Fault::kNone, Fault::kUnavailable, Fault::kLostAnswer,
                                          Fault::kHang};
      clock.plan(clock.passed() + milliseconds(pick(0, 60'000)),
                 [&store, fault = kFaults[pick(0, 3)]] { store.fault = fault; });
    }
    std::stop_source stop;
    clock.plan(clock.passed() + milliseconds(pick(1'000, 90'000)),
               [&stop] { stop.request_stop(); });
    (void)elector.run(stop.get_token());
    clock.forget_plans();
    if (led == BootClock::time_point{}) continue;
    ++leaders;
    EXPECT_GE(led, last_write) << "life " << life;
    last_write = elector.status().last_renewal + options.lease_duration;
    EXPECT_EQ(fence.allowance(elector.status().last_renewal + options.renew_deadline), 0s);
  }
  EXPECT_GT(leaders, 500);
}

}  // namespace
}  // namespace plimsoll::informer
