#pragma once
// The files of objects that `simulate` and `explain` read: what is not understood is an error.

#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::cli {

enum class InputRole {
  kCluster,  // everything that a cluster has
  kPods,     // what comes: pods, and what is created with them, as claims
};

// The file's bytes as `sha256sum` prints them.
[[nodiscard]] std::string sha256_of(std::string_view text);

// The objects of a file as JSON texts, in order; an empty path: none. An empty file, an unknown
// field of a pod, and among pods an object that makes pods in a cluster (a Deployment) are errors:
// all at once, with file and line. `lenient`: they are appended to `notes` instead. `digest`:
// receives sha256_of the file.
[[nodiscard]] Result<std::vector<std::string>> read_objects(const std::string& path, InputRole role,
                                                            bool lenient,
                                                            std::vector<std::string>& notes,
                                                            std::string* digest = nullptr);

}  // namespace plimsoll::cli
