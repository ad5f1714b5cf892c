#pragma once
// Kubernetes manifests: files of objects, as kubectl reads and writes them.
//
// YAML with any number of documents, or JSON, one object after another. Every `List` (and PodList,
// NodeList, ...) is expanded into its items. Objects are only separated here, not decoded: each is
// returned as the JSON text that an API server would send.
//
// Reading blocks on the file; everything else is a pure function, any thread.

#include <string>
#include <string_view>
#include <vector>

#include "config/text/problem.hpp"
#include "framework/base/result.hpp"

namespace plimsoll::config {

struct ManifestObject {
  std::string api_version;
  std::string kind;
  std::string json;  // the whole object
  std::string file;
  Position at;

  // "pods.yaml:12", for messages.
  [[nodiscard]] std::string source() const { return file + ':' + std::to_string(at.line); }
};

// Every object of a file, in its order. "-" is standard input. Fails with kNotFound (no such file)
// or kInvalid (every problem with file, line and column; no object is returned then).
[[nodiscard]] Result<std::vector<ManifestObject>> load_manifests(const std::string& path);

// Parses text; `file` is used in messages.
[[nodiscard]] Result<std::vector<ManifestObject>> parse_manifests(std::string_view text,
                                                                  const std::string& file);

// A whole file as text; "-" is standard input. Fails with kNotFound or kInvalid (a folder, no
// permission).
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

}  // namespace plimsoll::config
