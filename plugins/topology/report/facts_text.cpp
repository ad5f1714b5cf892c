#include "plugins/topology/report/facts_text.hpp"

#include <charconv>

namespace plimsoll::topology::kubelet {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

bool plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-._:@/+=").find(c) != std::string_view::npos;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// How many numbers from `first` on go up by the same step.
size_t run_length(std::span<const uint32_t> numbers, size_t first) {
  if (first + 1 >= numbers.size() || numbers[first + 1] <= numbers[first]) return 1;
  const uint32_t step = numbers[first + 1] - numbers[first];
  size_t end = first + 2;
  while (end < numbers.size() && numbers[end] > numbers[end - 1] &&
         numbers[end] - numbers[end - 1] == step) {
    ++end;
  }
  return end - first;
}

}  // namespace

std::string version_problem(std::string_view word) {
  std::string_view rest = word;
  const std::string_view major = cut(rest, '.');
  if (!major.starts_with('v') || !read_number(major.substr(1), 1'000'000) ||
      !read_number(rest, 1'000'000)) {
    return quoted(word) + " is not a version such as " + std::string(kFormVersion);
  }
  if (major != "v1") return "version " + quoted(word) + " cannot be read, only v1";
  return {};
}

std::string digest_of(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::string out(8, '0');
  for (size_t i = 0; i < out.size(); ++i) out[i] = kHex[hash >> (28 - 4 * i) & 15];
  return out;
}

std::optional<int64_t> read_number(std::string_view text, int64_t most) {
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.starts_with('-') || number > most) return std::nullopt;
  return number;
}

std::string sequence_text(std::span<const uint32_t> numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t length = run_length(numbers, i);
    const uint32_t step = length > 1 ? numbers[i + 1] - numbers[i] : 1;
    if (step > 1 && length < 3) length = 1;
    if (!out.empty()) out += ',';
    out += std::to_string(numbers[i]);
    if (length > 1) out += '-' + std::to_string(numbers[i + length - 1]);
    if (length > 1 && step > 1) out += '/' + std::to_string(step);
    i += length;
  }
  return out;
}

Parsed<std::vector<uint32_t>> read_sequence(std::string_view text, uint32_t most,
                                            size_t most_numbers) {
  std::vector<uint32_t> numbers;
  if (text.ends_with(',')) return bad(quoted(text) + " ends with a comma");
  while (!text.empty()) {
    const std::string_view part = cut(text, ',');
    std::string_view rest = part;
    std::string_view range = cut(rest, '/');
    const bool stepped = part.find('/') != std::string_view::npos;
    const bool ranged = range.find('-') != std::string_view::npos;
    const auto first = read_number(cut(range, '-'), most);
    const auto last = ranged ? read_number(range, most) : first;
    const auto step = stepped ? read_number(rest, most) : 1;
    if (!first || !last || !step || *step == 0 || *last < *first || (stepped && !ranged)) {
      return bad(quoted(part) + " is not a number or a range up to " + std::to_string(most));
    }
    for (int64_t number = *first; number <= *last; number += *step) {
      if (numbers.size() == most_numbers) {
        return bad("more than " + std::to_string(most_numbers) + " numbers");
      }
      numbers.push_back(static_cast<uint32_t>(number));
    }
  }
  return numbers;
}

std::string escaped(std::string_view id) {
  std::string out;
  for (const char c : id) {
    if (plain(c)) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

Parsed<std::string> unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!plain(text[i])) return bad(quoted(text) + " is not a device id");
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) return bad(quoted(text) + " is not a device id: % needs two digits");
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string quoted(std::string_view text) {
  constexpr size_t kMost = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, kMost)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return out + (text.size() > kMost ? "...\"" : "\"");
}

}  // namespace plimsoll::topology::kubelet
