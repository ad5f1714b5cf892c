// PodTopologySpread and InterPodAffinity on clusters that a reader can check by hand, after the
// tables of kube-scheduler's own tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "plugins/builtin/affinity/affinity_basis.hpp"
#include "plugins/builtin/plugins.hpp"
#include "tests/plugins/builtin/domain_cluster.hpp"
#include "tests/plugins/builtin/volumes/plugin_on_fake_host.hpp"

namespace plimsoll::builtin_test {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kTooMany = "node(s) didn't match pod topology spread constraints";
constexpr const char* kNoLabel =
    "node(s) didn't match pod topology spread constraints (missing required label)";
constexpr const char* kAffinity = "node(s) didn't match pod affinity rules";
constexpr const char* kAnti = "node(s) didn't match pod anti-affinity rules";
constexpr const char* kExisting = "node(s) didn't satisfy existing pods anti-affinity rules";

// Zone a has the nodes a1 and a2, zone b has b1 and b2; n0 has no zone.
class DomainsTest : public ::testing::Test {
 protected:
  void begin(const std::map<std::string, std::string>& args = {}) {
    cluster_ = new_cluster(args);
    for (const char* name : {"a1", "a2", "b1", "b2"}) {
      node(name, {{"zone", std::string(1, name[0])}, {"kubernetes.io/hostname", name}});
    }
    node("n0", {{"kubernetes.io/hostname", "n0"}});
  }
  DomainsTest() { begin(); }

  void node(const std::string& name, const Json& labels) {
    put_node(*cluster_, {{"metadata", {{"name", name}, {"labels", labels}}}});
  }
  Json pod(const std::string& app, const Json& spec = Json::object(),
           const std::string& ns = "ns") const {
    Json made = {{"metadata", {{"namespace", ns}, {"labels", {{"app", app}}}}}, {"spec", spec}};
    made["metadata"]["name"] = made["metadata"]["uid"] = "p" + std::to_string(++made_);
    return made;
  }
  PodRef put(Json made, const std::string& node_name) {
    made["spec"]["nodeName"] = node_name;
    PodRef decoded = decoded_pod(*cluster_, made);
    cluster_->put_pod(decoded);
    return decoded;
  }
  Json ask(const Json& made) { return answer_of(*cluster_, decoded_pod(*cluster_, made)); }
  Json verdicts(const Json& made) { return ask(made)["verdicts"]; }
  static Json all(const std::string& zone_a, const std::string& zone_b, const std::string& rest) {
    return {{"a1", zone_a}, {"a2", zone_a}, {"b1", zone_b}, {"b2", zone_b}, {"n0", rest}};
  }

  static Json spread(const std::string& key, int skew, const Json& further = Json::object(),
                     const char* action = "DoNotSchedule") {
    Json constraint = {{"maxSkew", skew},
                       {"topologyKey", key},
                       {"whenUnsatisfiable", action},
                       {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}};
    constraint.update(further);
    return {{"topologySpreadConstraints", {constraint}}};
  }
  static Json term(const std::string& key, const Json& further = Json::object()) {
    Json made = {{"topologyKey", key}, {"labelSelector", {{"matchLabels", {{"app", "web"}}}}}};
    made.update(further);
    return made;
  }
  static Json requires_near(const std::vector<Json>& terms) {
    return {{"affinity",
             {{"podAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", terms}}}}}};
  }
  static Json refuses(const std::vector<Json>& terms) {
    return {{"affinity",
             {{"podAntiAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", terms}}}}}};
  }

  mutable int made_ = 0;
  std::unique_ptr<lint::TrialCluster> cluster_;
};

// ---- spreading

TEST_F(DomainsTest, ADomainMayExceedTheLeastByMaxSkew) {
  put(pod("web"), "a1");
  EXPECT_EQ(verdicts(pod("web", spread("zone", 1))), all(kTooMany, "", kNoLabel));
  EXPECT_EQ(verdicts(pod("web", spread("zone", 2))), all("", "", kNoLabel));
  EXPECT_EQ(verdicts(pod("db", spread("zone", 1))), all("", "", kNoLabel)) << "it does not count";
  put(pod("web"), "b2");
  EXPECT_EQ(verdicts(pod("web", spread("zone", 1))), all("", "", kNoLabel));
}

TEST_F(DomainsTest, OnlyLivingPodsOfTheNamespaceCount) {
  put(pod("web", Json::object(), "other"), "a1");
  Json terminating = pod("web");
  terminating["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  put(terminating, "a1");
  put(pod("db"), "a2");
  EXPECT_EQ(verdicts(pod("web", spread("zone", 1))), all("", "", kNoLabel));
}

TEST_F(DomainsTest, TooFewDomainsMakeTheLeastZero) {
  put(pod("web"), "a1");
  put(pod("web"), "b1");
  EXPECT_EQ(verdicts(pod("web", spread("zone", 1, {{"minDomains", 2}}))), all("", "", kNoLabel));
  EXPECT_EQ(verdicts(pod("web", spread("zone", 1, {{"minDomains", 3}}))),
            all(kTooMany, kTooMany, kNoLabel));
}

TEST_F(DomainsTest, PoliciesSayWhichNodesCount) {
  put(pod("web"), "a1");
  Json pinned = pod("web", spread("zone", 1));
  pinned["spec"]["nodeSelector"] = {{"zone", "a"}};
  EXPECT_EQ(verdicts(pinned)["a1"], "") << "zone b is not for it, so it is not the least";
  pinned["spec"]["topologySpreadConstraints"][0]["nodeAffinityPolicy"] = "Ignore";
  EXPECT_EQ(verdicts(pinned)["a1"], kTooMany);

  for (const char* name : {"b1", "b2"}) {
    put_node(*cluster_,
             {{"metadata",
               {{"name", name}, {"labels", {{"zone", "b"}, {"kubernetes.io/hostname", name}}}}},
              {"spec", {{"taints", {{{"key", "k"}, {"effect", "NoSchedule"}}}}}}});
  }
  EXPECT_EQ(verdicts(pod("web", spread("zone", 1)))["a1"], kTooMany);
  const Json honors = {{"nodeTaintsPolicy", "Honor"}};
  EXPECT_EQ(verdicts(pod("web", spread("zone", 1, honors)))["a1"], "");
  Json tolerant = pod("web", spread("zone", 1, honors));
  tolerant["spec"]["tolerations"] = {{{"operator", "Exists"}}};
  EXPECT_EQ(verdicts(tolerant)["a1"], kTooMany);
}

TEST_F(DomainsTest, APodWithTooManyConstraintsFitsNowhere) {
  Json many = pod("web", spread("zone", 1));
  Json& constraints = many["spec"]["topologySpreadConstraints"];
  while (constraints.size() < 64) constraints.push_back(constraints[0]);
  EXPECT_EQ(verdicts(many)["a1"], "");
  constraints.push_back(constraints[0]);
  EXPECT_EQ(ask(many), "pod has more than 64 topology spread constraints");
}
TEST_F(DomainsTest, APodWithTooManyTermsFitsNowhere) {
  const Json term = {{"topologyKey", "zone"}, {"labelSelector", {{"matchLabels", {{"app", "x"}}}}}};
  Json many = pod("web");
  Json& affinity = many["spec"]["affinity"];
  Json& terms = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  terms = Json::array();
  while (terms.size() < 63) terms.push_back(term);
  affinity["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = {
      {{"weight", 1}, {"podAffinityTerm", term}}};
  EXPECT_EQ(verdicts(many)["a1"], "");
  terms.push_back(term);
  EXPECT_EQ(ask(many), "pod has more than 64 inter-pod affinity terms");
}
// Requirements times sets of labels. Whoever says less is not kept from its node by the labels of
// strangers.
TEST_F(DomainsTest, APodThatComparesTooMuchFitsNowhere) {
  constexpr int kLabelSets = 1'600;
  for (int i = 0; i < kLabelSets; ++i) {
    Json stranger = pod("x", Json::object(), "loud");
    stranger["metadata"]["labels"]["own"] = std::to_string(i);
    put(stranger, "a1");
  }
  Json many = {{"topologyKey", "zone"}, {"labelSelector", {{"matchExpressions", Json::array()}}}};
  Json& requirements = many["labelSelector"]["matchExpressions"];
  while (requirements.size() < 40) {
    requirements.push_back(
        {{"key", "key-" + std::to_string(requirements.size())}, {"operator", "DoesNotExist"}});
  }
  const auto terms = [&](const Json& further) {
    Json each = many;
    each.merge_patch(further);
    return pod("web", refuses(std::vector<Json>(64, each)));
  };
  const auto constraints = [&](const Json& further, const char* ns) {
    Json spec = spread("zone", 9'999, many);
    Json& all = spec["topologySpreadConstraints"];
    all[0].merge_patch(further);
    while (all.size() < 64) all.push_back(all[0]);
    return pod("web", spec, ns);
  };
  const std::string about =
      " more than 4000000 comparisons with labels of other pods: use fewer "
      "requirements, or name labels (matchLabels)";
  const Json everywhere = {{"namespaceSelector", Json::object()}};
  EXPECT_EQ(ask(terms(everywhere)), "pod's inter-pod affinity needs" + about + " or namespaces");
  const Json one_label = {{"labelSelector", {{"matchLabels", {{"own", "7"}}}}}};
  Json named = everywhere;
  named.update(one_label);
  EXPECT_EQ(verdicts(terms(named)), all(kAnti, "", ""));
  EXPECT_EQ(verdicts(terms({{"namespaces", {"ns"}}})), all("", "", ""));
  EXPECT_EQ(verdicts(pod("web", refuses({term("zone", everywhere)}))), all("", "", ""));
  for (const char* action : {"DoNotSchedule", "ScheduleAnyway"}) {
    EXPECT_EQ(ask(constraints({{"whenUnsatisfiable", action}}, "loud")),
              "pod's topology spread constraints need" + about);
  }
  EXPECT_EQ(verdicts(constraints(one_label, "loud"))["a1"], "");
  EXPECT_EQ(verdicts(constraints({}, "ns"))["a1"], "");
}

// Requirements times pods that may be evicted, over all what-ifs of one attempt.
TEST_F(DomainsTest, WhatIfsThatCompareTooMuchEndWithAnError) {
  const PodRef other = put(pod("x"), "a1");
  Json many = {{"topologyKey", "zone"}, {"labelSelector", {{"matchExpressions", Json::array()}}}};
  Json& requirements = many["labelSelector"]["matchExpressions"];
  while (requirements.size() < 10'000) {
    requirements.push_back(
        {{"key", "key-" + std::to_string(requirements.size())}, {"operator", "DoesNotExist"}});
  }
  const auto what_ifs = [&](const Json& made) {
    const PodRef tried = decoded_pod(*cluster_, made);
    const auto cycle = cluster_->framework().new_cycle();
    EXPECT_TRUE(cluster_->framework().run_pre_filter(*cycle, *tried).status.ok());
    const uint32_t slot = cluster_->state().rows().front()->slot;  // a1
    std::string told;
    for (int i = 0; i < 1'000 && told.empty(); ++i) {
      const Status status = cluster_->what_if(*cycle, tried, slot)->remove_pod(*other);
      if (!status.ok()) told = std::to_string(i) + ": " + status.error;
    }
    return told;
  };
  const std::string too_much = "what-ifs need more than 4000000 comparisons of the pod's ";
  EXPECT_EQ(what_ifs(pod("web", refuses({term("zone")}))), "");
  EXPECT_THAT(what_ifs(pod("web", refuses({many}))), HasSubstr(too_much + "inter-pod affinity"));
  EXPECT_EQ(what_ifs(pod("web", spread("zone", 1))), "");
  EXPECT_THAT(what_ifs(pod("web", spread("zone", 1, many))),
              HasSubstr(too_much + "topology spread constraints"));
}

TEST_F(DomainsTest, MatchLabelKeysTellRevisionsApart) {
  Json old = pod("web");
  old["metadata"]["labels"]["rev"] = "1";
  put(old, "a1");
  Json now = pod("web", spread("zone", 1, {{"matchLabelKeys", {"rev", "none"}}}));
  now["metadata"]["labels"]["rev"] = "2";
  EXPECT_EQ(verdicts(now)["a1"], "");
  now["metadata"]["labels"]["rev"] = "1";
  EXPECT_EQ(verdicts(now)["a1"], kTooMany);
  now["spec"]["topologySpreadConstraints"][0].erase("labelSelector");
  EXPECT_EQ(verdicts(now)["a1"], "") << "a null selector selects nothing";
}

TEST_F(DomainsTest, FewerPodsInTheDomainScoreHigher) {
  put(pod("web"), "a1");
  put(pod("web"), "a1");
  put(pod("web"), "b1");
  const Json scores =
      ask(pod("web", spread("zone", 1, Json::object(), "ScheduleAnyway")))["scores"];
  // ln(4) for two zones: 2 pods 3, 1 pod 1; the best is 100, n0 has no zone and gets nothing.
  EXPECT_EQ(scores, (Json{{"a1", {33}}, {"a2", {33}}, {"b1", {100}}, {"b2", {100}}, {"n0", {0}}}));
}

TEST_F(DomainsTest, ServicesAndControllersMakeDefaultConstraints) {
  put(pod("web"), "a1");
  const auto scores = [&](const Json& made) { return ask(made)["scores"]["a1"]; };
  EXPECT_EQ(scores(pod("web")), Json::array()) << "nothing selects it";
  const Json service = {{"metadata", {{"name", "s"}, {"namespace", "ns"}}},
                        {"spec", {{"selector", {{"app", "web"}}}}}};
  cluster_->put_object({"services", "ns", "s", service.dump()});
  const Json with_pod = ask(pod("web"))["scores"];
  EXPECT_LT(with_pod["a1"][0], with_pod["b1"][0]);
  EXPECT_EQ(scores(pod("db")), Json::array());
  cluster_->remove_object({"services", "ns", "s", service.dump()});
  EXPECT_EQ(scores(pod("web")), Json::array());

  const Json replicas = {
      {"metadata", {{"name", "r"}, {"namespace", "ns"}}},
      {"spec", {{"selector", {{"matchExpressions", {{{"key", "app"}, {"operator", "Exists"}}}}}}}}};
  cluster_->put_object({"replicasets.v1.apps", "ns", "r", replicas.dump()});
  Json owned = pod("web");
  owned["metadata"]["ownerReferences"] = {{{"apiVersion", "apps/v1"},
                                           {"kind", "ReplicaSet"},
                                           {"name", "r"},
                                           {"uid", "u"},
                                           {"controller", true}}};
  const Json spread_by_owner = ask(owned)["scores"];
  EXPECT_LT(spread_by_owner["a1"][0], spread_by_owner["b1"][0]);
}

TEST_F(DomainsTest, ListedDefaultsMayForbid) {
  begin({{"PodTopologySpread", R"({"defaultingType": "List", "defaultConstraints": [
      {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]})"}});
  const Json service = {{"metadata", {{"name", "s"}, {"namespace", "ns"}}},
                        {"spec", {{"selector", {{"app", "web"}}}}}};
  cluster_->put_object({"services", "ns", "s", service.dump()});
  put(pod("web"), "a1");
  EXPECT_EQ(verdicts(pod("web")), all(kTooMany, "", kNoLabel));
}

// One instance keeps the counts for all; each has defaults of its own.
TEST(SpreadDefaults, AServiceWakesWhomTheDefaultsOfAnotherProfileKeepAway) {
  sdk::FakeHost host;
  volumes_test::PluginOnFakeHost first(host, builtin::pod_topology_spread());
  volumes_test::PluginOnFakeHost strict(host, builtin::pod_topology_spread(),
                                        R"({"defaultingType": "List", "defaultConstraints": [
      {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]})");
  const auto tell = [&](auto& plugin, uint32_t type, const char* name) {
    plugin.slots().object_event(plugin.slots().self, type, sdk::str("services"), sdk::str(name),
                                sdk::str("ns"), sdk::str("{}"));
  };
  for (auto* plugin : {&first, &strict}) tell(*plugin, PLIMSOLL_OBJECT_SYNCED, "");
  EXPECT_EQ(host.requeued, 0);
  for (auto* plugin : {&first, &strict}) tell(*plugin, PLIMSOLL_OBJECT_DELETE, "s");
  EXPECT_EQ(host.requeued, 1) << "only those of the one that forbids";
}

// ---- affinity

TEST_F(DomainsTest, AffinityNeedsAPodInTheDomain) {
  put(pod("web"), "a1");
  EXPECT_EQ(verdicts(pod("db", requires_near({term("zone")}))), all("", kAffinity, kAffinity));
  EXPECT_EQ(
      verdicts(pod("db", requires_near({term("zone"), term("kubernetes.io/hostname")}))),
      (Json{
          {"a1", ""}, {"a2", kAffinity}, {"b1", kAffinity}, {"b2", kAffinity}, {"n0", kAffinity}}));
  EXPECT_EQ(verdicts(pod("db", requires_near({term("zone", {{"namespaces", {"other"}}})})))["a1"],
            kAffinity);
}

TEST_F(DomainsTest, TheFirstOfAGroupMayGoWhereTheKeysAre) {
  EXPECT_EQ(verdicts(pod("web", requires_near({term("zone")}))), all("", "", kAffinity));
  EXPECT_EQ(verdicts(pod("db", requires_near({term("zone")}))),
            all(kAffinity, kAffinity, kAffinity));
  put(pod("web"), "a1");
  EXPECT_EQ(verdicts(pod("web", requires_near({term("zone")}))), all("", kAffinity, kAffinity));
}

// Far away somebody comes; here nothing changes but that.
TEST_F(DomainsTest, TheBasisTellsTheFirstOfAGroup) {
  const auto* numbers = static_cast<const builtin::AffinityBasis*>(
      cluster_->services().find(builtin::AffinityBasis::kService, 1));
  const auto number = [&] {
    const PodRef asking = decoded_pod(*cluster_, pod("web", requires_near({term("zone")})));
    const auto cycle = cluster_->framework().new_cycle();
    EXPECT_TRUE(cluster_->framework().run_pre_filter(*cycle, *asking).status.ok());
    return numbers->of(*cycle, sdk::Pod(asking.get()),
                       sdk::Node(cluster_->state().node("a1")->abi()), {});
  };
  const uint64_t first = number();
  EXPECT_EQ(number(), first);
  put(pod("web"), "b1");
  EXPECT_NE(number(), first);
}

TEST_F(DomainsTest, AntiAffinityWorksInBothDirections) {
  put(pod("web"), "a1");
  EXPECT_EQ(verdicts(pod("db", refuses({term("zone")}))), all(kAnti, "", ""));
  put(pod("db", refuses({term("zone")})), "b1");
  EXPECT_EQ(verdicts(pod("web")), all("", kExisting, ""));
  EXPECT_EQ(verdicts(pod("cache")), all("", "", ""));
}

TEST_F(DomainsTest, NamespaceSelectorsSelectNamespacesByTheirLabels) {
  put_namespace(*cluster_, "red", {{"team", "red"}});
  put_namespace(*cluster_, "ns", {{"team", "blue"}});
  put(pod("web", Json::object(), "red"), "a1");
  const auto selecting = [&](const Json& selector) {
    return verdicts(pod("db", refuses({term("zone", {{"namespaceSelector", selector}})})))["a1"];
  };
  const auto expression = [](const char* op) {
    return Json{{"matchExpressions", {{{"key", "team"}, {"operator", op}, {"values", {"red"}}}}}};
  };
  EXPECT_EQ(selecting(Json::object()), kAnti);
  EXPECT_EQ(selecting({{"matchLabels", {{"team", "red"}}}}), kAnti);
  EXPECT_EQ(selecting({{"matchLabels", {{"team", "blue"}}}}), "");
  EXPECT_EQ(selecting(expression("NotIn")), "") << "kube-scheduler 1.36 selects it here";
  put_namespace(*cluster_, "red", {{"team", "green"}});
  EXPECT_EQ(selecting(expression("In")), "");
  EXPECT_EQ(selecting(expression("NotIn")), kAnti);
}

TEST_F(DomainsTest, PreferencesAddUpOverBothDirections) {
  const auto prefers = [](const char* kind, int weight) {
    const Json preference = {{"weight", weight}, {"podAffinityTerm", term("zone")}};
    return Json{
        {"affinity",
         {{kind,
           {{"preferredDuringSchedulingIgnoredDuringExecution", Json::array({preference})}}}}}};
  };
  put(pod("web"), "a1");
  const Json near = ask(pod("db", prefers("podAffinity", 5)))["scores"];
  EXPECT_EQ(near["a2"], Json::array({100}));
  EXPECT_EQ(near["b1"], Json::array({0}));
  const Json away = ask(pod("db", prefers("podAntiAffinity", 5)))["scores"];
  EXPECT_EQ(away["a2"], Json::array({0}));
  EXPECT_EQ(away["n0"], Json::array({100}));
  put(pod("db", requires_near({term("zone")})), "a2");
  const Json hard = ask(pod("web"))["scores"];
  EXPECT_EQ(hard["a1"], Json::array({100})) << "hardPodAffinityWeight";
  EXPECT_EQ(hard["b1"], Json::array({0}));
}

// ---- who waits for which kind

TEST_F(DomainsTest, OnlyPodsWithNamespaceLabelsInARequirementRestOnNamespaces) {
  const auto rests = [&](const Json& made) {
    const PodRef decoded = decoded_pod(*cluster_, made);
    bool any = false;
    for (size_t i = 0; i < cluster_->framework().plugin_count(); ++i) {
      const auto plugin = static_cast<PluginIndex>(i);
      any = any || cluster_->framework().rests_on(plugin, *decoded, "namespaces");
    }
    return any;
  };
  const Json by_labels = {{"namespaceSelector", {{"matchLabels", {{"team", "red"}}}}}};
  EXPECT_FALSE(rests(pod("web")));
  EXPECT_FALSE(rests(pod("web", refuses({term("zone")}))));
  EXPECT_FALSE(rests(pod("web", refuses({term("zone", {{"namespaceSelector", Json::object()}})}))));
  EXPECT_TRUE(rests(pod("web", refuses({term("zone", by_labels)}))));
  put(pod("db", refuses({term("zone", by_labels)})), "a1");
  EXPECT_TRUE(rests(pod("web"))) << "that pod's term may be about it";
  EXPECT_FALSE(rests(pod("cache")));
}

// ---- what strangers write

TEST_F(DomainsTest, ObjectsThatCannotBeReadSelectNothing) {
  put(pod("web"), "a1");
  for (const char* text :
       {"", "{", "[]", "7", R"({"spec": 5})", R"({"spec": {"selector": 5}})",
        R"({"spec": {"selector": {"app": 5}}})", R"({"spec": {"selector": {"app": ["web"]}}})",
        R"({"spec": {"selector": {"matchExpressions": [{"key": "app", "operator": "Like"}]}}})",
        R"({"metadata": 5})", R"({"metadata": {"labels": [1]}})"}) {
    for (const char* kind : {"services", "replicationcontrollers", "replicasets.v1.apps",
                             "statefulsets.v1.apps", "namespaces"}) {
      cluster_->put_object({kind, "ns", "x", text});
    }
    EXPECT_EQ(ask(pod("web"))["scores"]["a1"], Json::array()) << text;
  }
}

TEST_F(DomainsTest, ASelectorIsNotValidWhicheverOfItsRequirementsIsNot) {
  for (const size_t size : {2, 40}) {
    Json requirements(size, {{"key", "app"}, {"operator", "Exists"}});
    requirements.back()["operator"] = "Is";
    const Json selector = {{"labelSelector", {{"matchExpressions", requirements}}}};
    EXPECT_EQ(ask(pod("web", spread("zone", 1, selector))),
              R"(running PreFilter plugin "PodTopologySpread": a label selector of the pod's )"
              "topology spread constraints is not valid");
    EXPECT_EQ(ask(pod("web", refuses({term("zone", selector)}))),
              R"(running PreFilter plugin "InterPodAffinity": a label selector of the pod's )"
              "inter-pod affinity is not valid");
  }
}

TEST_F(DomainsTest, PodsWithSelectorsOfTheirOwnAreAnswered) {
  for (int i = 0; i < 2000; ++i) {
    const std::string app = "app-" + std::to_string(i);
    Json own = pod(app, spread("zone", 1));
    own["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]["app"] = app;
    own["spec"]["affinity"] =
        refuses({term("zone", {{"labelSelector", {{"matchLabels", {{"app", app}}}}}})})["affinity"];
    put(own, i % 2 == 0 ? "a1" : "b1");
    if (i % 100 != 0) continue;
    EXPECT_EQ(verdicts(own)["a2"], i % 2 == 0 ? kTooMany : "");
  }
}

TEST_F(DomainsTest, AThousandTermsOfAPodThatIsThereCount) {
  std::vector<Json> terms(1000);
  for (size_t i = 0; i < terms.size(); ++i) terms[i] = term("key-" + std::to_string(i));
  terms.push_back(term("zone"));
  put(pod("web"), "a1");
  const PodRef owner = put(pod("db", refuses(terms)), "b1");
  EXPECT_EQ(verdicts(pod("web")), all("", kExisting, ""));
  cluster_->remove_pod(view(owner->meta.uid));
  EXPECT_EQ(verdicts(pod("web")), all("", "", ""));
}

}  // namespace
}  // namespace plimsoll::builtin_test
