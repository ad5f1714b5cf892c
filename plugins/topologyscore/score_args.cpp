#include "plugins/topologyscore/score_args.hpp"

#include <plimsoll/args.hpp>

#include "plugins/topology/score/scoring_args.hpp"

namespace plimsoll::topology {

ScoreArgs parse_score_args(std::string_view json) {
  ScoreArgs out;
  sdk::read_args(json, {}, [&](sdk::Args& args) {
    out.strategy = read_scoring_strategy(args, Offered::kAll);
    args.choice("zoneView", out.view,
                {{"Predicted", ZoneView::kPredicted}, {"Minimum", ZoneView::kMinimum}});
    if (out.strategy.type == Strategy::kPreserveLargeZones && out.view == ZoneView::kMinimum) {
      args.problem("zoneView",
                   "must be Predicted, which PreserveLargeZones needs, not \"Minimum\"");
    }
  });
  return out;
}

}  // namespace plimsoll::topology
