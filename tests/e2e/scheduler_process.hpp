#pragma once
// `plimsoll run`, started as a user starts it.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"
#include "tests/support/child_process.hpp"

namespace plimsoll::test {

// The program and the plugin folder of this build: PLIMSOLL_BIN_DIR and PLIMSOLL_PLUGIN_DIR, which
// ctest sets.
[[nodiscard]] Result<std::filesystem::path> plimsoll_program();

struct RunSpec {
  std::filesystem::path kubeconfig = {};
  std::filesystem::path config = "examples/profiles/topology.yaml";  // the profile that we ship
  std::vector<std::string> flags = {};                               // further ones
  std::uint16_t port = 0;  // of metrics and health; 0: none, as several schedulers run here
  std::filesystem::path log_file = {};  // appended to; empty: memory only
};
// What its pods name.
inline constexpr const char* kScheduler = "topo-aware-scheduler";

// The command line.
[[nodiscard]] Result<ChildOptions> run_command(const RunSpec& spec);
// Starts it and returns; it may still refuse to run. From the test's main thread only.
[[nodiscard]] Result<ChildProcess> start_scheduler(const RunSpec& spec);

// The lines of a text that contain all of `words`.
[[nodiscard]] std::vector<std::string> lines_with(std::string_view text,
                                                  const std::vector<std::string>& words);

}  // namespace plimsoll::test
