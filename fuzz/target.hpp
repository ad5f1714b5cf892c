#pragma once
// A fuzz target is a function of arbitrary input bytes: void NAME(std::string_view). CMakeLists.txt
// lists the targets. A target reads the bytes as the product does, accesses every part of the
// result, and throws if a rule is broken that must hold for every input. The fuzzer itself detects
// a decoder that throws, leaks, reads beyond its input, takes seconds or fills the memory.
//
// libfuzzer.cpp makes a program of each target (build/fuzz, fuzz/run). In the normal tests,
// replay_test.cpp runs all targets with all seeds and all inputs that were ever found.

#include <stdexcept>
#include <string>
#include <string_view>

namespace plimsoll::fuzz {

// The parts of the message are joined only if the condition does not hold.
template <typename... Parts>
void require(bool holds, const Parts&... what) {
  if (holds) return;
  std::string text = "broken: ";
  (text.append(what), ...);
  throw std::logic_error(text);
}

// Removes and returns the first byte, for a target that selects a variant; 0 if there is none.
[[nodiscard]] inline unsigned take_byte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return byte;
}

// Removes and returns the text before the next ~, for a target that reads several texts.
[[nodiscard]] inline std::string_view take_part(std::string_view& input) {
  const std::size_t end = input.find('~');
  const std::string_view part = input.substr(0, end);
  input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  return part;
}

}  // namespace plimsoll::fuzz
