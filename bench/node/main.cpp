// Measures what plimsoll-node costs on a node that is full of pods. docs/performance.md has the
// results.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>

#include "bench/bindings/process_meter.hpp"
#include "bench/node/full_node.hpp"
#include "tests/support/free_port.hpp"

namespace {

using namespace plimsoll;

struct Arguments {
  std::string program;
  int pods = 110;
  int seconds = 60;
  int rounds = 300;
  int at_once = 20;
};

// The program looks at the machine again after this time; what it did at its start is over then.
constexpr std::chrono::seconds kPeriod{10};

test::ChildProcess start(const bench::FullNode& node, const std::string& program) {
  const auto port = test::free_port();
  if (!port) throw std::runtime_error(port.error().message);
  auto started = test::ChildProcess::start(node.command(program, *port));
  if (!started) throw std::runtime_error(started.error().message);
  return std::move(*started);
}

void measure(const Arguments& arguments) {
  bench::FullNode node(arguments.pods);
  test::ChildProcess program = start(node, arguments.program);
  try {
    node.wait_until_reported();
    std::this_thread::sleep_for(kPeriod);
    const double before = bench::cpu_seconds(program.pid());
    std::this_thread::sleep_for(std::chrono::seconds(arguments.seconds));
    const double spent = bench::cpu_seconds(program.pid()) - before;
    std::printf("| %d pods, 8 GPUs, 4 NICs | reached | target |\n| --- | --- | --- |\n",
                arguments.pods);
    std::printf("| CPU at rest, over %d s | %.3f %% of a core | 0.1 %% |\n", arguments.seconds,
                100 * spent / arguments.seconds);
    std::printf("| resident memory at rest (at most) | %.1f MiB (%.1f) | 30 MiB |\n",
                bench::resident_mib(program.pid()), bench::peak_mib(program.pid()));
    std::fflush(stdout);
    for (const bool strangers : {false, true}) {
      if (strangers) node.add_strangers();
      for (int i = 0; i < arguments.rounds; ++i) node.make_containers(arguments.at_once);
      const double then = bench::resident_mib(program.pid());
      std::printf("| the hook's answer, %d containers at once%s | %s | p99 5 ms |\n",
                  arguments.at_once, strangers ? ", one of them a stranger's" : "",
                  node.answers().c_str());
      std::printf("| resident memory then | %.1f MiB | 30 MiB |\n", then);
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(error.what() + ("\n" + test::tail(program.output(), 20)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("What plimsoll-node costs at rest, and how fast its hook answers");
  app.add_option("--program", arguments.program, "plimsoll-node")->required();
  app.add_option("--pods", arguments.pods, "of the node")->check(CLI::PositiveNumber);
  app.add_option("--seconds", arguments.seconds, "at rest")->check(CLI::PositiveNumber);
  app.add_option("--rounds", arguments.rounds, "of containers")->check(CLI::PositiveNumber);
  app.add_option("--at-once", arguments.at_once, "containers of a round")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    measure(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "node_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
