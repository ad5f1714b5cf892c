// Fills the cluster of the trace openb under several policies: see docs/openb.md.

#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "bench/openb/policies.hpp"
#include "bench/openb/report.hpp"
#include "framework/base/log.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::openb;

struct Options {
  std::string folder;
  std::string out = "build/openb";
  std::vector<std::string> workloads;
  std::vector<std::string> policies;
  std::vector<std::string> plugin_directories;
  int seeds = 10;
  int first_seed = 42;
  int percent = 130;
  int jobs = 2;
  bool again = false;
};

struct Task {
  std::string workload;
  std::string policy;
  int seed = 0;
};

std::string csv_of(const Options& options, const Task& task) {
  return options.out + "/" + task.workload + "-" + task.policy + "-" + std::to_string(task.seed) +
         ".csv";
}

Result<void> carry_out(const Options& options, const Trace& trace, const Task& task) {
  const std::string profile = options.out + "/" + task.workload + "-" + task.policy + "-" +
                              std::to_string(task.seed) + ".yaml";
  std::ofstream(profile) << profile_of(task.policy, trace);
  const auto outcome =
      run(trace, make_load(trace, static_cast<uint64_t>(task.seed), options.percent),
          {profile, options.plugin_directories});
  if (!outcome) return fail(outcome.error());
  return write_csv(csv_of(options, task), *outcome);
}

// Each run has its own process: runs share nothing, and their memory is freed when they end.
int carry_out_all(const Options& options, const std::map<std::string, Trace>& traces,
                  const std::vector<Task>& tasks) {
  int running = 0;
  int failed = 0;
  const auto wait_for_one = [&] {
    int status = 0;
    if (wait(&status) > 0) --running;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++failed;
  };
  for (const Task& task : tasks) {
    if (!options.again && std::filesystem::exists(csv_of(options, task))) continue;
    while (running >= options.jobs) wait_for_one();
    std::fprintf(stderr, "%s %s %d\n", task.workload.c_str(), task.policy.c_str(), task.seed);
    const pid_t child = fork();
    if (child < 0) {
      std::perror("openb: fork");
      return 1;
    }
    if (child == 0) {
      const auto done = carry_out(options, traces.at(task.workload), task);
      if (!done) std::cerr << "openb: " << done.error().message << "\n";
      _exit(done ? 0 : 1);
    }
    ++running;
  }
  while (running > 0) wait_for_one();
  return failed;
}

int compare(const Options& options) {
  std::map<std::string, Trace> traces;
  for (const std::string& workload : options.workloads) {
    auto trace = read_trace(options.folder, workload);
    if (!trace) {
      std::cerr << "openb: " << trace.error().message << "\n";
      return 1;
    }
    traces.emplace(workload, std::move(*trace));
  }
  std::vector<Task> tasks;
  for (const std::string& workload : options.workloads)
    for (const std::string& policy : options.policies)
      for (int seed = options.first_seed; seed < options.first_seed + options.seeds; ++seed)
        tasks.push_back({workload, policy, seed});
  std::filesystem::create_directories(options.out);
  if (const int failed = carry_out_all(options, traces, tasks); failed > 0) {
    std::cerr << "openb: " << failed << " runs failed\n";
    return 1;
  }
  Outcomes outcomes;
  for (const Task& task : tasks) {
    auto outcome = read_csv(csv_of(options, task));
    if (!outcome) {
      std::cerr << "openb: " << outcome.error().message << "\n";
      return 1;
    }
    outcomes[{task.workload, task.policy}].push_back(std::move(*outcome));
  }
  print_tables(options.workloads, options.policies, outcomes);
  for (const std::string& workload : options.workloads) {
    if (const auto drawn = draw(options.out, workload, options.policies, outcomes); !drawn) {
      std::cerr << "openb: " << drawn.error().message << "\n";
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Fills the GPU cluster of a trace under several policies."};
  Options options;
  app.add_option("folder", options.folder, "With the CSV files")->required();
  app.add_option("--out", options.out, "Folder for CSV files, profiles and plots")
      ->capture_default_str();
  app.add_option("--workloads", options.workloads, "Default: all in the folder")->delimiter(',');
  app.add_option("--policies", options.policies, "Default: all")->delimiter(',');
  app.add_option("--seeds", options.seeds, "How many")->capture_default_str();
  app.add_option("--first-seed", options.first_seed)->capture_default_str();
  app.add_option("--percent", options.percent, "GPUs asked for, of those that there are")
      ->capture_default_str();
  app.add_option("--jobs", options.jobs, "Runs at a time")->capture_default_str();
  app.add_option("--plugin-dir", options.plugin_directories, "Folder with the plugins");
  app.add_flag("--again", options.again, "Repeat runs whose CSV file is there");
  CLI11_PARSE(app, argc, argv);
  log_to_stderr(LogLevel::kWarn, LogFormat::kText);
  if (options.workloads.empty()) options.workloads = workloads_in(options.folder);
  if (options.policies.empty())
    for (const Policy& policy : all_policies()) options.policies.push_back(policy.name);
  if (options.workloads.empty()) {
    std::cerr << "openb: " << options.folder << " has no openb_pod_list_WORKLOAD.csv\n";
    return 1;
  }
  for (const std::string& policy : options.policies) {
    const auto& known = all_policies();
    if (std::none_of(known.begin(), known.end(),
                     [&](const Policy& p) { return p.name == policy; })) {
      std::cerr << "openb: no policy is called " << policy << "\n";
      return 1;
    }
  }
  return compare(options);
}
