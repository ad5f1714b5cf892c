// Bound pods per second of a loop that decides nothing, and the cost to the API server and the
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
  bool in_turn = false;
  std::vector<std::size_t> binds;
  std::vector<std::size_t> events;
  std::vector<std::string> connections{"h2"};
  std::vector<std::string> bodies{"protobuf"};
  int annotation_bytes = 0;
};

struct Row {
  double binds_per_second = 0;
  double all_per_second = 0;  // pods bound, with their events
  double server_ms = 0;       // CPU time per pod
  double client_ms = 0;
};

// A fresh API server with pods to bind; only the thread that made it may use it.
struct Field {
  std::unique_ptr<test::KubeCluster> cluster;
  std::vector<PodName> pods;
  std::unique_ptr<BindingWatch> watch;  // measurements of schedulers have one too
};

Result<Field> make_field(const FleetShape& shape) {
  Field field;
  auto cluster = test::KubeCluster::start();
  if (!cluster) return fail(cluster.error());
  field.cluster = std::move(*cluster);
  if (auto made = create_nodes(*field.cluster, shape); !made) return fail(made.error());
  if (auto made = create_pods(*field.cluster, shape); !made) return fail(made.error());
  auto pods = list_pods(*field.cluster);
  if (!pods) return fail(pods.error());
  field.pods = std::move(*pods);
  auto watch = BindingWatch::start(*field.cluster);
  if (!watch) return fail(watch.error());
  field.watch = std::move(*watch);
  return field;
}

// Binds `pods` pods, starting at `begin`; the pods before it are already bound.
Result<Row> bind_pods(Field& field, const Arguments& arguments, std::size_t begin, std::size_t pods,
                      const LoopOptions& options) {
  const auto first = field.pods.begin() + static_cast<std::ptrdiff_t>(begin);
  const std::vector<PodName> part(first, first + static_cast<std::ptrdiff_t>(pods));
  const pid_t server = child_named("kube-apiserver");
  const double server_before = cpu_seconds(server);
  const double own_before = cpu_seconds(::getpid());
  const auto result = write_bindings(*field.cluster, part, arguments.shape.nodes, options);
  if (!result) return fail(result.error());
  if (result->bind_failures + result->event_failures > 0) {
    return fail(ErrorCode::kInternal, std::to_string(result->bind_failures) + " bindings and " +
                                          std::to_string(result->event_failures) +
                                          " events were not written");
  }
  if (!field.watch->wait(begin + pods, std::chrono::seconds(10))) {
    return fail(ErrorCode::kInternal, "not all pods were seen bound: " + field.watch->failure());
  }
  const auto count = static_cast<double>(pods);
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

// By setting; a row for each round.
using Rows = std::vector<std::vector<Row>>;

// Measures each setting on its own API servers.
Result<Rows> measure_apart(const Arguments& arguments, const std::vector<Setting>& settings) {
  Rows rows(settings.size());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    for (int round = 0; round < arguments.rounds; ++round) {
      auto field = make_field(arguments.shape);
      if (!field) return fail(field.error());
      auto row =
          bind_pods(*field, arguments, 0, field->pods.size(), options_of(arguments, settings[i]));
      if (!row) return fail(row.error());
      rows[i].push_back(*row);
    }
  }
  return rows;
}

// Measures all settings in turn on one API server, so that other work on the machine affects all of
// them alike.
Result<Rows> measure_in_turn(const Arguments& arguments, const std::vector<Setting>& settings) {
  FleetShape shape = arguments.shape;
  shape.pods *= static_cast<int>(settings.size()) * (arguments.rounds + 1);
  auto field = make_field(shape);
  if (!field) return fail(field.error());
  Rows rows(settings.size());
  const auto part = static_cast<std::size_t>(arguments.shape.pods);
  std::size_t begin = 0;
  for (int round = 0; round <= arguments.rounds; ++round) {
    for (std::size_t i = 0; i < settings.size(); ++i) {
      auto row = bind_pods(*field, arguments, begin, part, options_of(arguments, settings[i]));
      if (!row) return fail(row.error());
      if (round > 0) rows[i].push_back(*row);  // the first one warms the server up
      begin += part;
    }
  }
  return rows;
}

std::vector<Setting> settings_of(const Arguments& arguments) {
  std::vector<Setting> settings;
  for (const std::string& connections : arguments.connections) {
    for (const std::string& bodies : arguments.bodies) {
      for (const std::size_t binds : arguments.binds) {
        for (const std::size_t events : arguments.events) {
          settings.push_back({connections, bodies, binds, events});
        }
      }
    }
  }
  return settings;
}

int measure(const Arguments& arguments) {
  const std::vector<Setting> settings = settings_of(arguments);
  const auto rows =
      arguments.in_turn ? measure_in_turn(arguments, settings) : measure_apart(arguments, settings);
  if (!rows) {
    std::fprintf(stderr, "bindings: %s\n", rows.error().message.c_str());
    return 1;
  }
  std::printf(
      "%d nodes, %d pods, median of %d rounds, %s\n\n"
      "| connections | bodies | binds in flight | events in flight | pods bound/s | with events/s "
      "| API server CPU, ms/pod | client CPU, ms/pod |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |\n",
      arguments.shape.nodes, arguments.shape.pods, arguments.rounds,
      arguments.in_turn ? "in turn on one API server" : "each on a fresh API server");
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting& setting = settings[i];
    const std::vector<Row>& of = (*rows)[i];
    std::printf("| %s | %s | %zu | %s | %.0f | %.0f | %.2f | %.3f |\n", setting.connections.c_str(),
                setting.bodies.c_str(), setting.binds,
                arguments.no_events ? "none written" : std::to_string(setting.events).c_str(),
                median(of, &Row::binds_per_second), median(of, &Row::all_per_second),
                median(of, &Row::server_ms), median(of, &Row::client_ms));
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
  app.add_flag("--in-turn", arguments.in_turn,
               "one API server for all settings and rounds; --pods for each");
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
