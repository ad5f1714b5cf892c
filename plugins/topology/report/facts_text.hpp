#pragma once
// The small parts of the texts that carry node facts: lines, words, numbers, lists, digests. Pure
// functions; none of them throws on any input.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/base/result.hpp"

namespace plimsoll::topology::kubelet {

// "v1.0": another major number is another form; a newer minor one has further lines and words.
inline constexpr std::string_view kFormVersion = "v1.0";
// Why `word` is no version that can be read here; empty if it is one.
[[nodiscard]] std::string version_problem(std::string_view word);

// FNV-1a, 32 bits, as 8 hexadecimal digits.
[[nodiscard]] std::string digest_of(std::string_view text);

// A decimal number from 0 to `most`.
[[nodiscard]] std::optional<int64_t> read_number(std::string_view text, int64_t most);

// Numbers in their order: "0-3,8" and, for equal steps, "0-30/2". At least 3 numbers make a range
// with steps. Ranges ascend; at most `most_numbers`, none above `most`. "" is none.
[[nodiscard]] std::string sequence_text(std::span<const uint32_t> numbers);
[[nodiscard]] Parsed<std::vector<uint32_t>> read_sequence(std::string_view text, uint32_t most,
                                                          size_t most_numbers);

// Device ids: everything but letters, digits and -._:@/+= becomes %XX.
[[nodiscard]] std::string escaped(std::string_view id);
[[nodiscard]] Parsed<std::string> unescaped(std::string_view text);

// Cuts `text` before the first `separator` off and returns it; what is left is behind it.
[[nodiscard]] inline std::string_view cut(std::string_view& text, char separator) {
  const size_t at = text.find(separator);
  const std::string_view head = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return head;
}
// The next word, words being separated by single or several spaces; empty at the end.
[[nodiscard]] inline std::string_view next_word(std::string_view& line) {
  std::string_view word;
  while (word.empty() && !line.empty()) word = cut(line, ' ');
  return word;
}

// For messages: the text in quotes, shortened.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace plimsoll::topology::kubelet
