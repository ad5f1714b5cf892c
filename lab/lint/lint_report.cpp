#include <nlohmann/json.hpp>

#include "lab/lint/lint_command.hpp"

namespace plimsoll::cli {
namespace {

using nlohmann::ordered_json;

std::string times_text(size_t times) {
  return times == 1 ? "once" : std::to_string(times) + " times";
}

std::string declared_text(uint32_t aspects) {
  return aspects == 0 ? "nothing (asked each time)" : lint::aspect_names(aspects);
}

std::string part_text(const char* name, const lint::PartReport& part, bool filters) {
  std::string text = "  " + std::string(name) + " declares " + declared_text(part.declared) + "; " +
                     std::to_string(part.answers) + " answers";
  if (filters) text += ", " + std::to_string(part.refused) + " of them refusals";
  return text + "; " + std::to_string(part.compared) + " that had to stay as they were\n";
}

ordered_json part_json(const lint::PartReport& part) {
  if (!part.present) return nullptr;
  return {{"declares", lint::aspect_names(part.declared)},
          {"seenToRestOn", lint::aspect_names(part.rests_on)},
          {"answers", part.answers},
          {"refusals", part.refused},
          {"compared", part.compared}};
}

}  // namespace

std::string lint_text(const std::vector<lint::Report>& reports, const LintArguments& arguments) {
  std::string text;
  size_t findings = 0;
  for (const lint::Report& report : reports) {
    text += report.plugin + ": ";
    text += report.findings.empty() ? "nothing found"
                                    : std::to_string(report.findings.size()) + " found";
    text += report.untried.empty() ? "\n" : ", and not all of it was tried\n";
    if (report.filter.present) text += part_text("filter", report.filter, true);
    if (report.score.present) text += part_text("score", report.score, false);
    for (const lint::Finding& finding : report.findings) {
      ++findings;
      text += "  FOUND: " + finding.what + " (" + times_text(finding.times) +
              ")\n    seen: " + finding.example + "\n    do: " + finding.advice + "\n";
    }
    for (const std::string& same : report.untried) {
      text += "  NOT TRIED: " + same +
              "\n    do: lint a build without optimisation (-DCMAKE_BUILD_TYPE=Debug), whose file "
              "has all its texts: a compiler that optimises takes short ones apart, such as the "
              "name of a label; or give args, objects and words that it takes notice of (--args, "
              "--objects, --words), or more --rounds\n";
    }
    for (const std::string& hint : report.hints) text += "  hint: " + hint + "\n";
    text += "\n";
  }
  return text + (findings == 0 ? "nothing" : std::to_string(findings)) + " found in " +
         std::to_string(reports.size()) + (reports.size() == 1 ? " plugin" : " plugins") + " and " +
         std::to_string(arguments.rounds) + " clusters; the same again with --seed " +
         std::to_string(arguments.seed) + " --rounds " + std::to_string(arguments.rounds) + "\n";
}

std::string lint_json(const std::vector<lint::Report>& reports, const LintArguments& arguments) {
  ordered_json plugins = ordered_json::array();
  for (const lint::Report& report : reports) {
    ordered_json findings = ordered_json::array();
    for (const lint::Finding& finding : report.findings) {
      findings.push_back({{"what", finding.what},
                          {"seen", finding.example},
                          {"do", finding.advice},
                          {"times", finding.times}});
    }
    plugins.push_back({{"name", report.plugin},
                       {"filter", part_json(report.filter)},
                       {"score", part_json(report.score)},
                       {"signs", report.signs},
                       {"normalizesByExtremes", report.by_extremes},
                       {"podFieldsThatMatter", report.matters},
                       {"findings", std::move(findings)},
                       {"notTried", report.untried},
                       {"hints", report.hints}});
  }
  const ordered_json all = {
      {"seed", arguments.seed}, {"rounds", arguments.rounds}, {"plugins", std::move(plugins)}};
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::cli
