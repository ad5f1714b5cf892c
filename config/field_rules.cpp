#include "config/field_rules.hpp"

#include <algorithm>

namespace plimsoll::config {
namespace {

constexpr std::string_view kNamePart =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation "
    "is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kSubdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::size_t kMaxNamePart = 63;
constexpr std::size_t kMaxSubdomain = 253;

bool is_lower_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_alphanumeric(char c) {
  return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z');
}

bool is_name_part(std::string_view text) {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool is_subdomain(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    const std::string_view label = text.substr(0, dot);
    const bool good = !label.empty() && is_lower_alphanumeric(label.front()) &&
                      is_lower_alphanumeric(label.back()) &&
                      std::all_of(label.begin(), label.end(),
                                  [](char c) { return is_lower_alphanumeric(c) || c == '-'; });
    if (!good) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

std::string too_long(std::size_t most) {
  return "must be no more than " + std::to_string(most) + " bytes";
}

}  // namespace

std::vector<std::string> qualified_name_errors(std::string_view name) {
  std::vector<std::string> out;
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos && name.find('/', slash + 1) != std::string_view::npos) {
    out.push_back("a valid label key " + std::string(kNamePart) +
                  " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
    return out;
  }
  if (slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    if (prefix.empty()) {
      out.emplace_back("prefix part must be non-empty");
    } else {
      if (prefix.size() > kMaxSubdomain) out.push_back("prefix part " + too_long(kMaxSubdomain));
      if (!is_subdomain(prefix)) out.push_back("prefix part " + std::string(kSubdomain));
    }
    name.remove_prefix(slash + 1);
  }
  if (name.empty()) {
    out.emplace_back("name part must be non-empty");
  } else if (name.size() > kMaxNamePart) {
    out.push_back("name part " + too_long(kMaxNamePart));
  }
  if (!is_name_part(name)) out.push_back("name part " + std::string(kNamePart));
  return out;
}

std::vector<std::string> label_value_errors(std::string_view value) {
  std::vector<std::string> out;
  if (value.size() > kMaxNamePart) out.push_back(too_long(kMaxNamePart));
  if (!value.empty() && !is_name_part(value)) out.emplace_back(kLabelValue);
  return out;
}

bool is_extended_resource_name(std::string_view name) {
  constexpr std::string_view kNative = "kubernetes.io/";
  constexpr std::string_view kQuota = "requests.";
  if (name.find('/') == std::string_view::npos || name.find(kNative) != std::string_view::npos ||
      name.substr(0, kQuota.size()) == kQuota) {
    return false;
  }
  return qualified_name_errors(std::string(kQuota) + std::string(name)).empty();
}

}  // namespace plimsoll::config
