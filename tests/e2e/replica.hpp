#pragma once
// A scheduler that is always started again, as its kubelet would.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/e2e/e2e_test.hpp"

namespace plimsoll::test {

class Replica {
 public:
  Replica(std::string name, RunSpec spec) : name_(std::move(name)), spec_(std::move(spec)) {}

  void start() {
    Result<ChildProcess> started = start_scheduler(spec_);
    ASSERT_TRUE(started) << started.error().message;
    process_.emplace(std::move(*started));
  }

  void kill() {
    process_->kill();
    ++killed_;
    start_again();
  }

  // Starts it again if it has ended: only for the reason that it does not lead any more.
  void revive() {
    if (process_->running()) return;
    EXPECT_EQ(*process_->wait(0ms), ExitStatus::exited(1)) << name_ << "\n" << end_of_log();
    EXPECT_NE(process_->output().find("lost the leader lease"), std::string::npos) << name_ << "\n"
                                                                                   << end_of_log();
    ++lost_;
    start_again();
  }

  [[nodiscard]] bool running() { return process_->running(); }

  void stop() {
    revive();
    const ExitStatus status = process_->stop(20s);
    EXPECT_EQ(status, ExitStatus::exited(0)) << name_ << ": " << to_string(status);
  }

  // Whether it calls itself so.
  [[nodiscard]] bool is(const std::string& identity) const {
    return !identity.empty() && process_->output().find(identity) != std::string::npos &&
           lines_with(process_->output(), {"attempting to acquire", identity}).size() == 1;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int killed() const { return killed_; }
  [[nodiscard]] int lost() const { return lost_; }
  [[nodiscard]] std::string end_of_log() const { return tail(process_->output(), 40); }
  // Of all its lives.
  [[nodiscard]] std::string all_logs() const { return earlier_logs_ + process_->output(); }

 private:
  void start_again() {
    earlier_logs_ += process_->output();
    start();
  }

  std::string name_;
  RunSpec spec_;
  std::optional<ChildProcess> process_;
  std::string earlier_logs_;
  int killed_ = 0;
  int lost_ = 0;
};

}  // namespace plimsoll::test
