#include "plugins/dynamicresources/cel/text/points.hpp"

namespace plimsoll::dra::cel {
namespace {

unsigned byte_at(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

size_t announced_size(unsigned first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// Neither too long for what it says, nor half of a pair, nor beyond the last code point.
bool is_second(unsigned first, unsigned second) {
  const unsigned least = first == 0xE0 ? 0xA0 : (first == 0xF0 ? 0x90 : 0x80);
  const unsigned most = first == 0xED ? 0x9F : (first == 0xF4 ? 0x8F : 0xBF);
  return second >= least && second <= most;
}

// 0: not well formed.
size_t sound_size(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  const size_t size = announced_size(first);
  if (size > text.size() || (size > 1 && !is_second(first, byte_at(text, 1)))) return 0;
  for (size_t i = 2; i < size; ++i)
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  return size;
}

}  // namespace

size_t first_size(std::string_view text) {
  if (text.empty()) return 0;
  const size_t size = sound_size(text);
  return size == 0 ? 1 : size;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = sound_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

size_t count_points(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_size(text));
  return count;
}

std::vector<size_t> starts_of(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size(); at += first_size(text.substr(at))) starts.push_back(at);
  starts.push_back(text.size());
  return starts;
}

}  // namespace plimsoll::dra::cel
