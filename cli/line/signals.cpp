#include "cli/line/signals.hpp"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "framework/base/log.hpp"

namespace plimsoll::cli {
namespace {

// Time for the start to end by itself and release what it has begun.
constexpr auto kStartGrace = std::chrono::seconds(2);

const char* name_of(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

}  // namespace

struct Signals::State {
  enum class Phase { kStarting, kRunning, kStopping };

  std::mutex mutex;  // guards phase and arrived
  Phase phase = Phase::kStarting;
  std::deque<int> arrived;
  std::condition_variable changed;
  std::stop_source given_up;
  std::stop_source ending;

  void take(int signal) {
    std::unique_lock lock(mutex);
    if (signal == SIGUSR2 || signal == SIGHUP) {
      if (phase == Phase::kRunning || signal == SIGHUP) arrived.push_back(signal);
      return changed.notify_all();
    }
    const Phase now = std::exchange(phase, Phase::kStopping);
    if (now == Phase::kStopping) std::_Exit(128 + signal);
    if (now == Phase::kRunning) {
      arrived.push_back(signal);
      ending.request_stop();
      return changed.notify_all();
    }
    lock.unlock();
    log_info("stopping before the start is over", {{"signal", name_of(signal)}});
    given_up.request_stop();
    std::this_thread::sleep_for(kStartGrace);
    std::_Exit(0);
  }
};

Signals::Signals() : state_(std::make_shared<State>()) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR2}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([state = state_, signals] {
    pthread_setname_np(pthread_self(), "plimsoll-signal");
    int signal = 0;
    while (sigwait(&signals, &signal) == 0) state->take(signal);
  }).detach();
}

std::stop_token Signals::start_given_up() const {
  return state_->given_up.get_token();
}

bool Signals::started() {
  const std::lock_guard lock(state_->mutex);
  if (state_->phase != State::Phase::kStarting) return false;
  state_->phase = State::Phase::kRunning;
  return true;
}

std::stop_token Signals::ending() const {
  return state_->ending.get_token();
}

int Signals::next(std::chrono::milliseconds longest) {
  std::unique_lock lock(state_->mutex);
  if (!state_->changed.wait_for(lock, longest, [this] { return !state_->arrived.empty(); })) {
    return 0;
  }
  const int signal = state_->arrived.front();
  state_->arrived.pop_front();
  if (signal == SIGINT || signal == SIGTERM) log_info("stopping", {{"signal", name_of(signal)}});
  return signal;
}

}  // namespace plimsoll::cli
