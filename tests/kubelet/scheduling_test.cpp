// The whole loop with nothing simulated: kube-apiserver, kubelets, plimsoll-node on each, and our
// scheduler. Pods come and go; no kubelet may refuse one, and they get the zones that were
// promised.
//
// PLIMSOLL_LONG=1: 8 nodes and 500 pods instead of 3 and 30; and once more while kubelets and
// exporters are killed all the time.

#include <iostream>
#include <random>
#include <thread>

#include "plugins/topology/report/nrt_object.hpp"
#include "tests/e2e/scheduler_process.hpp"
#include "tests/kubelet/exporter_fixture.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/free_port.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kZones = "topology.plimsoll.io/zones";
constexpr double kLoad = 1.1;  // of all CPUs

class RealNodesTest : public ExporterTest {
 protected:
  struct Life {
    json object;
    std::chrono::milliseconds length{};
    int grace = 0;
    std::optional<Clock::time_point> running;
    bool deleted = false;
  };

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  std::vector<RealKubeletSettings> nodes(int count) {
    const std::vector<std::pair<std::string, std::string>> policies = {
        {"single-numa-node", "container"},
        {"restricted", "container"},
        {"single-numa-node", "pod"},
        {"best-effort", "container"}};
    std::vector<RealKubeletSettings> specs;
    for (int i = 0; i < count; ++i) {
      const auto& [policy, scope] = policies[static_cast<std::size_t>(i) % policies.size()];
      specs.push_back(small_node("node-" + std::to_string(i), policy, scope));
      cpus_ += 14;
    }
    return specs;
  }

  void make_lives(int count) {
    for (int i = 0; i < count; ++i) {
      std::vector<ContainerSpec> containers;
      if (pick(0, 3) == 0) containers.push_back({.cpus = pick(1, 4), .init = true});
      for (int k = pick(1, 2); k > 0; --k) {
        containers.push_back({.cpus = pick(1, 3), .gpus = pick(0, 3) == 0 ? 1 : 0});
      }
      int cpus = 0;
      for (const ContainerSpec& each : containers) cpus += each.init ? 0 : each.cpus;
      Life life;
      life.object = pod_of("p" + std::to_string(i), "", containers);
      life.length = in_full_length() ? std::chrono::milliseconds(pick(5'000, 20'000))
                                     : std::chrono::milliseconds(pick(2'000, 8'000));
      // One that is deleted by force leaves its zones at a moment that nobody can know, so a pod
      // that comes then may get other zones than promised.
      life.grace = in_full_length() ? pick(0, 1) : 1;
      work_ += cpus * std::chrono::duration<double>(life.length).count();
      lives_["p" + std::to_string(i)] = std::move(life);
    }
  }

  // The zones of the annotation, in the form of zones_of(); containers without CPUs of their own
  // have none.
  static std::string promised_zones(const json& object) {
    const json annotations = object["metadata"].value("annotations", json::object());
    const json zones = json::parse(annotations.value(kZones, "{}"), nullptr, false);
    std::string text;
    for (const auto& [container, by_resource] : zones.items()) {
      std::string ids;
      for (const json& id : by_resource.value("cpu", json::array())) {
        ids += (ids.empty() ? "" : " ") + id.dump();
      }
      text += (text.empty() ? "" : " ") + container + ":" + ids;
    }
    return text;
  }

  // What became of each pod since the last look.
  void look() {
    const auto there = pods();
    for (const auto& [name, object] : there) {
      Life& life = lives_.at(name);
      const std::string phase = object["status"].value("phase", "");
      if (phase == "Failed" && !life.deleted) {
        auto& refused = under_way_.contains(name) ? refused_under_way_ : refused_;
        refused.push_back(name + " on " + object["spec"].value("nodeName", "") + ": " +
                          object["status"].value("reason", "") + " " +
                          object["status"].value("message", ""));
        delete_pod(name, 0);
        life.deleted = true;
      }
      if (phase != "Running" || life.deleted) continue;
      if (!life.running) {
        life.running = Clock::now();
        compare_zones(name, object);
      } else if (Clock::now() - *life.running > life.length) {
        delete_pod(name, life.grace);
        life.deleted = true;
      }
    }
    over_ = 0;
    for (const auto& [name, life] : lives_) over_ += life.deleted && !there.contains(name) ? 1 : 0;
  }

  void compare_zones(const std::string& name, const json& object) {
    RealKubelet& node = kubelet_of(object["spec"]["nodeName"]);
    const std::string real = zones_of(node, name);
    const std::string promised = promised_zones(object);
    ++compared_;
    if (real == promised) return;
    other_zones_.push_back(name + " on " + node.name() + " has " + real + ", promised was " +
                           promised);
  }

  // One kubelet or exporter, at random; it comes back at once.
  void kill_one() {
    RealKubelet& victim = kubelet(static_cast<std::size_t>(pick(0, int(kubelets()) - 1)));
    if (pick(0, 1) == 0) {
      ASSERT_NO_FATAL_FAILURE(start_exporter(victim.name()));
    } else {
      ASSERT_TRUE(victim.kill());
      ASSERT_TRUE(victim.start_again());
      note_under_way(victim.name());
    }
  }

  // Nobody can know of a kubelet's end before its exporter has told. Pods that were bound until
  // then, and that no kubelet had taken yet, come to the next one among its first.
  void note_under_way(const std::string& node) {
    const auto until = Clock::now() + std::chrono::seconds(5);  // its exporter may be starting
    while (!is_away(node) && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    // The scheduler hears of it a moment later.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    for (const auto& [name, object] : pods()) {
      const bool bound = object["spec"].value("nodeName", "") == node;
      if (bound && object["status"].value("phase", "") == "Pending") under_way_.insert(name);
    }
  }

  bool is_away(const std::string& node) {
    const auto parsed = topology::parse_nrt(report_of(node).dump());
    return parsed && parsed->kubelet_away;
  }

  void live(bool kills) {
    const double rate = kLoad * cpus_ / (work_ / double(lives_.size()));  // pods a second
    const auto begin = Clock::now();
    auto next_kill = begin + std::chrono::seconds(5);
    std::size_t created = 0;
    auto next = lives_.begin();
    while (over_ < lives_.size()) {
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      for (; next != lives_.end() && double(created) < seconds * rate; ++next, ++created) {
        create_pod(next->second.object);
      }
      look();
      if (kills && Clock::now() > next_kill && next != lives_.end()) {
        ASSERT_NO_FATAL_FAILURE(kill_one());
        next_kill = Clock::now() + std::chrono::seconds(2);
      }
      ASSERT_LT(Clock::now() - begin, std::chrono::minutes(20))
          << over_ << " of " << lives_.size() << " pods are over";
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }

  // How long pods waited for nodes that were uncertain, as the scheduler counted it.
  static void print_waits(std::uint16_t port) {
    const WebAnswer scraped = web_get("http://127.0.0.1:" + std::to_string(port) + "/metrics");
    EXPECT_EQ(scraped.status, 200);
    const auto waits = lines_with(scraped.body, {"plimsoll_plugin_numa_pod_wait_seconds"});
    EXPECT_FALSE(waits.empty());
    for (const std::string& line : waits) std::cout << "  " << line << "\n";
  }

  void expect_all_run_where_promised(bool kills) {
    ASSERT_NO_FATAL_FAILURE(start_nodes(nodes(in_full_length() ? 8 : 3)));
    make_lives(in_full_length() ? 500 : 30);
    const auto port = free_port();
    ASSERT_TRUE(port) << port.error().message;
    auto scheduler = start_scheduler({.kubeconfig = cluster().kubeconfig_token(), .port = *port});
    ASSERT_TRUE(scheduler) << scheduler.error().message;
    ASSERT_NO_FATAL_FAILURE(live(kills));
    std::cout << lives_.size() << " pods, " << refused_.size() << " refused, "
              << refused_under_way_.size() << " of " << under_way_.size()
              << " that were under way when a kubelet was killed; " << other_zones_.size() << " of "
              << compared_ << " have other zones than promised\n";
    for (const std::string& each : other_zones_) std::cout << "  " << each << "\n";
    print_waits(*port);
    EXPECT_TRUE(refused_.empty()) << testing::PrintToString(refused_);
    // Not a way to hide others: these are few.
    EXPECT_LE(refused_under_way_.size() * 100, lives_.size() + 99)
        << testing::PrintToString(refused_under_way_);
    // One in fifty is usual; of few pods a few more may be.
    EXPECT_LE(other_zones_.size(), compared_ * 5 / 100 + 2) << "zones in annotations are wrong";
    if (HasFailure()) std::cerr << scheduler->output();
    expect_true_reports();
  }

  std::mt19937 random_{test_seed()};
  std::map<std::string, Life> lives_;
  int cpus_ = 0;
  double work_ = 0;  // CPU seconds
  std::size_t over_ = 0;
  std::size_t compared_ = 0;
  std::set<std::string> under_way_;  // when a kubelet ended
  std::vector<std::string> refused_, refused_under_way_, other_zones_;
};

TEST_F(RealNodesTest, NoPodIsRefusedAndAllGetTheirZones) {
  expect_all_run_where_promised(false);
}

TEST_F(RealNodesTest, NorWhileKubeletsAndExportersAreKilled) {
  if (!in_full_length()) GTEST_SKIP() << "in full length only";
  expect_all_run_where_promised(true);
}

}  // namespace
}  // namespace plimsoll::test
