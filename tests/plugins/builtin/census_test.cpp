// The counts of PodTopologySpread and InterPodAffinity are kept up to date; here they are held
// against a cluster that has the same objects and has just begun to count. Random events: nodes and
// pods come, change and go, namespaces change their labels, pods are assumed and given up.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <plimsoll/fake_host.hpp>
#include <set>
#include <string>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "lab/lint/draw.hpp"
#include "plugins/builtin/affinity/affinity_basis.hpp"
#include "plugins/builtin/affinity/term_costs.hpp"
#include "plugins/builtin/census/label_crowds.hpp"
#include "plugins/builtin/census/match_index.hpp"
#include "tests/plugins/builtin/domain_cluster.hpp"
#include "tests/support/growth.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::builtin_test {
namespace {

using lint::Dice;
using lint::draw;
using Json = nlohmann::json;

const lint::Words& words() {
  static const lint::Words kWords = {.lists = {}, .parts = Json::parse(R"({
    "app": "{web|batch|db}",
    "ns": "{blue|green|grey}",
    "key": "{zone|zone|kubernetes.io/hostname|disk|nobody-has-it}",
    "requirement": {"|": [
      {"key": "app", "operator": "{In|NotIn}", "values": ["=app", "=app"]},
      {"key": "{app|tier}", "operator": "{Exists|DoesNotExist}"}]},
    "selector": {"|": [null, {}, {"matchLabels": {"app": "=app"}},
      {"matchLabels": {"app": "=app"}, "matchExpressions": ["=requirement"]},
      {"matchExpressions": ["=requirement"]}]},
    "nsSelector": {"|": [{}, {"matchLabels": {"team": "{x|y}"}},
      {"matchExpressions": [{"key": "team", "operator": "{NotIn|In}", "values": ["x"]}]}]},
    "term": {"topologyKey": "=key", "labelSelector": "=selector",
             "namespaces?4": ["=ns"], "namespaceSelector?3": "=nsSelector"},
    "preference": {"weight": "#{1-100}", "podAffinityTerm": "=term"},
    "terms": {"requiredDuringSchedulingIgnoredDuringExecution?2": [{"*2": "=term"}],
              "preferredDuringSchedulingIgnoredDuringExecution?2": [{"*2": "=preference"}]},
    "constraint": {"maxSkew": "#{1-2}", "topologyKey": "=key", "labelSelector": "=selector",
                   "whenUnsatisfiable": "{DoNotSchedule|ScheduleAnyway}",
                   "minDomains?5": "#{1-4}", "nodeTaintsPolicy?3": "Honor",
                   "nodeAffinityPolicy?3": "Ignore", "matchLabelKeys?4": ["tier"]},
    "spec": {"containers": [{"name": "c", "image": "i"}],
             "nodeSelector?4": {"disk": "{ssd|hdd}"},
             "tolerations?4": [{"key": "dedicated", "operator": "Exists"}],
             "affinity?2": {"podAffinity?2": "=terms", "podAntiAffinity?2": "=terms"},
             "topologySpreadConstraints?2": [{"*3": "=constraint"}]},
    "labels": {"app?5/6": "=app", "tier?2": "{front|back}"}
  })")};
  return kWords;
}

// A cluster with its history, and the objects that are there.
class CensusTest : public ::testing::Test {
 protected:
  CensusTest() : dice_(test::test_seed()), cluster_(new_cluster()) {}

  Json some_pod() {
    Json pod = {{"metadata", {{"labels", draw(dice_, "=labels", words())}}},
                {"spec", draw(dice_, "=spec", words())}};
    const std::string name = "p" + std::to_string(++pods_made_);
    pod["metadata"]["name"] = pod["metadata"]["uid"] = name;
    pod["metadata"]["namespace"] = draw(dice_, "=ns", words());
    return pod;
  }
  Json some_node() {
    const std::string name = "n" + std::to_string(dice_.below(8));
    Json node = draw(dice_, Json::parse(R"({
      "metadata": {"labels": {"zone?5/6": "{a|b|c}", "disk?2/3": "{ssd|hdd}"}},
      "spec": {"taints?4": [{"key": "dedicated", "effect": "NoSchedule"}]}})"));
    node["metadata"]["name"] = name;
    node["metadata"]["labels"]["kubernetes.io/hostname"] = dice_.one_in(6) ? "shared" : name;
    return node;
  }
  void put_pod(const Json& pod) {
    cluster_->put_pod(decoded_pod(*cluster_, pod));
    pods_[pod["metadata"]["uid"]] = pod;
  }
  void remove_pod(const std::string& uid) {
    cluster_->remove_pod(uid);
    pods_.erase(uid);
  }
  const std::string& some_uid() {
    auto at = pods_.begin();
    std::advance(at, dice_.below(pods_.size()));
    return at->first;
  }

  void something_happens() {
    switch (dice_.below(10)) {
      case 0: {
        const Json node = some_node();
        put_node(*cluster_, node);
        nodes_[node["metadata"]["name"]] = node;
        return;
      }
      case 1: {
        const std::string name = "n" + std::to_string(dice_.below(8));
        if (nodes_.erase(name) != 0) cluster_->remove_node(name);
        return;
      }
      case 2: {
        const std::string name = draw(dice_, "=ns", words());
        namespaces_[name] = draw(dice_, Json::parse(R"({"team?2/3": "{x|y}"})"));
        return put_namespace(*cluster_, name, namespaces_[name]);
      }
      case 3:
        if (!pods_.empty()) remove_pod(std::string(some_uid()));
        return;
      case 4:
        return change_pod();
      case 5:
        return assume_pod();
      default: {
        Json pod = some_pod();
        pod["spec"]["nodeName"] = "n" + std::to_string(dice_.below(8));  // it may not be there yet
        return put_pod(pod);
      }
    }
  }
  void change_pod() {
    if (pods_.empty()) return;
    Json pod = pods_[some_uid()];
    if (dice_.one_in(2)) {
      pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    } else {
      pod["metadata"]["labels"] = draw(dice_, "=labels", words());
    }
    put_pod(pod);
  }
  // Taken and given back, or confirmed by the watch.
  void assume_pod() {
    const auto& rows = cluster_->state().rows();
    if (rows.empty()) return;
    Json pod = some_pod();
    const plimsoll_node_info& node = *rows[dice_.below(rows.size())];
    const auto cycle = cluster_->framework().new_cycle();
    std::string error;
    const PodRef assumed = cluster_->reserve(*cycle, decoded_pod(*cluster_, pod), node, error);
    ASSERT_NE(assumed, nullptr) << error;
    if (dice_.one_in(2)) return cluster_->unreserve(*cycle, assumed);
    pod["spec"]["nodeName"] = std::string(view(node.node->meta.name));
    pods_[pod["metadata"]["uid"]] = pod;
    if (dice_.one_in(2)) put_pod(pod);
  }

  // The same objects, and no history.
  std::unique_ptr<lint::TrialCluster> fresh() const {
    auto cluster = new_cluster();
    for (const auto& [name, labels] : namespaces_) put_namespace(*cluster, name, labels);
    for (const auto& [name, node] : nodes_) put_node(*cluster, node);
    for (const auto& [uid, pod] : pods_) cluster->put_pod(decoded_pod(*cluster, pod));
    return cluster;
  }

  Dice dice_;
  std::unique_ptr<lint::TrialCluster> cluster_;
  std::map<std::string, Json> nodes_, pods_, namespaces_;
  std::vector<Json> asked_;
  size_t pods_made_ = 0;
};

TEST_F(CensusTest, CountsAsOneThatBeginsAnew) {
  for (int round = 0; round < 60; ++round) {
    for (size_t events = dice_.below(20); events > 0; --events) something_happens();
    if (dice_.one_in(10)) cluster_->pass_time(3'600'000);  // nobody asked for long: it forgets
    const auto anew = fresh();
    for (int asked = 0; asked < 6; ++asked) {
      // Mostly one that was asked about before: its tables are there.
      if (asked_.empty() || dice_.one_in(3)) asked_.push_back(some_pod());
      const Json& pod = asked_[dice_.below(asked_.size())];
      ASSERT_EQ(answer_of(*cluster_, decoded_pod(*cluster_, pod)),
                answer_of(*anew, decoded_pod(*anew, pod)))
          << "round " << round << ", pod " << pod.dump();
    }
  }
}

// A pod that is added in a what-if and removed again leaves no trace, and one that is removed
// counts as if it were gone.
TEST_F(CensusTest, WhatIfsEqualWhatHappens) {
  const auto verdict_on = [](lint::TrialCluster& cluster, CycleContext& cycle, const PodRef& pod,
                             const plimsoll_node_info& node) {
    return cluster.reason_text(cluster.framework().run_filters_on(cycle, *pod, node).reason);
  };
  size_t compared = 0;
  for (int round = 0; round < 200; ++round) {
    for (size_t events = dice_.below(6) + 1; events > 0; --events) something_happens();
    if (pods_.empty()) continue;
    const Json gone = pods_[some_uid()];
    const std::string node_name = gone["spec"]["nodeName"];
    const NodeInfo* node = cluster_->state().node(node_name);
    if (node == nullptr) continue;
    const Json asking = some_pod();
    const PodRef pod = decoded_pod(*cluster_, asking);
    const PodRef other = cluster_->state().pod(gone["metadata"]["uid"].get<std::string>());
    const auto cycle = cluster_->framework().new_cycle();
    if (!cluster_->framework().run_pre_filter(*cycle, *pod).status.ok()) continue;
    const std::string before = verdict_on(*cluster_, *cycle, pod, *node->abi());
    const auto what_if = cycle->clone();
    ASSERT_TRUE(cluster_->framework().run_remove_pod(*what_if, *pod, *other, *node->abi()).ok());
    const std::string without = verdict_on(*cluster_, *what_if, pod, *node->abi());
    ASSERT_TRUE(cluster_->framework().run_add_pod(*what_if, *pod, *other, *node->abi()).ok());
    ASSERT_EQ(verdict_on(*cluster_, *what_if, pod, *node->abi()), before);

    remove_pod(gone["metadata"]["uid"]);
    const auto after = cluster_->framework().new_cycle();
    ASSERT_TRUE(cluster_->framework().run_pre_filter(*after, *pod).status.ok());
    const plimsoll_node_info& now = *cluster_->state().node(node_name)->abi();
    ASSERT_EQ(without, verdict_on(*cluster_, *after, pod, now))
        << "round " << round << ", pod " << asking.dump() << ", gone " << gone.dump();
    ++compared;
  }
  EXPECT_GT(compared, 20U);
}

// Pods with the same basis for a node get the same verdict there, whichever of its pods are gone,
// until something becomes of the node.
TEST_F(CensusTest, ABasisStandsForAllThatADryRunFindsOut) {
  Framework& framework = cluster_->framework();
  PluginIndex affinity = 0;
  while (framework.plugin_name(affinity) != "InterPodAffinity") ++affinity;
  const auto* numbers = static_cast<const builtin::AffinityBasis*>(
      cluster_->services().find(builtin::AffinityBasis::kService, 1));
  ASSERT_NE(numbers, nullptr);
  const auto verdict = [&](const CycleContext& cycle, const PodRef& pod, const auto& node) {
    const plimsoll_node_info* row = &node;
    uint8_t code = 0;
    uint32_t reason = 0;
    EXPECT_TRUE(framework
                    .run_filter(affinity, cycle, *pod, NodeRows(&row, 1), std::span(&code, 1),
                                std::span(&reason, 1))
                    .ok());
    return reason;
  };
  std::map<uint32_t, PodRef> nominated;  // by slot
  // What becomes of the verdict when pods go, one by one; at first without the nominated pod.
  const auto dry_run = [&](const CycleContext& cycle, const PodRef& pod, const NodeInfo& node) {
    std::vector<uint32_t> found;
    const auto& there = node.pods();
    const PodRef& beside = nominated[node.slot()];
    for (size_t first = 0; first <= there.size(); ++first) {
      const auto what_if = cycle.clone();
      found.push_back(verdict(*what_if, pod, *node.abi()));
      if (beside != nullptr) {
        EXPECT_TRUE(framework.run_add_pod(*what_if, *pod, *beside, *node.abi()).ok());
        found.push_back(verdict(*what_if, pod, *node.abi()));
      }
      for (size_t i = 0; i < there.size(); ++i) {
        const plimsoll_pod& gone = *there[(first + i) % there.size()];
        EXPECT_TRUE(framework.run_remove_pod(*what_if, *pod, gone, *node.abi()).ok());
        found.push_back(verdict(*what_if, pod, *node.abi()));
      }
    }
    return found;
  };
  std::map<uint32_t, std::map<uint64_t, std::vector<uint32_t>>> known;  // by slot and basis
  uint64_t mark = cluster_->log_end();
  size_t shared = 0, others = 0;
  for (int round = 0; round < 800; ++round) {
    something_happens();
    const std::vector<uint32_t> changed = cluster_->changed_since(mark);
    mark = cluster_->log_end();
    std::erase_if(
        known, [&](const auto& at) { return at.first < changed.size() && changed[at.first] != 0; });
    for (const uint32_t slot : cluster_->state().row_slots()) {
      if (!dice_.one_in(12)) continue;
      nominated[slot] = dice_.one_in(2) ? decoded_pod(*cluster_, some_pod()) : nullptr;
      known.erase(slot);
    }
    if (asked_.empty() || dice_.one_in(6)) asked_.push_back(some_pod());
    const Json& asking = asked_[dice_.below(asked_.size())];
    const PodRef pod = decoded_pod(*cluster_, asking);
    const auto cycle = framework.new_cycle();
    if (!framework.run_pre_filter(*cycle, *pod).status.ok()) continue;
    if (cycle->skip_filter.test(affinity)) continue;
    for (const plimsoll_node_info* row : cluster_->state().rows()) {
      const NodeInfo& node = *cluster_->state().node(view(row->node->meta.name));
      std::vector<sdk::Pod> beside;
      if (const PodRef& other = nominated[row->slot]) beside.emplace_back(other.get());
      const uint64_t basis = numbers->of(*cycle, sdk::Pod(pod.get()), sdk::Node(row), beside);
      auto& of_node = known[row->slot];
      const auto [place, is_new] = of_node.try_emplace(basis, dry_run(*cycle, pod, node));
      others += is_new && of_node.size() > 1 ? 1 : 0;
      if (is_new) continue;
      ASSERT_EQ(place->second, dry_run(*cycle, pod, node))
          << "round " << round << ", pod " << asking.dump() << " on " << node.name();
      ++shared;
    }
  }
  EXPECT_GT(shared, 20U);
  EXPECT_GT(others, 20U);
}

// ---- what is found by labels and namespaces, against asking all

struct Term : builtin::Indexed {
  explicit Term(PodRef of) : pod(std::move(of)) {
    const sdk::List<plimsoll_pod_affinity_term> terms = pod->pod_anti_affinity->required;
    selection = builtin::SelectionSpec::of(terms[0], pod->meta.ns);
  }
  [[nodiscard]] const builtin::SelectionSpec& spec() const { return selection; }

  PodRef pod;
  builtin::SelectionSpec selection;
};

class FoundByLabels : public ::testing::Test {
 protected:
  FoundByLabels() : dice_(test::test_seed()) {}

  std::string key() { return "k" + std::to_string(dice_.below(60)); }
  std::string ns() { return "ns" + std::to_string(dice_.below(12)); }
  Json some_labels() {
    Json labels = Json::object();
    const size_t sizes[] = {1, 4, 12, 60};
    for (size_t i = dice_.below(sizes[dice_.below(4)]) + 1; i > 0; --i) {
      labels[key()] = std::to_string(dice_.below(3));
    }
    return labels;
  }
  Json some_requirement() {
    const char* const operators[] = {"NotIn", "NotIn", "DoesNotExist", "Exists", "In"};
    // Long selectors would match nothing if they asked for much.
    const size_t at = dice_.below(dice_.one_in(12) ? 5 : 2);
    Json each = {{"key", key()}, {"operator", operators[at]}};
    if (at == 0 || at == 1 || at == 4) {
      for (size_t n = dice_.below(12) + 1; n > 0; --n) {
        each["values"].push_back(std::to_string(dice_.below(at == 4 ? 3 : 60)));
      }
    }
    return each;
  }
  PodRef some_pod() {
    Json term = {{"topologyKey", "zone"}, {"labelSelector", {{"matchExpressions", Json::array()}}}};
    const size_t sizes[] = {1, 3, 40};
    for (size_t i = dice_.below(sizes[dice_.below(3)] + 1); i > 0; --i) {
      term["labelSelector"]["matchExpressions"].push_back(some_requirement());
    }
    if (dice_.one_in(3)) term["namespaceSelector"] = Json::object();
    if (dice_.one_in(3)) {
      for (size_t i = dice_.below(12) + 1; i > 0; --i) term["namespaces"].push_back(ns());
    }
    const Json terms = {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}};
    const Json pod = {{"metadata", {{"name", "p"}, {"namespace", ns()}, {"labels", some_labels()}}},
                      {"spec", {{"affinity", {{"podAntiAffinity", terms}}}}}};
    return *decode_pod(pod.dump(), symbols_);
  }

  Dice dice_;
  SymbolTable symbols_;
  builtin::Namespaces namespaces_;
};

TEST_F(FoundByLabels, TheCrowdsOfATerm) {
  builtin::LabelCrowds crowds;
  std::vector<builtin::LabelCrowd*> all;
  size_t selected = 0;
  for (int round = 0; round < 300; ++round) {
    const PodRef pod = some_pod();
    bool is_new = false;
    builtin::LabelCrowd& crowd = crowds.of(builtin::PodTraits::of(*pod), is_new);
    if (is_new) all.push_back(&crowd);
    if (dice_.one_in(4)) {
      std::swap(all[dice_.below(all.size())], all.back());
      crowds.drop(*all.back());
      all.pop_back();
    }
    const Term term(some_pod());
    std::set<builtin::LabelCrowd*> expected;
    for (builtin::LabelCrowd* each : all) {
      if (term.spec().select(each->traits, namespaces_)) expected.insert(each);
    }
    const auto found = crowds.selected_by(term.spec(), namespaces_);
    EXPECT_EQ(std::set(found.begin(), found.end()), expected);
    EXPECT_EQ(found.size(), expected.size()) << "each once";
    selected += found.size();
  }
  EXPECT_GT(selected, 300U);
}

// What a selection costs is known before it is paid.
TEST_F(FoundByLabels, ComparisonsAreCountedByWhatIsLookedAt) {
  constexpr uint64_t kCrowds = 2'000;
  const auto pod_with = [&](const Json& labels, const Json& selector) {
    const Json term = {{"topologyKey", "zone"},
                       {"labelSelector", selector},
                       {"namespaceSelector", Json::object()}};
    const Json terms = {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}};
    const Json pod = {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"labels", labels}}},
                      {"spec", {{"affinity", {{"podAntiAffinity", terms}}}}}};
    return *decode_pod(pod.dump(), symbols_);
  };
  builtin::LabelCrowds crowds;
  for (uint64_t i = 0; i < kCrowds; ++i) {
    bool is_new = false;
    const Json labels = {{"own", std::to_string(i)}, {"half", std::to_string(i % 2)}};
    (void)crowds.of(builtin::PodTraits::of(*pod_with(labels, Json::object())), is_new);
  }
  const auto comparisons = [&](const Json& selector) {
    const Term term(pod_with({}, selector));
    return crowds.comparisons_for(term.spec());
  };
  Json selector = {{"matchExpressions", Json::array()}};
  for (int i = 0; i < 40; ++i) {
    selector["matchExpressions"].push_back(
        {{"key", "key-" + std::to_string(i)}, {"operator", "DoesNotExist"}});
  }
  EXPECT_EQ(comparisons(Json::object()), kCrowds);
  EXPECT_EQ(comparisons(selector), 41 * kCrowds);
  selector["matchLabels"]["half"] = "1";
  EXPECT_EQ(comparisons(selector), 42 * kCrowds / 2);
  selector["matchLabels"]["own"] = "7";
  EXPECT_EQ(comparisons(selector), 43U);
  selector["matchExpressions"].push_back(
      {{"key", "half"}, {"operator", "NotIn"}, {"values", {"0", "2"}}});
  EXPECT_EQ(comparisons(selector), 44U + kCrowds / 2) << "those with the value are looked up";
}

TEST_F(FoundByLabels, TheTermsOfAPod) {
  builtin::MatchIndex<Term> index;
  std::vector<std::unique_ptr<Term>> all;
  size_t selected = 0;
  for (int round = 0; round < 300; ++round) {
    index.add(*all.emplace_back(std::make_unique<Term>(some_pod())));
    if (dice_.one_in(4)) {
      std::swap(all[dice_.below(all.size())], all.back());
      index.remove(*all.back());
      all.pop_back();
    }
    const PodRef pod = some_pod();
    const auto traits = builtin::PodTraits::of(*pod);
    std::multiset<const Term*> found;
    index.for_each_candidate(traits, [&](const Term& term) {
      if (term.spec().select(traits, namespaces_)) found.insert(&term);
    });
    std::multiset<const Term*> expected;
    for (const auto& each : all) {
      if (each->spec().select(traits, namespaces_)) expected.insert(each.get());
    }
    EXPECT_EQ(found, expected);
    selected += found.size();
  }
  EXPECT_GT(selected, 300U);
}

// A term that wants a label, or is about other namespaces, is not even looked at.
TEST_F(FoundByLabels, WhatAPodLacksCostsNothing) {
  builtin::MatchIndex<Term> index;
  std::vector<std::unique_ptr<Term>> all;
  for (int i = 0; i < 1'000; ++i) {
    const std::string own = "key-" + std::to_string(i);
    const Json wants = {{{"key", own}, {"operator", "Exists"}}};
    const Json forbids = {{{"key", own}, {"operator", "NotIn"}, {"values", {"x"}}}};
    Json everywhere = {{"topologyKey", "zone"},
                       {"labelSelector", {{"matchExpressions", wants}}},
                       {"namespaceSelector", Json::object()}};
    Json here = {{"topologyKey", "zone"}, {"labelSelector", {{"matchExpressions", forbids}}}};
    for (const Json& term : {everywhere, here}) {
      const Json terms = {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}};
      const Json pod = {{"metadata", {{"name", "p"}, {"namespace", "loud"}}},
                        {"spec", {{"affinity", {{"podAntiAffinity", terms}}}}}};
      const PodRef read = *decode_pod(pod.dump(), symbols_);
      index.add(*all.emplace_back(std::make_unique<Term>(read)));
    }
  }
  const PodRef plain = *decode_pod(
      R"({"metadata": {"name": "p", "namespace": "quiet", "labels": {"app": "web"}}})", symbols_);
  size_t looked_at = 0;
  index.for_each_candidate(builtin::PodTraits::of(*plain), [&](const Term&) { ++looked_at; });
  EXPECT_EQ(looked_at, 0U);
}

// Whose terms cost others most is named, and forgotten when the terms go. A series stays, so that
// only few namespaces get one.
TEST_F(FoundByLabels, TheNamespaceWhoseTermsCostMostIsNamed) {
  const auto pod_in = [&](const std::string& ns, size_t terms) {
    Json list = Json::array();
    for (size_t i = 0; i < terms; ++i) {
      const Json forbids = {{"key", ns + std::to_string(i)}, {"operator", "DoesNotExist"}};
      list.push_back({{"topologyKey", "zone"},
                      {"labelSelector", {{"matchExpressions", {forbids}}}},
                      {"namespaceSelector", Json::object()}});
    }
    const Json anti = {{"requiredDuringSchedulingIgnoredDuringExecution", list}};
    const Json pod = {{"metadata", {{"name", "p"}, {"namespace", ns}}},
                      {"spec", {{"affinity", {{"podAntiAffinity", anti}}}}}};
    return *decode_pod(pod.dump(), symbols_);
  };
  const auto key = std::make_shared<builtin::TopologyKey>("zone");
  builtin::ExistingTerms terms([&](std::span<const std::string_view> names) {
    const auto all = std::make_shared<builtin::CountedNodes>(key, builtin::NodeRule());
    return std::vector<builtin::CountedNodesRef>(names.size(), all);
  });
  sdk::FakeHost host;
  builtin::TermCosts costs(host.handle(), [&]() -> builtin::ExistingTerms& { return terms; });
  builtin::OwnerCrowd* loud = terms.owners_like(*pod_in("loud", 200));
  builtin::OwnerCrowd* some = terms.owners_like(*pod_in("some", 3));
  const PodRef plain = pod_in("quiet", 0);
  for (int i = 0; i < 60; ++i) {
    terms.for_each_about(
        builtin::PodTraits::of(*plain), namespaces_, [](const auto&) { return true; },
        [](const auto&) {});
  }
  host.now += 2'000;
  costs.tell();
  EXPECT_EQ(host.metrics["affinity_terms_compared_total{loud}"], std::vector{12'000.0});
  EXPECT_EQ(host.metrics["affinity_terms_compared_total{(others)}"], std::vector{180.0});
  Json expected = {{"terms", 203},
                   {"namespaces",
                    {{{"namespace", "loud"}, {"terms", 200}, {"comparedWithOthers", 12'000}},
                     {{"namespace", "some"}, {"terms", 3}, {"comparedWithOthers", 180}}}}};
  EXPECT_EQ(Json::parse(costs.json()), expected);
  terms.drop(*loud);
  expected["terms"] = 3;
  expected["namespaces"].erase(0);
  EXPECT_EQ(Json::parse(costs.json()), expected);
  terms.drop(*some);
  EXPECT_TRUE(terms.empty());
}

// A crowd that goes is taken out of each list without a search, although others have its labels
// too.
TEST(CensusGrowth, ManyLabelsOfManyPodsCostWhatTheyAre) {
  const auto pod_of = [](SymbolTable& symbols, size_t entries, size_t round) {
    Json labels = {{"round", std::to_string(round)}};
    Json requirements = Json::array();
    for (size_t i = 0; i < entries; ++i) {
      labels["key-" + std::to_string(i)] = "x";
      requirements.push_back(
          {{"key", "key-" + std::to_string(i)}, {"operator", "NotIn"}, {"values", {"y"}}});
    }
    const Json term = {{"topologyKey", "zone"},
                       {"labelSelector", {{"matchExpressions", requirements}}}};
    const Json terms = {{"requiredDuringSchedulingIgnoredDuringExecution", {term}}};
    const Json pod = {{"metadata", {{"name", "p"}, {"namespace", "ns"}, {"labels", labels}}},
                      {"spec", {{"affinity", {{"podAntiAffinity", terms}}}}}};
    return *decode_pod(pod.dump(), symbols);
  };
  SymbolTable symbols;
  const builtin::Namespaces namespaces;
  test::GrowthLimits limits;
  limits.few = 100;
  limits.many = 2'000;
  test::expect_linear(
      "labels and requirements of 20 pods",
      [&](size_t entries, size_t round) {
        std::vector<PodRef> pods;
        for (size_t i = 0; i < 20; ++i) pods.push_back(pod_of(symbols, entries, round * 100 + i));
        return test::Growing{[=, &namespaces] {
                               builtin::LabelCrowds crowds;
                               std::vector<builtin::LabelCrowd*> all;
                               for (const PodRef& pod : pods) {
                                 bool is_new = false;
                                 all.push_back(&crowds.of(builtin::PodTraits::of(*pod), is_new));
                                 const Term term(pod);
                                 EXPECT_EQ(crowds.selected_by(term.spec(), namespaces).size(),
                                           all.size());
                               }
                               for (builtin::LabelCrowd* crowd : all) crowds.drop(*crowd);
                             },
                             [] {}};
      },
      limits);
}

// Wherever it stands: a selector that matches nobody would let every pod pass.
TEST(Selections, OneInvalidRequirementBreaksASelector) {
  using nlohmann::json;
  const json valid = {{"key", "app"}, {"operator", "In"}, {"values", {"a"}}};
  const json invalid = {{"key", "x"}, {"operator", "In"}, {"values", {"bad value!"}}};
  SymbolTable symbols;
  const auto broken = [&](const json& requirements) {
    const json constraint = {{"topologyKey", "zone"},
                             {"maxSkew", 1},
                             {"labelSelector", {{"matchExpressions", requirements}}}};
    const json pod = {{"metadata", {{"name", "p"}}},
                      {"spec", {{"topologySpreadConstraints", {constraint}}}}};
    const PodRef read = *decode_pod(pod.dump(), symbols);
    return builtin::is_broken(
        sdk::List<plimsoll_spread_constraint>(read->spread_constraints)[0].selector);
  };
  EXPECT_FALSE(broken(json::array({valid})));
  EXPECT_TRUE(broken(json::array({valid, invalid})));
  EXPECT_TRUE(broken(json::array({invalid, valid})));
}

}  // namespace
}  // namespace plimsoll::builtin_test
