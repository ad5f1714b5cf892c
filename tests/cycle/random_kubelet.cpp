#include "tests/cycle/random_kubelet.hpp"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;

// What a Guaranteed pod of one container takes for itself; nothing for other pods.
RandomKubelet::Amounts exclusive(const Json& pod) {
  const Json resources = pod["spec"]["containers"][0].value("resources", Json::object());
  if (!resources.contains("limits") || !resources["limits"].contains("cpu")) return {};
  const Json& limits = resources["limits"];
  if (limits != resources.value("requests", limits)) return {};
  const std::string cpu = limits["cpu"];
  const std::string memory = limits["memory"];  // "2Gi"
  return {std::stoi(cpu), std::stoi(memory)};
}

}  // namespace

RandomKubelet::Amounts RandomKubelet::free(size_t zone) const {
  Amounts left{kZoneCpu, kZoneGib};
  for (const auto& [uid, held] : held_) {
    if (held.zone != zone) continue;
    left.cpu -= held.amounts.cpu;
    left.gib -= held.amounts.gib;
  }
  return left;
}

std::string RandomKubelet::admit(const Json& pod) {
  const std::string uid = pod["metadata"]["uid"];
  const Amounts wanted = exclusive(pod);
  if (zoned && wanted.cpu > 0) {
    size_t zone = 0;
    while (zone < kZones && (free(zone).cpu < wanted.cpu || free(zone).gib < wanted.gib)) ++zone;
    if (zone == kZones) return "TopologyAffinityError";
    held_[uid] = {zone, wanted};
  }
  names_[uid] = pod["metadata"]["name"];
  return "";
}

}  // namespace plimsoll::testing
