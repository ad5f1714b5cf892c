#pragma once
// `plimsoll simulate --report`: the topology results of a simulation.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/simulate/simulation.hpp"

namespace plimsoll::cli {

// Rejections by reason, held-back pods, zone utilisation, cross-zone pods, accuracy of predictions.
[[nodiscard]] std::string report_text(const SimulationResult& result);
[[nodiscard]] nlohmann::json report_json(const SimulationResult& result);

}  // namespace plimsoll::cli
