#pragma once
// What a check found in one case. No finding: the case passed.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::conformance {

using Json = nlohmann::json;

class Findings {
 public:
  // Records a difference unless both are equal; a null expectation equals "nothing", an empty list,
  // an empty text and false.
  void expect(std::string_view what, const Json& expected, const Json& actual);
  void add(std::string text) { texts_.push_back(std::move(text)); }
  // Something about the case that a reader must know, printed whether it passed or not.
  void note(std::string text) { notes_.push_back(std::move(text)); }

  [[nodiscard]] bool empty() const { return texts_.empty(); }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::vector<std::string> texts_;
  std::vector<std::string> notes_;
};

// The member, or null.
[[nodiscard]] const Json& member(const Json& object, std::string_view key);

}  // namespace plimsoll::conformance
