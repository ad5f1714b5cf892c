#pragma once
// What the tests of the binding cycle share.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "tests/cycle/loop_harness.hpp"

namespace plimsoll::testing {

using sdk::Host;
using sdk::Pod;
using sdk::Status;
using sdk::Token;

inline const std::string kScheduled =
    "event a Normal Scheduled Binding: Successfully assigned ns/a to n";

inline auto succeeds() {
  return [](auto&&...) { return Status(); };
}
inline auto waits(int64_t ms = 60'000) {
  return [ms](const Host&, Pod, int64_t& timeout_ms) {
    timeout_ms = ms;
    return Status::wait();
  };
}
// Waits the first time, then succeeds.
inline auto waits_once(int64_t ms = 60'000) {
  return [ms, waited = std::make_shared<std::atomic<bool>>(false)](const Host&, Pod,
                                                                   int64_t& timeout_ms) {
    timeout_ms = ms;
    return waited->exchange(true) ? Status() : Status::wait();
  };
}

class BindingCycle : public LoopTest {
 protected:
  // PreBind of P hangs until finish(); the first time only.
  void hang_pre_bind() {
    p().pre_bind = [this](const Host&, Pod, Token token) {
      if (hung_.exchange(true)) return Status();
      token_ = token;
      journal_.add("hangs");
      return Status::wait();
    };
  }
  void finish(int32_t code = PLIMSOLL_SUCCESS, const std::string& text = {}) {
    host("P").complete(token_, code, text);
  }
  void activate(const char* uid) { host("P").activate(uid); }
  // On the loop, as a preemptor does.
  uint32_t cancel(const char* uid, const char* message) {
    std::promise<uint32_t> answer;
    scheduler_->post(Task{[&] {
      const plimsoll_host& table = host("P").table();
      answer.set_value(table.cancel_binding(table.ctx, sdk::str(uid), sdk::str(message)));
    }});
    return answer.get_future().get();
  }
  void one_node_one_pod() {
    start();
    add_node("n", "1");
    add_pod("a");
  }

  std::atomic<bool> hung_{false};
  Token token_;
};

}  // namespace plimsoll::testing
