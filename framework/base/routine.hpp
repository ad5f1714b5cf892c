#pragma once
// Work that is done in slices: a coroutine that calls further ones, and that stops wherever one of
// them says `co_await slice.pause()` and the slice has been long enough.
//
//   Routine<bool> Work::part() { ... co_await slice_.pause(); ... co_return true; }
//   Routine<> Work::all() { const bool found = co_await part(); ... }
//
//   Routine<> all = work.all();
//   while (!slice.go_on(all)) { /* something else */ }
//
// What is not finished may be destroyed: its locals go, as when a function ends.

#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "framework/base/thread_time.hpp"

namespace plimsoll {

class Slice;
template <typename T = void>
class Routine;

namespace detail {

struct PromiseBase {
  struct Return {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> done) noexcept;
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  Return final_suspend() noexcept { return {}; }
  void unhandled_exception() { error = std::current_exception(); }

  Slice* slice = nullptr;
  std::coroutine_handle<> caller;
  std::exception_ptr error;
};

template <typename T>
struct Promise : PromiseBase {
  Routine<T> get_return_object();
  void return_value(T result) { value = std::move(result); }
  T take() { return std::move(*value); }
  std::optional<T> value;
};

template <>
struct Promise<void> : PromiseBase {
  Routine<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace detail

template <typename T>
class Routine {
 public:
  using promise_type = detail::Promise<T>;

  explicit Routine(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  ~Routine() {
    if (handle_) handle_.destroy();
  }
  Routine(Routine&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Routine& operator=(Routine&&) = delete;

  // co_await: calls it.
  bool await_ready() noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> caller) noexcept;
  T await_resume() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return handle_.promise().take();
  }

 private:
  friend class Slice;
  std::coroutine_handle<promise_type> handle_;
};

// How long a routine goes on before it pauses. Not thread-safe.
class Slice {
 public:
  // Zero: pauses wherever it may. Nothing: never.
  explicit Slice(std::optional<std::chrono::nanoseconds> length) : length_(length) {}
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

  void never_pause() { length_.reset(); }
  // Starts the routine, or goes on where it paused. True: it has ended. It is to be the same one
  // until then. What the routine throws is thrown here.
  bool go_on(Routine<>& outermost);
  // A clock that stands still between slices: of the CPU time of the thread, in milliseconds.
  [[nodiscard]] int64_t worked_ms() const { return thread_time_ms() - elsewhere_ms_; }

  struct Pause {
    Slice& slice;
    bool anyway = false;
    bool await_ready() const noexcept {
      return !(anyway ? slice.length_.has_value() : slice.is_over());
    }
    void await_suspend(std::coroutine_handle<>) const noexcept { slice.paused_ = true; }
    void await_resume() const noexcept {}
  };
  [[nodiscard]] Pause pause() { return {*this}; }
  // Before a long step, which gets a slice of its own.
  [[nodiscard]] Pause pause_anyway() { return {*this, true}; }

 private:
  friend struct detail::PromiseBase;
  template <typename T>
  friend class Routine;
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_over() const { return length_ && Clock::now() - began_ >= *length_; }

  std::optional<std::chrono::nanoseconds> length_;
  Clock::time_point began_;
  std::coroutine_handle<> innermost_;  // that goes on next; null: none was started, or all ended
  bool paused_ = false;
  int64_t elsewhere_ms_ = 0, left_ms_ = thread_time_ms();
};

namespace detail {

template <typename Promise>
void PromiseBase::Return::await_suspend(std::coroutine_handle<Promise> done) noexcept {
  done.promise().slice->innermost_ = done.promise().caller;
}

template <typename T>
Routine<T> Promise<T>::get_return_object() {
  return Routine<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Routine<void> Promise<void>::get_return_object() {
  return Routine<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace detail

template <typename T>
template <typename Promise>
void Routine<T>::await_suspend(std::coroutine_handle<Promise> caller) noexcept {
  handle_.promise().caller = caller;
  handle_.promise().slice = caller.promise().slice;
  caller.promise().slice->innermost_ = handle_;
}

inline bool Slice::go_on(Routine<>& outermost) {
  began_ = Clock::now();
  elsewhere_ms_ += thread_time_ms() - left_ms_;
  paused_ = false;
  if (!innermost_) {
    outermost.handle_.promise().slice = this;
    innermost_ = outermost.handle_;
  }
  // Not one from within the other: however often they call one another, the stack stays flat.
  while (innermost_ && !paused_) innermost_.resume();
  left_ms_ = thread_time_ms();
  if (innermost_) return false;
  outermost.await_resume();
  return true;
}

}  // namespace plimsoll
