#include "node/devices/nvidia_library.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "node/devices/sys_tree.hpp"

namespace plimsoll::node {
namespace {

constexpr std::chrono::milliseconds kLastPatience{2'000};  // at the end of the program

}  // namespace

struct NvidiaLibrary::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> job;  // runs until it is empty again
  bool ends = false;

  // Of the thread alone.
  std::unique_ptr<Nvml> nvml;
  // Of the job: who has asked may have gone.
  Answer answer;

  std::mutex fault_mutex;
  Nvml::OnFault on_fault;  // empty: nobody listens any more

  void work() {
    std::unique_lock lock(mutex);
    while (!ends) {
      changed.wait(lock, [this] { return ends || job; });
      if (!job) continue;
      lock.unlock();
      job();
      lock.lock();
      job = nullptr;
      changed.notify_all();
    }
  }

  // What is thrown here would end the program.
  void look(const std::string& library, bool afresh) {
    answer = {};
    try {
      read(library, afresh);
    } catch (const std::exception& error) {
      fail_with(plain_text(error.what()));
    }
  }

  void fail_with(const std::string& why) { answer = {{}, "", why, {"NVIDIA's GPUs: " + why}}; }

  void read(const std::string& library, bool afresh) {
    if (afresh) nvml.reset();
    if (!nvml) {
      auto opened = Nvml::open(library, [this](const std::string& address, std::uint64_t xid) {
        const std::lock_guard lock(fault_mutex);
        if (on_fault) on_fault(address, xid);
      });
      if (!opened) return fail_with(opened.error().message);
      nvml = std::move(*opened);
    }
    answer.cards = nvml->cards(answer.problems);
    answer.driver = nvml->driver_version();
  }
};

NvidiaLibrary::NvidiaLibrary(std::string library, std::chrono::milliseconds patience,
                             Nvml::OnFault on_fault)
    : patience_(patience), library_(std::move(library)), state_(std::make_shared<State>()) {
  state_->on_fault = std::move(on_fault);
  std::thread([state = state_] { state->work(); }).detach();
}

NvidiaLibrary::~NvidiaLibrary() {
  {
    const std::lock_guard lock(state_->fault_mutex);
    state_->on_fault = nullptr;
  }
  // Its end is a call as well.
  const auto patience = std::min(patience_, kLastPatience);
  if (waits_for_idle(patience)) start([state = state_.get()] { state->nvml.reset(); });
  (void)waits_for_idle(patience);
  const std::lock_guard lock(state_->mutex);
  state_->ends = true;
  state_->changed.notify_all();
}

bool NvidiaLibrary::waits_for_idle(std::chrono::milliseconds patience) {
  std::unique_lock lock(state_->mutex);
  if (is_late_) patience = {};
  is_late_ = !state_->changed.wait_for(lock, patience, [this] { return !state_->job; });
  return !is_late_;
}

void NvidiaLibrary::start(std::function<void()> job) {
  const std::lock_guard lock(state_->mutex);
  state_->job = std::move(job);
  state_->changed.notify_all();
}

NvidiaLibrary::Answer NvidiaLibrary::ask(bool afresh) {
  afresh_ = afresh_ || afresh;
  if (waits_for_idle(patience_)) {
    start([state = state_.get(), library = library_, afresh = std::exchange(afresh_, false)] {
      state->look(library, afresh);
    });
    if (waits_for_idle(patience_)) return std::move(state_->answer);
  }
  const std::string why = "NVIDIA's library does not answer";
  return {{}, "", why, {"NVIDIA's GPUs: " + why}};
}

}  // namespace plimsoll::node
