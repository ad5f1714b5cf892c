#pragma once
// The words of a plugin: what its file has that may be a key or value of a label, an annotation, a
// taint, or a resource's name. A plugin that looks at the label "seats" has this text in it, so
// clusters made of its words are clusters that it takes notice of.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::lint {

// Of the read-only data of an ELF file, sorted. Empty if it has none; fails if the file cannot be
// read.
[[nodiscard]] Result<std::vector<std::string>> words_in_file(const std::filesystem::path& file);

// Whether Kubernetes takes it as the key of a label: a name of up to 63 characters, perhaps behind
// a DNS domain and a slash.
[[nodiscard]] bool is_label_key(std::string_view text);

}  // namespace plimsoll::lint
