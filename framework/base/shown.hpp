#pragma once
// What strangers wrote, as people may be shown it. A control character must not reach a terminal or
// a log raw: it could hide lines, forge others or give the terminal orders.
//
// Control characters (C0, DEL, C1), line and paragraph separators and what turns the direction of
// text become "\n", "\t", "\u001b", as JSON has them; what is not UTF-8 becomes U+FFFD. Everything
// else, backslashes too, stays as it is, so that a text that was shown once does not change. Pure
// functions; any thread.

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace plimsoll {

// The character at the start of `text`, which is not empty.
struct ShownCharacter {
  size_t length = 1;
  uint32_t code = 0;  // of one that must not be raw
  enum class Kind : uint8_t { kPlain, kControl, kInvalid } kind = Kind::kPlain;
};
[[nodiscard]] ShownCharacter shown_character(std::string_view text);

// As one line.
[[nodiscard]] std::string shown(std::string_view text);
// The same, but line feeds and tabs stay.
[[nodiscard]] std::string shown_lines(std::string_view text);

// While one lives, what is written to the stream is shown_lines of it. For the standard output and
// error of a program; whoever means to control the terminal writes past it.
class ShownOutput final : private std::streambuf {
 public:
  explicit ShownOutput(std::ostream& stream) : stream_(stream), raw_(stream.rdbuf(this)) {}
  ~ShownOutput() override;
  ShownOutput(const ShownOutput&) = delete;
  ShownOutput& operator=(const ShownOutput&) = delete;

 private:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;
  bool write();  // the whole lines that are pending

  std::ostream& stream_;
  std::streambuf* raw_;
  std::string pending_;
};

}  // namespace plimsoll
