// DynamicResources beside other plugins, on the real runtime and cluster state. Preemption for
// devices is judged by worlds that are built afresh, where the plan is carried out.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "framework/objects/kinds.hpp"
#include "framework/placement/what_if.hpp"
#include "tests/conformance/default_profile.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::dra::test {
namespace {

using conformance::Json;

Json claim(const std::string& name, const std::string& device_class, int count) {
  Json made = Json::parse(R"({"metadata": {"namespace": "ns"}, "spec": {"devices": {"requests": [
      {"name": "r", "exactly": {"allocationMode": "ExactCount"}}]}}})");
  made["metadata"]["name"] = name;
  made["metadata"]["uid"] = "u-" + name;
  Json& exactly = made["spec"]["devices"]["requests"][0]["exactly"];
  exactly["deviceClassName"] = device_class;
  exactly["count"] = count;
  return made;
}

Json pod(const std::string& name, int priority, int cpus, const std::vector<std::string>& claims) {
  Json made = Json::parse(R"({"metadata": {"namespace": "ns"}, "spec": {
      "schedulerName": "default-scheduler",
      "containers": [{"name": "c", "resources": {"requests": {}}}]}})");
  made["metadata"]["name"] = name;
  made["metadata"]["uid"] = "u-" + name;
  made["spec"]["priority"] = priority;
  made["spec"]["containers"][0]["resources"]["requests"]["cpu"] = std::to_string(cpus);
  for (const std::string& each : claims) {
    Json& named = made["spec"]["resourceClaims"].emplace_back();
    named["name"] = named["resourceClaimName"] = each;
  }
  return made;
}

Json user_of(const std::string& pod) {
  Json user;
  user["resource"] = "pods";
  user["name"] = pod;
  user["uid"] = "u-" + pod;
  return user;
}

// Nodes, pods on them, claims; as an API server has them.
struct Cluster {
  std::map<std::string, std::vector<std::string>> nodes;  // and the kinds of their devices
  std::map<std::string, int> own;                         // "example.com/any" of a device plugin
  std::map<std::string, Json> pods, claims;
  Json preemptor;

  void allocate(const std::string& claim, const std::string& node, const std::vector<int>& devices,
                const std::vector<std::string>& users) {
    Json status = Json::parse(R"({"allocation": {"devices": {"results": []}, "nodeSelector":
        {"nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": []}]}]}}, "reservedFor": []})");
    Json& allocation = status["allocation"];
    allocation["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"].push_back(node);
    for (const int device : devices) {
      Json& result = allocation["devices"]["results"].emplace_back();
      result["request"] = "r";
      result["driver"] = "d";
      result["pool"] = node;
      result["device"] = "d" + std::to_string(device);
    }
    for (const std::string& user : users) status["reservedFor"].push_back(user_of(user));
    claims[claim]["status"] = status;
  }
  [[nodiscard]] std::string text() const {
    return Json(nodes).dump() + "\n" + Json(pods).dump() + "\n" + Json(claims).dump() + "\n" +
           preemptor.dump();
  }
  // The pods are gone, and the claims' controller has done its work.
  [[nodiscard]] Cluster without(const std::set<std::string>& gone) const {
    Cluster left = *this;
    for (const std::string& name : gone) left.pods.erase(name);
    for (auto& [name, claim] : left.claims) {
      if (!claim.contains("status")) continue;
      Json& users = claim["status"]["reservedFor"];
      users.erase(std::remove_if(users.begin(), users.end(),
                                 [&](const Json& user) {
                                   return gone.contains(user["name"].get<std::string>());
                                 }),
                  users.end());
      if (users.empty()) claim.erase("status");
    }
    return left;
  }
};

// A scheduler that has just seen the cluster, and tries the pod that waits.
class Attempt {
 public:
  explicit Attempt(const Cluster& cluster, const Json& pod,
                   const conformance::DefaultProfile::Args& args = {})
      : profile_({"DynamicResources", "DefaultPreemption", "NodeResourcesFit",
                  "NodeResourcesBalancedAllocation"},
                 args) {
    conformance::DefaultProfile::Outside outside;
    outside.now_ms = [] { return int64_t{1'800'000'000'000}; };
    outside.run_on_loop = [this](int64_t, std::function<void()> task) {
      tasks_.push_back(std::move(task));
    };
    outside.api_request = [this](const PluginRequest& request, const HostBackend::ApiAnswer& done) {
      if (request.method == "DELETE")
        victims.insert(request.path.substr(request.path.rfind('/') + 1));
      done(200, "{}");
    };
    outside.pod_by_uid = [this](std::string_view uid) {
      return uid == view(pod_->meta.uid) ? pod_.get() : profile_.cluster().pod(uid).get();
    };
    profile_.set_outside(std::move(outside));
    for (const auto& [name, selector] :
         {std::pair("any", "device.driver == 'd'"),
          std::pair("big", "device.attributes['d'].kind == 'big'")}) {
      Json made = Json::parse(R"({"metadata": {}, "spec": {"selectors": [{"cel": {}}]}})");
      made["metadata"]["name"] = name;
      made["spec"]["selectors"][0]["cel"]["expression"] = selector;
      made["spec"]["extendedResourceName"] = std::string("example.com/") + name;
      put("deviceclasses.v1.resource.k8s.io", made);
    }
    for (const auto& [name, kinds] : cluster.nodes) {
      Json node = Json::parse(R"({"status": {"allocatable": {"cpu": "8", "pods": "110"}}})");
      node["metadata"]["name"] = name;
      if (const auto own = cluster.own.find(name); own != cluster.own.end())
        node["status"]["allocatable"]["example.com/any"] = std::to_string(own->second);
      profile_.add_node(node);
      Json slice = Json::parse(R"({"metadata": {}, "spec": {"driver": "d",
          "pool": {"generation": 1, "resourceSliceCount": 1}, "devices": []}})");
      slice["metadata"]["name"] = "s-" + name;
      slice["spec"]["nodeName"] = slice["spec"]["pool"]["name"] = name;
      for (size_t i = 0; i < kinds.size(); ++i) {
        Json& device = slice["spec"]["devices"].emplace_back();
        device["name"] = "d" + std::to_string(i);
        device["attributes"]["kind"]["string"] = kinds[i];
      }
      put("resourceslices.v1.resource.k8s.io", slice);
    }
    for (const auto& [name, claim] : cluster.claims) put(kClaims, claim);
    for (const auto& [name, one] : cluster.pods) {
      others_.push_back(profile_.pod(one));
      profile_.add_pod(others_.back());
    }
    pod_ = profile_.pod(pod);
  }

  // Pods that have room on nodes.
  void nominate(Json pod, const std::string& node) {
    pod["status"]["nominatedNodeName"] = node;
    others_.push_back(profile_.pod(pod));
    profile_.nominator().add(others_.back(), Nominating::keep());
  }

  // The code of each node.
  std::map<std::string, Code> filter() {
    const auto& rows = profile_.cluster().rows();
    cycle_ = profile_.framework().new_cycle();
    const PreFilterOutcome before = profile_.framework().run_pre_filter(*cycle_, *pod_);
    EXPECT_TRUE(before.status.ok()) << before.status.message(profile_.reasons());
    codes_.assign(rows.size(), 0);
    std::vector<uint32_t> reasons(rows.size(), 0);
    std::vector<PluginIndex> rejectors(rows.size(), kNoPlugin);
    const Status status = run_filters_with_nominated(profile_.framework(), *cycle_, *pod_, rows,
                                                     {codes_, reasons, rejectors},
                                                     profile_.cluster(), profile_.nominator());
    EXPECT_TRUE(status.ok()) << status.error;
    std::map<std::string, Code> found;
    for (size_t i = 0; i < rows.size(); ++i)
      found[std::string(view(rows[i]->node->meta.name))] = static_cast<Code>(codes_[i]);
    return found;
  }
  [[nodiscard]] bool fits(const std::string& node) { return filter().at(node) == Code::kSuccess; }
  // After filter(): of the nodes, each plugin's score, without its weight.
  std::map<std::string, std::map<std::string, int64_t>> scores() {
    const auto& rows = profile_.cluster().rows();
    Framework& framework = profile_.framework();
    EXPECT_TRUE(framework.run_pre_score(*cycle_, *pod_, rows).ok());
    ScoreTable table;
    EXPECT_TRUE(framework.run_score(*cycle_, *pod_, rows, table, true).ok());
    std::map<std::string, std::map<std::string, int64_t>> found;
    for (const ScoreTable::Part& part : table.parts) {
      for (size_t i = 0; i < rows.size(); ++i)
        found[profile_.name(part.plugin)][std::string(view(rows[i]->node->meta.name))] =
            part.weighted[i];
    }
    return found;
  }
  // After filter(): the node that is nominated, or empty. `victims` are then evicted.
  std::string preempt() {
    const PostFilterOutcome outcome =
        profile_.framework().run_post_filters(*cycle_, *pod_, profile_.cluster().rows(), codes_);
    while (!tasks_.empty()) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
    return outcome.nominated_node;
  }

  std::set<std::string> victims;

 private:
  static constexpr std::string_view kClaims = "resourceclaims.v1.resource.k8s.io";

  void put(std::string_view resource, const Json& object) {
    const Json& meta = object.at("metadata");
    profile_.put_object(decoded({std::string(resource), meta.value("namespace", ""),
                                 meta.at("name"), meta.value("uid", ""), "1", object.dump()}));
  }

  conformance::DefaultProfile profile_;
  std::deque<std::function<void()>> tasks_;
  std::vector<PodRef> others_;
  PodRef pod_;
  std::shared_ptr<CycleContext> cycle_;
  std::vector<uint8_t> codes_;
};

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int operator()(int of) { return static_cast<int>(random_() % static_cast<unsigned>(of)); }

  Cluster cluster() {
    Cluster made;
    for (int n = 0, nodes = 1 + (*this)(3); n < nodes; ++n) {
      const std::string node = "n" + std::to_string(n);
      auto& kinds = made.nodes[node];
      for (int i = 1 + (*this)(4); i > 0; --i) kinds.push_back((*this)(2) == 0 ? "big" : "small");
      std::vector<int> free(kinds.size());
      for (size_t i = 0; i < free.size(); ++i) free[i] = static_cast<int>(i);
      std::shuffle(free.begin(), free.end(), random_);
      std::vector<std::string> held;
      for (int p = 0, pods = 1 + (*this)(4); p < pods; ++p) {
        const std::string name = node + "-p" + std::to_string(p);
        std::vector<std::string> own;
        if ((*this)(4) != 0 && !free.empty()) {
          own.push_back("c-" + name);
          const auto count = static_cast<size_t>(1 + (*this)(static_cast<int>(free.size())));
          made.claims[own[0]] = claim(own[0], "any", static_cast<int>(count));
          made.allocate(own[0], node, {free.end() - static_cast<ptrdiff_t>(count), free.end()},
                        {name});
          free.resize(free.size() - count);
          held.push_back(own[0]);
        } else if (!held.empty() && (*this)(2) == 0) {  // shared
          own.push_back(held[static_cast<size_t>((*this)(static_cast<int>(held.size())))]);
          made.claims[own[0]]["status"]["reservedFor"].push_back(user_of(name));
        }
        made.pods[name] = pod(name, (*this)(8), 1 + (*this)(3), own);
        made.pods[name]["spec"]["nodeName"] = node;
      }
    }
    std::vector<std::string> wanted;
    for (int i = 1 + (*this)(2); i > 0; --i) {
      wanted.push_back("mine" + std::to_string(i));
      made.claims[wanted.back()] =
          claim(wanted.back(), (*this)(2) == 0 ? "any" : "big", 1 + (*this)(2));
    }
    made.preemptor = pod("preemptor", 2 + (*this)(8), 1 + (*this)(4), wanted);
    return made;
  }

 private:
  std::mt19937 random_;
};

std::set<std::string> lower_on(const Cluster& cluster, const std::string& node) {
  std::set<std::string> names;
  for (const auto& [name, one] : cluster.pods) {
    const bool lower = one["spec"]["priority"] < cluster.preemptor["spec"]["priority"];
    if (lower && one["spec"]["nodeName"] == node) names.insert(name);
  }
  return names;
}

// Where the victims are gone the pod has its devices; with any of them back it has not. And victims
// are found wherever some would do.
TEST(DynamicResourcesPreemption, TheVictimsAreEnoughAndNoneIsEvictedInVain) {
  const uint32_t seed = plimsoll::test::test_seed();
  int evictions = 0, for_devices = 0, several = 0, hopeless = 0;
  for (uint32_t round = 0; round < 1000 && !::testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    const Cluster cluster = Draw(seed * 1000 + round).cluster();
    Attempt attempt(cluster, cluster.preemptor);
    const std::map<std::string, Code> codes = attempt.filter();
    if (std::ranges::any_of(codes, [](const auto& at) { return at.second == Code::kSuccess; }))
      continue;
    bool any = false;
    for (const auto& [node, kinds] : cluster.nodes) {
      const std::set<std::string> lower = lower_on(cluster, node);
      any =
          any || (!lower.empty() && Attempt(cluster.without(lower), cluster.preemptor).fits(node));
    }
    const std::string node = attempt.preempt();
    EXPECT_EQ(!node.empty(), any) << "of any use";
    if (node.empty()) {
      EXPECT_EQ(attempt.victims.size(), 0U);
      ++hopeless;
      continue;
    }
    EXPECT_FALSE(attempt.victims.empty());
    ++evictions;
    several += attempt.victims.size() > 1;
    EXPECT_TRUE(Attempt(cluster.without(attempt.victims), cluster.preemptor).fits(node))
        << node << ": " << cluster.text() << "\nvictims "
        << ::testing::PrintToString(attempt.victims);
    bool claims = false;
    for (const std::string& spared : attempt.victims) {
      std::set<std::string> fewer = attempt.victims;
      fewer.erase(spared);
      EXPECT_FALSE(Attempt(cluster.without(fewer), cluster.preemptor).fits(node)) << spared;
      claims = claims || cluster.pods.at(spared)["spec"].contains("resourceClaims");
    }
    for_devices += claims;
  }
  std::cout << evictions << " evictions, " << for_devices << " of pods with devices, " << several
            << " of several pods; " << hopeless << " without a use\n";
  EXPECT_GE(evictions, 120);
  EXPECT_GE(for_devices, 80);
  EXPECT_GE(several, 20);
  EXPECT_GE(hopeless, 40);
}

class OneDevice : public ::testing::Test {
 protected:
  OneDevice() {
    cluster_.nodes["n"] = {"big"};
    cluster_.claims["mine"] = claim("mine", "any", 1);
    cluster_.claims["theirs"] = claim("theirs", "any", 1);
    cluster_.claims["held"] = claim("held", "any", 1);
    cluster_.allocate("held", "n", {0}, {"low"});
    cluster_.pods["low"] = pod("low", 1, 1, {"held"});
    cluster_.pods["low"]["spec"]["nodeName"] = "n";
    cluster_.preemptor = pod("preemptor", 5, 1, {"mine"});
  }
  Cluster cluster_;
};

TEST_F(OneDevice, RoomForANominatedPodHasItsDevices) {
  const Cluster free = cluster_.without({"low"});
  const Json other = pod("other", 3, 1, {"theirs"});
  EXPECT_TRUE(Attempt(free, other).fits("n"));
  Attempt beside(free, other);
  beside.nominate(cluster_.preemptor, "n");
  EXPECT_FALSE(beside.fits("n")) << "it would take the device that the preemptor waits for";
  Attempt without(free, pod("other", 3, 1, {}));
  without.nominate(cluster_.preemptor, "n");
  EXPECT_TRUE(without.fits("n"));
}

TEST_F(OneDevice, NobodyElseIsEvictedWhileTheVictimsClaimHasTheDevice) {
  cluster_.nodes["m"] = {"big"};
  cluster_.claims["held-m"] = claim("held-m", "any", 1);
  cluster_.allocate("held-m", "m", {0}, {"low-m"});
  cluster_.pods["low-m"] = pod("low-m", 1, 1, {"held-m"});
  cluster_.pods["low-m"]["spec"]["nodeName"] = "m";
  cluster_.pods.erase("low");  // but its claim is as it was
  cluster_.preemptor["status"]["nominatedNodeName"] = "n";
  Attempt attempt(cluster_, cluster_.preemptor);
  EXPECT_EQ(attempt.filter(),
            (std::map<std::string, Code>{{"m", Code::kUnschedulable}, {"n", Code::kPending}}));
  static_cast<void>(attempt.preempt());
  EXPECT_EQ(attempt.victims.size(), 0U);
}

TEST_F(OneDevice, NobodyIsEvictedWhoseDevicesOthersHave) {
  cluster_.allocate("held", "n", {0}, {"low", "high"});
  cluster_.pods["high"] = pod("high", 9, 1, {"held"});
  cluster_.pods["high"]["spec"]["nodeName"] = "n";
  Attempt attempt(cluster_, cluster_.preemptor);
  EXPECT_FALSE(attempt.fits("n"));
  EXPECT_EQ(attempt.preempt(), "");
  EXPECT_EQ(attempt.victims.size(), 0U);
}

// calculateDRAExtendedResourceAllocatableRequest: 3 of 4 devices are taken on a, none on b; c has 4
// of the resource itself, and devices that do not count.
TEST(DynamicResourcesScores, DevicesBehindAResourceAreLoadWhereANodeHasNoneOfIt) {
  Cluster cluster;
  for (const char* node : {"a", "b", "c"}) cluster.nodes[node] = {"big", "big", "small", "small"};
  cluster.own["c"] = 4;
  for (const char* node : {"a", "c"}) {
    const std::string held = std::string("held-") + node;
    cluster.claims[held] = claim(held, "any", 3);
    cluster.allocate(held, node, {0, 1, 2}, {"somebody"});
  }
  Json asking = pod("p", 0, 1, {});
  Json& requests = asking["spec"]["containers"][0]["resources"]["requests"];
  requests["example.com/any"] = "1";
  const auto scores = [&](const std::string& strategy) {
    const std::string resources = R"([{"name":"example.com/any","weight":1}])";
    Attempt attempt(
        cluster, asking,
        {{"NodeResourcesFit",
          R"({"scoringStrategy":{"type":")" + strategy + R"(","resources":)" + resources + "}}"},
         {"NodeResourcesBalancedAllocation",
          R"({"resources":[{"name":"cpu","weight":1},{"name":"example.com/any","weight":1}]})"}});
    static_cast<void>(attempt.filter());
    return attempt.scores();
  };
  using Scores = std::map<std::string, int64_t>;
  EXPECT_EQ(scores("MostAllocated")["NodeResourcesFit"],
            (Scores{{"a", 100}, {"b", 25}, {"c", 25}}));
  EXPECT_EQ(scores("LeastAllocated")["NodeResourcesFit"], (Scores{{"a", 0}, {"b", 75}, {"c", 75}}));
  // Of 8 CPUs one is asked for: a goes from 0 and 3/4 to 1/8 and 1, the others from 0 to 1/8 and
  // 1/4.
  EXPECT_EQ(scores("LeastAllocated")["NodeResourcesBalancedAllocation"],
            (Scores{{"a", 72}, {"b", 71}, {"c", 71}}));

  requests.erase("example.com/any");
  requests["example.com/big"] = "1";  // a's and c's are taken; nobody scores by it
  EXPECT_EQ(scores("MostAllocated")["NodeResourcesFit"], (Scores{{"a", 0}, {"b", 0}, {"c", 0}}));
}

}  // namespace
}  // namespace plimsoll::dra::test
