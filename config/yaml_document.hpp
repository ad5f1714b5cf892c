#pragma once
// YAML or JSON text -> a tree of values with their places.
//
// Kubernetes reads YAML by turning it into JSON (sigs.k8s.io/yaml) and types unquoted words as
// YAML 1.1 does: yes, no, on, off, y and n are booleans, 0644 and 0x1f are integers, ~ and nothing
// are null, quoted text is always a string. This reader does the same, so a file means here what it
// means there. On top:
//  - a key given twice is a problem (Kubernetes' strict decoding); merge keys (<<) are understood;
//  - aliases are expanded up to a bound, so that a small file cannot fill the memory;
//  - NaN and infinity are problems, since JSON has no word for them.
// Pure functions, any thread, never throw. Reading YAML takes about a second per 3 MB, JSON a
// hundredth of that.

#include <string_view>
#include <vector>

#include "config/problem.hpp"
#include "config/value.hpp"

namespace plimsoll::config {

// Everything in a text: one value per YAML document that is not empty. `problems` is empty if the
// text is good; documents read before a syntax error are kept.
struct ParsedText {
  std::vector<Value> documents;
  Problems problems;
};

// True if the text is to be read as JSON: its first character after white space opens an object or
// list.
[[nodiscard]] bool looks_like_json(std::string_view text);

// Any number of YAML documents, or one JSON value.
[[nodiscard]] ParsedText parse_documents(std::string_view text);

// The same for a file that must hold exactly one document.
[[nodiscard]] ParsedText parse_single_document(std::string_view text);

}  // namespace plimsoll::config
