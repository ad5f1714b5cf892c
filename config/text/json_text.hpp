#pragma once
// JSON text with places. Strict RFC 8259; strings must be UTF-8.
//
// parse_json builds a tree. JsonScanner walks over text without building anything, as required for
// cluster exports of hundreds of megabytes. Pure functions of their input, any thread.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/value.hpp"

namespace plimsoll::config {

// One value inside a text: its bytes are text.substr(begin, end - begin).
struct JsonSpan {
  std::string key;  // in an object
  std::size_t begin = 0;
  std::size_t end = 0;
  Position at;
};

// A cursor over JSON text. A function that returns false has set problem() and ends the scan.
class JsonScanner {
 public:
  // Starts at `offset`, which is at place `at` of the file.
  explicit JsonScanner(std::string_view text, std::size_t offset = 0, Position at = {1, 1});

  // Reads one value into *out, or only checks it if out is null.
  bool value(Value* out);
  // Reads an object or array and lists its members, each checked but not built.
  bool members(std::vector<JsonSpan>& out);
  bool elements(std::vector<JsonSpan>& out);

  void skip_space();
  [[nodiscard]] bool at_end() const { return next_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[next_]; }
  [[nodiscard]] std::size_t offset() const { return next_; }
  [[nodiscard]] Position position() const;
  [[nodiscard]] const Problem& problem() const { return problem_; }

 private:
  bool fail(std::string message);
  bool object(Value* out);
  bool array(Value* out);
  bool string(std::string* out);
  bool escape(std::string* out);
  bool hex4(unsigned& code);
  bool utf8(std::string* out);
  bool number(Value* out);
  bool word(std::string_view word);
  template <typename Element>
  bool each(char close, const Element& element);
  bool field_name(std::string* name);
  bool span(JsonSpan span, std::vector<JsonSpan>& out);

  std::string_view text_;
  std::size_t next_;
  int line_;
  std::size_t line_start_;
  int column_base_;
  int depth_ = 0;
  Problem problem_;
};

// Parses the whole text as one value; sets the problem if it is not JSON.
[[nodiscard]] std::optional<Value> parse_json(std::string_view text, Problem& problem);

}  // namespace plimsoll::config
