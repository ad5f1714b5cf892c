#include "cli/line/crash_report.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <plimsoll/views.hpp>
#include <string_view>

#include "framework/base/log.hpp"
#include "framework/base/signal_stack.hpp"
#include "framework/runtime/plugin/running_call.hpp"

namespace plimsoll::cli {
namespace {

struct Crash {
  int signal;
  std::string_view name;
  std::string_view meaning;
  struct sigaction before;
};
std::array g_crashes{Crash{SIGSEGV, "SIGSEGV", "invalid memory access", {}},
                     Crash{SIGBUS, "SIGBUS", "memory that cannot be read", {}},
                     Crash{SIGFPE, "SIGFPE", "division by zero or overflow", {}},
                     Crash{SIGILL, "SIGILL", "illegal instruction", {}},
                     Crash{SIGABRT, "SIGABRT", "abort", {}}};

constexpr unsigned kSecondsForLastWords = 5;  // unwinding what is broken may hang
constexpr int kFrames = 64;

// Builds one record of the log. Runs in a signal handler: no memory is asked for, no lock taken.
class LastWords {
 public:
  explicit LastWords(bool json) : json_(json) {}

  void begin(std::string_view message) {
    put(json_ ? R"({"ts":")" : "");
    time();
    put(json_ ? R"(","level":"error","msg":")" : " E ");
    put(message);
    if (json_) put("\"");
  }
  // The value in pieces.
  void field(std::string_view key, std::initializer_list<std::string_view> value) {
    put(json_ ? ",\"" : " ");
    put(key);
    put(json_ ? "\":\"" : "=\"");
    for (const std::string_view piece : value) escaped(piece);
    put("\"");
    // What comes next may crash too; then this much is known.
    flush();
  }
  void stack(void* const* frames, int count) {
    if (json_) put(",\"stack\":[");
    for (int i = 0; i < count; ++i) {
      put(json_ ? (i == 0 ? "\"" : ",\"") : "\n    ");
      frame(frames[i]);
      if (json_) put("\"");
    }
    put(json_ ? "]}\n" : "\n");
    flush();
  }

 private:
  void put(std::string_view text) {
    for (const char c : text) {
      if (used_ == buffer_.size()) flush();
      buffer_[used_++] = c;
    }
  }
  void escaped(std::string_view text) {
    for (const char c : text) {
      if (c == '"' || c == '\\') put("\\");
      put(static_cast<unsigned char>(c) < 0x20 ? std::string_view("?") : std::string_view(&c, 1));
    }
  }
  void number(uint64_t value, unsigned base, size_t width = 1) {
    std::array<char, 24> digits{};
    size_t at = digits.size();
    for (; value != 0 || digits.size() - at < width; value /= base) {
      digits[--at] = "0123456789abcdef"[value % base];
    }
    put({&digits[at], digits.size() - at});
  }
  // As the log has it.
  void time() {
    using namespace std::chrono;
    const auto now = time_point_cast<milliseconds>(system_clock::now());
    const auto day = floor<days>(now);
    const year_month_day date(day);
    const hh_mm_ss clock(now - day);
    number(static_cast<uint64_t>(static_cast<int>(date.year())), 10, 4);
    put("-");
    number(static_cast<unsigned>(date.month()), 10, 2);
    put("-");
    number(static_cast<unsigned>(date.day()), 10, 2);
    put("T");
    number(static_cast<uint64_t>(clock.hours().count()), 10, 2);
    put(":");
    number(static_cast<uint64_t>(clock.minutes().count()), 10, 2);
    put(":");
    number(static_cast<uint64_t>(clock.seconds().count()), 10, 2);
    put(".");
    number(static_cast<uint64_t>(clock.subseconds().count()), 10, 3);
    put("Z");
  }
  // FILE(SYMBOL+0x12), or FILE(+0x3456), as addr2line takes it.
  void frame(void* address) {
    Dl_info info{};
    if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
      put("0x");
      return number(reinterpret_cast<uintptr_t>(address), 16);
    }
    escaped(info.dli_fname);
    put("(");
    if (info.dli_sname != nullptr) escaped(info.dli_sname);
    put("+0x");
    const void* base = info.dli_sname != nullptr ? info.dli_saddr : info.dli_fbase;
    number(reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(base), 16);
    put(")");
  }
  void flush() {
    for (size_t at = 0; at < used_;) {
      const ssize_t written = ::write(STDERR_FILENO, &buffer_[at], used_ - at);
      if (written < 0 && errno != EINTR) break;
      if (written > 0) at += static_cast<size_t>(written);
    }
    used_ = 0;
  }

  bool json_;
  std::array<char, 1024> buffer_{};
  size_t used_ = 0;
};

void say_who_ran(LastWords& words) {
  const RunningCall* running = RunningCall::innermost();
  if (running == nullptr) return;
  const auto& [name, version, file] = running->plugin();
  words.field("plugin", {name});
  words.field("call", {running->call()});
  words.field("version", {version});
  words.field("file", {*file == '\0' ? "built in" : file});
  if (const plimsoll_pod* pod = running->pod()) {
    words.field("pod", {sdk::view(pod->meta.ns), "/", sdk::view(pod->meta.name)});
  }
}

void say_stack(LastWords& words) {
  std::array<void*, kFrames> frames{};
  words.stack(frames.data(), ::backtrace(frames.data(), kFrames));
}

extern "C" void on_crash(int signal) {
  const auto crash = std::find_if(g_crashes.begin(), g_crashes.end(),
                                  [signal](const Crash& one) { return one.signal == signal; });
  if (crash == g_crashes.end()) return;
  // Whatever crashes from now on, another thread or this handler, ends the process at once.
  for (const Crash& one : g_crashes) ::sigaction(one.signal, &one.before, nullptr);
  ::alarm(kSecondsForLastWords);
  LastWords words(log_format() == LogFormat::kJson);
  words.begin(RunningCall::innermost() != nullptr ? "a plugin crashed; ending"
                                                  : "the program crashed; ending");
  words.field("signal", {crash->name, " (", crash->meaning, ")"});
  say_who_ran(words);
  say_stack(words);
  ::raise(signal);
}

void on_exit() {
  if (RunningCall::innermost() == nullptr) return;
  LastWords words(log_format() == LogFormat::kJson);
  words.begin("a plugin ended the process by calling exit; ending");
  say_who_ran(words);
  say_stack(words);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

void report_crashes() {
  // The first call loads a library, which a signal handler must not.
  std::array<void*, 1> ignored{};
  ::backtrace(ignored.data(), 1);
  add_signal_stack();
  for (Crash& crash : g_crashes) {
    struct sigaction action {};
    action.sa_handler = on_crash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    ::sigaction(crash.signal, &action, &crash.before);
  }
  std::atexit(on_exit);
}

}  // namespace plimsoll::cli
