// Everything dies, comes and goes, and the kubelets say what came of it: they admit by the
// kubelet's own algorithm, in the order of the bindings, and their word counts, not what the
// annotations say. They refuse nothing, no device is given beyond what it has, and nothing that
// fits waits.
//
// PLIMSOLL_LONG=1 runs it in full length (docs/architecture.md, section 10).

#include <cstdio>
#include <random>
#include <set>
#include <thread>

#include "tests/e2e/kubelets.hpp"
#include "tests/e2e/load_fixture.hpp"
#include "tests/e2e/replica.hpp"
#include "tests/support/environment.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

enum class Blow { kKillScheduler, kCrashApiServer, kMoveNodes };

class KubeletChaosTest : public LoadTest {
 protected:
  // So long may a pod that fits wait, counted only while nothing is being bound and everybody is
  // there who could bind it.
  static constexpr auto kPatience = 30s;
  // A look that took longer is not all waiting.
  static constexpr Clock::duration kLongestLook = 3s;

  [[nodiscard]] LoadShape shape() const override {
    return in_full_length() ? LoadShape{.nodes = 300, .pods = 3000, .gpus_every = 5}
                            : LoadShape{.nodes = 30, .pods = 180, .gpus_every = 5};
  }

  void SetUp() override {
    LoadTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    random_.seed(seed_);
    ASSERT_NO_FATAL_FAILURE(start_kubelets());
  }

  void TearDown() override {
    if (HasFailure()) {
      for (const Replica& replica : replicas_) {
        std::fprintf(stderr, "--- the end of the log of the %s replica:\n%s",
                     replica.name().c_str(), replica.end_of_log().c_str());
      }
    }
    LoadTest::TearDown();
    replicas_.clear();
    busy_.clear();
  }

  [[nodiscard]] std::map<std::string, std::string> logs() const override {
    std::map<std::string, std::string> texts;
    for (const Replica& replica : replicas_) texts[replica.name() + ".log"] = replica.all_logs();
    texts["refused.txt"] = lines(refused_, refused_.size());
    return texts;
  }

  void start_replicas(const std::vector<std::string>& names, std::vector<std::string> flags) {
    const RunSpec spec{.kubeconfig = cluster().kubeconfig_token(), .flags = std::move(flags)};
    for (const std::string& name : names) replicas_.emplace_back(name, spec);
    for (Replica& replica : replicas_) ASSERT_NO_FATAL_FAILURE(replica.start());
  }

  // Two programs that do nothing else.
  void keep_the_cores_busy() {
    for (int i = 0; i < 2; ++i) {
      auto busy = ChildProcess::start({.argv = {"sh", "-c", "while :; do :; done"}});
      ASSERT_TRUE(busy) << busy.error().message;
      busy_.push_back(std::move(*busy));
    }
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void tend() override {
    for (Replica& replica : replicas_) replica.revive();
  }

  // ---- pods and nodes that come and go

  // The next pods of the load, and round again under new names.
  void create_pods_of_load(std::size_t count) {
    std::vector<KubeObject> chosen;
    for (std::size_t i = 0; i < count; ++i, ++next_pod_) {
      KubeObject object = load_.pods[next_pod_ % load_.pods.size()];
      if (const std::size_t round = next_pod_ / load_.pods.size(); round > 0) {
        json pod = json::parse(object.body);
        pod["metadata"]["name"] =
            pod["metadata"]["name"].get<std::string>() + "-" + std::to_string(round);
        object.body = pod.dump();
      }
      chosen.push_back(std::move(object));
    }
    const auto created = create_all(cluster().admin(), chosen);
    ASSERT_TRUE(created) << created.error().message;
  }

  // Some pods that run are done, and others come.
  void turn_over(std::size_t count) {
    auto pods = client().list(pods_path());
    ASSERT_TRUE(pods) << pods.error().message;
    std::erase_if(*pods, [](const json& pod) { return !pod["spec"].contains("nodeName"); });
    std::ranges::shuffle(*pods, random_);
    pods->resize(std::min(pods->size(), count));
    // The kubelets have seen each of these pods: what ran beside a pod decides on its zone.
    heard_kubelets();
    for (const json& pod : *pods) (void)kubelets_->remove(pod);
    ASSERT_NO_FATAL_FAILURE(create_pods_of_load(count));
  }

  // As the pod garbage collector, and the controllers of the pods.
  void collect_pods_without_a_node() {
    const auto nodes = client().list(kNodes);
    const auto pods = client().list(pods_path());
    if (!nodes || !pods) return;
    std::set<std::string> there;
    for (const json& node : *nodes) there.insert(node["metadata"]["name"]);
    std::size_t gone = 0;
    for (const json& pod : *pods) {
      const std::string node = pod["spec"].value("nodeName", "");
      if (node.empty() || there.contains(node)) continue;
      (void)kubelets_->remove(pod);
      ++gone;
    }
    create_pods_of_load(gone);
  }

  [[nodiscard]] static std::string name_of(const KubeObject& object) {
    return json::parse(object.body)["metadata"]["name"];
  }
  [[nodiscard]] std::vector<KubeObject> objects_of_node(const std::string& name) const {
    std::vector<KubeObject> found;
    for (const KubeObject& object : load_.nodes) {
      if (name_of(object) == name) found.push_back(object);
    }
    return found;
  }

  // One node goes, and one that went some time ago comes back.
  void move_nodes() {
    if (away_.size() >= 3) {
      const std::string name = away_.front();
      away_.erase(away_.begin());
      collect_pods_without_a_node();
      // What describes it is there before the node.
      std::vector<KubeObject> objects = objects_of_node(name);
      std::ranges::reverse(objects);
      for (const KubeObject& object : objects) {
        const KubeReply reply = client().post(object.path, json::parse(object.body));
        ASSERT_EQ(reply.status, 201) << reply.body;
      }
    }
    const std::string name = "node-" + std::to_string(pick(0, shape().nodes - 1));
    if (std::ranges::find(away_, name) != away_.end()) return;
    for (const KubeObject& object : objects_of_node(name)) {
      const KubeReply reply = client().del(object.path + "/" + name);
      ASSERT_EQ(reply.status, 200) << reply.body;
    }
    away_.push_back(name);
    collect_pods_without_a_node();
  }

  // ---- what the kubelets say

  bool heard_kubelets() {  // false: there is no API server
    const auto admitted = kubelets_->admit();
    if (!admitted) return false;
    for (const Refusal& one : admitted->refused) {
      refused_.push_back(one.pod + " on " + one.node + ": " + one.reason);
    }
    return true;
  }

  void beat() {
    if (heard_kubelets()) (void)kubelets_->report();
  }

  // Whether somebody is there who could bind pods.
  bool scheduling() {
    if (!std::ranges::all_of(replicas_, [](Replica& replica) { return replica.running(); })) {
      return false;
    }
    if (replicas_.size() == 1) return true;
    const std::string holder = client().get(kLease).json()["spec"].value("holderIdentity", "");
    return std::ranges::any_of(replicas_, [&](Replica& replica) { return replica.is(holder); });
  }

  void look() {
    auto objects = read_cluster(client());
    if (!objects) return;
    raw_ = recount(*objects);
    kubelets_->correct(*objects);
    result_ = recount(*objects);
    for (const std::string& fault : result_.faults) {
      const bool of_a_device =
          fault.find(" gpu ") != fault.npos && fault.find("promised beyond") != fault.npos;
      if (of_a_device) device_faults_.insert(fault);
    }
    // After a start of the scheduler too little may be known of a node (docs/architecture.md,
    // section 12), most often of one with many zones: who waits for such a node is not counted.
    Recount judged = result_;
    std::erase_if(judged.nodes, [](const auto& node) { return node.second.zones.size() > 2; });
    held_back_ = held_back(judged, kScheduler);
    const Clock::time_point now = Clock::now();
    const int bound_now = bound();
    const bool idle = scheduling() && bound_now == bound_before_;
    std::map<std::string, Clock::duration> waited;
    for (const std::string& line : held_back_) {
      const std::string pod = line.substr(0, line.find(' '));
      waited[pod] =
          waited_[pod] + (idle ? std::min(now - looked_, kLongestLook) : Clock::duration());
      if (waited[pod] > kPatience) starved_.insert(line);
    }
    waited_ = std::move(waited);
    looked_ = now;
    bound_before_ = bound_now;
  }

  // ---- blows

  void strike(Blow blow) {
    switch (blow) {
      case Blow::kKillScheduler: {
        Replica* victim = &replicas_[pick(0, static_cast<int>(replicas_.size()) - 1)];
        if (replicas_.size() > 1 && pick(0, 2) > 0) {
          const std::string holder =
              client().get(kLease).json()["spec"].value("holderIdentity", "");
          for (Replica& replica : replicas_) {
            if (replica.is(holder)) victim = &replica;
          }
        }
        victim->kill();
        return;
      }
      case Blow::kCrashApiServer: {
        cluster().kill_apiserver();
        const auto started = cluster().start_apiserver();
        ASSERT_TRUE(started) << started.error().message;
        return;
      }
      case Blow::kMoveNodes:
        return move_nodes();
    }
  }

  // Somebody binds pods again: a blow that falls while nobody can shows little.
  void wait_for_progress() {
    const int before = bound();
    (void)eventually(8s, [&] {
      tend();
      return bound() > before;
    });
  }

  void live(std::vector<Blow> blows, std::size_t pods_at_once) {
    std::ranges::shuffle(blows, random_);
    for (const Blow blow : blows) {
      if (next_pod_ < load_.pods.size()) {
        ASSERT_NO_FATAL_FAILURE(create_pods_of_load(pods_at_once));
      } else {
        ASSERT_NO_FATAL_FAILURE(turn_over(pods_at_once));
      }
      wait_for_progress();
      beat();
      // Not to wait for anything: the blow falls at some moment.
      std::this_thread::sleep_for(std::chrono::milliseconds(pick(0, 700)));
      ASSERT_NO_FATAL_FAILURE(strike(blow));
      beat();
      if (pick(0, 4) == 0) look();
      ASSERT_EQ(refused_.size(), 0U) << lines(refused_);
    }
  }

  // Until nothing that fits waits, and nothing moves. Where the pods are that were there before a
  // scheduler's start nobody tells it, so it keeps nodes of many zones from some pods until their
  // next report: exporters report from time to time.
  void come_to_rest() {
    int quiet = 0;
    const Clock::time_point end = Clock::now() + 5min;
    while (quiet < 3 && starved_.empty()) {
      ASSERT_LT(Clock::now(), end) << held_back_.size() << " pods wait that fit:\n"
                                   << lines(held_back_);
      tend();
      const int before = bound();
      beat();
      (void)kubelets_->report_all();
      collect_pods_without_a_node();
      look();
      std::this_thread::sleep_for(500ms);
      quiet = bound() == before && held_back_.empty() && scheduling() ? quiet + 1 : 0;
    }
  }

  void check() {
    EXPECT_EQ(refused_.size(), 0U) << lines(refused_);
    EXPECT_EQ(device_faults_.size(), 0U) << lines({device_faults_.begin(), device_faults_.end()});
    EXPECT_EQ(starved_.size(), 0U) << lines({starved_.begin(), starved_.end()});
    EXPECT_EQ(result_.faults.size(), 0U) << lines(result_.faults);
    // What a scheduler decides that does not know the zones or devices of a node.
    std::vector<std::string> blind;
    for (const std::string& fault : raw_.faults) {
      const bool of_one = fault.find("is promised no zone") != fault.npos ||
                          fault.find("asked for") != fault.npos ||
                          fault.find("not there") != fault.npos;
      if (of_one) blind.push_back(fault);
    }
    EXPECT_EQ(blind.size(), 0U) << lines(blind);
    std::vector<std::string> twice;
    for (const auto& [pod, writes] : audit().pod_writes(kSchedulerUser)) {
      if (writes.bound > 1) twice.push_back(pod);
    }
    EXPECT_EQ(twice.size(), 0U) << lines(twice);
    EXPECT_GT(bound(), static_cast<int>(shape().pods) / 2);
    std::cout << bound() << " bindings, " << result_.bound() << " pods bound at the end, "
              << result_.pending() << " wait\n";
  }

  static std::vector<Blow> blows(int kills, int crashes, int moves) {
    std::vector<Blow> all(kills, Blow::kKillScheduler);
    all.insert(all.end(), crashes, Blow::kCrashApiServer);
    all.insert(all.end(), moves, Blow::kMoveNodes);
    return all;
  }

  static constexpr const char* kLease =
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kubelet-chaos";

  std::mt19937_64 random_;
  std::vector<Replica> replicas_;
  std::vector<ChildProcess> busy_;
  std::size_t next_pod_ = 0;
  std::vector<std::string> away_;  // nodes
  std::vector<std::string> refused_;
  std::set<std::string> device_faults_;
  std::set<std::string> starved_;
  std::vector<std::string> held_back_;
  std::map<std::string, Clock::duration> waited_;  // by pod
  Clock::time_point looked_ = Clock::now();
  int bound_before_ = 0;
  Recount raw_;  // by the annotations alone
};

TEST_F(KubeletChaosTest, KubeletsRefuseNothingWhateverDies) {
  ASSERT_NO_FATAL_FAILURE(start_replicas(
      {"first", "second"}, {"--leader-elect", "--leader-elect-resource-name=kubelet-chaos",
                            "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
                            "--leader-elect-retry-period=300ms"}));
  const bool full = in_full_length();
  ASSERT_NO_FATAL_FAILURE(live(full ? blows(14, 4, 16) : blows(2, 1, 2), full ? 60 : 40));
  ASSERT_NO_FATAL_FAILURE(come_to_rest());
  check();
}

// Without a lease each start comes at once, while the API server is perhaps still carrying out what
// the one before has sent.
TEST_F(KubeletChaosTest, NothingIsGivenTwiceUnderFullLoad) {
  ASSERT_NO_FATAL_FAILURE(keep_the_cores_busy());
  ASSERT_NO_FATAL_FAILURE(start_replicas({"only"}, {"--leader-elect=false"}));
  const bool full = in_full_length();
  ASSERT_NO_FATAL_FAILURE(live(full ? blows(60, 8, 0) : blows(4, 1, 0), full ? 40 : 30));
  ASSERT_NO_FATAL_FAILURE(come_to_rest());
  check();
}

}  // namespace
}  // namespace plimsoll::test
