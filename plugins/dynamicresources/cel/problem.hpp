#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll::dra::cel {

// What is wrong with an expression. Only the first problem is told.
struct Problem {
  enum class Kind : uint8_t {
    kWrong,        // as the reference would say
    kUnsupported,  // the reference knows it, this language does not
  };
  Kind kind = Kind::kWrong;
  std::string text;
  size_t at = 0;
};

class FirstProblem {
 public:
  void add(Problem::Kind kind, size_t at, std::string text) {
    if (!problem_) problem_ = Problem{kind, std::move(text), at};
  }
  [[nodiscard]] const std::optional<Problem>& get() const { return problem_; }

 private:
  std::optional<Problem> problem_;
};

}  // namespace plimsoll::dra::cel
