#pragma once
// The words of an expression.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::dra::cel {

enum class Word : uint8_t {
  kEnd,
  kWrong,  // no word of the language
  kName,
  kQuotedName,  // `a-b`
  kKeyword,     // in, true, false, null
  kMark,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
};

struct Token {
  Word word = Word::kEnd;
  std::string_view text;  // as written
  size_t at = 0;

  [[nodiscard]] bool is(std::string_view mark) const {
    return text == mark && (word == Word::kMark || word == Word::kKeyword);
  }
};

// The first token that begins at `from` or behind.
[[nodiscard]] Token next_token(std::string_view text, size_t from);

// What a string or bytes token stands for; nothing: it is not well formed.
[[nodiscard]] std::optional<std::string> unquoted(const Token& token);

void append_utf8(std::string& text, uint32_t point);

}  // namespace plimsoll::dra::cel
