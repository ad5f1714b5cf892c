#include "config/args_errors.hpp"

#include <algorithm>
#include <cctype>

#include "config/text/problem.hpp"
#include "framework/base/split.hpp"

namespace plimsoll::config {
namespace {

// "scoringStrategy.resources[0].weight"
bool is_path(std::string_view text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._-[]/").find(c) != std::string_view::npos;
  };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), part);
}

// The path before the first ": ", or nothing. Names that are unknown may be any.
std::string_view path_in_front(std::string_view text) {
  const std::size_t colon = text.find(": ");
  const bool names_a_field = colon != std::string_view::npos && colon != 0 &&
                             text.substr(colon + 2).rfind(kUnknownField, 0) == 0;
  if (names_a_field) return text.substr(0, colon);
  const std::string_view path = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  return is_path(path) ? path : std::string_view();
}

bool starts_an_error(std::string_view text) {
  return !path_in_front(text).empty() || text.rfind(kUnknownField, 0) == 0;
}

ArgsError one_error(std::string_view text) {
  ArgsError out;
  if (const std::string_view path = path_in_front(text); !path.empty()) {
    out.path = path;
    text.remove_prefix(path.size() + 2);
  }
  // unknown field "x": the field's name belongs to the path.
  if (text.rfind(std::string(kUnknownField) + " \"", 0) == 0 && text.back() == '"') {
    const std::size_t quote = kUnknownField.size() + 2;
    if (quote < text.size()) {
      out.path = child_path(out.path, text.substr(quote, text.size() - quote - 1));
      text = kUnknownField;
    }
  }
  out.message = text;
  return out;
}

void split_line(std::string_view line, std::vector<ArgsError>& out) {
  const bool aggregate = line.size() > 2 && line.front() == '[' && line.back() == ']' &&
                         starts_an_error(line.substr(1));
  if (!aggregate) {
    out.push_back(one_error(line));
    return;
  }
  line = line.substr(1, line.size() - 2);
  std::size_t begin = 0;
  // A comma in a message is not the end of it: the next error has to follow.
  for (std::size_t comma = line.find(", "); comma != std::string_view::npos;
       comma = line.find(", ", comma + 2)) {
    if (!starts_an_error(line.substr(comma + 2))) continue;
    out.push_back(one_error(line.substr(begin, comma - begin)));
    begin = comma + 2;
  }
  out.push_back(one_error(line.substr(begin)));
}

}  // namespace

std::vector<ArgsError> split_args_errors(std::string_view text) {
  std::vector<ArgsError> out;
  for (const std::string& line : split(text, "\n")) {
    if (!line.empty()) split_line(line, out);
  }
  if (out.empty()) out.push_back({"", "are not accepted by the plugin"});
  return out;
}

}  // namespace plimsoll::config
