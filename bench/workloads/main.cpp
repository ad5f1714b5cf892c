// kube-scheduler's own performance workloads, without an API server: see workload_file.hpp.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/workloads/driver.hpp"
#include "bench/workloads/report.hpp"
#include "framework/base/log.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::bench;

int give_up(const std::string& why) {
  std::fprintf(stderr, "workloads: %s\n", why.c_str());
  return 2;
}

bool is_wanted(const std::vector<std::string>& only, const std::string& name) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& part) {
           return name.find(part) != name.npos;
         });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The shapes of kube-scheduler's scheduler_perf, without an API server."};
  std::string path = "bench/workloads/workloads.yaml";
  std::string output;
  std::vector<std::string> only;
  RunOptions options;
  int rounds = 1;
  app.add_option("--file", path, "Workloads")->capture_default_str();
  app.add_option("--only", only, "Those whose names have one of these words");
  app.add_flag("--small", options.small, "A few nodes and pods each");
  app.add_option("--scale", options.scale, "So many times the nodes; below 1, the pods too")
      ->check(CLI::Range(0.0001, 1000.0))
      ->capture_default_str();
  app.add_option("--rounds", rounds, "All of them so many times; of each, the fastest run counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--class-check", options.check_every, "One decision in so many is made twice")
      ->capture_default_str();
  app.add_flag("!--no-classes", options.classes, "Like pods share nothing");
  app.add_option("-o,--output", output, "JSON goes here");
  CLI11_PARSE(app, argc, argv);
  log_to_stderr(LogLevel::kError, LogFormat::kText);

  std::ifstream in(path);
  if (!in) return give_up(path + ": no such file");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto file = parse_workloads(text, path);
  if (!file) return give_up(file.error().message);
  const Modules modules = workload_modules();
  std::vector<Reported> runs;
  bool failed = false;
  for (const Workload& workload : file->workloads) {
    if (is_wanted(only, workload.name)) runs.push_back({workload, {}});
  }
  if (runs.empty()) return give_up("no workload has such a name");
  std::fputs(table_head().c_str(), stdout);
  for (int round = 1; round <= rounds; ++round) {
    for (Reported& run : runs) {
      auto outcome = run_workload(*file, run.workload, modules, options);
      if (!outcome) return give_up(outcome.error().message);
      // What failed stays.
      if (round == 1 || !outcome->failures.empty() ||
          (run.outcome.failures.empty() && outcome->loop_seconds < run.outcome.loop_seconds)) {
        run.outcome = std::move(*outcome);
      }
      failed = failed || !run.outcome.failures.empty();
      if (round < rounds) continue;
      std::fputs(table_row(run).c_str(), stdout);
      std::fflush(stdout);
    }
  }
  std::fputs(remarks(runs).c_str(), stdout);
  if (!output.empty()) {
    std::ofstream out(output);
    out << as_json(runs);
    if (!out.flush()) return give_up(output + " cannot be written");
  }
  return failed ? 1 : 0;
}
