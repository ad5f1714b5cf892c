#pragma once
// Kubernetes' rules for names in a plugin's args.

#include <plimsoll/args.hpp>

#include <string>
#include <string_view>

#include "framework/api/selectors.hpp"
#include "framework/base/quote.hpp"

namespace plimsoll::builtin {

// Notes a problem at `path` if the text is not a key of a label or a resource (IsQualifiedName).
inline void require_label_key(sdk::Args& args, const std::string& path, std::string_view text) {
  if (is_label_key(text)) return;
  args.problem_at(path,
                  "must be a name such as cpu or example.com/gpu, of at most 63 letters, digits, "
                  "'-', '_' and '.' behind an optional DNS name, not " +
                      go_quoted(text));
}

// The same of a label's value (IsValidLabelValue).
inline void require_label_value(sdk::Args& args, const std::string& path, std::string_view text) {
  if (is_label_value(text)) return;
  args.problem_at(path,
                  "must be a label's value, of at most 63 letters, digits, '-', '_' and '.' that "
                  "begins and ends with a letter or digit, not " +
                      go_quoted(text));
}

}  // namespace plimsoll::builtin
