// Devices of claims beside the CPUs, with real kubelets: the kubelet knows nothing of the claim
// when it chooses CPUs, so the scheduler must have known where that would be.
//
// PLIMSOLL_LONG=1: 8 nodes and 300 pods instead of 3 and 24, and beside them the share that
// kube-scheduler's order of devices reaches.

#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <thread>

#include "tests/e2e/scheduler_process.hpp"
#include "tests/kubelet/exporter_fixture.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr const char* kApi = "/apis/resource.k8s.io/v1/";
constexpr int kCards = 4;  // of a node: half of them in each zone

class ClaimZonesTest : public ExporterTest {
 protected:
  struct Life {
    std::string node, uid;
    int card = -1;
    std::size_t zone = 0;  // of its CPUs
  };
  struct Share {
    int beside = 0;     // device and CPUs in one zone
    int could = 0;      // not so, though a free card of the node was in the CPUs' zone
    int could_not = 0;  // there was none
  };

  void SetUp() override {
    ExporterTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    create("deviceclasses", {{"metadata", {{"name", "cards"}}}, {"spec", json::object()}});
  }
  void TearDown() override {
    if (!IsSkipped()) {
      for (const std::string& name : claims_) free(name);
      (void)client().del(std::string(kApi) + "resourceslices?gracePeriodSeconds=0");
      (void)client().del(std::string(kApi) + "deviceclasses?gracePeriodSeconds=0");
    }
    ExporterTest::TearDown();
  }

  void create(const std::string& collection, const json& object) {
    const KubeReply reply = client().post(kApi + collection, object);
    ASSERT_EQ(reply.status, 201) << reply.body;
  }
  [[nodiscard]] std::string claim_path(const std::string& name = {}) const {
    return "namespaces/" + ns() + "/resourceclaims" + (name.empty() ? "" : "/" + name);
  }
  static std::size_t zone_of_card(int card) { return static_cast<std::size_t>(card) * 2 / kCards; }

  void add_slice(const std::string& node) {
    json devices = json::array();
    for (int card = 0; card < kCards; ++card) {
      devices.push_back(
          {{"name", "card-" + std::to_string(card)},
           {"attributes", {{"resource.kubernetes.io/numaNode", {{"int", zone_of_card(card)}}}}}});
    }
    create("resourceslices",
           {{"metadata", {{"name", node}}},
            {"spec",
             {{"driver", "cards.example.com"},
              {"nodeName", node},
              {"pool", {{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}}},
              {"devices", devices}}}});
  }

  // As the claim controller: nobody has it any more.
  void free(const std::string& name) {
    const std::string path = kApi + claim_path(name);
    (void)client().patch(path + "/status",
                         {{"status", {{"allocation", nullptr}, {"reservedFor", nullptr}}}});
    (void)client().patch(path, {{"metadata", {{"finalizers", nullptr}}}});
    (void)client().del(path);
  }

  void add_pod(const std::string& name, int cpus) {
    create(
        claim_path(),
        {{"metadata", {{"name", name}}},
         {"spec",
          {{"devices",
            {{"requests", {{{"name", "card"}, {"exactly", {{"deviceClassName", "cards"}}}}}}}}}}});
    claims_.insert(name);
    json pod = pod_of(name, "", {{.cpus = cpus}});
    pod["spec"]["resourceClaims"] = {{{"name", "card"}, {"resourceClaimName", name}}};
    pod["spec"]["containers"][0]["resources"]["claims"] = {{{"name", "card"}}};
    create_pod(pod);
  }

  // The zone of its first CPU, once the kubelet has given it CPUs.
  [[nodiscard]] std::optional<std::size_t> zone_of_cpus(const Life& life) {
    const RealKubelet& kubelet = kubelet_of(life.node);
    const auto view = kubelet.view();
    if (!view) return std::nullopt;
    const auto held = view->cpus.held.find(life.uid);
    if (held == view->cpus.held.end()) return std::nullopt;
    for (const auto& [container, cpus] : held->second) {
      for (const node::MachineCpu& cpu : kubelet.machine().hardware.cpus) {
        if (cpus.contains(static_cast<uint32_t>(cpu.id))) return cpu.zone;
      }
    }
    return std::nullopt;
  }

  // False: there is no room for it now.
  bool wait_for(const std::string& name, Life& life) {
    bool no_room = false;
    EXPECT_TRUE(eventually([&] {
      const json pod = client().get(pods_path(name)).json();
      life.uid = pod["metadata"]["uid"];
      life.node = pod["spec"].value("nodeName", "");
      no_room = false;
      for (const json& each : pod["status"].value("conditions", json::array())) {
        no_room = no_room || (life.node.empty() && each["type"] == "PodScheduled" &&
                              each.value("reason", "") == "Unschedulable");
      }
      EXPECT_NE(pod["status"].value("phase", ""), "Failed") << pod["status"].dump();
      if (life.node.empty()) return no_room;
      const auto zone = zone_of_cpus(life);
      if (zone) life.zone = *zone;
      return zone.has_value();
    })) << name
        << " has no CPUs on " << life.node;
    if (no_room) return false;
    const json claim = client().get(kApi + claim_path(name)).json();
    const std::string device = claim["status"]["allocation"]["devices"]["results"][0]["device"];
    life.card = device.back() - '0';
    return true;
  }

  void end(const std::string& name) {
    ASSERT_NO_FATAL_FAILURE(delete_pod(name, 1));
    EXPECT_TRUE(eventually([&] { return client().get(pods_path(name)).status == 404; })) << name;
    free(name);
    claims_.erase(name);
    lives_.erase(name);
  }

  void end_one() {
    auto victim = lives_.begin();
    std::advance(victim, std::uniform_int_distribution<std::size_t>(0, lives_.size() - 1)(random_));
    ASSERT_NO_FATAL_FAILURE(end(std::string(victim->first)));
  }

  // Pods come and go, one after the other.
  void run(const char* order, int count, Share& share) {
    std::ifstream shipped("examples/profiles/topology.yaml");
    const std::filesystem::path profile = folder_.path() / "profile.yaml";
    std::ofstream(profile) << shipped.rdbuf()
                           << "\n      - name: DynamicResources\n        args: {deviceOrder: "
                           << order << "}\n";
    auto scheduler =
        start_scheduler({.kubeconfig = cluster().kubeconfig_token(), .config = profile});
    ASSERT_TRUE(scheduler) << scheduler.error().message;
    const std::size_t most = kubelets() * kCards * 3 / 4;
    for (int i = 0; i < count; ++i) {
      const std::string name = std::string(order) + "-" + std::to_string(i);
      ASSERT_NO_FATAL_FAILURE(add_pod(name, std::uniform_int_distribution<int>(1, 4)(random_)));
      Life life;
      while (!wait_for(name, life)) {
        if (HasFailure() || lives_.empty())
          FAIL() << name << " finds no room; " << scheduler->output();
        ASSERT_NO_FATAL_FAILURE(end_one());
      }
      int free_there = 0;
      for (int card = 0; card < kCards; ++card) {
        bool taken = zone_of_card(card) != life.zone;
        for (const auto& [other, its] : lives_)
          taken = taken || (its.node == life.node && its.card == card);
        free_there += taken ? 0 : 1;
      }
      const bool beside = zone_of_card(life.card) == life.zone;
      ++(beside ? share.beside : free_there > 0 ? share.could : share.could_not);
      lives_[name] = life;
      if (lives_.size() >= most) {
        ASSERT_NO_FATAL_FAILURE(end_one());
      }
    }
    while (!lives_.empty()) {
      ASSERT_NO_FATAL_FAILURE(end_one());
    }
    std::cout << order << ": of " << count << " pods " << share.beside
              << " have device and CPUs in one zone, " << share.could << " could have had, "
              << share.could_not << " could not\n";
    if (HasFailure()) std::cerr << scheduler->output();
  }

  std::mt19937 random_{test_seed()};
  std::map<std::string, Life> lives_;
  std::set<std::string> claims_;
  TempDir folder_{"plimsoll-claims"};
};

TEST_F(ClaimZonesTest, DevicesLieBesideTheCpus) {
  std::vector<RealKubeletSettings> nodes;
  const std::vector<std::string> policies{"single-numa-node", "restricted", "best-effort"};
  for (std::size_t i = 0; i < (in_full_length() ? 8U : 3U); ++i) {
    nodes.push_back(small_node("node-" + std::to_string(i), policies[i % 3], "container"));
  }
  ASSERT_NO_FATAL_FAILURE(start_nodes(nodes));
  for (const RealKubeletSettings& each : nodes) ASSERT_NO_FATAL_FAILURE(add_slice(each.name));
  const int count = in_full_length() ? 300 : 24;
  Share share;
  ASSERT_NO_FATAL_FAILURE(run("topology", count, share));
  // Of few pods one may find its neighbours' zones freed otherwise than was known.
  EXPECT_LE(share.could, count / 100 + 1);
  EXPECT_GT(share.beside, count / 2);
  if (!in_full_length()) return;
  Share reference;
  ASSERT_NO_FATAL_FAILURE(run("reference", count, reference));
  EXPECT_LT(reference.beside, share.beside);
}

}  // namespace
}  // namespace plimsoll::test
