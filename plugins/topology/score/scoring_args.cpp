#include "plugins/topology/score/scoring_args.hpp"

#include <plimsoll/args.hpp>

namespace plimsoll::topology {
namespace {

void read_type(sdk::Args& args, Strategy& type, Offered offered) {
  std::vector<std::pair<std::string_view, Strategy>> words = {
      {"LeastAllocated", Strategy::kLeastAllocated},
      {"MostAllocated", Strategy::kMostAllocated},
      {"BalancedAllocation", Strategy::kBalancedAllocation},
      {"LeastNUMANodes", Strategy::kLeastNumaNodes},
      {"PreserveLargeZones", Strategy::kPreserveLargeZones}};
  const auto* given = args.member("type");
  if (offered == Offered::kReference) {
    if (given != nullptr && given->is_text(words.back().first)) {
      return args.problem("type", "is PreserveLargeZones, and only TopologyScore has it");
    }
    words.pop_back();
  }
  args.choice("type", type, words);
  args.require("type");
}

}  // namespace

ScoringStrategy read_scoring_strategy(sdk::Args& args, Offered offered) {
  ScoringStrategy strategy;
  args.object("scoringStrategy", [&](sdk::Args& given) {
    read_type(given, strategy.type, offered);
    std::vector<ResourceWeight> resources;
    given.each_object("resources", [&](sdk::Args& entry) {
      entry.refuse_nulls();
      ResourceWeight& resource = resources.emplace_back();
      entry.read("weight", resource.weight);
      const bool named = entry.read("name", resource.name);
      if (named ? resource.name.empty() : !entry.has("name")) {
        entry.problem("name", "must be given");
      }
    });
    if (!resources.empty()) strategy.resources = std::move(resources);
  });
  return strategy;
}

}  // namespace plimsoll::topology
