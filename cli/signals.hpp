#pragma once
// The signals that `plimsoll run` understands. A thread of their own takes them from the start on,
// so that nothing that the start waits for (a plugin that loads, a server, a credential) can keep
// the process from ending.
//
//   SIGTERM, SIGINT  end: while it starts at once, for nothing has been promised to anybody yet;
//                    later by way of next(), in good order. A second one ends it at once.
//   SIGHUP           asks for the profile to be read again, which takes a restart: it is logged.
//   SIGUSR2          by way of next(); while it starts there is nothing to tell.

#include <memory>
#include <stop_token>

namespace plimsoll::cli {

class Signals {
 public:
  // Blocks them for the calling thread and for all threads that it makes from here on. The thread
  // that takes them lives as long as the process.
  Signals();

  // Requested by a signal that ends the process while it starts. Whoever does not return from
  // main soon after it is not waited for.
  [[nodiscard]] std::stop_token start_given_up() const;
  // The start is over: from here on signals that end the process are next()'s. False: one came
  // before, and the caller should return.
  [[nodiscard]] bool started();
  // Blocks until SIGUSR2, SIGINT or SIGTERM comes. Not to be called again after one of the last
  // two.
  [[nodiscard]] int next();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace plimsoll::cli
