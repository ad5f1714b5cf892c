#include "framework/base/signal_stack.hpp"

#include <csignal>
#include <cstddef>
#include <memory>

namespace plimsoll {
namespace {

constexpr std::size_t kBytes = 64 * 1024;  // unwinding takes the most of it

class SignalStack {
 public:
  SignalStack() {
    const stack_t stack{memory_.get(), 0, kBytes};
    ::sigaltstack(&stack, &before_);
  }
  ~SignalStack() { ::sigaltstack(&before_, nullptr); }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_ = std::make_unique<std::byte[]>(kBytes);
  stack_t before_{};
};

}  // namespace

void add_signal_stack() {
  static thread_local const SignalStack stack;
}

}  // namespace plimsoll
