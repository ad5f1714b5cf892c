// What is planned for a group is as if it were so: the same pods are put into a fresh scheduler,
// one by one. For an attempt, with the members that have a place so far, both must believe the same
// of every node, its zones and its devices, and say the same of further pods: verdicts, reasons and
// scores. A dry run also takes pods away, and reserves nothing: what fits in it must fit in the
// fresh one; where it knows less, of zones above all, it may refuse what fits. And when it is
// undone, all must be as before. Whoever is evicted is so for a group that runs then.
//
//   PLIMSOLL_TEST_SEED=n    begins with this seed
//   PLIMSOLL_GROUP_PLANS=n  so many plans instead of the usual number

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "framework/base/log.hpp"
#include "framework/placement/group_run.hpp"
#include "tests/cycle/crowded_life.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::testing {
namespace {

constexpr uint64_t kPlans = test::cases(300);
constexpr uint64_t kPlansInFull = 10'000;
constexpr uint32_t kSeed = 58;
constexpr int kPlansPerLife = 20;
constexpr size_t kProbes = 3;
constexpr const char* kGang = "gang.scheduling.koordinator.sh/name";
constexpr const char* kGangSize = "gang.scheduling.koordinator.sh/min-available";

// Answers nothing before its end: what was given a node stays assumed there.
class Silence final : public ApiWriter {
 public:
  void bind(BindRequest, Done done) override {
    hold([done] { done(fail(ErrorCode::kInternal, "")); });
  }
  void record_event(EventRecord) override {}
  void patch_condition(ConditionPatch, Done done) override { done({}); }
  void request(ApiRequest, Answered done) override {
    hold([done] { done(500, "{}"); });
  }
  void end() {
    std::vector<std::function<void()>> held;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      held.swap(held_);
    }
    for (const auto& answer : held) answer();
  }

 private:
  void hold(std::function<void()> answer) {
    {
      const std::lock_guard lock(mutex_);
      if (!ended_) return held_.push_back(std::move(answer));
    }
    answer();
  }
  std::mutex mutex_;
  bool ended_ = false;
  std::vector<std::function<void()>> held_;
};

// As text, by what it is about, so that a difference can be read.
using Belief = std::map<std::string, std::string>;

Json text_of(const FittingNode& node) {
  return {{"raw", node.raw}, {"scores", node.scores}, {"total", node.total}};
}
Json text_of(const RefusedNode& node) {
  return {{"code", static_cast<int>(node.code)},
          {"plugin", node.plugin},
          {"reason", node.reason},
          {"text", node.text.substr(0, node.text.find("; report "))}};  // so old
}

void add_verdicts(const PlacementReport& report, const std::string& about, Belief& belief) {
  belief[about] = report.error + "/" + report.message;
  if (report.pre_filter_rejection)
    belief[about + " as a whole"] = text_of(*report.pre_filter_rejection).dump();
  for (const RefusedNode& node : report.refused)
    belief[about + " on " + node.node] = text_of(node).dump();
  for (const FittingNode& node : report.fitting)
    belief[about + " on " + node.node] = text_of(node).dump();
}

// On the loop.
Belief belief_of(FullScheduler& scheduler, const std::vector<Json>& probes) {
  Belief belief;
  for (const auto& [name, node] : scheduler.view_now()) {
    std::vector<std::string> pods;
    for (const auto& [uid, version] : node.pods) pods.push_back(uid);
    belief[name] = Json{{"pods", pods},
                        {"allocatable", node.allocatable},
                        {"requested", node.requested},
                        {"nonzero", {node.nonzero_cpu, node.nonzero_memory}},
                        {"ports", node.ports},
                        {"zones", node.zones},
                        {"unused gpus", node.unused_gpus},
                        {"zones of devices", node.device_zones},
                        {"nominated", node.nominated}}
                       .dump();
  }
  const StateSnapshot state =
      scheduler.snapshot_now({.plugins = true, .nodes = false, .queue = false, .kinds = false});
  for (const char* plugin : {"NodeResourceTopologyMatch", "NodeDevice"}) {
    Json said = Json::parse(state.plugins.at(plugin).text());
    for (auto& [name, node] : said["nodes"].items()) {
      node.erase("reportedMs");
      if (node.contains("pods"))
        for (auto& [uid, pod] : node["pods"].items())
          if (!uid.starts_with("uid-gang")) pod.erase("zones");
      belief[std::string(plugin) + " of " + name] = node.dump();
    }
  }
  for (const Json& probe : probes) {
    const Explanation why = scheduler.explain_now(probe);
    if (why.placement) add_verdicts(*why.placement, probe["metadata"]["name"], belief);
  }
  return belief;
}

std::string difference(const Belief& a, const Belief& b) {
  std::string text;
  const auto said = [](const Belief& belief, const std::string& about) {
    const auto found = belief.find(about);
    return found == belief.end() ? std::string("nothing") : found->second;
  };
  std::set<std::string> all;
  for (const Belief* one : {&a, &b})
    for (const auto& [about, value] : *one) all.insert(about);
  for (const std::string& about : all) {
    if (said(a, about) != said(b, about))
      text += about + ":\n  " + said(a, about) + "\n  " + said(b, about) + "\n";
  }
  return text;
}

class Plans {
 public:
  explicit Plans(uint64_t seed)
      : life_(seed, {.nodes = 6, .most_pods = 40, .devices_go = false, .groups_pause = true}) {
    for (int i = 0; i < 4; ++i) life_.step();
  }

  // Empty: all is right.
  std::string check_attempt() {
    life_.step();
    life_.drop_waiting();
    FullScheduler& live = life_.scheduler();
    std::vector<Json> probes;
    for (size_t i = 0; i < kProbes; ++i)
      probes.push_back(named("probe-" + std::to_string(i), life_.shape()));
    Belief before;
    live.on_loop([&] { before = belief_of(live, probes); });

    // The last one fits nowhere, so all is undone in the end.
    std::vector<Json> members = make_members();
    members.back()["spec"]["nodeSelector"] = {{"nowhere", "yes"}};
    const size_t wanted = 1 + life_.dice().below(members.size() - 1);
    Belief planned;
    std::vector<Place> places;
    bool found = false;
    watch(members, [&](const std::vector<Place>& now) {
      if (now.size() != wanted) return false;
      found = true;
      places = now;
      planned = belief_of(live, probes);
      return true;
    });
    std::vector<Change> changes;
    for (const Json& member : members) changes.push_back({Kind::kPods, false, member});
    live.deliver(changes);
    life_.settle();
    if (life_.stuck()) return "it does not settle";
    Belief after;
    live.on_loop([&] { after = belief_of(live, probes); });
    if (std::string wrong = difference(before, after); !wrong.empty())
      return "before and after an attempt in vain:\n" + wrong;
    for (Change& change : changes) change.deleted = true;
    live.deliver(changes);
    life_.settle();
    if (!found) return "";
    Belief fresh;
    std::string wrong = believe_afresh(before, members, places, planned, probes, fresh);
    if (fresh.empty()) return wrong;
    ++plans_;
    places_ += places.size();
    wrong += difference(planned, fresh);
    if (wrong.empty()) return "";
    for (const Place& place : places) wrong += place.uid + " on " + place.node + "\n";
    return "planned, and in a fresh scheduler:\n" + wrong;
  }

  std::string check_dry_run() {
    life_.step();
    life_.drop_waiting();
    FullScheduler& live = life_.scheduler();
    std::vector<Json> probes;
    std::vector<Json> added;
    const std::vector<Json> kinds{life_.shape(), life_.shape()};
    const auto like = [&] { return kinds[life_.dice().below(kinds.size())]; };
    for (size_t i = 0; i < kProbes; ++i)
      probes.push_back(named("probe-" + std::to_string(i), i == 0 ? like() : life_.shape()));
    ++gangs_;
    for (size_t i = life_.dice().below(6); i > 0; --i) {
      Json pod = named("gang-" + std::to_string(gangs_) + "-" + std::to_string(i),
                       i == 1 ? life_.shape() : like());
      pod["metadata"]["annotations"][kGang] = "gang-" + std::to_string(gangs_);
      pod["spec"]["preemptionPolicy"] = "Never";
      pod["spec"]["priority"] = 0;
      added.push_back(std::move(pod));
    }
    Belief before, after;
    DryRun run;
    live.on_loop([&] {
      before = belief_of(live, probes);
      run = dry_run(added, probes);
      after = belief_of(live, probes);
    });
    if (std::string wrong = difference(before, after); !wrong.empty())
      return "before and after a dry run:\n" + wrong;
    if (run.as_it_is != run.undone) return "what is undone leaves a trace";
    life_.remove_pods(run.removed);
    live.on_loop([&] { before = belief_of(live, probes); });
    Belief fresh;
    std::string wrong = believe_afresh(before, added, run.places, {}, probes, fresh);
    if (fresh.empty()) return wrong;
    ++plans_;
    places_ += run.places.size();
    removed_ += run.removed.size();
    for (const auto& [about, fits] : run.verdicts) {
      const auto said = fresh.find(about);
      const bool really = said != fresh.end() && said->second.find("\"raw\"") != said->second.npos;
      ++verdicts_;
      if (!fits && really) ++careful_;
      if (really || !fits) continue;
      wrong += about + ": planned: " + (fits ? "fits" : "no") +
               ", in a fresh scheduler: " + (said == fresh.end() ? "nothing" : said->second) + "\n";
    }
    if (wrong.empty()) return "";
    for (const std::string& name : run.removed) wrong += "without " + name + "\n";
    for (const Place& place : run.places) wrong += place.uid + " on " + place.node + "\n";
    return wrong;
  }
  // A group that may evict comes, alone. `places`: members that run, `removed`: who went for them.
  std::string check_eviction() {
    life_.step();
    life_.drop_waiting();
    std::set<std::string> before;
    for (const auto& [name, pod] : life_.cluster().all(Kind::kPods)) before.insert(name);
    std::vector<Json> members = make_members();
    const size_t needed = 1 + life_.dice().below(members.size());
    for (Json& pod : members) {
      pod["metadata"].erase("uid");
      pod["metadata"]["annotations"][kGangSize] = std::to_string(needed);
      pod["spec"].erase("preemptionPolicy");
      pod["spec"]["priority"] = 500;
    }
    life_.add_pods(members);
    for (int i = 0; i < 5; ++i) life_.rest();
    if (life_.stuck()) return "it does not settle";
    ++plans_;
    std::string wrong;
    size_t running = 0;
    for (const Json& member : members) {
      const Json* pod = life_.cluster().find(Kind::kPods, member["metadata"]["name"]);
      running += pod != nullptr && pod->at("spec").contains("nodeName") ? 1 : 0;
    }
    places_ += running;
    for (const std::string& name : before) {
      if (life_.cluster().find(Kind::kPods, name) == nullptr) wrong += " " + name;
    }
    if (wrong.empty()) return "";
    ++removed_;
    if (running >= needed) return "";
    return "for " + std::to_string(running) + " of " + std::to_string(needed) + " went" + wrong;
  }

  [[nodiscard]] uint64_t plans() const { return plans_; }
  [[nodiscard]] uint64_t places() const { return places_; }
  [[nodiscard]] uint64_t removed() const { return removed_; }
  [[nodiscard]] uint64_t verdicts() const { return verdicts_; }
  [[nodiscard]] uint64_t careful() const { return careful_; }
  // Not compared, as the living scheduler remembers what no fresh one knows.
  [[nodiscard]] uint64_t unlike() const { return unlike_; }

 private:
  struct Place {
    std::string uid, node;
  };
  using Verdicts = std::map<std::string, bool>;  // "probe-1 on n2"
  struct DryRun {
    std::vector<std::string> removed;  // names
    std::vector<Place> places;
    Verdicts as_it_is, verdicts, undone;
  };

  // On the loop.
  DryRun dry_run(const std::vector<Json>& added, const std::vector<Json>& probes) {
    DryRun made;
    Dice& dice = life_.dice();
    // As in an attempt on the group of those that are put on.
    const std::string group = "gang-" + std::to_string(gangs_);
    std::vector<PodRef> put, pods;
    for (const Json& pod : added) put.push_back(FullScheduler::decoded_pod(pod));
    for (Json probe : probes) {
      probe["metadata"]["annotations"][kGang] = group;
      pods.push_back(FullScheduler::decoded_pod(probe));
    }
    std::vector<const plimsoll_pod*> members;
    for (const auto* each : {&put, &pods})
      for (const PodRef& pod : *each) members.push_back(pod.get());
    GroupDecision& decision = life_.scheduler().group_decision();
    const GroupDecision::Scope scope(decision, {GroupKind::kGang, "ns", group}, std::move(members));
    decision.is_under_way = true;
    size_t looks = SIZE_MAX;
    const Slice slice(std::nullopt);
    GroupRun plan = life_.scheduler().group_trial().plan(looks, slice);
    const auto verdicts = [&] {
      Verdicts all;
      for (size_t i = 0; i < probes.size(); ++i) {
        GroupRun::Kind* kind = plan.kind_of(*pods[i]);
        for (size_t row = 0; row < plan.row_count(); ++row)
          all[probes[i]["metadata"]["name"].get<std::string>() + " on " +
              plan.node_at(row).name()] = plan.passes(*kind, *pods[i], row);
      }
      return all;
    };
    if (dice.one_in(2)) made.as_it_is = verdicts();  // else their kinds begin after the changes
    std::vector<std::pair<PodRef, size_t>> running;
    for (size_t row = 0; row < plan.row_count(); ++row)
      for (const PodRef& pod : plan.node_at(row).pods()) running.emplace_back(pod, row);
    for (size_t i = dice.below(6); i > 0 && !running.empty(); --i) {
      const size_t which = dice.below(running.size());
      const auto [pod, row] = running[which];
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
      plan.change(*pod, row, false);
      made.removed.emplace_back(plimsoll::view(pod->meta.name));
    }
    const bool side_by_side = dice.one_in(2);
    const size_t first_of_all = dice.below(plan.row_count());
    for (const PodRef& pod : put) {
      GroupRun::Kind* kind = plan.kind_of(*pod);
      const size_t first = side_by_side ? first_of_all : dice.below(plan.row_count());
      for (size_t i = 0; i < plan.row_count(); ++i) {
        const size_t row = (first + i) % plan.row_count();
        if (!plan.passes(*kind, *pod, row)) continue;
        plan.change(*pod, row, true);
        made.places.push_back(
            {std::string(plimsoll::view(pod->meta.uid)), std::string(plan.node_at(row).name())});
        break;
      }
    }
    made.verdicts = verdicts();
    plan.roll_back(0);
    if (!made.as_it_is.empty()) made.undone = verdicts();
    decision.is_under_way = false;
    return made;
  }

  static Json named(const std::string& name, Json pod) {
    pod["metadata"]["name"] = name;
    pod["metadata"]["uid"] = "uid-" + name;
    pod["metadata"]["resourceVersion"] = "1";
    return pod;
  }

  std::vector<Json> make_members() {
    std::vector<Json> kinds;
    for (size_t i = 0; i < 3; ++i) kinds.push_back(life_.shape());
    std::vector<Json> members;
    const size_t count = 2 + life_.dice().below(7);
    ++gangs_;
    for (size_t i = 0; i < count; ++i) {
      Json pod = named("gang-" + std::to_string(gangs_) + "-" + std::to_string(i),
                       kinds[life_.dice().below(kinds.size())]);
      pod["metadata"]["annotations"][kGang] = "gang-" + std::to_string(gangs_);
      pod["metadata"]["annotations"][kGangSize] = std::to_string(count);
      pod["spec"]["preemptionPolicy"] = "Never";
      pod["spec"]["priority"] = 0;
      members.push_back(std::move(pod));
    }
    return members;
  }

  // Says what places the members have had in each turn, in the order in which they got them, until
  // it is enough or the attempt is over.
  void watch(const std::vector<Json>& members,
             std::function<bool(const std::vector<Place>&)> is_enough) {
    std::set<std::string> uids;
    for (const Json& member : members) uids.insert(member["metadata"]["uid"]);
    life_.scheduler().in_each_turn([this, uids = std::move(uids), is_enough = std::move(is_enough),
                                    places = std::vector<Place>(), began = false]() mutable {
      std::map<std::string, std::string> now;
      for (const auto& [name, node] : life_.scheduler().view_now()) {
        for (const auto& [uid, version] : node.pods)
          if (uids.contains(uid)) now[uid] = name;
      }
      std::erase_if(places, [&](const Place& place) { return !now.contains(place.uid); });
      for (const Place& place : places) now.erase(place.uid);
      for (const auto& [uid, node] : now) places.push_back({uid, node});
      const bool decides = life_.scheduler().stats().deciding_on_group;
      if (decides && is_enough(places)) return false;
      const bool is_over = began && !decides;
      began = began || decides;
      return !is_over;
    });
  }

  // A group's devices are chosen for all of it: alone, a pod might get others. So there are none;
  // unless one is kept for a pod that does not say which it has, which leaves no choice.
  static Json with_those_of(const Place& place, const Belief& planned, Json devices) {
    const auto said = planned.find("NodeDevice of " + place.node);
    if (said == planned.end()) return devices;
    const Json node = Json::parse(said->second);
    const Json& pods = node["pods"];
    if (!pods.contains(place.uid) || node["devices"]["gpu"]["heldUnknown"] != 0) return devices;
    std::set<int> minors;
    for (const Json& gpu : pods[place.uid]["devices"].value("gpu", Json::array()))
      minors.insert(gpu["minor"].get<int>());
    for (Json& device : devices["spec"]["devices"])
      if (!minors.contains(device["minor"].get<int>())) device["health"] = false;
    return devices;
  }

  // What a fresh scheduler believes in which these have the same places. Empty: that is not to be
  // compared, or what it says went wrong. `before`: what the living one believes without them.
  std::string believe_afresh(const Belief& before, const std::vector<Json>& members,
                             const std::vector<Place>& places, const Belief& planned,
                             const std::vector<Json>& probes, Belief& belief) {
    Silence silence;
    FullScheduler fresh(FullScheduler::Role::kLiving, silence, life_.scheduler().now_ms());
    for (const Kind kind : kAllKinds) {
      std::vector<Change> changes;
      for (const auto& [name, object] : life_.cluster().all(kind))
        changes.push_back({kind, false, object});
      if (!changes.empty()) fresh.deliver(changes);
    }
    fresh.sync();
    const auto settle = [&] {
      return fresh.settle([] { return std::vector<RandomCluster::Asked>(100, {"", "", true}); });
    };
    bool settled = settle();
    fresh.on_loop([&] { belief = belief_of(fresh, probes); });
    if (belief != before) {
      ++unlike_;
      belief.clear();
      silence.end();
      return "";
    }
    for (const Place& place : places) {
      Json pod = *std::ranges::find_if(
          members, [&](const Json& member) { return member["metadata"]["uid"] == place.uid; });
      for (const char* key : {kGang, kGangSize}) pod["metadata"]["annotations"].erase(key);
      pod["status"]["nominatedNodeName"] = place.node;
      const Json* devices = life_.cluster().find(Kind::kDevices, place.node);
      if (devices != nullptr)
        fresh.deliver({Kind::kDevices, false, with_those_of(place, planned, *devices)});
      fresh.deliver({Kind::kPods, false, pod});
      settled = settle() && settled;
      if (devices != nullptr) fresh.deliver({Kind::kDevices, false, *devices});
    }
    settled = settle() && settled;
    fresh.on_loop([&] { belief = belief_of(fresh, probes); });
    const ClusterView nodes = fresh.view();
    silence.end();
    if (!settled) return "the fresh scheduler does not settle\n";
    for (const Place& place : places) {
      if (!nodes.at(place.node).pods.contains(place.uid))
        return place.uid + " is not on " + place.node + " in a fresh scheduler\n";
    }
    return "";
  }

  CrowdedLife life_;
  int gangs_ = 0;
  uint64_t plans_ = 0, places_ = 0, removed_ = 0, unlike_ = 0;
  uint64_t verdicts_ = 0, careful_ = 0;
};

struct Sum {
  uint64_t plans = 0, places = 0, removed = 0, unlike = 0;
  uint64_t verdicts = 0, careful = 0;
};

Sum check_all(std::string (Plans::*check)()) {
  set_log_level(LogLevel::kError);
  const uint64_t wanted = test::number_from_environment(
      "PLIMSOLL_GROUP_PLANS", test::in_full_length() ? kPlansInFull : kPlans);
  Sum sum;
  for (uint64_t seed = test::test_seed(kSeed); sum.plans < wanted; ++seed) {
    Plans some(seed);
    for (int i = 0; i < kPlansPerLife && sum.plans + some.plans() < wanted; ++i) {
      const std::string wrong = (some.*check)();
      EXPECT_EQ(wrong, "") << "PLIMSOLL_TEST_SEED=" << seed << ", plan " << i;
      if (!wrong.empty()) return sum;
    }
    sum.plans += some.plans();
    sum.places += some.places();
    sum.removed += some.removed();
    sum.unlike += some.unlike();
    sum.verdicts += some.verdicts();
    sum.careful += some.careful();
  }
  std::cout << sum.plans << " plans with " << sum.places << " places, " << sum.removed
            << " pods taken away; " << sum.unlike << " not compared" << std::endl;
  EXPECT_LT(sum.unlike, 5 + sum.plans / 20);
  return sum;
}

TEST(GroupPlans, OfAttemptsAreWhatAFreshSchedulerBelieves) {
  const Sum sum = check_all(&Plans::check_attempt);
  EXPECT_GT(sum.places, sum.plans);
}

TEST(GroupPlans, OfDryRunsAreWhatAFreshSchedulerSays) {
  const Sum sum = check_all(&Plans::check_dry_run);
  EXPECT_GT(sum.places, sum.plans / 2);
  EXPECT_GT(sum.removed, sum.plans / 2);
  std::cout << sum.careful << " of " << sum.verdicts << " verdicts refuse what fits" << std::endl;
  EXPECT_LT(sum.careful, 5 + sum.verdicts / 25);
}

TEST(GroupPlans, NobodyIsEvictedInVain) {
  const Sum sum = check_all(&Plans::check_eviction);
  EXPECT_GT(sum.removed, sum.plans / 20);
}

}  // namespace
}  // namespace plimsoll::testing
