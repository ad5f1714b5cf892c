#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "cli/ask/explain_text.hpp"
#include "cli/line/failure.hpp"
#include "cli/line/table.hpp"
#include "config/manifest.hpp"
#include "framework/base/shown.hpp"
#include "lab/simulate/expectations.hpp"
#include "lab/simulate/input_files.hpp"
#include "lab/simulate/simulate_command.hpp"
#include "lab/simulate/simulation.hpp"
#include "lab/simulate/simulation_notes.hpp"
#include "lab/simulate/simulation_report.hpp"
#include "lab/simulate/time_limit.hpp"
#include "ui/page.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::json;

std::string decimal(double value, int digits) {
  std::ostringstream out;
  out.setf(std::ios::fixed);
  out.precision(digits);
  out << value;
  return out.str();
}

// On a terminal, one line that is overwritten; otherwise a line from time to time.
class ProgressLine {
 public:
  void operator()(size_t arrived, size_t bound, size_t waiting) {
    const std::string line = "scheduling: " + std::to_string(bound) + " of " +
                             std::to_string(arrived) + " pods bound, " + std::to_string(waiting) +
                             " without a place";
    if (line == last_) return;
    last_ = line;
    if (terminal_) std::fprintf(stderr, "\r%s   ", line.c_str());
  }
  void finish() const {
    if (!last_.empty()) std::fprintf(stderr, "%s%s\n", terminal_ ? "\r" : "", last_.c_str());
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::string last_;
};

double per_pod(uint64_t writes, size_t pods) {
  return pods == 0 ? 0 : static_cast<double>(writes) / static_cast<double>(pods);
}

void print_text(const SimulationResult& result, size_t nodes) {
  Table placed({"POD", "NODE", "ZONES", "DEVICES", "PHASE"});
  for (const Placement& placement : result.placements) {
    if (placement.node.empty()) continue;
    placed.add({placement.pod, placement.node, zones_text(placement), devices_text(placement),
                placement.failure.empty() ? placement.phase : placement.failure});
  }
  std::cout << placed.text();
  bool first = true;
  for (const Placement& placement : result.placements) {
    if (!placement.node.empty()) continue;
    if (first) std::cout << "\nWithout a place:\n";
    first = false;
    const std::vector<std::string> parts = message_parts(placement.message);
    std::cout << "  " << placement.pod << ": "
              << (parts.front().empty() ? "no decision yet" : parts.front()) << "\n";
    for (size_t i = 1; i < parts.size(); ++i) std::cout << "      " << parts[i] << "\n";
  }
  first = true;
  for (const EvictedPod& pod : result.evicted) {
    if (first) std::cout << "\nEvicted:\n";
    first = false;
    std::cout << "  " << pod.pod << " from " << pod.node << "\n";
  }
  std::cout << node_use_text(result.nodes, nodes, "--nodes");
  for (const std::string& note : result.notes) std::cout << "note: " << shown(note) << "\n";
  const size_t unplaced = result.placements.size() - result.bound;
  std::cout << "\n"
            << result.bound << " pods bound, " << unplaced << " without a place\n"
            << "API writes per bound pod: " << decimal(per_pod(result.bindings, result.bound), 2)
            << " bindings, " << decimal(per_pod(result.events, result.bound), 2) << " events, "
            << decimal(per_pod(result.conditions, result.bound), 2) << " conditions\n"
            << "kubelets: " << result.kubelets.admitted << " pods admitted, "
            << result.kubelets.rejected << " refused (" << result.kubelets.topology_rejections
            << " with TopologyAffinityError), " << result.kubelets.reports << " topology reports\n";
}

size_t nodes_shown(const std::string& given) {
  return given == "all" ? std::numeric_limits<size_t>::max() : std::stoul(given);
}

void print_explanations(const SimulationResult& result) {
  for (const Result<std::string>& answer : result.explanations) {
    std::cout << "\n"
              << (answer ? explain_text(*answer, result.nodes.size())
                         : answer.error().message + "\n");
  }
}

// `from`: the argument that it was given by.
struct InputFile {
  std::string from;
  std::string path;
  std::string sha256;
};

void put(json& object, const char* key, const std::optional<double>& seconds) {
  if (seconds) object[key] = *seconds;
}

json pod_json(const Placement& placement) {
  json pod{{"pod", placement.pod},
           {"node", placement.node},
           {"phase", placement.phase},
           {"created", placement.created},
           {"tries", placement.tries}};
  put(pod, "tried", placement.tried);
  put(pod, "lastTried", placement.last_tried);
  put(pod, "bound", placement.bound);
  put(pod, "ended", placement.ended);
  for (const auto& [container, zones] : placement.zones) pod["zones"][container] = zones;
  if (!placement.devices.empty()) pod["devices"] = placement.devices;
  if (placement.bound) pod["bindMilliseconds"] = 1000 * (*placement.bound - placement.created);
  if (!placement.reason.empty()) pod["reason"] = placement.reason;
  if (!placement.message.empty()) pod["message"] = placement.message;
  if (!placement.failure.empty()) pod["failure"] = placement.failure;
  return pod;
}

json run_json(const sandbox::PodLife& life) {
  json run{
      {"pod", life.pod}, {"node", life.node}, {"from", life.admitted}, {"requests", life.requests}};
  if (life.ended >= 0) run["to"] = life.ended;
  for (const sandbox::ContainerZones& container : life.zones) {
    std::set<int> zones;
    for (const auto& [resource, ids] : container.zones) zones.insert(ids.begin(), ids.end());
    run["zones"][container.container] = zones;
  }
  return run;
}

json result_json(const SimulationResult& result, const SimulateArguments& arguments,
                 const std::vector<InputFile>& inputs, bool report) {
  json pods = json::array();
  for (const Placement& placement : result.placements) pods.push_back(pod_json(placement));
  json runs = json::array();
  for (const sandbox::PodLife& life : result.lives) runs.push_back(run_json(life));
  json out{{"version", PLIMSOLL_VERSION},
           {"seed", arguments.seed},
           {"flags", arguments.flags},
           {"inputs", json::object()},
           {"simulatedSeconds", result.simulated_seconds},
           {"runs", std::move(runs)},
           {"pods", std::move(pods)},
           {"notes", result.notes},
           {"bound", result.bound},
           {"seconds", result.seconds},
           {"writes",
            {{"bindings", result.bindings},
             {"events", result.events},
             {"conditions", result.conditions}}},
           {"kubelets",
            {{"admitted", result.kubelets.admitted},
             {"rejected", result.kubelets.rejected},
             {"topologyAffinityErrors", result.kubelets.topology_rejections},
             {"reports", result.kubelets.reports}}},
           {"settled", result.settled},
           {"evicted", json::array()},
           {"nodes", node_use_json(result.nodes)}};
  for (const EvictedPod& pod : result.evicted) {
    json one{{"pod", pod.pod}, {"node", pod.node}, {"ended", pod.ended}};
    if (pod.times) {
      one["created"] = pod.times->created;
      put(one, "bound", pod.times->bound);
    }
    out["evicted"].push_back(std::move(one));
  }
  for (const InputFile& input : inputs) {
    if (input.path.empty()) continue;
    out["inputs"][input.from] = {{"file", input.path}};
    if (!input.sha256.empty()) out["inputs"][input.from]["sha256"] = input.sha256;
  }
  for (const Result<std::string>& answer : result.explanations) {
    out["explanations"].push_back(answer ? json{{"ok", true}, {"result", json::parse(*answer)}}
                                         : json{{"ok", false}, {"error", answer.error().message}});
  }
  if (report) out["report"] = report_json(result);
  return out;
}

std::string page_document(json top, json queue, json explanations, json simulation) {
  return json{{"apiVersion", "plimsoll.io/view/v1"},
              {"top", std::move(top)},
              {"queue", std::move(queue)},
              {"explanations", std::move(explanations)},
              {"simulation", std::move(simulation)}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string page_of(const SimulationResult& result, json simulation) {
  json explanations = json::array();
  for (const auto& [pod, answer] : result.view.explained)
    explanations.push_back({{"pod", pod}, {"result", json::parse(answer)}});
  return page_document(json::parse(result.view.top), json::parse(result.view.queue),
                       std::move(explanations), std::move(simulation));
}

// The error: why it could not be written.
Result<void> write_page(const std::string& path, const std::string& document) {
  std::ofstream file(path, std::ios::binary);
  file << ui::single_file(document) << std::flush;
  if (!file)
    return fail(ErrorCode::kUnavailable, "cannot write " + path + ": " + std::strerror(errno));
  return {};
}

// RFC 4180; the line ends are those of this system.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_seconds(const std::optional<double>& seconds) {
  return seconds ? decimal(*seconds, 3) : "";
}

// docs/simulation.md has the names; the page makes the same of it (ui/pods.js).
void print_figures(const SimulationResult& result) {
  std::vector<double> waits;
  for (const Placement& pod : result.placements)
    if (pod.bound) waits.push_back(*pod.bound - pod.created);
  std::ranges::sort(waits);
  std::cout << "figure,value\npods," << result.placements.size() << "\nbound," << result.bound
            << "\nrefusedByKubelets," << result.kubelets.rejected << "\nevicted,"
            << result.evicted.size() << "\n";
  for (const int percent : {50, 90, 99}) {
    const size_t at = static_cast<size_t>(percent / 100.0 * static_cast<double>(waits.size()));
    std::cout << "waitedSeconds" << percent << ','
              << (waits.empty() ? "" : decimal(waits[std::min(at, waits.size() - 1)], 6)) << "\n";
  }
  const json report = report_json(result);
  for (const auto& [resource, hours] : report.at("hours").items()) {
    std::cout << csv_field("hours " + resource) << ',' << decimal(hours.at("used"), 6) << "\n"
              << csv_field("hoursThere " + resource) << ',' << decimal(hours.at("allocatable"), 6)
              << "\n";
  }
}

void print_csv(const SimulationResult& result) {
  std::cout << "pod,node,phase,created,tried,lastTried,bound,ended,tries,zones,devices,failure,"
               "reason,message\n";
  for (const Placement& pod : result.placements) {
    std::cout << csv_field(pod.pod) << ',' << csv_field(pod.node) << ',' << csv_field(pod.phase)
              << ',' << csv_seconds(pod.created) << ',' << csv_seconds(pod.tried) << ','
              << csv_seconds(pod.last_tried) << ',' << csv_seconds(pod.bound) << ','
              << csv_seconds(pod.ended) << ',' << pod.tries << ','
              << csv_field(pod.zones.empty() ? "" : zones_text(pod)) << ','
              << csv_field(pod.devices.empty() ? "" : devices_text(pod)) << ','
              << csv_field(pod.failure) << ',' << csv_field(pod.reason) << ','
              << csv_field(pod.message) << "\n";
  }
}

// They would break a table: they are for people, on standard error.
void print_notes(const SimulationResult& result) {
  for (const std::string& note : result.notes) std::cerr << "note: " << shown(note) << "\n";
}

sandbox::KubeletOptions kubelet_options(const SimulateArguments& arguments) {
  using std::chrono::milliseconds;
  sandbox::KubeletOptions options;
  options.seed = arguments.seed;
  // XML exports of machines are relative to the file that names them.
  options.machines = std::make_shared<sandbox::MachineLibrary>(
      std::filesystem::path(arguments.cluster == "-" ? "" : arguments.cluster).parent_path());
  options.pessimistic = arguments.unknown_zones == "pessimistic";
  sandbox::ReportOptions& reports = options.reports;
  reports.kind =
      arguments.report_kind == "counts" ? node::ReportKind::kCounts : node::ReportKind::kFacts;
  reports.delay = milliseconds(arguments.report_delay_ms);
  reports.jitter = arguments.report_jitter;
  reports.transit = milliseconds(arguments.report_transit_ms);
  reports.loss = arguments.report_loss;
  reports.period = milliseconds(arguments.report_period_ms);
  reports.restarts = arguments.agent_restarts;
  reports.pause = milliseconds(arguments.agent_pause_ms);
  return options;
}

// What kept a simulation from ending, by name.
std::string what_moves(const SimulationResult& result) {
  constexpr size_t kNamed = 5;
  const bool decided = result.undecided.empty();
  const std::vector<std::string>& pods = decided ? result.coming : result.undecided;
  if (pods.empty()) return "pods or volumes were still changing, though each pod was decided on";
  std::string text = decided ? "these had not arrived yet: " : "no decision was final for ";
  for (size_t i = 0; i < std::min(pods.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + pods[i];
  if (pods.size() > kNamed) text += " and " + std::to_string(pods.size() - kNamed) + " more";
  return text;
}

// Of the pods that no plugin refused: one of them, or an extender, did not answer.
std::string failed_pods(const SimulationResult& result) {
  std::vector<std::string> failed;
  std::string why;
  for (const Placement& placement : result.placements) {
    if (!placement.node.empty() || placement.reason != "SchedulerError") continue;
    if (failed.empty()) why = placement.message;
    failed.push_back(placement.pod);
  }
  return failed.empty() ? ""
                        : named("pod", failed) +
                              " could not be judged, because of an error of a "
                              "plugin or an extender: " +
                              why;
}

// Empty for what cannot be read twice.
std::string digest_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return "";
  const auto text = config::read_text_file(path);
  return text ? sha256_of(*text) : "";
}

Result<config::Validation> profiles_of(const SimulateArguments& arguments, const Modules& modules) {
  if (!arguments.config.empty()) return load_configuration(arguments.config, modules);
  config::Validation all = validate_all_plugins(modules);
  if (!all.ok()) return fail(ErrorCode::kInvalid, config::to_string(all.errors, all.file));
  return all;
}

}  // namespace

std::string page_of_result(const json& result) {
  json explanations = json::array();
  for (const json& answer : result.value("explanations", json::array())) {
    if (!answer.value("ok", false)) continue;
    const json& pod = answer.at("result").at("pod");
    explanations.push_back(
        {{"pod", pod.at("namespace").get<std::string>() + "/" + pod.at("name").get<std::string>()},
         {"result", answer.at("result")}});
  }
  return page_document({{"nodes", result.at("nodes")}}, {{"queue", json::array()}},
                       std::move(explanations), result);
}

int simulate(const SimulateArguments& arguments, std::string* page) {
  const char* const command = page == nullptr ? "simulate" : "ui";
  TimeLimit limit(command, std::chrono::seconds(arguments.timeout_s), "reading files");
  const auto modules = arguments.oracle
                           ? load_modules(arguments.plugin_directories, oracle_modules())
                           : load_modules(arguments.plugin_directories);
  if (!modules) return failure(command, modules.error().message);
  const auto configuration = profiles_of(arguments, *modules);
  if (!configuration)
    return failure(command, "the profile file is not usable:\n" + configuration.error().message);
  std::vector<std::string> notes;
  std::vector<InputFile> inputs{{"config", arguments.config, digest_of(arguments.config)},
                                {"cluster", arguments.cluster, ""},
                                {"pods", arguments.pods, ""},
                                {"events", arguments.events, ""},
                                {"expect", arguments.expect, digest_of(arguments.expect)}};
  auto cluster = read_objects(arguments.cluster, InputRole::kCluster, arguments.lenient, notes,
                              &inputs[1].sha256);
  if (!cluster) return failure(command, cluster.error().message);
  for (const std::string& path : arguments.more_of_cluster) {
    inputs.push_back({"cluster " + std::to_string(inputs.size() - 3), path, ""});
    const auto more =
        read_objects(path, InputRole::kCluster, arguments.lenient, notes, &inputs.back().sha256);
    if (!more) return failure(command, more.error().message);
    cluster->insert(cluster->end(), more->begin(), more->end());
  }
  auto pods =
      read_objects(arguments.pods, InputRole::kPods, arguments.lenient, notes, &inputs[2].sha256);
  if (!pods) return failure(command, pods.error().message);
  auto events = read_objects(arguments.events, InputRole::kCluster, arguments.lenient, notes,
                             &inputs[3].sha256);
  if (!events) return failure(command, events.error().message);
  Expectations expectations;
  if (!arguments.expect.empty()) {
    auto loaded = load_expectations(arguments.expect);
    if (!loaded) return failure(command, loaded.error().message);
    expectations = std::move(*loaded);
  }

  SimulationOptions options;
  options.cluster = std::move(*cluster);
  options.pods = std::move(*pods);
  options.events = std::move(*events);
  options.bind_failures = arguments.bind_failures;
  options.on_serving = [page](const std::string& url) {
    if (page != nullptr) return;
    std::cerr << "API server: " << url << " (kubectl --server " << url << ")\n";
  };
  options.kubelets = kubelet_options(arguments);
  options.speed = arguments.speed;
  options.oracle = arguments.oracle;
  options.explain = arguments.explain;
  options.on_hang = [command](const std::string& problem) {
    const int status = failure(command, problem);
    std::cerr << std::flush;
    std::_Exit(status);
  };
  options.until = arguments.until;
  options.view = page != nullptr || !arguments.html.empty();
  options.as_schedulers = arguments.as_schedulers;
  ProgressLine progress;
  limit.doing("making the cluster");
  options.timeout = limit.left();
  auto result = run_simulation(*configuration, *modules, options,
                               [&](size_t arrived, size_t bound, size_t waiting) {
                                 limit.leave_it_to_the_command("simulating");
                                 progress(arrived, bound, waiting);
                               });
  limit.lift();
  progress.finish();
  if (!result) return failure(command, result.error().message);
  result->notes.insert(result->notes.begin(), notes.begin(), notes.end());
  if (page != nullptr) {
    *page = page_of(*result, result_json(*result, arguments, inputs, true));
    print_notes(*result);
  } else if (arguments.output == "json") {
    std::cout << result_json(*result, arguments, inputs, arguments.report)
                     .dump(2, ' ', false, json::error_handler_t::replace)
              << "\n";
  } else if (arguments.output == "csv" && arguments.report) {
    print_figures(*result);
    print_notes(*result);
  } else if (arguments.output == "csv") {
    print_csv(*result);
    print_notes(*result);
  } else {
    print_text(*result, nodes_shown(arguments.nodes));
    if (arguments.report) std::cout << report_text(*result);
    print_explanations(*result);
  }
  if (!arguments.html.empty()) {
    const auto written =
        write_page(arguments.html, page_of(*result, result_json(*result, arguments, inputs, true)));
    if (!written) return failure(command, written.error().message);
  }
  if (!result->settled) {
    return failure(command, "gave up after " + std::to_string(arguments.timeout_s) + " s while " +
                                what_moves(*result) + "; see --timeout");
  }
  if (const std::string failed = failed_pods(*result); !failed.empty()) {
    return failure(command, failed);
  }
  const std::vector<std::string> broken =
      check_expectations(expectations, result->placements, result->kubelets.rejected);
  if (!arguments.expect.empty()) {
    std::cerr << "expectations: " << expectations.size() - broken.size() << " of "
              << expectations.size() << " hold\n";
  }
  for (const std::string& text : broken) std::cerr << "  not so: " << text << "\n";
  if (!arguments.html.empty()) {
    std::cerr << "the cluster as a picture: open file://"
              << std::filesystem::absolute(arguments.html).string() << " in a browser\n";
  }
  return broken.empty() ? 0 : 1;
}

}  // namespace plimsoll::cli
