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
  app.add_option("--file", path, "Workloads")->capture_default_str();
  app.add_option("--only", only, "Those whose names have one of these words");
  app.add_flag("--small", options.small, "A few nodes and pods each");
  app.add_option("--scale", options.scale, "So many times the nodes; below 1, the pods too")
      ->check(CLI::Range(0.0001, 1000.0))
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
  std::fputs(table_head().c_str(), stdout);
  std::fflush(stdout);
  for (const Workload& workload : file->workloads) {
    if (!is_wanted(only, workload.name)) continue;
    auto outcome = run_workload(*file, workload, modules, options);
    if (!outcome) return give_up(outcome.error().message);
    failed = failed || !outcome->failures.empty();
    runs.push_back({workload, std::move(*outcome)});
    std::fputs(table_row(runs.back()).c_str(), stdout);
    std::fflush(stdout);
  }
  if (runs.empty()) return give_up("no workload has such a name");
  std::fputs(remarks(runs, file->not_run).c_str(), stdout);
  if (!output.empty()) {
    std::ofstream out(output);
    out << as_json(runs, file->not_run);
    if (!out.flush()) return give_up(output + " cannot be written");
  }
  return failed ? 1 : 0;
}
