#pragma once
// The signals of `plimsoll run`. A separate thread receives them from the beginning, so that
// nothing the start waits for (a plugin that loads, a server, a credential) can keep the process
// from ending.
//
//   SIGTERM, SIGINT  During the start they end the process at once, because nothing has been
//                    promised yet. Later next() returns them for an orderly stop. A second one
//                    ends the process at once.
//   SIGHUP           next() returns it, also one that arrived during the start.
//   SIGUSR2          next() returns it; ignored during the start.

#include <chrono>
#include <memory>
#include <stop_token>

namespace plimsoll::cli {

class Signals {
 public:
  // Blocks the signals for the calling thread and all threads that it creates afterwards. The
  // receiving thread lives as long as the process.
  Signals();

  // Requested by a signal that ends the process during the start. The process is ended by force if
  // main does not return soon after that.
  [[nodiscard]] std::stop_token start_given_up() const;
  // The start is over: from here on next() returns the signals that end the process. False: one
  // arrived before, and the caller should return.
  [[nodiscard]] bool started();
  // Requested once next() has SIGINT or SIGTERM to return.
  [[nodiscard]] std::stop_token ending() const;
  // Blocks until SIGHUP, SIGUSR2, SIGINT or SIGTERM arrives, at most for `longest`: 0 then. Must
  // not be called again after SIGINT or SIGTERM.
  [[nodiscard]] int next(std::chrono::milliseconds longest);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace plimsoll::cli
