#include "plugins/dynamicresources/cel/text/regex.hpp"

#include <re2/re2.h>

#include <string>

namespace plimsoll::dra::cel {
namespace {

// Go takes (?<name>...) for a named group as well, this RE2 only (?P<name>...).
std::string with_named_groups(std::string_view pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    text += pattern[i];
    if (pattern[i] == '\\' && i + 1 < pattern.size())
      text += pattern[++i];
    else if (pattern.substr(i).starts_with("(?<"))
      text += "?P", ++i;
  }
  return text;
}

}  // namespace

std::shared_ptr<const Regex> Regex::compile(std::string_view pattern, size_t* size) {
  constexpr size_t kLargest = 16'384;  // what RE2 makes of a megabyte
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  auto compiled =
      std::make_shared<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!compiled->ok() && pattern.find("(?<") != std::string_view::npos)
    compiled = std::make_shared<re2::RE2>(with_named_groups(pattern), options);
  if (size != nullptr && compiled->error_code() == re2::RE2::ErrorPatternTooLarge) *size = kLargest;
  if (!compiled->ok()) return nullptr;
  auto regex = std::make_shared<Regex>();
  regex->size_ = static_cast<size_t>(compiled->ProgramSize());
  if (size != nullptr) *size = regex->size_;
  regex->compiled_ = std::move(compiled);
  return regex;
}

bool Regex::is_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled_);
}

std::optional<std::string_view> Regex::find(std::string_view text, size_t from) const {
  re2::StringPiece match;
  if (!compiled_->Match(re2::StringPiece(text.data(), text.size()), from, text.size(),
                        re2::RE2::UNANCHORED, &match, 1))
    return std::nullopt;
  return text.substr(static_cast<size_t>(match.data() - text.data()), match.size());
}

}  // namespace plimsoll::dra::cel
