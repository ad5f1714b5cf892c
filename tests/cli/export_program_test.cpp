// What `plimsoll export` writes is the cluster that it was made of, as far as decisions go.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "config/manifest.hpp"
#include "lab/lint/draw.hpp"
#include "lab/sandbox/apiserver/api_server.hpp"
#include "lab/sandbox/apiserver/cluster_loader.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const std::string kSample = "examples/clusters/quickstart/";

// The sample cluster with its waiting pods, served.
class PlimsollExport : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<std::string> texts;
    for (const char* file : {"cluster.yaml", "pods.yaml"}) {
      const auto objects = config::load_manifests(kSample + file);
      ASSERT_TRUE(objects) << objects.error().message;
      for (const auto& object : *objects) texts.push_back(object.json);
    }
    // In the order in which an API server lists them: in it pods of one second get their turn.
    json items = json::array();
    for (const std::string& text : texts) items.push_back(json::parse(text));
    std::stable_sort(items.begin(), items.end(), [](const json& a, const json& b) {
      const auto place = [](const json& object) {
        const json& metadata = object.at("metadata");
        return std::pair(metadata.value("namespace", ""), metadata.value("name", ""));
      };
      return place(a) < place(b);
    });
    const std::string original =
        json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}}.dump();
    ASSERT_TRUE(write_file(dir_ / "original.json", original));
    // Created in this order, too: the second may change meanwhile.
    serve(original);
  }
  void serve(const std::string& cluster) {
    server_.reset();
    store_ = std::make_unique<sandbox::ObjectStore>();
    const auto loaded = sandbox::load_cluster(*store_, {cluster});
    ASSERT_TRUE(loaded) << loaded.error().message;
    server_ = std::move(sandbox::ApiServer::start(*store_).value());
    ASSERT_TRUE(write_file(dir_ / "kubeconfig",
                           "current-context: c\nclusters: [{name: k, cluster: {server: '" +
                               server_->url() +
                               "'}}]\nusers: [{name: u, user: {}}]\n"
                               "contexts: [{name: c, context: {cluster: k, user: u}}]\n"));
  }

  Finished plimsoll(std::vector<std::string> arguments) {
    ChildOptions options;
    options.argv = {std::string(std::getenv("PLIMSOLL_BIN_DIR")) + "/plimsoll"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.stderr_file = dir_ / "stderr";
    auto done = run(options, 120s);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : Finished{};
  }
  Finished exported(const std::string& file, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"export", "--kubeconfig", path("kubeconfig"), "-o",
                                       path(file)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return plimsoll(std::move(arguments));
  }
  // The result of a simulation of what was exported.
  json simulated(const std::string& file) {
    const Finished done = plimsoll({"simulate", "--config", "examples/profiles/topology.yaml",
                                    "--cluster", path(file), "-o", "json"});
    EXPECT_EQ(done.status.code, 0) << done.err;
    return json::parse(done.out, nullptr, false);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (dir_ / name).string(); }
  TempDir dir_;
  std::unique_ptr<sandbox::ObjectStore> store_;
  std::unique_ptr<sandbox::ApiServer> server_;
};

TEST_F(PlimsollExport, IsSimulatedLikeTheClusterItself) {
  const Finished done = exported("cluster.json");
  ASSERT_EQ(done.status.code, 0) << done.err;
  EXPECT_EQ(server_->writes(), 0U) << "an export only reads";
  EXPECT_THAT(done.err, HasSubstr("exported "));
  const json first = simulated("cluster.json");
  ASSERT_GT(first.value("bound", 0), 0);
  EXPECT_EQ(first.at("pods"), simulated("original.json").at("pods"));

  // The same cluster from its own export, once more: nothing was lost on the way.
  ASSERT_EQ(exported("again.json").status.code, 0);
  EXPECT_EQ(read_file(dir_ / "again.json").value(), read_file(dir_ / "cluster.json").value());
}

// Each pod has another name, and its place is the same.
TEST_F(PlimsollExport, AnAnonymousOneHasTheSamePlacements) {
  ASSERT_TRUE(sandbox::load_cluster(*store_, {R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 7,
     "metadata": {"name": "before-christmas"}, "description": "what our-shop needs"},
    {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "our-runtime"},
     "handler": "our-shop", "overhead": {"podFixed": {"cpu": "250m"}},
     "scheduling": {"nodeSelector": {"our-shop/pool": "our-shop"}}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pays"}, "spec": {
     "containers": [], "priorityClassName": "before-christmas", "affinity": {"podAffinity": {
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": {
       "topologyKey": "kubernetes.io/hostname", "mismatchLabelKeys": ["our-shop/owner"]}}]}}}}]})"}));
  ASSERT_EQ(exported("cluster.json").status.code, 0);
  ASSERT_EQ(exported("anonymous.json", {"--anonymise"}).status.code, 0);
  const std::string text = read_file(dir_ / "anonymous.json").value();
  const json open = json::parse(read_file(dir_ / "cluster.json").value());
  for (const json& object : open.at("items")) {
    if (object.at("kind") == "DeviceClass") continue;  // extended resources name it
    const std::string name = object.at("metadata").at("name");
    EXPECT_THAT(text, Not(HasSubstr('"' + name + '"'))) << object.at("kind");
  }
  EXPECT_THAT(text, Not(HasSubstr("our-")));
  EXPECT_THAT(text, HasSubstr(R"("cpu": "250m")"));
  const json want = simulated("cluster.json"), have = simulated("anonymous.json");
  EXPECT_EQ(have.value("bound", -1), want.value("bound", 0));
  EXPECT_EQ(have.at("kubelets").at("rejected"), want.at("kubelets").at("rejected"));
}

// A cluster in which whatever anonymising could touch decides something.
json random_cluster(lint::Dice& dice) {
  static const lint::Words kWords{.lists = {}, .parts = json::parse(R"({
    "zone": "us-east4-{a|b|c}",
    "node": "{10.20.96.1|10.20.96.2|10.20.96.11|7|ip-10-0-92-4.ec2.internal|worker}",
    "app": "{web|batch|db-1}",
    "image": "{registry.acme.com:5000/team/web:1.4|acme/batch|acme/batch:2|db@sha256:0a1b}",
    "disk": "{ssd|spinning}",
    "topology": "{topology.kubernetes.io/zone|kubernetes.io/hostname|acme.com/disk}",
    "selector": {"|": [{"matchLabels": {"app": "=app"}},
      {"matchExpressions": [{"key": "app", "operator": "{In|NotIn}", "values": ["=app"]}]},
      {"matchExpressions": [{"key": "acme.com/old", "operator": "DoesNotExist"}]}]},
    "term": {"topologyKey": "=topology", "labelSelector": "=selector", "namespaces?4": ["bank"],
             "namespaceSelector?4": {"matchLabels": {"team": "{red|blue}"}}},
    "terms": {"requiredDuringSchedulingIgnoredDuringExecution?2": ["=term"],
              "preferredDuringSchedulingIgnoredDuringExecution?2":
                [{"weight": "#{1-100}", "podAffinityTerm": "=term"}]},
    "nodes": {"|": [
      {"matchFields": [{"key": "metadata.name", "operator": "{In|In|NotIn}", "values": ["=node"]}]},
      {"matchExpressions": [{"key": "acme.com/cores", "operator": "{Gt|Lt}", "values": ["{4-16/4}"]}]},
      {"matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "{In|NotIn}",
                             "values": ["=zone", "=zone"]}]},
      {"matchExpressions": [{"key": "acme.com/disk", "operator": "Exists"}]}]},
    "resources": {"|": [{"requests": {"cpu": "{250-2500/250}m", "memory": "{1-3}Gi"}},
      {"limits": {"cpu": "2", "memory": "2Gi"}, "requests": {"cpu": "2", "memory": "2Gi"}},
      {"limits": {"koordinator.sh/gpu-core": "50", "koordinator.sh/gpu-memory-ratio": "50"},
       "requests": {"koordinator.sh/gpu-core": "50", "koordinator.sh/gpu-memory-ratio": "50"}}]}
  })")};
  static const json kNode = json::parse(R"({"apiVersion": "v1", "kind": "Node",
    "metadata": {"labels": {"topology.kubernetes.io/zone?5/6": "=zone", "acme.com/disk?2/3": "=disk",
      "topology.kubernetes.io/region": "us-east4", "acme.com/cores": "{2-20/3}", "kubernetes.io/os": "linux"},
      "annotations": {"acme.com/owner": "somebody"}},
    "spec": {"unschedulable?12": true,
      "taints?4": [{"key": "acme.com/dedicated", "value": "{red|blue}", "effect": "{NoSchedule|PreferNoSchedule}"}]},
    "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "pods": "{5-9}", "koordinator.sh/gpu-core": "200",
                               "koordinator.sh/gpu-memory-ratio": "200"},
      "images": [{"*3": {"names": ["=image"], "sizeBytes": "#{100-900/100}000000"}}]}})");
  static const json kPod = json::parse(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"labels": {"app": "=app", "acme.com/old?6": "3"}, "annotations": {"acme.com/owner": "somebody"}},
    "spec": {"schedulerName": "topo-aware-scheduler", "priority": "#{0|0|10|1000}",
      "containers": [{"name": "main", "image": "=image", "resources": "=resources",
        "ports?5": [{"containerPort": 80, "hostPort": 8080, "hostIP?2": "10.20.96.{1-2}"}]}],
      "nodeSelector?6": {"acme.com/disk": "=disk"},
      "affinity?2": {"podAffinity?3": "=terms", "podAntiAffinity?3": "=terms",
        "nodeAffinity?2": {"requiredDuringSchedulingIgnoredDuringExecution?2": {"nodeSelectorTerms": ["=nodes", "=nodes"]},
          "preferredDuringSchedulingIgnoredDuringExecution?2": [{"weight": "#{1-100}", "preference": "=nodes"}]}},
      "topologySpreadConstraints?4": [{"maxSkew": 1, "topologyKey": "=topology", "labelSelector": "=selector",
        "whenUnsatisfiable": "{DoNotSchedule|ScheduleAnyway}", "matchLabelKeys?3": ["app"]}],
      "tolerations?2": [{"key": "acme.com/dedicated", "operator": "Equal", "value": "{red|blue}"}],
      "volumes?3": [{"|": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-{0-5}"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"],
          "storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}}}}}]}]},
    "status": {"phase": "Pending"}})");
  static const json kClaim = json::parse(R"({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
    "metadata": {"annotations?3": {"volume.kubernetes.io/selected-node": "=node"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}},
      "storageClassName": "fast", "selector?6": {"matchLabels": {"acme.com/disk": "=disk"}}}})");
  static const json kVolume = json::parse(R"({"apiVersion": "v1", "kind": "PersistentVolume",
    "metadata": {"labels": {"topology.kubernetes.io/zone": "{us-east4-a__us-east4-b|us-east4-c}", "acme.com/disk": "=disk"}},
    "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}, "storageClassName": "fast"}})");
  json items = json::array();
  const auto add = [&](json object, const std::string& name, const std::string& ns = "") -> json& {
    object["metadata"]["name"] = name;
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    object["metadata"]["uid"] =
        "00000000-0000-4000-8000-" + std::to_string(100000000000 + items.size());
    object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z";
    return items.emplace_back(std::move(object));
  };
  const auto drawn = [&](const json& pattern) { return lint::draw(dice, pattern, kWords); };
  for (const char* ns : {"bank", "shop"})
    add({{"apiVersion", "v1"},
         {"kind", "Namespace"},
         {"metadata", {{"labels", {{"team", ns[0] == 'b' ? "red" : "blue"}}}}}},
        ns);
  add(json::parse(
          R"({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "ebs.csi.aws.com",
    "parameters": {"secret": "x"}, "volumeBindingMode": "WaitForFirstConsumer"})"),
      "fast");
  for (const char* name :
       {"10.20.96.1", "10.20.96.11", "10.20.96.2", "7", "ip-10-0-92-4.ec2.internal", "worker"}) {
    add(drawn(kNode), name)["metadata"]["labels"]["kubernetes.io/hostname"] = name;
    add({{"apiVersion", "storage.k8s.io/v1"},
         {"kind", "CSINode"},
         {"spec",
          {{"drivers",
            {{{"name", "ebs.csi.aws.com"}, {"nodeID", name}, {"allocatable", {{"count", 2}}}}}}}}},
        name);
    if (dice.one_in(2)) continue;
    json devices = json::array();
    for (int minor = 0; minor < 2; ++minor)
      devices.push_back({{"type", "gpu"},
                         {"id", "GPU-" + std::to_string(minor)},
                         {"minor", minor},
                         {"health", true},
                         {"resources",
                          {{"koordinator.sh/gpu-core", "100"},
                           {"koordinator.sh/gpu-memory", "80Gi"},
                           {"koordinator.sh/gpu-memory-ratio", "100"}}}});
    add({{"apiVersion", "scheduling.koordinator.sh/v1alpha1"},
         {"kind", "Device"},
         {"spec", {{"devices", devices}}}},
        name);
    json zones = json::array();
    for (int zone = 0; zone < 2; ++zone)
      zones.push_back(
          {{"name", "node-" + std::to_string(zone)},
           {"type", "Node"},
           {"resources",
            {{{"name", "cpu"}, {"capacity", "4"}, {"allocatable", "4"}, {"available", "4"}}}}});
    add({{"apiVersion", "topology.node.k8s.io/v1alpha2"},
         {"kind", "NodeResourceTopology"},
         {"zones", zones},
         {"attributes", {{{"name", "topologyManagerPolicy"}, {"value", "single-numa-node"}}}}},
        name);
  }
  for (int i = 0; i < 6; ++i) {
    const std::string name = "data-" + std::to_string(i);
    json& claim = add(drawn(kClaim), name, "shop");
    if (dice.one_in(2)) continue;
    claim["spec"]["volumeName"] = "pv-" + std::to_string(i);
    claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = "yes";
    claim["status"]["phase"] = "Bound";
    const json reference{{"kind", "PersistentVolumeClaim"},
                         {"namespace", "shop"},
                         {"name", name},
                         {"uid", claim["metadata"]["uid"]}};
    json volume = drawn(kVolume);
    volume["spec"]["gcePersistentDisk"] = {{"pdName", "disk-" + std::to_string(i)}};
    volume["spec"]["claimRef"] = reference;
    volume["status"]["phase"] = "Bound";
    add(volume, "pv-" + std::to_string(i));
  }
  add(json::parse(
          R"({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"selector": {"matchLabels": {"app": "web"}}},
    "status": {"disruptionsAllowed": 1}})"),
      "keeps-web", "shop");
  add(json::parse(
          R"({"apiVersion": "v1", "kind": "Service", "spec": {"selector": {"app": "db-1"}, "clusterIP": "10.1.2.3"}})"),
      "db", "bank");
  for (int i = 0; i < 30; ++i) {
    json pod = drawn(kPod);
    const char* ns = dice.one_in(3) && !pod["spec"].contains("volumes") ? "bank" : "shop";
    if (i < 8) {  // it runs already
      pod["spec"]["nodeName"] = drawn("=node");
      pod["spec"].erase("volumes");
      pod["spec"].erase("affinity");
      pod["status"]["phase"] = "Running";
    }
    add(std::move(pod), "pod-" + std::to_string(i), ns);
  }
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
}

// What is left out decides nothing, and what is replaced decides the same.
TEST_F(PlimsollExport, RandomClustersAreDecidedAlike) {
  const auto rounds = number_from_environment("PLIMSOLL_RANDOM_ROUNDS", 4);
  const uint64_t seed = test_seed();
  std::set<std::string> places;
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("PLIMSOLL_TEST_SEED=" + std::to_string(seed + round));
    lint::Dice dice(seed + round);
    const std::string original = random_cluster(dice).dump();
    ASSERT_TRUE(write_file(dir_ / "original.json", original));
    serve(original);
    ASSERT_EQ(exported("cluster.json").status.code, 0);
    ASSERT_EQ(exported("anonymous.json", {"--anonymise"}).status.code, 0);
    const json open = json::parse(read_file(dir_ / "cluster.json").value()).at("items");
    const std::string text = read_file(dir_ / "anonymous.json").value();
    for (const char* name :
         {"acme", "us-east4", "10.", "ip-", "bank", "shop", "somebody", "web", "ssd"})
      EXPECT_THAT(text, Not(HasSubstr(name)));
    const json closed = json::parse(text).at("items");
    ASSERT_EQ(open.size(), closed.size());
    std::map<std::string, std::string> words{{"", ""}};
    const auto full_name = [](const json& object) {
      return object.at("metadata").value("namespace", "") + "/" +
             object.at("metadata").value("name", "");
    };
    for (size_t i = 0; i < open.size(); ++i) {
      words[open[i].at("metadata").at("name")] = closed[i].at("metadata").at("name");
      words[full_name(open[i])] = full_name(closed[i]);
    }
    const auto placed = [&](const std::string& file, bool as_words) {
      std::map<std::string, std::string> nodes;
      const json result = simulated(file);
      for (const json& pod : result.at("pods")) {
        const std::string name = pod.at("pod"), node = pod.at("node");
        if (!node.empty()) places.insert(node);
        nodes[as_words ? words[name] : name] = as_words ? words[node] : node;
      }
      return nodes;
    };
    const auto before = placed("original.json", true);
    EXPECT_EQ(placed("cluster.json", true), before);
    EXPECT_EQ(placed("anonymous.json", false), before);
  }
  EXPECT_GT(places.size(), 4U) << "nothing was decided";
}

// Only the plugin knows what it reads of a kind of its own: all of it goes, or nothing. Secrets
// never go.
TEST_F(PlimsollExport, KindsOfOtherPluginsAreWhole) {
  const json map = json::parse(R"({"apiVersion": "example.com/v1", "kind": "BerthMap",
    "metadata": {"name": "quay", "annotations": {"a": "b"}}, "spec": {"note": "only the plugin knows"}})");
  const json secret{{"apiVersion", "v1"},
                    {"kind", "Secret"},
                    {"metadata", {{"name", "key"}, {"namespace", "default"}}},
                    {"data", {{"a", "c3VycHJpc2U="}}}};
  const json list{{"apiVersion", "v1"}, {"kind", "List"}, {"items", {map, secret}}};
  ASSERT_TRUE(sandbox::load_cluster(*store_, {list.dump()}));
  const Finished without = exported("without.json");
  EXPECT_THAT(read_file(dir_ / "without.json").value(), Not(HasSubstr("BerthMap"))) << without.err;
  const Finished done = exported("cluster.json", {"--plugin-dir", PLIMSOLL_BERTHMAPS_MODULES});
  ASSERT_EQ(done.status.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("berthmaps.v1.example.com"));
  EXPECT_THAT(done.err, HasSubstr("secrets, which a plugin watches, are left out"));
  const std::string text = read_file(dir_ / "cluster.json").value();
  EXPECT_THAT(text, Not(HasSubstr("c3VycHJpc2U")));
  const json written = json::parse(text);
  const json& found = written.at("items").front();
  EXPECT_EQ(found.at("spec"), map.at("spec"));
  EXPECT_EQ(found.at("metadata").at("annotations"), map.at("metadata").at("annotations"));

  const Finished refused =
      exported("anonymous.json", {"--anonymise", "--plugin-dir", PLIMSOLL_BERTHMAPS_MODULES});
  EXPECT_EQ(refused.status.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--anonymise: only the plugin that watches berthmaps.v1."));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "anonymous.json"));
}

// Half a cluster would be simulated as if it were a whole one.
TEST_F(PlimsollExport, WritesNothingWhereAKindCannotBeRead) {
  sandbox::Fault refused;
  refused.verb = "list";
  refused.resource = "pods";
  refused.count = 1000;
  refused.status = {403, "Forbidden", "pods is forbidden"};
  server_->inject(refused);
  const Finished done = exported("cluster.json");
  EXPECT_EQ(done.status.code, 1);
  EXPECT_THAT(done.err, HasSubstr("listing pods: the API server answered 403 (pods is forbidden)"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "cluster.json"));
}

}  // namespace
}  // namespace plimsoll::test
