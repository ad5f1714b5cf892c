#pragma once
// A scheduler loop on a thread of its own, with an API server in memory and plugins "P" and "Q"
// whose every function is a lambda of the test. What happens is written into one journal, so that
// tests see what came before what, and wait for it without sleeping.

#include <gtest/gtest.h>
#include <plimsoll/plugin.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/runtime/plugin/modules.hpp"

namespace plimsoll::testing {

// Any thread.
class Journal {
 public:
  void add(std::string line);
  // Waits until the line was written so many times; false after 20 s.
  bool await(const std::string& line, int times = 1);
  [[nodiscard]] int count(const std::string& line) const;
  [[nodiscard]] std::vector<std::string> lines() const;
  // True if both are there, and the first of the one is before the first of the other.
  [[nodiscard]] bool in_order(const std::string& earlier, const std::string& later) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable grown_;
  std::vector<std::string> lines_;
};

// Lines: "bind a n", "event a Normal Scheduled Binding: ...", "condition a Unschedulable: ...",
// "nominate a n", "nominate a -" (cleared).
class JournalApi final : public ApiWriter {
 public:
  explicit JournalApi(Journal& journal) : journal_(journal) {}
  void bind(BindRequest request, Done done) override;
  void record_event(EventRecord event) override;
  void patch_condition(ConditionPatch patch, Done done) override;
  void request(ApiRequest request, Answered done) override;

  void fail_next_bind(Error error);
  // Nominations are answered by answer_nominations() from now on.
  void hold_nominations();
  void answer_nominations(const Result<void>& with = {});
  [[nodiscard]] std::vector<ConditionPatch> patches() const;
  std::function<void(const BindRequest&)> on_bound;

 private:
  Journal& journal_;
  mutable std::mutex mutex_;  // guards the rest
  std::vector<Error> bind_errors_;
  std::vector<Done> held_;
  std::vector<ConditionPatch> patches_;
  bool hold_ = false;
};

// What a plugin does; it takes part in the points whose functions are set.
struct Hooks {
  using Host = sdk::Host;
  using Status = sdk::Status;
  std::function<Status(const Host&, sdk::Pod)> pre_filter;
  std::function<Status(const Host&, sdk::Pod)> reserve;
  std::function<Status(const Host&, sdk::Pod, int64_t& timeout_ms)> permit;
  std::function<Status(const Host&, sdk::Pod)> pre_flight;  // unset, with pre_bind: Success
  std::function<Status(const Host&, sdk::Pod, sdk::Token)> pre_bind;
  std::function<Status(const Host&, sdk::Pod)> bind;                  // unset: nobody asks it
  std::function<bool(sdk::Pod, std::string_view resource)> rests_on;  // unset: on nothing
};

class LoopTest : public ::testing::Test {
 protected:
  LoopTest();
  ~LoopTest() override;

  // Profiles "one" and "two" have the same plugins: Sort, Cpu, P, Q, Poster (posts the Binding).
  // With `watched_`, also one of before ABI 1.3, so to say: Watcher watches that kind of g.io/v1
  // and does not say who rests on it.
  Hooks& p() { return hooks_["P"]; }
  Hooks& q() { return hooks_["Q"]; }
  void start();  // after the hooks are set
  void stop();
  const sdk::Host& host(const std::string& plugin);

  void add_node(const std::string& name, const std::string& cpu);
  void add_pod(const std::string& name, const std::string& cpu = "1",
               const std::string& extra = "");
  // The pod as the API server has it; `extra`: further JSON of metadata, "\"a\":1," style.
  PodRef pod(const std::string& name, const std::string& node, const std::string& cpu,
             const std::string& extra = "", const std::string& profile = "one",
             const std::string& status = "", const std::string& uid = "");
  // Waits until the loop has handled all that was posted, and all that came of it.
  void settle();

  Journal journal_;
  JournalApi api_{journal_};
  SymbolTable symbols_;
  Modules modules_;
  SchedulerOptions options_;
  std::map<std::string, Hooks> hooks_;
  std::string watched_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

}  // namespace plimsoll::testing
