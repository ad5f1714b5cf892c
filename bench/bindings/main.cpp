// Bound pods per second of a loop that decides nothing, and what they cost the API server and the
// client: one row for each setting, each on a fresh server.

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "bench/bindings/binding_loop.hpp"
#include "bench/bindings/binding_watch.hpp"
#include "bench/bindings/process_meter.hpp"

namespace plimsoll::bench {
namespace {

struct Arguments {
  FleetShape shape;
  int rounds = 3;
  bool no_events = false;
  bool fixed = false;
  std::vector<std::size_t> binds;
  std::vector<std::size_t> events;
  std::vector<std::string> connections{"h2"};
  std::vector<std::string> bodies{"protobuf"};
  int annotation_bytes = 0;
};

struct Row {
  double binds_per_second = 0;
  double all_per_second = 0;  // pods bound, with their events
  double server_ms = 0;       // CPU, a pod
  double client_ms = 0;
};

Result<Row> run_once(const Arguments& arguments, const LoopOptions& options) {
  auto cluster = test::KubeCluster::start();
  if (!cluster) return fail(cluster.error());
  if (auto made = create_nodes(**cluster, arguments.shape); !made) return fail(made.error());
  if (auto made = create_pods(**cluster, arguments.shape); !made) return fail(made.error());
  const auto pods = list_pods(**cluster);
  if (!pods) return fail(pods.error());
  auto watch = BindingWatch::start(**cluster);  // as when a scheduler is measured
  if (!watch) return fail(watch.error());
  const pid_t server = child_named("kube-apiserver");
  const double server_before = cpu_seconds(server);
  const double own_before = cpu_seconds(::getpid());
  const auto result = write_bindings(**cluster, *pods, arguments.shape.nodes, options);
  if (!result) return fail(result.error());
  if (result->bind_failures + result->event_failures > 0) {
    return fail(ErrorCode::kInternal, std::to_string(result->bind_failures) + " bindings and " +
                                          std::to_string(result->event_failures) +
                                          " events were not written");
  }
  if (!(*watch)->wait(pods->size(), std::chrono::seconds(10))) {
    return fail(ErrorCode::kInternal, "not all pods were seen bound: " + (*watch)->failure());
  }
  const auto count = static_cast<double>(pods->size());
  return Row{.binds_per_second = count / result->seconds,
             .all_per_second = count / result->all_seconds,
             .server_ms = (cpu_seconds(server) - server_before) / count * 1e3,
             .client_ms = (cpu_seconds(::getpid()) - own_before) / count * 1e3};
}

double median(const std::vector<Row>& rows, double Row::*field) {
  std::vector<double> values;
  for (const Row& row : rows) values.push_back(row.*field);
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

struct Setting {
  std::string connections;
  std::string bodies;
  std::size_t binds;
  std::size_t events;
};

LoopOptions options_of(const Arguments& arguments, const Setting& setting) {
  LoopOptions options;
  options.events = !arguments.no_events;
  const auto version =
      setting.connections == "h1" ? informer::HttpVersion::kHttp1 : informer::HttpVersion::kHttp2;
  options.binds_client.version = options.others_client.version = version;
  options.writes.protobuf = setting.bodies == "protobuf";
  options.writes.in_flight[static_cast<std::size_t>(informer::WriteClass::kBind)] = setting.binds;
  if (arguments.fixed) options.writes.least_in_flight = setting.binds + setting.events;
  options.writes.in_flight[static_cast<std::size_t>(informer::WriteClass::kEvent)] = setting.events;
  if (arguments.annotation_bytes > 0) {
    options.annotations = {
        {"example.com/allocation",
         std::string(static_cast<std::size_t>(arguments.annotation_bytes), 'a')}};
  }
  return options;
}

// Prints a row; false if a round failed.
bool measure_setting(const Arguments& arguments, const Setting& setting) {
  const LoopOptions options = options_of(arguments, setting);
  std::vector<Row> rows;
  for (int round = 0; round < arguments.rounds; ++round) {
    const auto row = run_once(arguments, options);
    if (!row) {
      std::fprintf(stderr, "bindings: %s\n", row.error().message.c_str());
      return false;
    }
    rows.push_back(*row);
  }
  std::printf("| %s | %s | %zu | %s | %.0f | %.0f | %.2f | %.3f |\n", setting.connections.c_str(),
              setting.bodies.c_str(), setting.binds,
              options.events ? std::to_string(setting.events).c_str() : "none written",
              median(rows, &Row::binds_per_second), median(rows, &Row::all_per_second),
              median(rows, &Row::server_ms), median(rows, &Row::client_ms));
  std::fflush(stdout);
  return true;
}

int measure(const Arguments& arguments) {
  std::printf(
      "%d nodes, %d pods, median of %d rounds, each on a fresh API server\n\n"
      "| connections | bodies | binds in flight | events in flight | pods bound/s | with events/s "
      "| API server CPU, "
      "ms/pod "
      "| client CPU, ms/pod |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      arguments.shape.nodes, arguments.shape.pods, arguments.rounds);
  for (const std::string& connections : arguments.connections) {
    for (const std::string& bodies : arguments.bodies) {
      for (const std::size_t binds : arguments.binds) {
        for (const std::size_t events : arguments.events) {
          if (!measure_setting(arguments, {connections, bodies, binds, events})) return 1;
        }
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  using plimsoll::informer::WriteClass;
  plimsoll::bench::Arguments arguments;
  const plimsoll::informer::WriteOptions defaults;
  arguments.binds = {defaults.in_flight[static_cast<std::size_t>(WriteClass::kBind)]};
  arguments.events = {defaults.in_flight[static_cast<std::size_t>(WriteClass::kEvent)]};
  CLI::App app("How many pods an API server binds for a client that decides nothing");
  app.add_option("--nodes", arguments.shape.nodes)->check(CLI::PositiveNumber);
  app.add_option("--pods", arguments.shape.pods)->check(CLI::PositiveNumber);
  app.add_option("--rounds", arguments.rounds)->check(CLI::PositiveNumber);
  app.add_flag("--no-events", arguments.no_events, "bindings only");
  app.add_option("--binds", arguments.binds, "bindings in flight; several: a row for each")
      ->check(CLI::PositiveNumber);
  app.add_option("--events", arguments.events, "events in flight; several: a row for each")
      ->check(CLI::PositiveNumber);
  app.add_flag("--fixed", arguments.fixed,
               "always as many in flight as may be: the window does not adapt");
  app.add_option("--connections", arguments.connections,
                 "h2: one HTTP/2 connection each for bindings and events; h1: as many HTTP/1.1 "
                 "connections as writes in flight; several: a row for each")
      ->check(CLI::IsMember({"h1", "h2"}));
  app.add_option("--bodies", arguments.bodies, "json, protobuf; several: a row for each")
      ->check(CLI::IsMember({"json", "protobuf"}));
  app.add_option("--annotation-bytes", arguments.annotation_bytes, "in each binding")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  return plimsoll::bench::measure(arguments);
}
