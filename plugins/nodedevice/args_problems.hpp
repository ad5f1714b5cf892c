#pragma once
// What is wrong in the plugin's args, place by place: all of it is told at once. Pure.

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace plimsoll::devices {

class ArgsProblems {
 public:
  // `path`: as in the profile file, from the args on; empty: the args as a whole.
  void add(const std::string& path, const std::string& text);
  // Whether `value` is an object; it is a problem if it is none, and so is each field beyond
  // `known`.
  bool object(const nlohmann::json& value, const std::string& path,
              std::initializer_list<std::string_view> known);

  // "path: text", a line each; empty: nothing is wrong.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  std::string text_;
  size_t size_ = 0;
};

}  // namespace plimsoll::devices
