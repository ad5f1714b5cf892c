// The mark by which a scheduler without leader election knows how the one before it ended.

#include "informer/lease/start_mark.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>

#include "framework/base/log.hpp"

namespace plimsoll::informer {
namespace {

using std::chrono::milliseconds;

// Time passes by waiting for it.
class MarkClock final : public ElectionClock {
 public:
  BootClock::time_point now() override { return time_; }
  std::chrono::system_clock::time_point wall_now() override { return {}; }
  bool sleep_until(BootClock::time_point time, const std::stop_token& stop) override {
    time_ = time;
    return !stop.stop_requested();
  }

 private:
  BootClock::time_point time_{};
};

// A lease in a server whose next answers may be errors; a lost one is carried out.
class MarkStore final : public LeaseStore {
 public:
  struct Fault {
    ErrorCode code;
    bool carried_out = false;
  };

  Result<LeaseRecord> get(milliseconds) override {
    if (const auto fault = next()) return fail(fault->code, "fault");
    if (!lease) return fail(ErrorCode::kNotFound, "no lease");
    return *lease;
  }
  Result<void> create(const LeaseRecord& record, milliseconds) override {
    if (lease) return fail(ErrorCode::kConflict, "it exists already");
    return write(record);
  }
  Result<void> update(const LeaseRecord& record, milliseconds) override { return write(record); }

  std::optional<LeaseRecord> lease;
  std::deque<std::optional<Fault>> faults;

 private:
  std::optional<Fault> next() {
    if (faults.empty()) return std::nullopt;
    const auto fault = faults.front();
    faults.pop_front();
    return fault;
  }
  Result<void> write(const LeaseRecord& record) {
    const auto fault = next();
    if (!fault || fault->carried_out) lease = record;
    if (fault) return fail(fault->code, "fault");
    return {};
  }
};

class StartMarkTest : public ::testing::Test {
 protected:
  using Fault = MarkStore::Fault;
  static LeaseRecord held_by(const std::string& holder) {
    LeaseRecord record;
    record.holder = holder;
    return record;
  }
  StartMark mark(const std::string& identity) { return {store_, identity, "ns/name", clock_}; }
  std::optional<bool> take(const std::string& identity) { return mark(identity).take({}); }

  MarkStore store_;
  MarkClock clock_;
};

TEST_F(StartMarkTest, AllIsWellAfterAReleaseOrAtTheVeryFirstStart) {
  EXPECT_EQ(take("first"), true) << "no scheduler of this name ever ran";
  EXPECT_EQ(store_.lease->holder, "first");
  EXPECT_EQ(take("second"), false) << "the first one has not released it";
  StartMark third = mark("third");
  EXPECT_EQ(third.take({}), false);
  EXPECT_TRUE(third.release());
  EXPECT_EQ(store_.lease->holder, "");
  EXPECT_EQ(take("fourth"), true);
  EXPECT_EQ(store_.lease->holder, "fourth");
  EXPECT_EQ(store_.lease->transitions, 3);
}

TEST_F(StartMarkTest, WhoeverComesAfterKeepsIt) {
  StartMark first = mark("first");
  EXPECT_EQ(first.take({}), true);
  EXPECT_EQ(take("second"), false);
  EXPECT_TRUE(first.release());
  EXPECT_EQ(store_.lease->holder, "second") << "it is no longer the first one's to release";
}

TEST_F(StartMarkTest, AServerInTroubleIsAskedAgain) {
  store_.lease = held_by("");
  store_.faults = {Fault{ErrorCode::kUnavailable}, std::nullopt,
                   Fault{ErrorCode::kUnavailable}, std::nullopt,
                   Fault{ErrorCode::kConflict},    Fault{ErrorCode::kThrottled}};
  EXPECT_EQ(take("me"), true);
  EXPECT_EQ(store_.lease->holder, "me");
}

TEST_F(StartMarkTest, AServerThatNeverAnswersIsNamedEachMinute) {
  store_.lease = held_by("");
  store_.faults.assign(2 * 60 * 3, Fault{ErrorCode::kUnavailable});  // two tries a second
  log_to_stderr(LogLevel::kWarn, LogFormat::kText);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(take("me"), true);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 2) << said;
  EXPECT_NE(said.find("lease=ns/name error=fault"), said.npos) << said;
}

TEST_F(StartMarkTest, AWriteWhoseAnswerWasLostIsFound) {
  store_.lease = held_by("");
  store_.faults = {std::nullopt, Fault{ErrorCode::kUnavailable, true}};
  EXPECT_EQ(take("me"), true) << "as it was found before it was written";
  store_.lease = held_by("killed");
  store_.faults = {std::nullopt, Fault{ErrorCode::kUnavailable, true}};
  EXPECT_EQ(take("me too"), false);
}

TEST_F(StartMarkTest, WhatIsForbiddenMeansTheWorst) {
  store_.lease = held_by("");
  for (const ErrorCode code : {ErrorCode::kUnauthorized, ErrorCode::kInvalid}) {
    store_.faults = {Fault{code}};
    EXPECT_EQ(take("me"), false);
    store_.faults = {std::nullopt, Fault{code}};
    EXPECT_EQ(take("me"), false) << "released, but it cannot be held";
  }
}

// A second scheduler of the same name, without leader election: the first one ends.
TEST_F(StartMarkTest, WhoeverLosesTheMarkIsTold) {
  StartMark first = mark("first");
  EXPECT_FALSE(first.taken());
  EXPECT_EQ(first.take({}), true);
  EXPECT_TRUE(first.taken());
  EXPECT_EQ(take("second"), false);
  store_.faults = {Fault{ErrorCode::kUnavailable}, Fault{ErrorCode::kNotFound}};
  EXPECT_EQ(first.wait_for_another({}), "second") << "what cannot be read says nothing";
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(mark("second").wait_for_another(stop.get_token()), std::nullopt);
}

TEST_F(StartMarkTest, AStopEndsTheWait) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(mark("me").take(stop.get_token()), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::informer
