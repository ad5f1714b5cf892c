#include "bench/openb/report.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/openb/policies.hpp"
#include "bench/support/plot.hpp"

namespace plimsoll::openb {
namespace {

struct Spread {
  double mean = 0;
  double deviation = 0;  // of a sample
};

template <typename Figure>
Spread spread(const std::vector<Outcome>& outcomes, const Figure& figure) {
  Spread s;
  for (const Outcome& outcome : outcomes) s.mean += figure(outcome);
  s.mean /= static_cast<double>(outcomes.size());
  for (const Outcome& outcome : outcomes)
    s.deviation += (figure(outcome) - s.mean) * (figure(outcome) - s.mean);
  if (outcomes.size() > 1)
    s.deviation = std::sqrt(s.deviation / static_cast<double>(outcomes.size() - 1));
  return s;
}

// Allocation at 130 % requested, as FGD's authors published it: their simulator's mean of ten
// seeds.
struct PublishedFigures {
  const char* workload;
  double best_fit;
  double packing;
  double fgd;
};
constexpr PublishedFigures kPublished[] = {
    {"default", 93.08, 92.00, 95.39},     {"cpu050", 93.79, 93.72, 95.21},
    {"cpu100", 93.44, 92.72, 95.35},      {"cpu200", 92.40, 90.22, 95.05},
    {"cpu250", 91.45, 88.28, 93.41},      {"gpushare40", 91.69, 90.03, 94.15},
    {"gpushare60", 89.36, 87.45, 91.40},  {"gpushare80", 87.01, 85.00, 89.30},
    {"gpushare100", 85.01, 82.57, 86.90}, {"gpuspec10", 93.30, 92.46, 94.95},
    {"gpuspec20", 93.30, 92.94, 94.84},   {"gpuspec25", 93.23, 92.98, 94.74},
    {"gpuspec33", 93.09, 93.22, 94.55},   {"multigpu20", 93.93, 93.71, 95.65},
    {"multigpu30", 94.72, 94.87, 96.46},  {"multigpu40", 95.23, 95.74, 96.99},
    {"multigpu50", 95.74, 96.18, 97.18},
};

void print_workload(const std::string& workload, const std::vector<std::string>& policies,
                    const Outcomes& outcomes) {
  const size_t seeds = outcomes.at({workload, policies.front()}).size();
  std::printf("\n%s, %zu seeds\n\n", workload.c_str(), seeds);
  std::printf("| policy | allocated at 100 %% | at 130 %% | sd |");
  for (const char* name : kClasses) std::printf(" %s refused |", name);
  std::printf("\n| --- | --- | --- | --- |");
  for (size_t i = 0; i < std::size(kClasses); ++i) std::printf(" --- |");
  std::printf("\n");
  for (const std::string& policy : policies) {
    const std::vector<Outcome>& runs = outcomes.at({workload, policy});
    const Spread at_100 = spread(runs, [](const Outcome& o) { return o.allocated_at(100); });
    const Spread at_130 = spread(runs, [](const Outcome& o) { return o.allocated_at(130); });
    std::printf("| %s | %.2f | %.2f | %.2f |", policy.c_str(), at_100.mean, at_130.mean,
                at_130.deviation);
    for (size_t c = 0; c < kClassCount; ++c) {
      const auto refused =
          spread(runs, [c](const Outcome& o) { return static_cast<double>(o.refused[c]); });
      const auto came =
          spread(runs, [c](const Outcome& o) { return static_cast<double>(o.came[c]); });
      std::printf(" %.1f of %.0f |", refused.mean, came.mean);
    }
    std::printf("\n");
  }
}

}  // namespace

void print_tables(const std::vector<std::string>& workloads,
                  const std::vector<std::string>& policies, const Outcomes& outcomes) {
  std::printf("| allocated at 130 %% |");
  for (const std::string& policy : policies) std::printf(" %s |", policy.c_str());
  std::printf(" FGD, published | BestFit, published | Packing, published |\n| --- |");
  for (size_t i = 0; i < policies.size() + 3; ++i) std::printf(" --- |");
  std::printf("\n");
  for (const std::string& workload : workloads) {
    std::printf("| %s |", workload.c_str());
    for (const std::string& policy : policies)
      std::printf(" %.2f |", spread(outcomes.at({workload, policy}), [](const Outcome& outcome) {
                               return outcome.allocated_at(130);
                             }).mean);
    bool known = false;
    for (const PublishedFigures& figures : kPublished) {
      if (workload != figures.workload) continue;
      std::printf(" %.2f | %.2f | %.2f |\n", figures.fgd, figures.best_fit, figures.packing);
      known = true;
    }
    if (!known) std::printf(" | | |\n");
  }
  for (const std::string& workload : workloads) print_workload(workload, policies, outcomes);
  std::fflush(stdout);
}

Result<void> draw(const std::string& folder, const std::string& workload,
                  const std::vector<std::string>& policies, const Outcomes& outcomes) {
  bench::Plot plot{"GPUs allocated, workload " + workload,
                   "GPUs asked for so far, % of the cluster's",
                   "GPUs allocated, %",
                   80,
                   130,
                   10,
                   70,
                   100,
                   5,
                   {}};
  for (const std::string& policy : policies) {
    bench::Curve curve;
    for (const Policy& known : all_policies())
      if (known.name == policy) curve.name = known.meaning;
    for (double at = plot.x_low; at <= plot.x_high; at += 0.5)
      curve.points.emplace_back(
          at, spread(outcomes.at({workload, policy}), [at](const Outcome& outcome) {
                return outcome.allocated_at(at);
              }).mean);
    plot.curves.push_back(std::move(curve));
  }
  const std::string path = folder + "/" + workload + ".svg";
  std::ofstream file(path);
  file << bench::svg_of(plot);
  if (!file.flush()) return fail(ErrorCode::kInvalid, path + ": cannot be written");
  return {};
}

Result<void> write_csv(const std::string& file, const Outcome& outcome) {
  const std::string unfinished = file + ".part";
  {
    std::ofstream out(unfinished);
    out << "what,name,value,of\ncapacity,,0," << outcome.capacity << "\n";
    for (size_t c = 0; c < kClassCount; ++c)
      out << "refused," << kClasses[c] << "," << outcome.refused[c] << "," << outcome.came[c]
          << "\n";
    out << "seconds,," << outcome.seconds << ",\n";
    Point last;
    for (size_t i = 0; i < outcome.points.size(); ++i) {
      const Point& point = outcome.points[i];
      const bool ends = i + 1 == outcome.points.size();
      const auto line = [&](const Point& p) { return p.arrived * 200 / outcome.capacity; };
      if (!ends && i > 0 && line(point) == line(last)) {
        last = point;
        continue;
      }
      // The last point of each half percent, so that values at full percents are exact.
      if (i > 0) out << "point,," << last.allocated << "," << last.arrived << "\n";
      if (ends) out << "point,," << point.allocated << "," << point.arrived << "\n";
      last = point;
    }
    if (!out.flush()) return fail(ErrorCode::kInvalid, file + ": cannot be written");
  }
  std::error_code error;
  std::filesystem::rename(unfinished, file, error);
  if (error) return fail(ErrorCode::kInvalid, file + ": " + error.message());
  return {};
}

Result<Outcome> read_csv(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return fail(ErrorCode::kNotFound, file + ": cannot be read");
  Outcome outcome;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::string what;
    std::string name;
    std::string value;
    std::string of;
    std::getline(cells, what, ',');
    std::getline(cells, name, ',');
    std::getline(cells, value, ',');
    std::getline(cells, of, ',');
    const auto whole = [](const std::string& text) {
      return std::strtoll(text.c_str(), nullptr, 10);
    };
    if (what == "capacity") outcome.capacity = whole(of);
    if (what == "seconds") outcome.seconds = std::strtod(value.c_str(), nullptr);
    if (what == "point") outcome.points.push_back({whole(of), whole(value)});
    for (size_t c = 0; what == "refused" && c < kClassCount; ++c) {
      if (name != kClasses[c]) continue;
      outcome.refused[c] = static_cast<size_t>(whole(value));
      outcome.came[c] = static_cast<size_t>(whole(of));
    }
  }
  if (outcome.capacity <= 0 || outcome.points.empty())
    return fail(ErrorCode::kInvalid, file + ": is not what a run writes");
  return outcome;
}

}  // namespace plimsoll::openb
