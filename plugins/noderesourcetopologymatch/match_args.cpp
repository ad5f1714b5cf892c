#include "plugins/noderesourcetopologymatch/match_args.hpp"

#include <algorithm>
#include <plimsoll/args.hpp>

#include "plugins/topology/score/scoring_args.hpp"

namespace plimsoll::topology {
namespace {

constexpr std::string_view kLedger =
    "Plimsoll's NUMA ledger takes every report as it comes and keeps what it has promised until a "
    "report covers it";

// The reference takes any text; one that it does not know means something else than it seems.
void idle_choice(sdk::Args& args, std::string_view key,
                 std::initializer_list<std::string_view> usual_first, std::string_view why) {
  std::string given;
  if (!args.read(key, given) || given == *usual_first.begin()) return;
  const bool known = std::find(usual_first.begin(), usual_first.end(), given) != usual_first.end();
  if (known) return args.warn(key, "has no effect: " + std::string(why));
  args.warn(key, "\"" + given + "\" is not known and has no effect");
}

void read_idle_fields(sdk::Args& args) {
  args.idle("cacheResyncPeriodSeconds", int64_t{0}, kLedger);
  args.idle("discardReservedNodes", false, kLedger);
  args.object("cache", [](sdk::Args& cache) {
    idle_choice(cache, "foreignPodsDetect", {"All", "None", "OnlyExclusiveResources"},
                "the ledger counts every pod of a node, whichever scheduler placed it");
    idle_choice(cache, "resyncMethod", {"Autodetect", "All", "OnlyExclusiveResources"}, kLedger);
    idle_choice(cache, "informerMode", {"Dedicated", "Shared"},
                "all plugins share one watch of the pods");
    idle_choice(cache, "resyncScope", {"All", "OnlyResources"}, kLedger);
  });
  bool preempts = false;
  args.choice("preemptionMode", preempts, {{"Enabled", true}, {"Disabled", false}});
  if (preempts) args.warn("preemptionMode", "has no effect: preemption does not depend on it here");
}

}  // namespace

MatchArgs parse_match_args(std::string_view json,
                           const std::function<void(std::string_view)>& warn) {
  MatchArgs out;
  const auto read = [&](sdk::Args& args) {
    out.scoring = read_scoring_strategy(args);
    args.choice("admissionModel", out.admission,
                {{"Kubelet", AdmissionModel::kKubelet}, {"Reference", AdmissionModel::kReference}});
    args.choice("withoutReport", out.without_report,
                {{"WaitIfGone", WithoutReport::kWaitIfGone},
                 {"Wait", WithoutReport::kWait},
                 {"Pass", WithoutReport::kPass}});
    read_idle_fields(args);
  };
  sdk::read_args(json, {"NodeResourceTopologyMatchArgs"}, read, warn);
  return out;
}

}  // namespace plimsoll::topology
