#include "bench/peers/report.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

namespace plimsoll::bench {
namespace {

using nlohmann::json;

struct Field {
  const char* name;
  double Measure::*value;
};
constexpr Field kFields[] = {{"pods bound/s", &Measure::per_second},
                             {"pods bound/s from start", &Measure::per_second_from_start},
                             {"pods bound/s with events", &Measure::with_events_per_second},
                             {"first binding, s", &Measure::first_binding},
                             {"CPU, ms/pod", &Measure::cpu_ms},
                             {"API server CPU, ms/pod", &Measure::server_cpu_ms},
                             {"peak MiB", &Measure::peak_mib},
                             {"events", &Measure::events},
                             {"p50, ms", &Measure::latency_p50},
                             {"p99, ms", &Measure::latency_p99}};

const char* name_of(Contestant contestant) {
  switch (contestant) {
    case Contestant::kPlimsoll:
      return "Plimsoll";
    case Contestant::kSilent:
      return "Plimsoll without events";
    case Contestant::kPeer:
      return "kube-scheduler";
    case Contestant::kCeiling:
      return "ceiling";
  }
  return "?";
}

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char line[512];
  std::va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(line, sizeof line, pattern, arguments);
  va_end(arguments);
  return line;
}

double middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<Measure> of(const Outcome& outcome, Contestant contestant) {
  const auto rounds = outcome.rounds.find(contestant);
  if (rounds == outcome.rounds.end() || rounds->second.empty()) return std::nullopt;
  return median(rounds->second);
}

// "12.3", or nothing if one of the two is missing.
std::string ratio(double of_this, double to_that, const char* pattern) {
  if (of_this <= 0 || to_that <= 0) return "";
  char text[32];
  std::snprintf(text, sizeof text, pattern, of_this / to_that);
  return text;
}

std::string bound_text(const Measure& measure) {
  if (measure.bound == measure.pods) return std::to_string(measure.pods);
  return std::to_string(measure.bound) + " of " + std::to_string(measure.pods);
}

std::string waiting_rows(const Outcome& outcome) {
  std::string rows;
  for (const Contestant who :
       {Contestant::kPlimsoll, Contestant::kSilent, Contestant::kPeer, Contestant::kCeiling}) {
    const auto measure = of(outcome, who);
    if (!measure) continue;
    const bool is_scheduler = who != Contestant::kCeiling;
    rows +=
        format("| %s | %s | %s | %.0f | %.0f | %.0f | %s | %.3f | %.2f | %s | %.0f |\n",
               outcome.load.name.c_str(), name_of(who), bound_text(*measure).c_str(),
               measure->per_second, measure->per_second_from_start, measure->with_events_per_second,
               is_scheduler ? format("%.2f s", measure->first_binding).c_str() : "",
               measure->cpu_ms, measure->server_cpu_ms,
               is_scheduler ? format("%.0f", measure->peak_mib).c_str() : "", measure->events);
  }
  return rows;
}

std::string waiting_ratios(const Outcome& outcome) {
  const auto plimsoll = of(outcome, Contestant::kPlimsoll);
  if (!plimsoll) return "";
  const Measure peer = of(outcome, Contestant::kPeer).value_or(Measure{});
  const Measure ceiling = of(outcome, Contestant::kCeiling).value_or(Measure{});
  return format(
      "| %s | %s | %s | %s | %s | %s | %s |\n", outcome.load.name.c_str(),
      ratio(plimsoll->per_second, ceiling.per_second, "%.2f").c_str(),
      ratio(plimsoll->with_events_per_second, ceiling.with_events_per_second, "%.2f").c_str(),
      ratio(plimsoll->per_second, peer.per_second, "%.1f").c_str(),
      ratio(plimsoll->per_second_from_start, peer.per_second_from_start, "%.1f").c_str(),
      ratio(plimsoll->cpu_ms, peer.cpu_ms, "%.4f").c_str(),
      ratio(plimsoll->peak_mib, peer.peak_mib, "%.2f").c_str());
}

std::string arrival_rows(const Outcome& outcome) {
  const auto peer = of(outcome, Contestant::kPeer);
  std::string rows;
  for (const Contestant who : {Contestant::kPlimsoll, Contestant::kPeer}) {
    const auto measure = of(outcome, who);
    if (!measure) continue;
    const bool first = who == Contestant::kPlimsoll && peer.has_value();
    const std::string to_peer = first ? ratio(measure->latency_p50, peer->latency_p50, "%.2f") +
                                            "; " +
                                            ratio(measure->latency_p99, peer->latency_p99, "%.2f") +
                                            "; " + ratio(measure->cpu_ms, peer->cpu_ms, "%.3f")
                                      : "";
    rows += format("| %s | %s | %s | %.1f | %.1f | %.3f | %s |\n", outcome.load.name.c_str(),
                   name_of(who), bound_text(*measure).c_str(), measure->latency_p50,
                   measure->latency_p99, measure->cpu_ms, to_peer.c_str());
  }
  return rows;
}

json figures(const Measure& measure) {
  json object = {{"pods", measure.pods}, {"bound", measure.bound}};
  for (const Field& field : kFields) object[field.name] = measure.*field.value;
  return object;
}

}  // namespace

Measure median(const std::vector<Measure>& rounds) {
  Measure result = rounds.front();
  for (const Measure& round : rounds) result.bound = std::min(result.bound, round.bound);
  for (const Field& field : kFields) {
    std::vector<double> values;
    for (const Measure& round : rounds) values.push_back(round.*field.value);
    result.*field.value = middle(std::move(values));
  }
  return result;
}

std::string tables(const std::vector<Outcome>& outcomes) {
  std::string waiting;
  std::string ratios;
  std::string arrivals;
  for (const Outcome& outcome : outcomes) {
    if (outcome.load.arrival > 0) {
      arrivals += arrival_rows(outcome);
    } else {
      waiting += waiting_rows(outcome);
      ratios += waiting_ratios(outcome);
    }
  }
  std::string text;
  if (!waiting.empty()) {
    text +=
        "| pods first, then the scheduler | who | pods | bound/s | from start | with events | "
        "first binding | "
        "CPU s/1,000 pods | API server CPU s/1,000 | peak MiB | events |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n" +
        waiting +
        "\n| Plimsoll's ratios | bound/s to ceiling | with events | bound/s to kube-scheduler | "
        "from start | "
        "CPU to kube-scheduler | memory |\n| --- | --- | --- | --- | --- | --- | --- |\n" +
        ratios;
  }
  if (!arrivals.empty()) {
    if (!text.empty()) text += "\n";
    text +=
        "| steady arrival | who | pods | p50, ms | p99, ms | CPU s/1,000 pods | Plimsoll to "
        "kube-scheduler: p50; p99; CPU |\n| --- | --- | --- | --- | --- | --- | --- |\n" +
        arrivals;
  }
  return text;
}

json as_json(const std::vector<Outcome>& outcomes) {
  json list = json::array();
  for (const Outcome& outcome : outcomes) {
    json contestants = json::object();
    for (const auto& [who, rounds] : outcome.rounds) {
      if (rounds.empty()) continue;
      json all = json::array();
      for (const Measure& round : rounds) all.push_back(figures(round));
      contestants[name_of(who)] = {{"median", figures(median(rounds))}, {"rounds", all}};
    }
    list.push_back({{"load", outcome.load.name},
                    {"nodes", outcome.load.fleet.nodes},
                    {"zones", outcome.load.fleet.zones},
                    {"pods per second", outcome.load.arrival},
                    {"contestants", contestants}});
  }
  return list;
}

}  // namespace plimsoll::bench
