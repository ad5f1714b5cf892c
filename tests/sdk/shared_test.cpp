// One store for all instances of a plugin file.

#include <gtest/gtest.h>
#include <plimsoll/fake_host.hpp>
#include <plimsoll/shared.hpp>

#include <memory>
#include <optional>
#include <stdexcept>

namespace {

using namespace plimsoll::sdk;

struct Seats {
  explicit Seats(int* living_ones) : living(living_ones) { ++*living; }
  ~Seats() { --*living; }
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;
  int taken = 0;
  int* living;
};

class SharedTest : public testing::Test {
 protected:
  Shared<Seats> seats(FakeHost& host) {
    return {host.handle(), "example.com/seats",
            [this] { return std::make_unique<Seats>(&living_); }};
  }
  FakeHost host_;
  int living_ = 0;
};

TEST_F(SharedTest, AllInstancesOfASchedulerHaveOne) {
  const Shared<Seats> first = seats(host_);
  const Shared<Seats> second = seats(host_);
  first->taken = 3;
  EXPECT_EQ(second->taken, 3);
  EXPECT_EQ(living_, 1);
}

TEST_F(SharedTest, TwoSchedulersHaveTwo) {
  FakeHost other;
  const Shared<Seats> here = seats(host_);
  const Shared<Seats> there = seats(other);
  EXPECT_NE(&*here, &*there);
  EXPECT_EQ(living_, 2);
}

TEST_F(SharedTest, GoesWithTheLastInstanceAndCanBeMadeAgain) {
  std::optional<Shared<Seats>> first = seats(host_);
  std::optional<Shared<Seats>> second = seats(host_);
  (*first)->taken = 3;
  first.reset();
  EXPECT_EQ((*second)->taken, 3);
  second.reset();
  EXPECT_EQ(living_, 0);
  EXPECT_EQ(seats(host_)->taken, 0);
}

TEST_F(SharedTest, OneInstanceFeedsEachKindOfEventAndAnotherTakesOver) {
  std::optional<Shared<Seats>> first = seats(host_);
  const Shared<Seats> second = seats(host_);
  EXPECT_TRUE(second.feeds("rooms"));
  EXPECT_TRUE(first->feeds());
  EXPECT_FALSE(second.feeds());
  EXPECT_FALSE(first->feeds("rooms"));
  const Shared<Seats> moved = std::move(*first);
  EXPECT_TRUE(moved.feeds()) << "the part moves with the instance";
  first = seats(host_);
  EXPECT_FALSE(first->feeds());
}

TEST_F(SharedTest, TheNextTakesOverFromAFeederThatIsGone) {
  std::optional<Shared<Seats>> first = seats(host_);
  const Shared<Seats> second = seats(host_);
  EXPECT_TRUE(first->feeds());
  first.reset();
  EXPECT_TRUE(second.feeds());
}

TEST_F(SharedTest, OneThatCannotBeMadeIsNotKept) {
  const auto fail = []() -> std::unique_ptr<Seats> { throw std::runtime_error("no room"); };
  EXPECT_THROW(Shared<Seats>(host_.handle(), "example.com/seats", fail), std::runtime_error);
  EXPECT_FALSE(Shared<Seats>::is_here(host_.handle(), "example.com/seats"));
  EXPECT_EQ(seats(host_)->taken, 0);
}

TEST_F(SharedTest, AnotherPluginFilesStoreIsNotTouched) {
  struct Theirs {
    const void* file;
  };
  static const int their_file = 0;
  static const Theirs theirs{&their_file};
  ASSERT_TRUE(host_.handle().publish("example.com/seats", 1, &theirs));
  EXPECT_FALSE(Shared<Seats>::is_here(host_.handle(), "example.com/seats"));
  try {
    (void)seats(host_);
    FAIL() << "it was shared";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "another plugin file has example.com/seats already; load only one of them");
  }
}

}  // namespace
