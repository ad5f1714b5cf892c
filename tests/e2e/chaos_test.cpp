// Two replicas that elect a leader, 600 pods (2,000 with PLIMSOLL_LONG=1), and everything dying
// around them: at the end every pod that fits is bound exactly once, nothing is promised twice, and
// nobody was told what is wrong.

#include <cstdio>
#include <random>
#include <thread>

#include "tests/e2e/load_fixture.hpp"
#include "tests/e2e/replica.hpp"
#include "tests/support/environment.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr const char* kLease =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/chaos-test";
constexpr std::size_t kBindsInFlight = 64;  // of a scheduler, at most

class ChaosTest : public LoadTest {
 protected:
  [[nodiscard]] LoadShape shape() const override {
    return in_full_length() ? LoadShape{.nodes = 400, .pods = 2000}
                            : LoadShape{.nodes = 120, .pods = 600};
  }

  void SetUp() override {
    LoadTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    random_.seed(seed_);
    const RunSpec spec{
        .kubeconfig = cluster().kubeconfig_token(),
        .flags = {"--leader-elect", "--leader-elect-resource-name=chaos-test",
                  "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s",
                  "--leader-elect-retry-period=300ms"}};
    for (const char* name : {"first", "second"}) replicas_.emplace_back(name, spec);
    for (Replica& replica : replicas_) ASSERT_NO_FATAL_FAILURE(replica.start());
  }

  void TearDown() override {
    if (HasFailure()) {
      for (const Replica& replica : replicas_) {
        std::fprintf(stderr, "--- the end of the log of the %s replica:\n%s",
                     replica.name().c_str(), replica.end_of_log().c_str());
        logs_[replica.name() + ".log"] = replica.all_logs();
      }
    }
    replicas_.clear();
    LoadTest::TearDown();
  }
  [[nodiscard]] std::map<std::string, std::string> logs() const override { return logs_; }

  // A replica that lost the lease has ended: on a slow machine it happens by itself.
  void tend() override {
    for (Replica& replica : replicas_) replica.revive();
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  json lease() { return client().get(kLease).json().value("spec", json::object()); }
  Replica* leader() {
    const std::string holder = lease().value("holderIdentity", "");
    for (Replica& replica : replicas_) {
      if (replica.is(holder)) return &replica;
    }
    return nullptr;
  }

  void create_wave(int wave) {
    const std::size_t size = load_.pods.size() / waves_ + 1;
    const std::size_t from = std::min(load_.pods.size(), size * wave);
    const std::size_t to = std::min(load_.pods.size(), from + size);
    const auto created =
        create_all(cluster().admin(), {load_.pods.begin() + static_cast<std::ptrdiff_t>(from),
                                       load_.pods.begin() + static_cast<std::ptrdiff_t>(to)});
    ASSERT_TRUE(created) << created.error().message;
  }

  // Somebody binds pods again: a blow that falls while nobody leads shows little.
  void wait_for_progress() {
    const int before = bound();
    (void)eventually(8s, [&] {
      tend();
      return bound() > before;
    });
  }

  void restart_apiserver(bool crash) {
    if (crash) cluster().kill_apiserver();
    const auto restarted = crash ? cluster().start_apiserver() : cluster().restart_apiserver();
    ASSERT_TRUE(restarted) << restarted.error().message;
  }

  void kill_one() {
    Replica* victim = pick(0, 2) > 0 ? leader() : nullptr;
    if (victim != nullptr) {
      ++leaders_killed_;
    } else {
      victim = &replicas_[pick(0, 1)];
    }
    ASSERT_NO_FATAL_FAILURE(victim->kill());
  }

  // Of each pod: at most one Scheduled event, about the node where it is; no failure after that.
  void check_events() {
    const auto listed = client().list("/apis/events.k8s.io/v1/namespaces/" + ns() + "/events");
    ASSERT_TRUE(listed) << listed.error().message;
    std::map<std::string, std::vector<const json*>> by_pod;
    for (const json& event : *listed) {
      by_pod[ns() + "/" + event["regarding"].value("name", "")].push_back(&event);
    }
    std::vector<std::string> wrong;
    std::size_t placed_events = 0;
    for (const PodFacts& pod : result_.pods) {
      std::string scheduled_at;
      std::string failed_at;
      for (const json* event : by_pod[pod.name]) {
        const std::string time = event->contains("series")
                                     ? (*event)["series"].value("lastObservedTime", "")
                                     : event->value("eventTime", "");
        const std::string reason = event->value("reason", "");
        const std::string note = event->value("note", "");
        if (reason == "Scheduled") {
          if (!scheduled_at.empty()) wrong.push_back(pod.name + " has two Scheduled events");
          if (note != "Successfully assigned " + pod.name + " to " + pod.node) {
            wrong.push_back(pod.name + " is on \"" + pod.node + "\", but: " + note);
          }
          scheduled_at = time;
          ++placed_events;
        } else {
          failed_at = std::max(failed_at, time);
        }
      }
      if (!scheduled_at.empty() && failed_at > scheduled_at) {
        wrong.push_back(pod.name + " is said to have failed after it was bound");
      }
      if (pod.node.empty() && failed_at.empty()) {
        wrong.push_back(pod.name + " is pending without an event");
      }
    }
    EXPECT_EQ(wrong.size(), 0U) << lines(wrong);
    // What a replica was about to write when it was killed is lost with it.
    EXPECT_GE(placed_events, result_.bound() / 4);
    std::cout << placed_events << " Scheduled events\n";
  }

  const int waves_ = in_full_length() ? 12 : 7;
  std::mt19937_64 random_;
  std::vector<Replica> replicas_;
  std::map<std::string, std::string> logs_;  // of the replicas, if the test failed
  int leaders_killed_ = 0;
};

TEST_F(ChaosTest, EveryPodIsBoundOnceWhateverDies) {
  ASSERT_NO_FATAL_FAILURE(start_kubelets());
  for (int wave = 0; wave < waves_; ++wave) {
    ASSERT_NO_FATAL_FAILURE(create_wave(wave));
    wait_for_progress();
    // Not to wait for anything: the blow falls at some moment of the burst.
    std::this_thread::sleep_for(std::chrono::milliseconds(pick(0, 1000)));
    if (wave == waves_ / 3 || wave == 2 * waves_ / 3) {
      ASSERT_NO_FATAL_FAILURE(restart_apiserver(wave > waves_ / 2));
    } else {
      ASSERT_NO_FATAL_FAILURE(kill_one());
    }
    tend();
  }
  // Whoever was killed last may have decided everything: the next one looks at it all again.
  ASSERT_TRUE(eventually(60s, [&] {
    tend();
    return leader() != nullptr;
  })) << lease().dump();
  ASSERT_NO_FATAL_FAILURE(settle_with_reports());
  check_recount();
  check_writes(false, kBindsInFlight);  // one of the restarts is a crash
  ASSERT_NO_FATAL_FAILURE(check_events());

  const json record = lease();
  std::cout << leaders_killed_ << " leaders were killed; the lease changed hands "
            << record.value("leaseTransitions", 0) << " times\n";
  EXPECT_GE(leaders_killed_, 2);
  EXPECT_GE(record.value("leaseTransitions", 0), leaders_killed_);

  // A clean stop gives the lease to the other one without waiting for its end.
  Replica* first = nullptr;
  ASSERT_TRUE(eventually(60s, [&] {
    tend();
    first = leader();
    return first != nullptr;
  })) << lease().dump();
  Replica* second = first == &replicas_[0] ? &replicas_[1] : &replicas_[0];
  first->stop();
  EXPECT_FALSE(first->is(lease().value("holderIdentity", ""))) << "released: " << lease().dump();
  EXPECT_TRUE(eventually(60s, [&] { return leader() == second; })) << lease().dump();
  second->stop();
  EXPECT_EQ(lease().value("holderIdentity", "?"), "") << "released";
}

}  // namespace
}  // namespace plimsoll::test
