// plimsoll-conformance KIND FILE...: runs Plimsoll's own code on vectors and compares.
//
// Kinds whose cases are judged one by one (admit, view counts) print a table of wrong shares; they
// fail if more is wrong than the kind tolerates, or a line cannot be run.
//
// Kinds whose reference is wrong under known rules (device) print a table of these rules: in how
// many decisions, and in how many cases, the right result is not the reference's. They fail if that
// is more than the kind allows.
//
// Before the last line: how much was compared or left out, and "skipped N: CAUSE" for cases that
// rest on what does not exist here. The last line is "N passed, M failed". Exit status: 0 all
// passed, 1 something failed, 2 the command line is wrong, a file cannot be read, or there was no
// case.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/kinds.hpp"
#include "tests/conformance/vector_file.hpp"

namespace plimsoll::conformance {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;
constexpr size_t kMaxLineLength = 2000;

struct Options {
  std::string kind;
  std::vector<std::string> files;
  std::string only;
  std::string view;
  size_t max_failures = 10;
};

struct Totals {
  size_t passed = 0;
  size_t failed = 0;
  size_t wrong = 0;                       // of those that are judged one by one
  std::map<std::string, size_t> skipped;  // by cause
  std::map<std::string, size_t> tallies;
  std::map<std::string, Judged> judged;  // by row of the table
  Differences differences;
  size_t different_cases = 0;
  std::map<std::string, size_t> cases_by_rule;

  [[nodiscard]] size_t cases() const {
    size_t sum = passed + failed + wrong;
    for (const auto& [cause, count] : skipped) sum += count;
    return sum;
  }
};

void report(const std::string& id, const Findings& findings) {
  std::cout << "FAILED " << id << "\n";
  for (const std::string& text : findings.texts()) {
    std::cout << "  " << text.substr(0, kMaxLineLength) << "\n";
  }
}

// One line of a file. A line that is no case counts as failed: nothing is passed over in silence.
void run_case(const Kind& kind, std::string_view line, const Options& options, Totals& totals) {
  Findings findings;
  std::string id = "(a line without an id)";
  try {
    const Json test_case = Json::parse(line);
    id = test_case.value("id", test_case.value("seq", id));
    if (!options.only.empty() && id != options.only) return;
    kind.check(test_case, findings);
  } catch (const std::exception& problem) {
    findings.add(std::string("the case cannot be run: ") + problem.what());
  }
  for (const std::string& note : findings.notes())
    std::cout << "note " << id << ": " << note << "\n";
  for (const auto& [what, count] : findings.tallies()) totals.tallies[what] += count;
  for (const auto& [row, judged] : findings.judged()) {
    totals.judged[row] += judged;
    totals.passed += judged.right;
    totals.wrong += judged.false_admits + judged.false_rejects;
  }
  totals.differences.decisions += findings.differences().decisions;
  totals.differences.different += findings.differences().different;
  totals.different_cases += findings.differences().different > 0 ? 1 : 0;
  for (const auto& [rule, count] : findings.differences().by_rule) {
    totals.differences.by_rule[rule] += count;
    totals.cases_by_rule[rule] += count > 0 ? 1 : 0;
  }
  if (findings.empty()) {
    if (!findings.judged().empty()) return;
    const std::string& cause = findings.skipped_because();
    ++(cause.empty() ? totals.passed : totals.skipped[cause]);
    return;
  }
  if (totals.failed++ < options.max_failures) report(id, findings);
}

void print_judged(const std::map<std::string, Judged>& rows) {
  const auto print = [](const std::string& row, const Judged& judged) {
    const size_t cases = judged.right + judged.false_admits + judged.false_rejects;
    const auto share = [&](size_t part) {
      return 100.0 * static_cast<double>(part) / static_cast<double>(cases);
    };
    std::printf("%-28s %8zu %7.2f %% %11.2f %% %12.2f %%\n", row.c_str(), cases,
                share(judged.false_admits + judged.false_rejects), share(judged.false_admits),
                share(judged.false_rejects));
  };
  std::printf("%-28s %8s %9s %13s %14s\n", "", "cases", "wrong", "false admits", "false rejects");
  Judged all;
  for (const auto& [row, judged] : rows) {
    print(row, judged);
    all += judged;
  }
  print("all", all);
  std::fflush(stdout);
}

void print_differences(const Totals& totals) {
  const auto print = [&](const std::string& row, size_t decisions, size_t cases) {
    const auto share = [](size_t part, size_t all) {
      return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
    };
    std::printf("%-72s %9zu %7.2f %% %7zu %7.2f %%\n", row.c_str(), decisions,
                share(decisions, totals.differences.decisions), cases,
                share(cases, totals.cases()));
  };
  std::printf("%-72s %9s %9s %7s %9s\n", "not the reference's result, but the right one",
              "decisions", "", "cases", "");
  for (const auto& [rule, count] : totals.differences.by_rule)
    print(rule, count, totals.cases_by_rule.at(rule));
  print("under some rule", totals.differences.different, totals.different_cases);
  print("all", totals.differences.decisions, totals.cases());
  std::fflush(stdout);
}

int run(const Options& options) {
  const auto table = kinds();
  const auto kind = std::find_if(table.begin(), table.end(), [&](const Kind& each) {
    return each.name == options.kind && (options.view.empty() || each.view == options.view);
  });
  if (kind == table.end()) {
    std::cerr << "unknown kind \"" << options.kind << "\"";
    if (!options.view.empty()) std::cerr << " with a view \"" << options.view << "\"";
    std::cerr << "; there are:";
    for (const Kind& each : table) {
      std::cerr << " " << each.name;
      if (!each.view.empty()) std::cerr << " (" << each.view << ")";
    }
    std::cerr << "\n";
    return kExitUsage;
  }
  Totals totals;
  for (const std::string& file : options.files) {
    const auto read = for_each_line(file, [&](std::string_view line) {
      run_case(*kind, line, options, totals);
      return true;
    });
    if (!read) {
      std::cerr << read.error().message << "\n";
      return kExitUsage;
    }
  }
  if (totals.cases() == 0) {
    std::cerr << (options.only.empty() ? "there is no case in these files"
                                       : "no case has the id " + options.only)
              << "\n";
    return kExitUsage;
  }
  if (totals.failed > options.max_failures) {
    std::cout << "... and " << totals.failed - options.max_failures << " more\n";
  }
  for (const auto& [what, count] : totals.tallies) std::cout << count << " " << what << "\n";
  for (const auto& [cause, count] : totals.skipped) {
    std::cout << "skipped " << count << ": " << cause << "\n";
  }
  if (!totals.judged.empty()) print_judged(totals.judged);
  if (totals.differences.decisions > 0) print_differences(totals);
  std::cout << totals.passed << " passed, " << totals.failed + totals.wrong << " failed"
            << std::endl;
  const double tolerated = kind->tolerated * static_cast<double>(totals.passed + totals.wrong);
  const double may_differ = kind->different * static_cast<double>(totals.differences.decisions);
  const bool good = totals.failed == 0 && static_cast<double>(totals.wrong) <= tolerated &&
                    static_cast<double>(totals.differences.different) <= may_differ;
  return good ? 0 : kExitFailed;
}

int main_of(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs Plimsoll's own code on vectors and compares with the expected outputs."};
  std::string kinds_text = "The kind of the files:";
  for (const Kind& kind : kinds()) {
    kinds_text += "\n" + std::string(kind.name);
    if (!kind.view.empty()) kinds_text += " --view " + std::string(kind.view);
    kinds_text += ": " + std::string(kind.what);
  }
  app.add_option("KIND", options.kind, kinds_text)->required();
  app.add_option("FILE", options.files, "Vector files, .jsonl or .jsonl.gz")->required();
  app.add_option("--only", options.only, "Run only the case with this id");
  app.add_option("--view", options.view, "How much of a case is known, for kinds that have views");
  app.add_option("--max-failures", options.max_failures, "Print at most this many failures")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : kExitUsage;
  }
  return run(options);
}

}  // namespace
}  // namespace plimsoll::conformance

int main(int argc, char** argv) {
  try {
    return plimsoll::conformance::main_of(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "plimsoll-conformance: %s\n", problem.what());
    return 2;
  }
}
