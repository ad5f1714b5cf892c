// Measures how long a scheduler takes from its start to its first binding in a cluster that is
// already full, how much memory it needs there, and the CPU time of the commands that need no
// cluster. It measures the program of this build and, in turn with it, the program of another
// commit. docs/performance.md has the results.

#include <sys/resource.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/bindings/binding_watch.hpp"
#include "bench/bindings/fleet.hpp"
#include "bench/bindings/process_meter.hpp"
#include "bench/support/controller_pod.hpp"
#include "tests/kube/kube_objects.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace {

using namespace plimsoll;
using nlohmann::json;
using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr int kGpus = 8;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "startup_bench: %s\n", why.c_str());
  std::exit(1);
}

template <typename Value>
Value must(Result<Value> result) {
  if (!result) give_up(result.error().message);
  if constexpr (!std::is_void_v<Value>) return std::move(*result);
}

struct Program {
  std::string name;
  std::filesystem::path build;  // its build folder
};

std::vector<test::KubeObject> devices(const bench::FleetShape& shape) {
  std::vector<test::KubeObject> objects;
  for (int i = 0; i < shape.nodes; ++i) {
    std::vector<json> gpus;
    for (int minor = 0; minor < kGpus; ++minor) {
      gpus.push_back(test::gpu_device(minor, minor % shape.zones));
    }
    objects.push_back({std::string(test::kDevices),
                       test::device_object(bench::node_name(i), std::move(gpus)).dump()});
  }
  return objects;
}

// Every second pod is from a controller. The others are Guaranteed with 1 CPU and 1 GiB, and take
// zones.
void fill(test::KubeCluster& cluster, const bench::FleetShape& shape, int pods) {
  std::fprintf(stderr, "creating %d nodes\n", shape.nodes);
  must(bench::create_nodes(cluster, shape));
  must(test::create_all(cluster.admin(), devices(shape)));
  std::fprintf(stderr, "creating %d pods that are bound\n", pods);
  std::vector<test::KubeObject> objects;
  constexpr int kAtOnce = 5'000;
  for (int first = 0; first < pods; first += kAtOnce) {
    objects.clear();
    for (int i = first; i < std::min(pods, first + kAtOnce); ++i) {
      json pod = i % 2 == 0 ? bench::controller_pod(i) : json::parse(bench::pod(i).body);
      pod["spec"]["nodeName"] = bench::node_name(i / 2 % shape.nodes);
      objects.push_back({bench::pod(i).path, pod.dump()});
    }
    must(test::create_all(cluster.admin(), objects));
  }
}

struct Start {
  double to_first_binding = 0;  // seconds
  double cpu = 0;               // seconds of all its threads until the first binding
  double server_cpu = 0;
  double peak_mib = 0;  // some seconds later
};

Start start(test::KubeCluster& cluster, const Program& program, const std::string& profile,
            const std::string& scheduler, pid_t server) {
  static int number = 0;
  const std::string name = "first-" + std::to_string(number++);
  const json pod = test::pod_object(
      {.name = name, .scheduler = scheduler, .requests = {{"cpu", "1"}, {"memory", "1Gi"}}});
  must(test::create_all(cluster.admin(), {{"/api/v1/namespaces/default/pods", pod.dump()}}));
  const auto watch = must(bench::BindingWatch::start(cluster));
  const double server_before = bench::cpu_seconds(server);
  const auto began = Clock::now();
  test::ChildProcess child = must(test::ChildProcess::start(
      {.argv = {(program.build / "bin" / "plimsoll").string(), "run", "--config", profile,
                "--kubeconfig", cluster.kubeconfig().string(), "--plugin-dir",
                (program.build / "plugins").string(), "--port", "0", "--socket", "none"}}));
  if (!watch->wait(1, 120s)) give_up("nothing was bound: " + child.output());
  Start result;
  result.to_first_binding = std::chrono::duration<double>(watch->bound().at(name) - began).count();
  result.cpu = bench::cpu_seconds(child.pid());
  result.server_cpu = bench::cpu_seconds(server) - server_before;
  std::this_thread::sleep_for(3s);
  result.peak_mib = bench::peak_mib(child.pid());
  if (child.stop() != test::ExitStatus::exited(0))
    give_up("it did not stop well: " + child.output());
  return result;
}

// CPU seconds of a command that must succeed.
double cpu_of(const std::vector<std::string>& argv) {
  rusage before{};
  ::getrusage(RUSAGE_CHILDREN, &before);
  const test::Finished finished = must(test::run({.argv = argv}, 300s));
  if (finished.status != test::ExitStatus::exited(0)) give_up(argv[1] + ": " + finished.out);
  rusage after{};
  ::getrusage(RUSAGE_CHILDREN, &after);
  const auto seconds = [](const rusage& usage) {
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  };
  return seconds(after) - seconds(before);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A list of objects as `kubectl get -o json` writes it.
std::string write_list(const std::filesystem::path& file,
                       const std::vector<test::KubeObject>& objects) {
  std::ofstream out(file);
  out << R"({"apiVersion":"v1","kind":"List","items":[)";
  for (size_t i = 0; i < objects.size(); ++i) out << (i == 0 ? "" : ",\n") << objects[i].body;
  out << "]}\n";
  if (!out.flush()) give_up(file.string() + ": cannot be written");
  return file.string();
}

// A copy of a profile file in which these plugins are disabled, and no leader is elected: what is
// read before the lease is held is read again, and how much that is differs from start to start.
std::string without(const std::string& file, const std::vector<std::string>& plugins,
                    const std::filesystem::path& folder) {
  YAML::Node profile = YAML::LoadFile(file);
  profile["leaderElection"]["leaderElect"] = false;
  for (YAML::Node each : profile["profiles"]) {
    for (const std::string& name : plugins) {
      YAML::Node disabled;
      disabled["name"] = name;
      each["plugins"]["multiPoint"]["disabled"].push_back(disabled);
    }
  }
  const std::filesystem::path copy = folder / std::filesystem::path(file).filename();
  std::ofstream out(copy);
  out << profile << '\n';
  if (!out.flush()) give_up(copy.string() + ": cannot be written");
  return copy.string();
}

void compare_commands(const std::vector<Program>& programs, int rounds,
                      const std::string& profile) {
  const bench::FleetShape shape{.nodes = 1'000, .pods = 5'000, .zones = 8};
  std::vector<test::KubeObject> cluster = bench::node_objects(shape);
  for (test::KubeObject& object : devices(shape)) cluster.push_back(std::move(object));
  std::vector<test::KubeObject> pods;
  for (int i = 0; i < shape.pods; ++i) {
    json pod = json::parse(bench::pod(i).body);
    pod["spec"]["schedulerName"] = "topo-aware-scheduler";
    pod["metadata"]["namespace"] = "default";
    pods.push_back({bench::pod(i).path, pod.dump()});
  }
  const test::TempDir folder("plimsoll-startup");
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"validate", {"validate", profile}},
      {"simulate, 1,000 nodes, 5,000 pods",
       {"simulate", "--config", profile, "--cluster", write_list(folder / "cluster.json", cluster),
        "--pods", write_list(folder / "pods.json", pods)}},
  };
  std::printf("\n| command | program | CPU, least of %d | to %s |\n| --- | --- | --- | --- |\n",
              rounds, programs.back().name.c_str());
  for (const auto& [title, words] : commands) {
    std::map<std::string, double> least;
    for (int round = 0; round < rounds; ++round) {
      for (const Program& program : programs) {
        std::vector<std::string> argv = {(program.build / "bin" / "plimsoll").string()};
        argv.insert(argv.end(), words.begin(), words.end());
        argv.insert(argv.end(), {"--plugin-dir", (program.build / "plugins").string()});
        const double took = cpu_of(argv);
        const auto [at, first] = least.emplace(program.name, took);
        if (!first) at->second = std::min(at->second, took);
      }
    }
    for (const Program& program : programs) {
      std::printf("| %s | %s | %.3f s | %.2f |\n", title.c_str(), program.name.c_str(),
                  least[program.name], least[program.name] / least[programs.back().name]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::FleetShape shape{.nodes = 5'000, .pods = 0, .zones = 8};
  int pods = 100'000;
  int rounds = 3;
  std::string build = "build/release";
  std::string baseline;
  std::vector<std::string> disabled;
  CLI::App app{"Time to the first binding and memory in a full cluster, and the cost of commands."};
  app.add_option("--nodes", shape.nodes, "with 8 zones and 8 GPUs each")->capture_default_str();
  app.add_option("--pods", pods, "bound before the start")->capture_default_str();
  app.add_option("--rounds", rounds, "starts of each program and profile")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--build", build, "build folder of the program")->check(CLI::ExistingDirectory);
  app.add_option("--baseline", baseline, "build folder of another commit to compare with")
      ->check(CLI::ExistingDirectory);
  app.add_option("--disable", disabled, "plugins that neither program is to run, in both profiles");
  CLI11_PARSE(app, argc, argv);

  std::vector<Program> programs = {{"this commit", build}};
  if (!baseline.empty()) programs.push_back({"baseline", baseline});
  const auto cluster = must(test::KubeCluster::start());
  fill(*cluster, shape, pods);
  const pid_t server = bench::child_named("kube-apiserver");

  const test::TempDir folder("plimsoll-startup");
  const std::vector<std::pair<std::string, std::string>> profiles = {
      {without("bench/startup/default.yaml", disabled, folder.path()), "default-plugins"},
      {without("examples/profiles/topology.yaml", disabled, folder.path()),
       "topo-aware-scheduler"}};
  std::printf(
      "%d nodes of 8 zones and 8 GPUs, %d pods bound; medians of %d starts (the least)\n\n"
      "| profile | program | start to first binding | its CPU until then | API server CPU | peak "
      "memory |\n| --- | --- | --- | --- | --- | --- |\n",
      shape.nodes, pods, rounds);
  for (const auto& [profile, scheduler] : profiles) {
    std::map<std::string, std::vector<Start>> starts;
    std::vector<Program> turns = programs;
    for (int round = 0; round < rounds; ++round) {
      // Who begins takes turns as well: the API server collects its garbage every few starts.
      std::reverse(turns.begin(), turns.end());
      for (const Program& program : turns) {
        starts[program.name].push_back(start(*cluster, program, profile, scheduler, server));
      }
    }
    for (const Program& program : programs) {
      const auto of = [&](double Start::*part) {
        std::vector<double> values;
        for (const Start& each : starts[program.name]) values.push_back(each.*part);
        return std::pair(median(values), *std::min_element(values.begin(), values.end()));
      };
      const auto [first, first_least] = of(&Start::to_first_binding);
      const auto [cpu, cpu_least] = of(&Start::cpu);
      const auto [server_cpu, server_least] = of(&Start::server_cpu);
      std::printf("| %s | %s | %.2f (%.2f) s | %.2f (%.2f) s | %.2f (%.2f) s | %.0f MiB |\n",
                  std::filesystem::path(profile).stem().c_str(), program.name.c_str(), first,
                  first_least, cpu, cpu_least, server_cpu, server_least,
                  of(&Start::peak_mib).first);
      std::fflush(stdout);
    }
  }
  compare_commands(programs, std::max(rounds, 5), profiles.back().first);
}
