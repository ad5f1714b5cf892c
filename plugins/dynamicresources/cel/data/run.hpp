#pragma once
// One evaluation of an expression on one device: what it may still do, and the memory of what it
// computes, which is gone with it.

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "plugins/dynamicresources/cel/data/value.hpp"
#include "plugins/dynamicresources/values/device.hpp"

namespace plimsoll::dra::cel {

class Run {
 public:
  static constexpr int64_t kMostSteps = 1'000'000;

  Run(std::string_view driver, const Device& device) : driver_(driver), device_(device) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] std::string_view driver() const { return driver_; }
  [[nodiscard]] const Device& device() const { return device_; }

  // Counts steps; false: there are no more. Time and memory of everything are counted, by size:
  // a step stands for at most some ten bytes or comparisons.
  bool charge(size_t steps) {
    left_ = steps > static_cast<size_t>(kMostSteps) ? -1 : left_ - static_cast<int64_t>(steps);
    return left_ >= 0;
  }
  // Texts are cheaper: a step for eight bytes.
  bool charge_text(size_t bytes) { return charge(1 + bytes / 8); }
  // How deep nodes and values stand in one another; too deep uses up the steps. The levels of a
  // text are not too deep, but a variable may stand for much that is computed when it is first
  // read.
  class Level {
   public:
    explicit Level(Run& run) : run_(run) {
      if (++run_.depth_ > kDeepest) run_.left_ = -1;
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --run_.depth_; }

   private:
    static constexpr int kDeepest = 2500;
    Run& run_;
  };

  [[nodiscard]] uint64_t steps() const {
    return static_cast<uint64_t>(left_ < 0 ? kMostSteps : kMostSteps - left_);
  }
  // No operator absorbs that the steps are used up.
  [[nodiscard]] bool spent() const { return left_ < 0; }
  [[nodiscard]] static Value out_of_steps() {
    return Value::of_error("operation cancelled: actual cost limit exceeded");
  }

  [[nodiscard]] Value fail(std::string_view text) { return Value::of_error(keep(text)); }
  [[nodiscard]] std::string_view keep(std::string_view text);
  [[nodiscard]] Value string(std::string_view text) { return Value::of_string(keep(text)); }

  // Room for values; they are to be set before they are read. Nothing: no steps are left.
  template <typename T>
  [[nodiscard]] std::span<T> room(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (!charge(count)) return {};
    auto* values = static_cast<T*>(memory_.allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_default_construct_n(values, count);
    return {values, count};
  }
  template <typename T>
  [[nodiscard]] const T* one(const T& value) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (memory_.allocate(sizeof(T), alignof(T))) T(value);
  }
  [[nodiscard]] const Semver* semver(Semver value);
  [[nodiscard]] Value list(std::span<const Value> items, bool joined = false) {
    return Value::of_list(one(List{items, joined}));
  }

 private:
  std::string_view driver_;
  const Device& device_;
  int64_t left_ = kMostSteps;
  int depth_ = 0;
  std::byte first_[1024];
  std::pmr::monotonic_buffer_resource memory_{first_, sizeof first_};
  // Versions own memory.
  std::vector<std::unique_ptr<const Semver>> semvers_;
};

// Equality as the reference has it: true, false, or an error (of quantities and versions with
// another type). Numbers of different types are equal by value.
[[nodiscard]] Value equal(Run& run, const Value& a, const Value& b);
// The same, but null is like any value not equal to others, without an error.
[[nodiscard]] Value equal_or_null(Run& run, const Value& a, const Value& b);
[[nodiscard]] inline bool is_equal(Run& run, const Value& a, const Value& b) {
  return equal(run, a, b).is_bool(true);
}
// -1, 0 or 1 as an int, or an error.
[[nodiscard]] Value compare(Run& run, const Value& a, const Value& b);

[[nodiscard]] size_t size_of(Run& run, const Map& map);
// Nullptr: the map has no such key.
[[nodiscard]] const Value* find(Run& run, const Map& map, const Value& key);
[[nodiscard]] bool has_key(Run& run, const Map& map, const Value& key);
[[nodiscard]] std::span<const Value> keys_of(Run& run, const Map& map);

// container[key]; `present` asks instead whether it is there: the result is optional.
[[nodiscard]] Value index(Run& run, const Value& container, const Value& key, bool optional);

[[nodiscard]] inline Value no_such_overload() {
  return Value::of_error("no such overload");
}

}  // namespace plimsoll::dra::cel
