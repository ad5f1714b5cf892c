#pragma once
// A fuzz target is a function of any bytes that somebody may send: void NAME(std::string_view).
// CMakeLists.txt lists them. It reads the bytes as the product does, looks at everything that comes
// of it, and throws if a rule is broken that holds for every input; a decoder that throws, leaks,
// reads beyond its input, takes seconds or fills the memory is found without its help.
//
// libfuzzer.cpp makes a program of each (build/fuzz, fuzz/run); replay_test.cpp runs all of them
// over all seeds and everything that was ever found, in the normal tests.

#include <stdexcept>
#include <string>
#include <string_view>

namespace plimsoll::fuzz {

// The parts of the text are put together only if it does not hold.
template <typename... Parts>
void require(bool holds, const Parts&... what) {
  if (holds) return;
  std::string text = "broken: ";
  (text.append(what), ...);
  throw std::logic_error(text);
}

// Takes the first byte off, for a target that has a choice to make; 0 if there is none.
[[nodiscard]] inline unsigned take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return byte;
}

// Takes what is in front of the next ~ off, for a target that reads several texts.
[[nodiscard]] inline std::string_view take_part(std::string_view& input) {
  const std::size_t end = input.find('~');
  const std::string_view part = input.substr(0, end);
  input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  return part;
}

}  // namespace plimsoll::fuzz
