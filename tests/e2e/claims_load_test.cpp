// Pods with claims of all kinds, and pods with devices by minor, of the same cards, under a
// scheduler that dies again and again: 20 nodes of 8 cards and 120 pods, or 500 and 2,500
// (PLIMSOLL_LONG=1). In the end every card has one owner, by what the API server holds, nobody
// waits who has room, and every card that nobody has can still be given away.

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/claims_fixture.hpp"
#include "tests/e2e/recount.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

constexpr const char* kUpstream = "kube-scheduler-beside";
const std::string kConfiguration =
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
constexpr int kCardsOfNode = 8;
constexpr int kWhole = 100;  // of a card

enum class Kind { kClaims, kShared, kExtended, kMinors };
struct Wish {
  Kind kind = Kind::kClaims;
  int amount = kWhole;
  bool ours = true;
};

struct Card {
  Names claims;
  int by_minor = 0;
};

class ClaimsLoadTest : public ClaimsFixture {
 protected:
  void SetUp() override {
    ClaimsFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    random_.seed(test_seed());
    change(std::string(kDeviceClasses) + "/cards",
           {{"spec", {{"extendedResourceName", "example.com/card"}}}});
    for (const int count : {1, 2}) {
      create("/apis/resource.k8s.io/v1/namespaces/" + ns() + "/resourceclaimtemplates",
             {{"metadata", {{"name", "cards-" + std::to_string(count)}}},
              {"spec", {{"spec", claim_spec(count)}}}});
    }
    for (int i = 0; i < nodes_; ++i) add_node("n" + std::to_string(i), in_both_books(i));
    spec_ = {.kubeconfig = cluster().kubeconfig_token(), .config = folder_ / "config.yaml"};
    ASSERT_TRUE(write_file(spec_.config,
                           kConfiguration +
                               "podMaxBackoffSeconds: 2\n"
                               "profiles: [{schedulerName: " +
                               kScheduler +
                               ", plugins: {multiPoint: {enabled: [{name: NodeDevice}]}}}]\n"));
    controller_ = std::jthread(
        [this, own = KubeClient(cluster().admin())](const std::stop_token& stop) mutable {
          while (!stop.stop_requested()) {
            control(own);
            std::this_thread::sleep_for(20ms);
          }
        });
  }

  void TearDown() override {
    upstream_.reset();
    controller_ = {};
    if (HasFailure() && !IsSkipped()) {
      std::map<std::string, std::string> texts{{"scheduler.log", all_logs()}};
      if (const auto all = client().list(claims())) texts["claims.json"] = json(*all).dump(1);
      keep_evidence(texts);
    }
    ClaimsFixture::TearDown();
  }

  static bool in_both_books(int node) { return node % 2 == 0; }  // its cards are in a Device, too
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void add_node(const std::string& name, bool both) {
    Resources amounts{{"cpu", "64"}, {"memory", "64Gi"}, {"pods", "110"}};
    if (both) amounts.emplace_back("koordinator.sh/gpu", std::to_string(kWhole * kCardsOfNode));
    json node = node_object(name, amounts);
    node["metadata"]["labels"]["books"] = both ? "both" : "claims";
    create(kNodes, node);
    json in_slice = json::array();
    std::vector<json> in_object;
    for (int k = 0; k < kCardsOfNode; ++k) {
      in_object.push_back(gpu_device(k, 0));
      in_object.back()["id"] = "GPU-" + name + "-" + std::to_string(k);
      in_slice.push_back({{"name", "card-" + std::to_string(k)},
                          {"attributes", {{"uuid", {{"string", in_object.back()["id"]}}}}}});
    }
    add_slice(name, in_slice);
    if (both) create(kDevices, device_object(name, in_object));
  }

  KubeObject new_pod(const std::string& name, const Wish& wish, const std::string& claim = {}) {
    const std::string count = std::to_string(wish.amount / kWhole);
    Resources requests{{"cpu", "1"}};
    if (wish.kind == Kind::kMinors)
      requests.emplace_back("koordinator.sh/gpu", std::to_string(wish.amount));
    if (wish.kind == Kind::kExtended) requests.emplace_back("example.com/card", count);
    json pod = pod_object(
        {.name = name, .scheduler = wish.ours ? kScheduler : kUpstream, .requests = requests});
    json& asked = pod["spec"]["resourceClaims"];
    if (wish.kind == Kind::kShared) {
      asked.push_back({{"name", "cards"}, {"resourceClaimName", claim}});
    } else if (wish.kind == Kind::kClaims) {
      // One claim, or as many as cards: more places to die between.
      const bool split = pick(0, 1) == 0;
      for (int i = 0; i < (split ? wish.amount / kWhole : 1); ++i) {
        asked.push_back({{"name", "c" + std::to_string(i)},
                         {"resourceClaimTemplateName", "cards-" + (split ? "1" : count)}});
      }
    }
    // kube-scheduler does not know Device objects; claims that are shared are written again later.
    if (!wish.ours) pod["spec"]["nodeSelector"]["books"] = "claims";
    if (beside_ && wish.kind == Kind::kShared) pod["spec"]["nodeSelector"]["books"] = "both";
    wishes_[name] = wish;
    return {pods_path(), pod.dump()};
  }

  void play(const std::string& wave, int size) {
    std::vector<KubeObject> shared;
    std::vector<KubeObject> pods;
    while (static_cast<int>(pods.size()) < size) {
      const std::string name = wave + "-" + std::to_string(pods.size());
      const int of_100 = pick(0, 99);
      Wish wish{.amount = pick(0, 2) == 0 ? kWhole : 2 * kWhole};
      if (beside_ && of_100 < 20) {
        wish.ours = false;
      } else if (of_100 >= 20 && of_100 < 30) {  // three pods at a time
        wish.kind = Kind::kShared;
        const json claim{{"metadata", {{"name", name}}},
                         {"spec", claim_spec(wish.amount / kWhole)}};
        shared.push_back({claims(), claim.dump()});
        for (const char* more : {"-x", "-y"}) pods.push_back(new_pod(name + more, wish, name));
      } else if (of_100 >= 30 && of_100 < 47) {
        wish.kind = Kind::kExtended;
      } else if (of_100 >= 47 && of_100 < 70) {
        wish.kind = Kind::kMinors;
        if (pick(0, 2) == 0) wish.amount = kWhole / 2;
      }
      pods.push_back(new_pod(name, wish, name));
    }
    ASSERT_TRUE(create_all(cluster().admin(), shared));
    std::ranges::shuffle(pods, random_);
    create_and_kill(pods, in_full_length() ? 6 : 2);
  }

  // It dies when some more pods are bound: then others are anywhere between their writes.
  void create_and_kill(const std::vector<KubeObject>& pods, int deaths) {
    std::optional<Error> problem;
    std::jthread creator([&] {
      if (const auto created = create_all(cluster().admin(), pods, 2); !created)
        problem = created.error();
    });
    for (int death = 0; death < deaths; ++death) {
      const int next = audit().bindings() + pick(1, static_cast<int>(pods.size()) / 8 + 1);
      (void)eventually(10s, [&] { return audit().bindings() >= next; });
      ASSERT_NO_FATAL_FAILURE(start(spec_));
      ++deaths_;
    }
    creator.join();
    ASSERT_FALSE(problem) << problem->message;
  }

  // Their cards are for others as soon as the controller has taken them back.
  void remove_some() {
    std::erase_if(wishes_, [this](const auto& pod) {
      if (pick(1, 3 * waves_) != 1) return false;  // in the end one in six
      remove(pods_path(pod.first));
      return true;
    });
  }

  // ---- the recount

  void read() {
    const auto all = client().list(claims());
    const auto pods = client().list(pods_path());
    ASSERT_TRUE(all && pods);
    claims_.clear();
    pods_.clear();
    cards_.assign(nodes_, std::vector<Card>(kCardsOfNode));
    const auto number = [](const std::string& name) {
      return std::stoul(name.substr(name.find_first_of("0123456789")));
    };
    for (const json& claim : *all) {
      claims_[text_at(claim, "/metadata/name")] = claim;
      for (const json& result : value_at(claim, "/status/allocation/devices/results")) {
        cards_.at(number(result["pool"]))
            .at(number(result["device"]))
            .claims.push_back(text_at(claim, "/metadata/name"));
      }
    }
    for (const json& pod : *pods) {
      pods_[text_at(pod, "/metadata/name")] = pod;
      const std::string text =
          texts_at(pod, "/metadata/annotations")["scheduling.koordinator.sh/device-allocated"];
      if (text.empty()) continue;
      const json allocated = json::parse(text);
      auto& here = cards_.at(number(pod["spec"]["nodeName"]));
      for (const json& share : allocated.at("gpu")) {
        here.at(share.at("minor").get<std::size_t>()).by_minor +=
            std::stoi(text_at(share, "/resources/koordinator.sh~1gpu-core"));
      }
    }
  }

  bool has_room(const Wish& wish, const std::string& books) const {
    for (int i = 0; i < nodes_; ++i) {
      if (wish.kind == Kind::kMinors && !in_both_books(i)) continue;
      if (!books.empty() && books != (in_both_books(i) ? "both" : "claims")) continue;
      int room = 0;
      for (const Card& card : cards_[i]) {
        const int left = card.claims.empty() ? kWhole - card.by_minor : 0;
        room = wish.amount < kWhole ? std::max(room, left) : room + left / kWhole * kWhole;
      }
      if (room >= wish.amount) return true;
    }
    return false;
  }

  // The names of the claims that a pod has by its spec and its status.
  static std::set<std::string> claims_of(const json& pod) {
    std::set<std::string> names{
        text_at(pod, "/status/extendedResourceClaimStatus/resourceClaimName")};
    for (const char* where : {"/spec/resourceClaims", "/status/resourceClaimStatuses"}) {
      for (const json& each : value_at(pod, where))
        names.insert(each.value("resourceClaimName", ""));
    }
    return names;
  }

  std::string node_in(const std::string& pod) const {
    return pods_.contains(pod) ? text_at(pods_.at(pod), "/spec/nodeName") : "";
  }

  // What must not be in the end.
  Names unsettled() const {
    Names found;
    for (const auto& [name, pod] : pods_) {
      const Wish& wish = wishes_.at(name);
      int cards = 0;       // on its node
      bool given = false;  // its claim has cards somewhere
      for (const std::string& each : claims_of(pod)) {
        if (!claims_.contains(each)) continue;
        for (const json& result :
             value_at(claims_.at(each), "/status/allocation/devices/results")) {
          given = true;
          cards += result["pool"] == node_in(name) ? 1 : 0;
        }
      }
      if (!node_in(name).empty()) {
        if (wish.kind != Kind::kMinors && cards * kWhole != wish.amount)
          found.push_back(name + " is bound, and has " + std::to_string(cards) + " cards");
      } else if (wish.ours && pod_facts(pod).unschedulable_reason.empty()) {
        found.push_back(name + " is neither bound nor refused");
      } else if (wish.ours && (given || has_room(wish, text_at(pod, "/spec/nodeSelector/books")))) {
        found.push_back(name + " waits, and there is room");
      }
    }
    for (const auto& [name, claim] : claims_) {
      const std::string owner = text_at(claim, "/metadata/ownerReferences/0/name");
      if (claim["metadata"].contains("deletionTimestamp") ||
          (!owner.empty() &&
           (!pods_.contains(owner) || !claims_of(pods_.at(owner)).contains(name))))
        found.push_back(name + " is left over");
      const json users = value_at(claim, "/status/reservedFor");
      if (value_at(claim, "/status/allocation").is_object() &&
          std::ranges::none_of(users,
                               [&](const json& user) { return !node_in(user["name"]).empty(); }))
        found.push_back(name + " has cards for nobody");
    }
    return found;
  }

  void settle() {
    Names wrong;
    const auto settled = [&] {
      const int last = audit().bindings();
      if (eventually(1s, [&] { return audit().bindings() != last; })) return false;
      read();
      return HasFatalFailure() || (wrong = unsettled()).empty();
    };
    EXPECT_TRUE(eventually(180s, settled)) << lines(wrong);
    for (int i = 0; i < nodes_; ++i) {
      for (const Card& card : cards_[i]) expect_one_owner(card, "n" + std::to_string(i));
    }
  }

  // kube-scheduler does not look whether its write was the first: the younger of two claims may be
  // its own. The claim of one pod is written for the last time when it gets its card.
  void expect_one_owner(const Card& card, const std::string& node) {
    EXPECT_LE(card.by_minor + (card.claims.empty() ? 0 : kWhole), kWhole)
        << node << lines(card.claims);
    if (card.claims.size() < 2) return;
    Names names = card.claims;
    std::ranges::sort(names, {}, [&](const std::string& name) {
      return std::stoll(text_at(claims_.at(name), "/metadata/resourceVersion"));
    });
    const auto owner =
        wishes_.find(text_at(claims_.at(names.back()), "/metadata/ownerReferences/0/name"));
    EXPECT_TRUE(names.size() == 2 && owner != wishes_.end() && !owner->second.ours)
        << node << ": " << names.front() << ", and then " << claims_.at(names.back()).dump(1);
    ++given_twice_;
  }

  void run_all() {
    ASSERT_NO_FATAL_FAILURE(start(spec_));
    for (int wave = 0; wave < waves_; ++wave) {
      ASSERT_NO_FATAL_FAILURE(play("p" + std::to_string(wave), pods_wanted_ / waves_));
      remove_some();
    }
    ASSERT_NO_FATAL_FAILURE(settle());
    given_twice_ = 0;
    int free = 0;
    for (const auto& cards : cards_) {
      free += static_cast<int>(std::ranges::count_if(
          cards, [](const Card& card) { return card.claims.empty() && card.by_minor == 0; }));
    }
    const auto bound = [this] {
      return std::ranges::count_if(pods_,
                                   [&](const auto& pod) { return !node_in(pod.first).empty(); });
    };
    const auto before = bound();
    std::cout << before << " of " << pods_.size() << " pods are bound, " << free << " of "
              << nodes_ * kCardsOfNode << " cards are free, the scheduler was killed " << deaths_
              << " times\n";
    // No card was lost: each can be had, and then no more.
    std::vector<KubeObject> more;
    for (int i = 0; i < free + 3; ++i) more.push_back(new_pod("more-" + std::to_string(i), {}));
    ASSERT_NO_FATAL_FAILURE(create_and_kill(more, 1));
    ASSERT_NO_FATAL_FAILURE(settle());
    EXPECT_TRUE(beside_ || bound() == before + free) << bound();
  }

  const int nodes_ = in_full_length() ? 500 : 20;
  const int waves_ = in_full_length() ? 10 : 3;
  const int pods_wanted_ = in_full_length() ? 2500 : 120;
  bool beside_ = false;
  int deaths_ = 0;
  int given_twice_ = 0;  // cards, the second time by kube-scheduler
  std::mt19937_64 random_;
  TempDir folder_{"plimsoll-claims"};
  RunSpec spec_;
  std::jthread controller_;
  std::optional<ChildProcess> upstream_;
  std::map<std::string, Wish> wishes_;  // of the pods that are there
  std::map<std::string, json> claims_, pods_;
  std::vector<std::vector<Card>> cards_;  // by node
};

TEST_F(ClaimsLoadTest, EveryCardHasOneOwnerWhateverDies) {
  run_all();
  EXPECT_EQ(given_twice_, 0);
}

// Both give the same cards away (docs/claims.md, "Two schedulers").
TEST_F(ClaimsLoadTest, BesideKubeSchedulerOursIsNeverTheSecond) {
  const auto found =
      run({.argv = {"bench/peers/build", "--if-present"}, .stderr_file = "/dev/null"});
  ASSERT_TRUE(found) << found.error().message;
  if (found->status != ExitStatus::exited(0))
    GTEST_SKIP() << "no kube-scheduler: run bench/peers/build";
  beside_ = true;
  ASSERT_TRUE(write_file(folder_ / "upstream.yaml", kConfiguration +
                                                        "leaderElection: {leaderElect: false}\n"
                                                        "clientConnection: {kubeconfig: \"" +
                                                        cluster().kubeconfig().string() +
                                                        "\", qps: 1000, burst: 1000}\n"
                                                        "profiles: [{schedulerName: " +
                                                        kUpstream + "}]\n"));
  auto started = ChildProcess::start(
      {.argv = {found->out.substr(0, found->out.find('\n')) + "/kube-scheduler", "--config",
                (folder_ / "upstream.yaml").string(), "--secure-port", "0"}});
  ASSERT_TRUE(started) << started.error().message;
  upstream_.emplace(std::move(*started));
  ASSERT_NO_FATAL_FAILURE(run_all());
  const auto theirs = std::ranges::count_if(pods_, [this](const auto& pod) {
    return !wishes_.at(pod.first).ours && !node_in(pod.first).empty();
  });
  EXPECT_GT(theirs, 0) << tail(upstream_->output(), 20);
  std::cout << theirs << " pods were bound by kube-scheduler, " << given_twice_
            << " cards were given away by it after Plimsoll\n";
}

}  // namespace
}  // namespace plimsoll::test
