#include "lab/simulate/time_limit.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "cli/line/failure.hpp"
#include "cli/line/running_calls.hpp"

namespace plimsoll::cli {

TimeLimit::TimeLimit(std::string command, std::chrono::seconds limit, std::string doing)
    : command_(std::move(command)),
      limit_(limit),
      end_(std::chrono::steady_clock::now() + limit),
      doing_(std::move(doing)),
      thread_([this](const std::stop_token& lifted) { watch(lifted); }) {}

std::chrono::milliseconds TimeLimit::left() const {
  const std::lock_guard lock(mutex_);
  const auto left = end_ - std::chrono::steady_clock::now();
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left),
                  std::chrono::milliseconds(0));
}

void TimeLimit::doing(std::string what) {
  const std::lock_guard lock(mutex_);
  doing_ = std::move(what);
}

void TimeLimit::leave_it_to_the_command(std::string_view doing) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(own_, true)) return;
  doing_ = doing;
  end_ += std::chrono::seconds(30);
}

void TimeLimit::lift() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void TimeLimit::watch(const std::stop_token& lifted) {
  std::unique_lock lock(mutex_);
  while (!lifted.stop_requested() && std::chrono::steady_clock::now() < end_) {
    const auto end = end_;
    changed_.wait_until(lock, lifted, end, [] { return false; });
  }
  if (lifted.stop_requested()) return;
  const int status =
      failure(command_, "gave up after " + std::to_string(limit_.count()) + " s while " + doing_ +
                            running_calls_after_colon() + "; see --timeout");
  std::cerr << std::flush;
  std::_Exit(status);
}

}  // namespace plimsoll::cli
