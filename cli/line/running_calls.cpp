#include "cli/line/running_calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <plimsoll/join.hpp>
#include <plimsoll/views.hpp>
#include <string_view>
#include <thread>
#include <vector>

#include "framework/runtime/plugin/running_call.hpp"

namespace plimsoll::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kLongestWait = 1s;  // for one thread: it may block signals, or be about to end

// What one thread says. Filled in by its signal handler: no memory is asked for, no lock taken.
struct Call {
  std::array<char, 1024> text;
  size_t used = 0;
  std::atomic<bool> said{false};

  void put(std::string_view more) {
    const size_t length = std::min(more.size(), text.size() - used);
    std::copy_n(more.data(), length, text.data() + used);
    used += length;
  }
};

void describe(const RunningCall& running, Call& call) {
  call.put("plugin \"");
  call.put(running.plugin().name);
  call.put("\" in ");
  call.put(running.call());
  if (const plimsoll_pod* pod = running.pod()) {
    call.put(" of pod ");
    call.put(sdk::view(pod->meta.ns));
    call.put("/");
    call.put(sdk::view(pod->meta.name));
  }
}

// Where the thread that is asked writes; whoever takes it out owns it.
std::atomic<Call*> g_asked{nullptr};
static_assert(std::atomic<Call*>::is_always_lock_free);

extern "C" void say_running_call(int) {
  Call* call = g_asked.exchange(nullptr);
  if (call == nullptr) return;
  if (const RunningCall* running = RunningCall::innermost()) describe(*running, *call);
  call->said = true;
}

std::string running_call_of(pid_t thread, int signal) {
  Call call;
  g_asked = &call;
  if (::tgkill(::getpid(), thread, signal) != 0) {
    g_asked = nullptr;
    return {};
  }
  for (auto waited = 0ms; !call.said && waited < kLongestWait; waited += 1ms) {
    std::this_thread::sleep_for(1ms);
  }
  if (g_asked.exchange(nullptr) != nullptr) return {};
  while (!call.said) std::this_thread::yield();  // it is just writing
  return {call.text.data(), call.used};
}

}  // namespace

std::string running_calls() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const int signal = SIGRTMIN + 5;
  struct sigaction action {};
  action.sa_handler = say_running_call;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(signal, &action, nullptr);
  std::vector<std::string> calls;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::string name = task.path().filename();
    pid_t thread = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), thread).ec != std::errc()) continue;
    std::string call = running_call_of(thread, signal);
    if (!call.empty()) calls.push_back(std::move(call));
  }
  std::sort(calls.begin(), calls.end());
  calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
  return sdk::join(calls, "; ");
}

std::string running_calls_after_colon() {
  const std::string calls = running_calls();
  return calls.empty() ? "" : ": " + calls;
}

std::vector<std::string> hanging_calls(std::chrono::nanoseconds after) {
  std::vector<std::string> said;
  LooseCall::each_that_hangs(after, [&](const RunningCall& running, auto busy) {
    Call call;
    describe(running, call);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(busy).count();
    said.push_back("a plugin has not returned for " + std::to_string(seconds) +
                   " s: " + std::string(call.text.data(), call.used));
  });
  return said;
}

}  // namespace plimsoll::cli
