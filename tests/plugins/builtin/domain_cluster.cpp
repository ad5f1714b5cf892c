#include "tests/plugins/builtin/domain_cluster.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "framework/api/decode/decode.hpp"
#include "framework/runtime/every_point.hpp"
#include "plugins/builtin/builtin.hpp"

namespace plimsoll::builtin_test {
namespace {

using Json = nlohmann::json;

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

const Modules& modules() {
  static const Modules kModules = [] {
    Modules made;
    made.add_builtin(builtin_modules());
    return made;
  }();
  return kModules;
}

}  // namespace

std::unique_ptr<lint::TrialCluster> new_cluster(const std::map<std::string, std::string>& args) {
  ProfileSpec spec;
  spec.scheduler_name = "test";
  for (const auto& [plugin, json] : args) spec.args[plugin] = json;
  for (const char* plugin :
       {"PrioritySort", "PodTopologySpread", "InterPodAffinity", "DefaultBinder"}) {
    if (auto made = enable_at_every_point(spec, modules(), plugin); !made) {
      throw std::runtime_error(made.error().message);
    }
  }
  auto cluster = value_or_throw(lint::TrialCluster::create(modules(), spec));
  cluster->synced();
  return cluster;
}

PodRef decoded_pod(lint::TrialCluster& cluster, const Json& pod) {
  return value_or_throw(decode_pod(pod.dump(), cluster.symbols()));
}

void put_node(lint::TrialCluster& cluster, const Json& node) {
  cluster.put_node(value_or_throw(decode_node(node.dump(), cluster.symbols())));
}

void put_namespace(lint::TrialCluster& cluster, const std::string& name, const Json& labels) {
  const Json object = {{"metadata", {{"name", name}, {"labels", labels}}}};
  cluster.put_object({"namespaces", "", name, object.dump()});
}

Json answer_of(lint::TrialCluster& cluster, const PodRef& pod) {
  Framework& framework = cluster.framework();
  const auto cycle = framework.new_cycle();
  const PreFilterOutcome outcome = framework.run_pre_filter(*cycle, *pod);
  if (!outcome.status.ok()) {
    const uint32_t reason = outcome.status.reason;
    return reason != 0 ? cluster.reason_text(reason) : outcome.status.error;
  }
  const auto& all = cluster.state().rows();
  std::vector<uint8_t> codes(all.size());
  std::vector<uint32_t> reasons(all.size());
  std::vector<PluginIndex> rejectors(all.size(), kNoPlugin);
  const NodeRows rows(all, cluster.state().row_slots(), &cluster.state().columns());
  EXPECT_TRUE(framework.run_filters(*cycle, *pod, rows, {codes, reasons, rejectors}).ok());
  Json answer;
  std::vector<const plimsoll_node_info*> feasible;
  std::vector<uint32_t> slots;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string node(view(all[i]->node->meta.name));
    answer["verdicts"][node] = cluster.reason_text(reasons[i]);
    if (codes[i] != PLIMSOLL_SUCCESS) continue;
    feasible.push_back(all[i]);
    slots.push_back(all[i]->slot);
  }
  if (feasible.size() < 2) return answer;
  const NodeRows scored(feasible, slots, &cluster.state().columns());
  EXPECT_TRUE(framework.run_pre_score(*cycle, *pod, scored).ok());
  ScoreTable scores;
  EXPECT_TRUE(framework.run_score(*cycle, *pod, scored, scores, true).ok());
  for (size_t i = 0; i < feasible.size(); ++i) {
    Json& here = answer["scores"][std::string(view(feasible[i]->node->meta.name))];
    here = Json::array();
    for (const auto& part : scores.parts) here.push_back(part.weighted[i]);
  }
  return answer;
}

}  // namespace plimsoll::builtin_test
