// The `plimsoll-lab` program: tries out what `plimsoll` would do, and what plugins do.

#include <filesystem>

#include "cli/line/program.hpp"
#include "lab/ask/explain_options.hpp"
#include "lab/ask/page_options.hpp"
#include "lab/lint/lint_options.hpp"
#include "lab/simulate/simulate_options.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace plimsoll::cli;
  // `plimsoll` starts it by its own name.
  const std::string name =
      std::filesystem::path(argc > 0 ? argv[0] : "plimsoll-lab").filename().string();
  return run_program(
      "Plimsoll's laboratory: the scheduler on copies of clusters, and plugins put to the test.",
      name,
      {simulate_command(),
       {"explain",
        "Say why a pod of a cluster in files waits, or why it is where it is",
        {"plimsoll explain default/my-pod --config profile.yaml --cluster cluster.json"},
        &add_explain_files},
       {"ui",
        "Show a simulation, or a cluster in files and where its waiting pods would go, as a page "
        "in "
        "a browser",
        {"plimsoll ui run.html", "plimsoll ui cluster.json --config profile.yaml --open"},
        &add_page_of_files},
       {"lint",
        "Find what plugins read and do not declare, by random pods, nodes and changes; exit status "
        "0: nothing was found, 1: something was, 2: failed",
        {"plimsoll plugins lint build/my-plugin.so",
         "plimsoll plugins lint build/my-plugin.so --args my-args.yaml --objects cluster.json"},
        &add_lint}},
      "lint",  // it follows its plugins from another process, and says itself what became of them
      argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return plimsoll::cli::guarded_main(&run, argc, argv);
}
