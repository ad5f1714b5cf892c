#pragma once
// Ends the process when a command has taken too long, whatever it does then: it may read a pipe
// that nobody writes to, or compute.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace plimsoll::cli {

class TimeLimit {
 public:
  // Exit status 1 after `limit`, with a message that names the command, what it was doing, and the
  // calls of plugins that have not returned.
  TimeLimit(std::string command, std::chrono::seconds limit, std::string doing);
  ~TimeLimit() { lift(); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  [[nodiscard]] std::chrono::milliseconds left() const;
  void doing(std::string what);
  // From here on the command minds the limit itself. It is ended half a minute later if it does
  // not.
  void leave_it_to_the_command(std::string_view doing);
  // There is no limit any more.
  void lift();

 private:
  void watch(const std::stop_token& lifted);

  const std::string command_;
  const std::chrono::seconds limit_;
  mutable std::mutex mutex_;  // guards what follows, up to thread_
  std::condition_variable_any changed_;
  std::chrono::steady_clock::time_point end_;
  std::string doing_;
  bool own_ = false;
  std::jthread thread_;
};

}  // namespace plimsoll::cli
