#include "tests/e2e/scheduler_process.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace plimsoll::test {

Result<std::filesystem::path> plimsoll_program() {
  const char* folder = std::getenv("PLIMSOLL_BIN_DIR");
  if (folder == nullptr || std::getenv("PLIMSOLL_PLUGIN_DIR") == nullptr) {
    return fail(ErrorCode::kNotFound,
                "PLIMSOLL_BIN_DIR and PLIMSOLL_PLUGIN_DIR are not set: run this test with ctest");
  }
  const std::filesystem::path program = std::filesystem::path(folder) / "plimsoll";
  if (!std::filesystem::exists(program)) {
    return fail(ErrorCode::kNotFound, program.string() + " is not built");
  }
  return program;
}

Result<ChildOptions> run_command(const RunSpec& spec) {
  const Result<std::filesystem::path> program = plimsoll_program();
  if (!program) return fail(program.error());
  ChildOptions options{
      .argv = {program->string(), "run", "--config", spec.config.string(), "--kubeconfig",
               spec.kubeconfig.string(), "--plugin-dir", std::getenv("PLIMSOLL_PLUGIN_DIR"),
               "--log-level", "debug", "--port", std::to_string(spec.port)},
      .stdout_file = spec.log_file};
  options.argv.insert(options.argv.end(), spec.flags.begin(), spec.flags.end());
  // Who is killed and started again should not wait for a lease.
  if (std::ranges::none_of(
          spec.flags, [](const std::string& flag) { return flag.starts_with("--leader-elect"); })) {
    options.argv.push_back("--leader-elect=false");
  }
  if (std::ranges::find(spec.flags, "--socket") == spec.flags.end()) {
    options.argv.insert(options.argv.end(), {"--socket", "none"});  // no traces on the machine
  }
  return options;
}

Result<ChildProcess> start_scheduler(const RunSpec& spec) {
  const Result<ChildOptions> command = run_command(spec);
  if (!command) return fail(command.error());
  return ChildProcess::start(*command);
}

std::vector<std::string> lines_with(std::string_view text, const std::vector<std::string>& words) {
  std::vector<std::string> found;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) {
    const auto has = [&](const std::string& word) { return line.find(word) != std::string::npos; };
    if (std::ranges::all_of(words, has)) found.push_back(line);
  }
  return found;
}

}  // namespace plimsoll::test
