// The `plimsoll` program, and `kubectl plimsoll`.

#include <filesystem>

#include "cli/ask/kubectl_main.hpp"
#include "cli/command_table.hpp"

namespace {

int choose(int argc, char** argv) {
  using namespace plimsoll::cli;
  const std::string name = std::filesystem::path(argc > 0 ? argv[0] : "").filename().string();
  if (name == kKubectlName) return kubectl_main(argc, argv);
  if (const auto to = lab_command({argv + (argc > 0 ? 1 : 0), argv + argc})) return hand_over(*to);
  return run_program("Plimsoll: a topology-aware secondary Kubernetes scheduler.", "plimsoll",
                     commands(), "", argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return plimsoll::cli::guarded_main(&choose, argc, argv);
}
