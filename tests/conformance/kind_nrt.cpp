// NodeResourceTopologyMatch: Filter and Score on one node, as scheduler-plugins decides it.

#include <algorithm>
#include <bit>
#include <optional>
#include <plimsoll/args.hpp>
#include <plimsoll/quantity.hpp>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/topology/report/numa_node.hpp"
#include "plugins/topology/score/score.hpp"
#include "plugins/topology/score/scoring_args.hpp"
#include "plugins/topology/verdict/fit.hpp"
#include "tests/conformance/kinds.hpp"

namespace plimsoll::conformance {
namespace {

namespace topo = plimsoll::topology;

// One case, decoded by the project's own code.
struct Scene {
  SymbolTable symbols;
  PodRef pod;
  NodeRef node;
  std::optional<topo::NumaNode> zones;
  topo::Scratch scratch;

  [[nodiscard]] const plimsoll_numa_node* view() const { return zones ? &zones->view() : nullptr; }
  [[nodiscard]] topo::NodeAllocatable allocatable() const {
    return {&node->allocatable, nullptr, 0};
  }
};

// The reference's tables leave names out, which no API server would.
Json named(Json object, const char* name) {
  if (object["metadata"].value("name", "").empty()) object["metadata"]["name"] = name;
  return object;
}

bool decode(const Json& test_case, Scene& scene, Findings& findings) {
  auto pod = decode_pod(named(test_case.at("pod"), "pod").dump(), scene.symbols);
  auto node = decode_node(named(test_case.at("node"), "node").dump(), scene.symbols);
  if (!pod || !node) {
    findings.add("decoding: " + (!pod ? pod.error().message : node.error().message));
    return false;
  }
  scene.pod = *pod;
  scene.node = *node;
  const Json& nrt = member(test_case, "nrt");
  if (nrt.is_null()) return true;
  auto object = topo::parse_nrt(named(nrt, "node").dump());
  if (!object) {
    findings.add("decoding nrt: " + object.error());
    return false;
  }
  scene.zones.emplace(
      *object, [&](std::string_view name) { return scene.symbols.resource_index(name); }, 0);
  return true;
}

Json status_of(topo::Verdict verdict) {
  if (verdict == topo::Verdict::kFits) return {{"code", "Success"}};
  return {{"code", "Unschedulable"}, {"reasons", {topo::message_of(verdict)}}};
}

// The calls that the reference's own table makes to its search for zones.
void check_zones_required(const Json& test_case, Findings& findings) {
  SymbolTable symbols;
  topo::NrtObject nrt;
  for (const Json& zone : test_case.at("numaNodes")) {
    topo::NrtZone made;
    made.id = zone.at("NUMAID").get<uint32_t>();
    for (const auto& [name, value] : zone.at("Resources").items()) {
      const auto amount =
          sdk::parse_quantity(value.get<std::string>(), sdk::unit_of(name)).value_or(0);
      made.resources.push_back({name, amount, amount, amount});
    }
    for (const auto& [id, value] : member(zone, "Costs").items()) {
      made.costs.push_back({static_cast<uint32_t>(std::stoul(id)), value.get<int32_t>()});
    }
    nrt.zones.push_back(std::move(made));
  }
  const topo::NumaNode node(
      nrt, [&](std::string_view name) { return symbols.resource_index(name); }, 0);
  topo::Requests requests;
  for (const auto& [name, value] : test_case.at("requests").items()) {
    const auto amount = sdk::parse_quantity(value.get<std::string>(), sdk::unit_of(name));
    requests.push_back(
        {symbols.resource_index(name), amount.value_or(0), name, topo::traits_of(name)});
  }
  const auto zones = topo::zones_required(requests, node.view(), node.view().free);
  Json bits;
  for (uint64_t rest = zones.columns; rest != 0; rest &= rest - 1) {
    bits.push_back(node.view().zone_ids[std::countr_zero(rest)]);
  }
  findings.expect("bits", member(test_case, "bits"), bits);
  findings.expect("isMinDistance", member(test_case, "isMinDistance"), zones.min_distance);
}

}  // namespace

void check_nrt_filter(const Json& test_case, Findings& findings) {
  Scene scene;
  if (!decode(test_case, scene, findings)) return;
  const topo::PodRequest request(*scene.pod);
  topo::Verdict verdict =
      topo::reference_fit(request, scene.view(), scene.allocatable(), scene.scratch);
  // A report known to be out of date refuses every pod that looks at zones.
  if (test_case.at("kind") == "stale") {
    verdict =
        topo::needs_alignment(request) ? topo::Verdict::kInvalidTopology : topo::Verdict::kFits;
  }
  findings.expect("status", test_case.at("status"), status_of(verdict));
}

void check_nrt_score(const Json& test_case, Findings& findings) {
  if (test_case.value("fn", "") == "numaNodesRequired") {
    return check_zones_required(test_case, findings);
  }
  Scene scene;
  if (!decode(test_case, scene, findings)) return;
  const Json args{{"scoringStrategy", test_case.at("args").at("scoringStrategy")}};
  topo::ScoringStrategy strategy;
  try {
    sdk::read_args(args.dump(), {},
                   [&](sdk::Args& given) { strategy = topo::read_scoring_strategy(given); });
  } catch (const std::runtime_error& error) {
    findings.add(error.what());
  }
  const topo::PodRequest request(*scene.pod);
  const int64_t score = topo::score_node(strategy, request, scene.view(), scene.scratch);
  if (score < 0 || score > 100) findings.add("score out of range: " + std::to_string(score));
  if (test_case.contains("panic")) return;  // the reference has no result to compare with
  findings.expect("score", test_case.at("score"), score);
  if (!test_case.contains("filter")) return;
  const topo::Verdict verdict =
      topo::reference_fit(request, scene.view(), scene.allocatable(), scene.scratch);
  findings.expect("filter", test_case.at("filter"), status_of(verdict));
}

}  // namespace plimsoll::conformance
