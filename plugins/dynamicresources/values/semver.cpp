#include "plugins/dynamicresources/values/semver.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>

namespace plimsoll::dra {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kIdentifier =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-";

bool only(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

std::optional<uint64_t> number_of(std::string_view text) {
  if (!only(text, kDigits) || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// Takes what stands in front of the separator; all of the text if there is none.
std::string_view take_until(std::string_view* text, char separator) {
  const size_t end = std::min(text->find(separator), text->size());
  const std::string_view taken = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return taken;
}

// Calls `each` with the parts between dots, until it returns false; true: it never did.
template <typename Each>
bool for_each_part(std::string_view text, Each each) {
  while (true) {
    const size_t dot = text.find('.');
    if (!each(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::optional<Semver::Part> pre_release_part(std::string_view text) {
  if (!only(text, kIdentifier)) return std::nullopt;
  if (!only(text, kDigits)) return Semver::Part{true, 0, std::string(text)};
  const auto number = number_of(text);
  if (!number) return std::nullopt;
  return Semver::Part{false, *number, {}};
}

bool read_pre_release(std::string_view text, std::vector<Semver::Part>* parts) {
  return for_each_part(text, [&](std::string_view part) {
    auto read = pre_release_part(part);
    if (read) parts->push_back(std::move(*read));
    return read.has_value();
  });
}

// What is in front of the character is left in `text`, the rest is returned; nothing: it is absent.
std::optional<std::string_view> cut_off(std::string_view* text, char character) {
  const size_t at = text->find(character);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text->substr(at + 1);
  *text = text->substr(0, at);
  return rest;
}

std::string without_leading_zeros(std::string_view part) {
  if (part.size() <= 1) return std::string(part);
  part.remove_prefix(std::min(part.find_first_not_of('0'), part.size()));
  const bool digit = !part.empty() && part[0] >= '0' && part[0] <= '9';
  return (digit ? "" : "0") + std::string(part);
}

}  // namespace

std::optional<Semver> Semver::parse(std::string_view text) {
  if (std::count(text.begin(), text.end(), '.') < 2) return std::nullopt;
  const std::string_view major = take_until(&text, '.');
  const std::string_view minor = take_until(&text, '.');
  const auto build = cut_off(&text, '+');
  const auto pre = cut_off(&text, '-');
  const auto first = number_of(major), second = number_of(minor), third = number_of(text);
  if (!first || !second || !third) return std::nullopt;
  Semver version{*first, *second, *third, {}};
  if (pre && !read_pre_release(*pre, &version.pre)) return std::nullopt;
  const auto is_build = [](std::string_view part) { return only(part, kIdentifier); };
  if (build && !for_each_part(*build, is_build)) return std::nullopt;
  return version;
}

std::optional<Semver> Semver::parse_lenient(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::array<std::string, 3> parts{"0", "0", "0"};
  size_t count = 0;
  for (bool more = true; more && count < 3; ++count) {
    const size_t dot = count < 2 ? text.find('.') : std::string_view::npos;
    more = dot != std::string_view::npos;
    parts[count] = without_leading_zeros(text.substr(0, dot));
    if (more) text.remove_prefix(dot + 1);
  }
  if (count < 3 && text.find_first_of("+-") != std::string_view::npos) return std::nullopt;
  return parse(parts[0] + "." + parts[1] + "." + parts[2]);
}

std::strong_ordering Semver::operator<=>(const Semver& other) const {
  const auto numbers =
      std::tie(major, minor, patch) <=> std::tie(other.major, other.minor, other.patch);
  if (numbers != 0) return numbers;
  // A version without a pre-release comes after those with one.
  if (pre.empty() || other.pre.empty()) return pre.empty() <=> other.pre.empty();
  return pre <=> other.pre;
}

}  // namespace plimsoll::dra
