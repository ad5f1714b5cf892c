#pragma once
// Turns YAML or JSON text into a tree of values with their places.
//
// Kubernetes converts YAML to JSON (sigs.k8s.io/yaml) and types unquoted words by YAML 1.1: yes,
// no, on, off, y and n are booleans, 0644 and 0x1f are integers, ~ and nothing are null, quoted
// text is always a string. This reader does the same, so a file has the same meaning here. In
// addition:
//  - a repeated key is a problem (Kubernetes' strict decoding); merge keys (<<) are supported;
//  - aliases are expanded up to a limit, so that a small file cannot exhaust the memory;
//  - NaN and infinity are problems, since JSON cannot represent them.
// Pure functions, any thread, never throw. Reading YAML takes about a second per 3 MB, JSON a
// hundredth of that.

#include <string_view>
#include <vector>

#include "config/text/problem.hpp"
#include "config/text/value.hpp"

namespace plimsoll::config {

// The content of a text: one value per YAML document that is not empty. `problems` is empty if the
// text is valid; documents read before a syntax error are kept.
struct ParsedText {
  std::vector<Value> documents;
  Problems problems;
};

// Whether the text should be read as JSON: its first character after white space opens an object or
// a list.
[[nodiscard]] bool looks_like_json(std::string_view text);

// Any number of YAML documents, or one JSON value.
[[nodiscard]] ParsedText parse_documents(std::string_view text);

// Like parse_documents, for a file that must hold exactly one document.
[[nodiscard]] ParsedText parse_single_document(std::string_view text);

}  // namespace plimsoll::config
