#pragma once
// A scheduler that is asked about a cluster in files: nothing is decided, nothing is bound.

#include <string>
#include <vector>

#include "cli/ask/asking.hpp"

namespace plimsoll::cli {

struct AskedFiles {
  std::string config;
  std::string cluster;
  std::string pods;      // further ones; empty: none
  bool lenient = false;  // see SimulateArguments
  std::vector<std::string> plugin_directories;
};
// Notes about the files go to standard error.
[[nodiscard]] Ask ask_files(AskedFiles files);

}  // namespace plimsoll::cli
