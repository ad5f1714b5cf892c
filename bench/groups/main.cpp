// Gangs: Plimsoll, kube-scheduler with its gang gate, kube-scheduler with Coscheduling, and a loop
// of the same writes, on a real API server; and without one what a decision costs and how well
// gangs are placed.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "bench/groups/contest.hpp"
#include "bench/groups/group_world.hpp"
#include "bench/support/plot.hpp"
#include "framework/base/log.hpp"

namespace plimsoll::bench {
namespace {

struct Arguments {
  Programs programs;
  GangLoad load;
  int rounds = 3;
  int hold_seconds = 20;
  int gangs = 400;
  uint64_t seed = 1;
  bool no_server = false;
  bool no_decisions = false;
  bool no_mix = false;
  std::string plot;
};

// ---- on an API server

using Figure = std::optional<double> GangMeasure::*;
constexpr Figure kFigures[] = {&GangMeasure::bound, &GangMeasure::told, &GangMeasure::all_told,
                               &GangMeasure::room_used};

// A round in which it was not reached counts as the longest.
std::optional<double> median(const std::vector<GangMeasure>& rounds, Figure figure) {
  constexpr double kNever = 1e300;
  std::vector<double> values;
  for (const GangMeasure& round : rounds) values.push_back((round.*figure).value_or(kNever));
  std::sort(values.begin(), values.end());
  const double middle = values[values.size() / 2];
  return middle == kNever ? std::nullopt : std::optional(middle);
}

// "1.23 s (2.1)": with the ratio to the loop's.
std::string cell(const std::vector<GangMeasure>& rounds, const std::vector<GangMeasure>& loop,
                 Figure figure) {
  const auto value = median(rounds, figure);
  if (!value) return "not in time";
  char text[64];
  const auto least = loop.empty() ? std::nullopt : median(loop, figure);
  if (least && *least > 0) {
    std::snprintf(text, sizeof text, "%.2f s (%.1f)", *value, *value / *least);
  } else {
    std::snprintf(text, sizeof text, "%.2f s", *value);
  }
  return text;
}

int contest(const Arguments& arguments) {
  constexpr GangContestant kAll[] = {GangContestant::kPlimsoll, GangContestant::kKubeScheduler,
                                     GangContestant::kCoscheduling, GangContestant::kLoop};
  std::map<GangContestant, std::vector<GangMeasure>> measures;
  for (int round = 0; round < arguments.rounds; ++round) {
    for (const GangContestant who : kAll) {
      const bool is_peer =
          who == GangContestant::kKubeScheduler || who == GangContestant::kCoscheduling;
      if (is_peer && arguments.programs.peers.empty()) continue;
      const auto measure = run_gang_contest(arguments.load, who, arguments.programs);
      if (!measure) {
        std::fprintf(stderr, "groups: %s\n", measure.error().message.c_str());
        return 1;
      }
      measures[who].push_back(*measure);
      std::fprintf(stderr, "round %d of %d: %s\n", round + 1, arguments.rounds, name_of(who));
    }
  }
  std::printf(
      "%d nodes of %d zones, gangs of %d pods, medians of %d rounds, each on a fresh API server;\n"
      "in brackets: times the loop's. Room came free %d s after the refusal.\n\n"
      "| | all bound | refused: the first word | each pod's | room that came free is used |\n"
      "| --- | --- | --- | --- | --- |\n",
      arguments.load.nodes, arguments.load.zones, arguments.load.pods, arguments.rounds,
      arguments.hold_seconds);
  for (const GangContestant who : kAll) {
    if (measures[who].empty()) continue;
    std::printf("| %s |", name_of(who));
    for (const Figure figure : kFigures)
      std::printf(" %s |", cell(measures[who], measures[GangContestant::kLoop], figure).c_str());
    std::printf("\n");
  }
  std::printf("\n");
  std::fflush(stdout);
  return 0;
}

// ---- decisions

constexpr size_t kPodsDecided = 1'000;
constexpr int kDecisions = 5;
constexpr int kSliceMs = 4;  // as of the program

Gang equal_gang(const std::string& name, size_t pods) {
  return {name, std::vector<Amounts>(pods, Amounts{4, 0})};
}

// The median of a few decisions on gangs that leave again; the first one warms up.
DecisionTime decision(const GroupWorldOptions& options) {
  GroupWorld world(options);
  std::vector<DecisionTime> times;
  for (int i = 0; i <= kDecisions; ++i) {
    const Gang gang = equal_gang("gang-" + std::to_string(i), kPodsDecided);
    if (!world.place({}, gang)) continue;
    if (i > 0) times.push_back(world.last_decision());
    world.remove(gang);
  }
  if (times.empty()) return {};
  std::sort(times.begin(), times.end(),
            [](const auto& a, const auto& b) { return a.decided < b.decided; });
  return times[times.size() / 2];
}

void decisions() {
  struct Row {
    const char* name;
    size_t racks;
    bool required;
  };
  constexpr size_t kNodes = 5'000;
  std::printf(
      "5,000 nodes, a gang of 1,000 equal pods, CPU of the loop, median of %d:\n\n"
      "| | decided, ms | all given to be bound, ms | to one rack |\n| --- | --- | --- | --- |\n",
      kDecisions);
  double one = 0;
  for (const Row& row : {Row{"anywhere", 1, false}, Row{"in the only rack", 1, true},
                         Row{"in one of 50 racks", 50, true}}) {
    GroupWorldOptions options{
        .network = {.blocks = 1, .racks = row.racks, .domains = 1, .hosts = kNodes / row.racks},
        .with_levels = false};
    if (row.required) options.required = GroupWorld::kRack;
    const DecisionTime time = decision(options);
    if (row.required && row.racks == 1) one = time.decided;
    std::printf("| %s | %.1f | %.1f |", row.name, time.decided, time.committed);
    one > 0 ? std::printf(" %.2f |\n", time.decided / one) : std::printf(" |\n");
    std::fflush(stdout);
  }
  std::printf("\n");
}

// The longest time for which others wait while a gang is tried.
void turns() {
  struct Row {
    const char* name;
    Gang gang;
    bool in_rack = false;
    size_t evictable = 0;
  };
  constexpr size_t kNodes = 5'000;
  const Gang equal = equal_gang("gang", kPodsDecided);
  Gang unlike = equal;
  for (size_t i = 0; i < kPodsDecided; ++i)
    unlike.pods[i] = {static_cast<int64_t>(i % 60) + 1, static_cast<int64_t>(i / 60 % 8)};
  Gang too_large = equal;
  too_large.pods.back().cpus = 65;
  Gang large{"gang", std::vector<Amounts>(kPodsDecided, Amounts{16, 0})};
  Gang larger = large;
  larger.pods.back().cpus = 65;
  Gang kinds = large;
  for (size_t i = 0; i < kPodsDecided; ++i) kinds.pods[i].cpus = static_cast<int64_t>(i % 30) + 1;
  std::printf(
      "5,000 nodes, a gang of 1,000 pods, slices of %d ms, the longest turn of the loop of %d:\n\n"
      "| | CPU of the loop, ms | by the clock, ms |\n| --- | --- | --- |\n",
      kSliceMs, kDecisions);
  for (const Row& row :
       {Row{"equal pods, anywhere", equal}, Row{"in one of 50 racks", equal, true},
        Row{"480 kinds of pods", unlike}, Row{"480 kinds, in one of 50 racks", unlike, true},
        Row{"refused: one fits nowhere", too_large},
        Row{"refused, 50 racks: one fits nowhere", too_large, true},
        Row{"needs 1,000 of 20,000 pods evicted", large, false, 4},
        Row{"the same, 30 kinds of pods", kinds, false, 4},
        Row{"the same, one fits nowhere", larger, false, 4}}) {
    LongestTurn longest;
    for (int i = 0; i < kDecisions; ++i) {
      GroupWorldOptions options{
          .network = {.blocks = 1, .racks = 50, .domains = 1, .hosts = kNodes / 50},
          .with_levels = false,
          .evictable = row.evictable,
          .slice = std::chrono::milliseconds(kSliceMs)};
      if (row.in_rack) options.required = GroupWorld::kRack;
      GroupWorld world(options);
      static_cast<void>(world.place({}, row.gang));
      longest.cpu = std::max(longest.cpu, world.longest_turn().cpu);
      longest.wall = std::max(longest.wall, world.longest_turn().wall);
    }
    std::printf("| %s | %.1f | %.1f |\n", row.name, longest.cpu, longest.wall);
    std::fflush(stdout);
  }
  std::printf("\n");
}

// ---- how well gangs are placed

// Decides by a rule.
class Rule final : public Placer {
 public:
  using Place = std::optional<Places> (*)(const Network&, const Room&, const Gang&);
  Rule(const Network& network, Place place) : network_(network), place_(place) {}
  [[nodiscard]] std::optional<Places> place(const Room& room, const Gang& gang) override {
    return place_(network_, room, gang);
  }
  void remove(const Gang&) override {}

 private:
  const Network network_;
  const Place place_;
};

std::optional<Places> first_fit_anywhere(const Network&, const Room& room, const Gang& gang) {
  return first_fit(room, {0, room.size()}, gang);
}

double share(int part, int of) {
  return of == 0 ? 0 : 100.0 * part / of;
}

struct Contender {
  const char* name;
  std::unique_ptr<Placer> (*make)(const Network& network);
};

bool says_wrong(const MixResult& result) {
  if (result.wrong.empty()) return false;
  std::fprintf(stderr, "groups: %s\n", result.wrong.c_str());
  return true;
}

int at_95(const Arguments& arguments) {
  constexpr Contender kContenders[] = {
      {"Plimsoll",
       [](const Network& network) -> std::unique_ptr<Placer> {
         return std::make_unique<GroupWorld>(
             GroupWorldOptions{.network = network, .with_levels = false});
       }},
      {"Plimsoll, MostAllocated",
       [](const Network& network) -> std::unique_ptr<Placer> {
         return std::make_unique<GroupWorld>(
             GroupWorldOptions{.network = network, .with_levels = false, .most_allocated = true});
       }},
      {"Plimsoll, levels",
       [](const Network& network) -> std::unique_ptr<Placer> {
         return std::make_unique<GroupWorld>(GroupWorldOptions{.network = network});
       }},
      {"first fit", [](const Network& network) -> std::unique_ptr<Placer> {
         return std::make_unique<Rule>(network, first_fit_anywhere);
       }}};
  MixOptions options{.network = {.blocks = 2, .racks = 4, .domains = 2, .hosts = 8},
                     .load = 0.95,
                     .gangs = arguments.gangs,
                     .seed = arguments.seed};
  std::printf(
      "%zu nodes, %d gangs that come at 95 %% load, seed %llu:\n\n"
      "| | placed | of those that fitted |\n| --- | --- | --- |\n",
      options.network.nodes(), options.gangs, static_cast<unsigned long long>(options.seed));
  for (const Contender& contender : kContenders) {
    const MixResult result = run_mix(options, *contender.make(options.network));
    if (says_wrong(result)) return 1;
    std::printf("| %s | %.1f %% | %.1f %% |\n", contender.name, share(result.placed, result.came),
                share(result.placed, result.possible));
    std::fflush(stdout);
  }
  std::printf("\n");
  return 0;
}

int in_smallest_domain(const Arguments& arguments) {
  constexpr Contender kContenders[] = {
      {"Plimsoll",
       [](const Network& network) -> std::unique_ptr<Placer> {
         return std::make_unique<GroupWorld>(GroupWorldOptions{.network = network});
       }},
      {"totals only",
       [](const Network& network) -> std::unique_ptr<Placer> {
         return std::make_unique<Rule>(network, by_totals);
       }},
      {"first fit", [](const Network& network) -> std::unique_ptr<Placer> {
         return std::make_unique<Rule>(network, first_fit_anywhere);
       }}};
  Plot plot{.title = "Gangs in a domain of the narrowest level that held them whole",
            .x_label = "GPUs in use, %",
            .y_label = "of those that fitted somewhere, %",
            .x_low = 50,
            .x_high = 100,
            .x_step = 10,
            .y_low = 0,
            .y_high = 100,
            .y_step = 20,
            .curves = {}};
  const Network network;
  std::printf(
      "%zu nodes of 8 GPUs in hosts, NVLink domains, racks and blocks; %d gangs, seed %llu:\n\n"
      "| | GPUs in use | fitted somewhere | placed | in the smallest domain possible |\n"
      "| --- | --- | --- | --- | --- |\n",
      network.nodes(), arguments.gangs, static_cast<unsigned long long>(arguments.seed));
  for (const Contender& contender : kContenders) {
    Curve curve{contender.name, {}};
    for (const int load : {50, 60, 70, 80, 90, 95}) {
      const MixOptions options{.network = network,
                               .load = load / 100.0,
                               .gangs = arguments.gangs,
                               .seed = arguments.seed};
      const MixResult result = run_mix(options, *contender.make(network));
      if (says_wrong(result)) return 1;
      const double smallest = share(result.in_smallest, result.possible);
      curve.points.emplace_back(load, smallest);
      std::printf("| %s | %d %% | %d | %.1f %% | %.1f %% |\n", contender.name, load,
                  result.possible, share(result.placed, result.possible), smallest);
      std::fflush(stdout);
    }
    plot.curves.push_back(std::move(curve));
  }
  std::printf("\n");
  if (arguments.plot.empty()) return 0;
  std::ofstream file(arguments.plot);
  file << svg_of(plot);
  if (file.flush()) return 0;
  std::fprintf(stderr, "groups: %s cannot be written\n", arguments.plot.c_str());
  return 1;
}

int run(const Arguments& arguments) {
  if (!arguments.no_decisions) {
    decisions();
    turns();
  }
  if (!arguments.no_mix) {
    if (const int failed = at_95(arguments); failed != 0) return failed;
    if (const int failed = in_smallest_domain(arguments); failed != 0) return failed;
  }
  return arguments.no_server ? 0 : contest(arguments);
}

}  // namespace
}  // namespace plimsoll::bench

int main(int argc, char** argv) {
  plimsoll::bench::Arguments arguments;
  CLI::App app("Gangs, by Plimsoll and by others");
  app.add_option("--plimsoll", arguments.programs.plimsoll, "the program")->required();
  app.add_option("--plugin-dir", arguments.programs.plugins)->required();
  app.add_option("--peers", arguments.programs.peers, "the folder that bench/peers/build prints");
  app.add_option("--rounds", arguments.rounds, "on the API server")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--nodes", arguments.load.nodes)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--pods", arguments.load.pods, "of each gang")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--hold", arguments.hold_seconds,
                 "seconds between a refusal and the room that comes free")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--gangs", arguments.gangs, "of the mixes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", arguments.seed, "of the mixes")->capture_default_str();
  app.add_flag("--no-server", arguments.no_server, "nothing on an API server");
  app.add_flag("--no-decisions", arguments.no_decisions);
  app.add_flag("--no-mix", arguments.no_mix);
  app.add_option("--plot", arguments.plot, "the figure of docs/groups.md");
  CLI11_PARSE(app, argc, argv);
  arguments.load.hold = std::chrono::seconds(arguments.hold_seconds);
  plimsoll::log_to_stderr(plimsoll::LogLevel::kError, plimsoll::LogFormat::kText);
  return plimsoll::bench::run(arguments);
}
