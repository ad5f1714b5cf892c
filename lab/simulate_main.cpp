// The `plimsoll-simulate` program: `plimsoll-lab simulate` by itself, for `./quickstart`.

#include "cli/line/program.hpp"
#include "lab/simulate/simulate_options.hpp"

namespace {

int run(int argc, char** argv) {
  using namespace plimsoll::cli;
  return run_program("Plimsoll's scheduler on a copy of a cluster.", "plimsoll-simulate",
                     {simulate_command()}, "", argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  return plimsoll::cli::guarded_main(&run, argc, argv);
}
