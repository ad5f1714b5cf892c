// Measures what the topology plugins cost. docs/performance.md shows the tables that this prints.
//
// Each figure is CPU time of one thread, as each pod's minimum of many rounds. The ratio is to the
// least time that any check of every node takes (floor_ms), measured in the same run. All pods
// differ, and nothing is kept from one pod to the next.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "bench/support/timing.hpp"
#include "bench/topology/cluster.hpp"
#include "plugins/topologyscore/topologyscore.hpp"

namespace {

using namespace plimsoll;
using namespace plimsoll::bench;
using topology::kNrtResource;
using topology::NodeResourceTopologyMatch;
using topology::Policy;
using topology::Scope;
using topology::TopologyScore;

struct Options {
  int rounds = 20;
  std::string only;
  [[nodiscard]] bool wants(std::string_view name) const {
    return name.find(only) != std::string_view::npos;
  }
};

// One cluster, and the plugin that has its data.
class Scene {
 public:
  Scene(Pods& pods, const ClusterSpec& spec)
      : cluster_(pods, spec), plugin_(cluster_.host()), codes_(spec.nodes), reasons_(spec.nodes) {
    cluster_.tell(plugin_.plugin());
  }

  Cluster& cluster() { return cluster_; }
  NodeResourceTopologyMatch& plugin() { return plugin_.plugin(); }

  void reset() { std::fill(codes_.begin(), codes_.end(), uint8_t{PLIMSOLL_SUCCESS}); }
  void filter(const PodRef& pod) {
    const auto& slots = plugin_.slots();
    if (slots.filter(slots.self, cluster_.cycle().get(), pod.get(), &cluster_.all(), codes_.data(),
                     reasons_.data()) != PLIMSOLL_SUCCESS) {
      give_up("Filter: " + cluster_.host().error);
    }
  }
  // Of the last pod that was filtered.
  [[nodiscard]] double passed() const {
    const auto count = std::count(codes_.begin(), codes_.end(), uint8_t{PLIMSOLL_SUCCESS});
    return static_cast<double>(count) / static_cast<double>(codes_.size());
  }

 private:
  Cluster cluster_;
  sdk::FakePlugin<NodeResourceTopologyMatch> plugin_;
  std::vector<uint8_t> codes_;
  std::vector<uint32_t> reasons_;
};

class Bench {
 public:
  explicit Bench(Options options) : options_(std::move(options)) {
    floor_ = floor_ms(ClusterSpec{}.nodes, kZones * kResources);
    std::printf("floor: every count of %zu nodes compared once, %.3f ms\n\n", ClusterSpec{}.nodes,
                floor_);
  }

  void filters() {
    std::printf(
        "Filter over 5,000 nodes of 8 zones and 4 resources, for one pod that nobody asked about "
        "before\n\n| nodes | pods | pass | ms a pod | of the worst pod | ns a node | of the floor "
        "|\n| --- | --- | --- | --- | --- | --- | --- |\n");
    constexpr const char* kPolicies[] = {"none", "best-effort", "restricted", "single-numa-node"};
    for (const bool facts : {false, true}) {
      const std::string known = facts ? "facts" : "counts";
      ClusterSpec mixed;
      mixed.facts = facts;
      filter(known + ", all policies and scopes", mixed);
      for (int policy = 0; policy < 4; ++policy) {
        for (const Scope scope : {Scope::kContainer, Scope::kPod}) {
          ClusterSpec one = mixed;
          one.policy = static_cast<Policy>(policy);
          one.scope = scope;
          filter(known + ", " + kPolicies[policy] + ", scope " + std::string(to_string(scope)),
                 one);
        }
      }
    }
    ClusterSpec alone;
    alone.alone = true;
    filter("counts, no two machines alike, all policies and scopes", alone);
    std::printf("\n");
  }

  void in_flight() {
    std::printf(
        "The same with promises in flight: pods bound, not yet reported, on one node in five; "
        "bindings under way\non one node in ten, of one pod or two different ones\n\n"
        "| nodes | pods | pass | ms a pod | of the worst pod | ns a node | of the floor |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (const bool facts : {false, true}) {
      ClusterSpec spec;
      spec.facts = facts;
      const std::string name = facts ? "facts, in flight" : "counts, in flight";
      if (!options_.wants(name)) continue;
      Scene scene(pods_, spec);
      promise(scene, 5, 0, 1, true);
      rows(name + ": bound", scene);
      promise(scene, 10, 1, 1, false);
      rows(name + ": bound, and one under way", scene);
      promise(scene, 10, 1, 1, false);
      rows(name + ": bound, and two under way", scene);
    }
    std::printf("\n");
  }

  void scores() {
    std::printf(
        "Score of TopologyScore over 5,000 nodes, view Predicted\n\n"
        "| strategy | pods | ms a pod | of the worst pod | ns a node | of the floor |\n"
        "| --- | --- | --- | --- | --- | --- |\n");
    std::optional<Scene> made;
    for (const char* strategy : {"LeastAllocated", "MostAllocated", "BalancedAllocation",
                                 "LeastNUMANodes", "PreserveLargeZones"}) {
      if (!options_.wants(strategy)) continue;
      if (!made) made.emplace(pods_, ClusterSpec{});
      Scene& scene = *made;
      const std::string args = R"({"scoringStrategy":{"type":")" + std::string(strategy) + R"("}})";
      sdk::FakePlugin<TopologyScore> plugin(scene.cluster().host(), args);
      score(strategy, "one container", pods_.plain(), scene, plugin.plugin());
      score(strategy, "four containers", pods_.four_containers(), scene, plugin.plugin());
      if (std::strcmp(strategy, "PreserveLargeZones") != 0) continue;
      score(strategy, "ordinary", pods_.ordinary(), scene, plugin.plugin());
    }
    std::printf("\n");
  }

  void single_steps() {
    std::printf("Single steps\n\n| step | us | of the floor |\n| --- | --- | --- |\n");
    for (const bool facts : {false, true}) {
      ClusterSpec spec;
      spec.facts = facts;
      const std::string known = facts ? "facts" : "counts";
      if (!options_.wants("step " + known)) continue;
      Scene scene(pods_, spec);
      reserve(known, scene);
      report(known, scene);
      if (facts)
        std::printf("\nfacts of a node: at most %zu bytes\n", scene.cluster().facts_bytes());
    }
    std::printf("\n");
  }

  void start() {
    if (!options_.wants("start")) return;
    std::printf(
        "Ledger at start\n\n| reports | nodes | pods on them | ms | of the floor |\n"
        "| --- | --- | --- | --- | --- |\n");
    for (const bool facts : {false, true}) {
      ClusterSpec spec;
      spec.facts = facts;
      spec.pods = true;
      Cluster cluster(pods_, spec);
      const Cost cost = least_of(
          3, 1, [](size_t) {},
          [&](size_t) {
            cluster.host().services.clear();
            sdk::FakePlugin<NodeResourceTopologyMatch> plugin(cluster.host());
            cluster.tell(plugin.plugin());
          });
      std::printf("| %s | %zu | %zu | %.0f | %.0f |\n", facts ? "facts" : "counts", cluster.size(),
                  cluster.pod_count(), cost.mean, cost.mean / floor_);
    }
    std::printf("\n");
  }

 private:
  void filter(const std::string& name, const ClusterSpec& spec) {
    if (!options_.wants(name)) return;
    Scene scene(pods_, spec);
    rows(name, scene);
  }

  void rows(const std::string& name, Scene& scene) {
    row(name, "one container", pods_.plain(), scene);
    row(name, "four containers", pods_.four_containers(), scene);
    if (name.find("all policies") == std::string::npos) return;
    row(name, "cpu and memory only", pods_.without_devices(), scene);
    const auto empty_caches = [&](size_t) {
      scene.reset();
      for (char& each : waste_) each = static_cast<char>(each + 1);
      keep(waste_.data());
    };
    row(name, "one container, caches cold", pods_.plain(), scene, empty_caches, 5);
  }

  void row(const std::string& name, const char* pods_name, const std::vector<PodRef>& pods,
           Scene& scene, std::function<void(size_t)> before = nullptr, int rounds = 0) {
    if (!before) before = [&](size_t) { scene.reset(); };
    double passed = 0;
    for (const PodRef& pod : pods) {
      scene.reset();
      scene.filter(pod);
      passed += scene.passed() / static_cast<double>(pods.size());
    }
    const Cost cost = least_of(rounds != 0 ? rounds : options_.rounds, pods.size(), before,
                               [&](size_t pod) { scene.filter(pods[pod]); });
    std::printf("| %s | %s | %.0f %% | %.3f | %.3f | %.0f | %.1f |\n", name.c_str(), pods_name,
                100 * passed, cost.mean, cost.worst,
                1e6 * cost.mean / static_cast<double>(scene.cluster().size()), cost.mean / floor_);
    std::fflush(stdout);
  }

  // Reserves one pod on one node in `every`. `bound`: the watch has also shown these pods.
  void promise(Scene& scene, size_t every, size_t from, size_t count, bool bound) {
    Cluster& cluster = scene.cluster();
    for (size_t node = from; node < cluster.size(); node += every) {
      for (size_t i = 0; i < count; ++i) {
        const std::string name = "promised-" + std::to_string(++names_);
        const PodRef pod = pods_.named(name, names_, "", names_);
        const sdk::Status status =
            scene.plugin().reserve(*cluster.cycle().get(), sdk::Pod(pod.get()), cluster.node(node));
        if (status.code != PLIMSOLL_SUCCESS || !bound) continue;
        const PodRef seen = pods_.named(name, names_, cluster.name(node), names_);
        scene.plugin().pod_event(sdk::PodEvent::kAssigned, sdk::Pod(seen.get()),
                                 cluster.name(node));
      }
    }
  }

  void score(const char* strategy, const char* pods_name, const std::vector<PodRef>& pods,
             Scene& scene, const TopologyScore& plugin) {
    std::vector<int64_t> scores(scene.cluster().size());
    const auto ask = [&](size_t pod) {
      const sdk::Status status =
          plugin.score(*scene.cluster().cycle().get(), sdk::Pod(pods[pod].get()),
                       sdk::Nodes(&scene.cluster().all()), scores);
      if (status.code != PLIMSOLL_SUCCESS) give_up("Score failed");
    };
    const Cost cost = least_of(
        options_.rounds, pods.size(), [](size_t) {}, ask);
    std::printf("| %s | %s | %.3f | %.3f | %.0f | %.1f |\n", strategy, pods_name, cost.mean,
                cost.worst, 1e6 * cost.mean / static_cast<double>(scores.size()),
                cost.mean / floor_);
    std::fflush(stdout);
  }

  void step(const std::string& name, double ms) {
    std::printf("| %s | %.1f | %.3f |\n", name.c_str(), 1e3 * ms, ms / floor_);
  }

  void reserve(const std::string& known, Scene& scene) {
    Cluster& cluster = scene.cluster();
    std::vector<PodRef> pods;
    for (size_t i = 0; i < 400; ++i) pods.push_back(pods_.named("r" + std::to_string(i), i, "", 1));
    size_t promised = 0;
    const auto give_back = [&](size_t i) {
      cluster.host().touched.clear();
      scene.plugin().unreserve(*cluster.cycle().get(), sdk::Pod(pods[i].get()), cluster.name(i));
    };
    const auto ask = [&](size_t i) {
      const sdk::Status status =
          scene.plugin().reserve(*cluster.cycle().get(), sdk::Pod(pods[i].get()), cluster.node(i));
      promised += status.code == PLIMSOLL_SUCCESS ? 1 : 0;
    };
    const Cost cost = least_of(options_.rounds, pods.size(), give_back, ask);
    step("Reserve of one pod, " + known, cost.mean);
    if (promised == 0) give_up("no pod was promised anything");
    for (size_t i = 0; i < pods.size(); ++i) give_back(i);
  }

  void report(const std::string& known, Scene& scene) {
    Cluster& cluster = scene.cluster();
    std::string json;
    bool more = false;
    size_t version = 10;
    const auto prepare = [&](size_t i) {
      if (i == 0) more = !more;
      json = cluster.report(i, more);
      // Without a new version it would count as the same object.
      constexpr std::string_view kVersion = R"("resourceVersion":")";
      json.insert(json.find(kVersion) + kVersion.size(), std::to_string(++version));
      cluster.host().touched.clear();
    };
    const auto tell = [&](size_t i) {
      scene.plugin().object_event(
          {sdk::ObjectEvent::kUpsert, kNrtResource, cluster.name(i), "", json});
    };
    step("A node's report, " + known, least_of(options_.rounds, 400, prepare, tell).mean);
  }

  Options options_;
  double floor_ = 0;
  Pods pods_;
  size_t names_ = 0;
  std::vector<char> waste_ = std::vector<char>(size_t{64} << 20);
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) options.rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--only") == 0) options.only = argv[i + 1];
  }
  if (options.rounds < 1) give_up("--rounds takes a number above 0");
  Bench bench(options);
  bench.filters();
  bench.in_flight();
  bench.scores();
  bench.single_steps();
  bench.start();
  return 0;
}
