#include <algorithm>

#include "lint/examiner.hpp"

namespace plimsoll::lint {

std::string_view part_name(Part part) {
  return part == Part::kFilter ? "filter" : "score";
}

void Notes::note(int part, const std::string& what, const std::string& example,
                 const std::string& advice, bool unless_signed) {
  const auto [at, is_new] = found_.try_emplace(what, Found{{what, example, advice, 0}, true, part});
  ++at->second.finding.times;
  if (!unless_signed && at->second.unless_signed) {
    at->second.unless_signed = false;
    at->second.finding.example = example;
  }
}

void Notes::find(Part part, const std::string& what, const std::string& example,
                 const std::string& advice, bool unless_signed) {
  note(static_cast<int>(part), what, example, advice, unless_signed);
}

void Notes::find_unsteady(Part part, const std::string& what, const std::string& example,
                          const std::string& advice) {
  unsteady_[static_cast<int>(part)] = true;
  note(-1, what, example, advice, false);
}

void Notes::find_always(const std::string& what, const std::string& example,
                        const std::string& advice) {
  note(-1, what, example, advice, false);
}

std::vector<Finding> Notes::findings(bool signs) const {
  std::vector<Finding> all;
  for (const auto& [what, found] : found_) {
    if (found.unless_signed && signs) continue;
    if (found.part >= 0 && unsteady_[found.part]) continue;
    all.push_back(found.finding);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Finding& a, const Finding& b) { return a.times > b.times; });
  return all;
}

}  // namespace plimsoll::lint
