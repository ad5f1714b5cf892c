#include "tests/plugins/dynamicresources/claimed_cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "cli/ask/asking.hpp"
#include "lab/sandbox/apiserver/cluster_loader.hpp"
#include "lab/simulate/ask_session.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::dra::test {

using namespace std::chrono_literals;

namespace {

constexpr const char* kNamespace = "d";
constexpr const char* kDriver = "dra.cpu";
constexpr const char* kCapacity = "dra.cpu/cpu";
constexpr int kLargest = 8;  // CPUs of a claim
constexpr auto kPatience = 300s;

constexpr const char* kProfile = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: NodeResourceTopologyMatch}]}}
  pluginConfig:
  - name: DynamicResources
    args: {featureGates: {DRANodeAllocatableResources: GATE}}
)";

std::string profile(bool gate) {
  std::string text = kProfile;
  return text.replace(text.find("GATE"), 4, gate ? "true" : "false");
}

nlohmann::json request_of(int64_t cpus) {
  return {{"requests",
           {{{"name", "r"},
             {"exactly",
              {{"deviceClassName", kDriver},
               {"capacity", {{"requests", {{kCapacity, std::to_string(cpus)}}}}}}}}}}};
}

std::string template_of(int64_t cpus) {
  return "cpus-" + std::to_string(cpus);
}

// As dra-driver-cpu calls a zone's CPUs.
std::string device_of(size_t zone) {
  return "cpudevnuma00" + std::to_string(zone);
}

// Every fourth node has no driver, and its kubelet pins CPUs itself.
bool has_driver(uint32_t node) {
  return node % 4 != 3;
}

int zone_of(const std::string& device) {
  return device.back() - '0';
}

int64_t milli(const nlohmann::json& quantity) {
  const auto text = quantity.get<std::string>();
  return text.ends_with("m") ? std::stoll(text) : std::stoll(text) * 1000;
}

}  // namespace

int64_t ClaimedCluster::Wanted::claimed_milli() const {
  return 1000 * std::accumulate(claimed.begin(), claimed.end(), int64_t{0});
}

ClaimedCluster::ClaimedCluster(const Options& options)
    : options_(options),
      random_(options.seed),
      store_({.seed = options.seed + 1}),
      clock_(std::make_shared<sandbox::SimulatedClock>()),
      stamps_(std::make_unique<sandbox::TimestampScope>(clock_)),
      scheduler_ms_(clock_->epoch_ms()) {
  std::vector<std::string> classes{
      Json{{"apiVersion", "resource.k8s.io/v1"},
           {"kind", "DeviceClass"},
           {"metadata", {{"name", kDriver}}},
           {"spec", {{"selectors", {{{"cel", {{"expression", "device.driver == \"dra.cpu\""}}}}}}}}}
          .dump()};
  for (int cpus = 1; cpus <= kLargest; ++cpus) {
    classes.push_back(Json{{"apiVersion", "resource.k8s.io/v1"},
                           {"kind", "ResourceClaimTemplate"},
                           {"metadata", {{"name", template_of(cpus)}, {"namespace", kNamespace}}},
                           {"spec", {{"spec", {{"devices", request_of(cpus)}}}}}}
                          .dump());
  }
  EXPECT_TRUE(sandbox::load_cluster(store_, classes).has_value());
  for (uint32_t i = 0; i < options.nodes; ++i) add_node(i);

  auto modules = cli::load_modules({std::getenv("PLIMSOLL_PLUGIN_DIR")});
  if (!modules) throw std::runtime_error(modules.error().message);
  modules_ = std::move(*modules);
  const plimsoll::test::TempDir dir;
  EXPECT_TRUE(plimsoll::test::write_file(dir.path() / "profile.yaml", profile(options.gate)));
  auto configuration = cli::load_configuration((dir.path() / "profile.yaml").string(), modules_);
  if (!configuration) throw std::runtime_error(configuration.error().message);
  configuration_ = std::move(*configuration);
  configuration_.config.client_connection.content_type = "application/json";

  sandbox::ServerOptions serving;
  serving.handler.graceful_pod_deletion = true;
  auto server = sandbox::ApiServer::start(store_, serving);
  if (!server) throw std::runtime_error(server.error().message);
  server_ = std::move(*server);
  let_writes_fail();
  controllers_ = std::make_unique<sandbox::SimulatedControllers>(store_);
  sandbox::KubeletOptions kubelets;
  kubelets.clock = clock_;
  kubelets.seed = options.seed;
  kubelets_ =
      std::make_unique<sandbox::SimulatedKubelets>(options.counts ? nowhere_ : store_, kubelets);
  EXPECT_TRUE(kubelets_->wait_handled(kPatience));
  session_ = start_session();
  pace_ = std::make_unique<cli::Pace>(
      cli::SimulatedParts{store_, *kubelets_, *controllers_, *session_, *clock_, scheduler_ms_}, 0);
  pass(1);
}

// Some attempts fail after their claims have devices, or their pods' status says so.
void ClaimedCluster::let_writes_fail() {
  for (const auto& [verb, resource] :
       {std::pair("create", "pods/binding"), std::pair("patch", "resourceclaims/status")}) {
    server_->inject({.verb = verb,
                     .resource = resource,
                     .count = std::numeric_limits<int>::max(),
                     .status = {422, "Invalid", "this write fails"},
                     .share = 0.03,
                     .seed = options_.seed});
  }
}

ClaimedCluster::~ClaimedCluster() {
  session_->stop();
  kubelets_->stop();
  server_->stop();
}

std::unique_ptr<cli::Session> ClaimedCluster::start_session() const {
  informer::ServerAccess access;
  access.server = server_->url();
  access.source = "the test";
  auto session =
      cli::Session::create(configuration_, modules_, access, nullptr,
                           cli::Session::Mode::kSimulated, [this] { return scheduler_ms_.load(); });
  if (!session) throw std::runtime_error(session.error().message);
  (*session)->start();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!(*session)->scheduler().stats().synced && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  EXPECT_TRUE((*session)->scheduler().stats().synced);
  return std::move(*session);
}

// One, two or four zones.
void ClaimedCluster::add_node(uint32_t number) {
  const std::string name = "n" + std::to_string(number);
  const uint32_t count = std::array{2U, 1U, 4U, 2U}.at(number % 4);
  Json zones = Json::array();
  Json devices = Json::array();
  int64_t all = 0;
  for (uint32_t zone = 0; zone < count; ++zone) {
    const int64_t cpus = zone == 0 ? 15 : 16;  // one is the system's
    all += cpus;
    zones.push_back({{"name", "node-" + std::to_string(zone)},
                     {"type", "Node"},
                     {"resources",
                      {{{"name", "cpu"},
                        {"capacity", "16"},
                        {"allocatable", std::to_string(cpus)},
                        {"available", std::to_string(cpus)}}}}});
    devices.push_back(
        {{"name", device_of(zone)},
         {"allowMultipleAllocations", true},
         {"attributes",
          {{"resource.kubernetes.io/numaNode", {{"int", zone}}},
           {"dra.cpu/numaNodeID", {{"int", zone}}},
           {"dra.cpu/numCPUs", {{"int", cpus}}},
           {"dra.cpu/smtEnabled", {{"bool", false}}}}},
         {"capacity",
          {{kCapacity,
            {{"value", std::to_string(cpus)},
             {"requestPolicy",
              {{"default", std::to_string(cpus)},
               {"validRange", {{"min", "1"}, {"step", "1"}}}}}}}}},
         {"nodeAllocatableResources",
          {{"cpu", {{"mapping", {{"capacityKey", kCapacity}, {"capacityMultiplier", "1"}}}}}}}});
  }
  Json attributes{{{"name", "topologyManagerPolicy"}, {"value", "single-numa-node"}},
                  {{"name", "topologyManagerScope"}, {"value", "container"}}};
  if (!options_.counts && has_driver(number))
    attributes.push_back({{"name", "cpuManagerPolicy"}, {"value", "none"}});
  const Json amounts{{"cpu", std::to_string(all)}, {"memory", "1Ti"}, {"pods", "250"}};
  std::vector<std::string> objects{
      Json{{"apiVersion", "v1"},
           {"kind", "Node"},
           {"metadata", {{"name", name}}},
           {"status", {{"capacity", amounts}, {"allocatable", amounts}}}}
          .dump(),
      Json{{"apiVersion", "topology.node.k8s.io/v1alpha2"},
           {"kind", "NodeResourceTopology"},
           {"metadata", {{"name", name}}},
           {"attributes", attributes},
           {"zones", zones}}
          .dump()};
  if (has_driver(number)) {
    objects.push_back(Json{
        {"apiVersion", "resource.k8s.io/v1"},
        {"kind", "ResourceSlice"},
        {"metadata", {{"name", name + "-" + kDriver}}},
        {"spec",
         {{"driver", kDriver},
          {"nodeName", name},
          {"pool", {{"name", name}, {"generation", 1}, {"resourceSliceCount", 1}}},
          {"devices",
           devices}}}}.dump());
  }
  EXPECT_TRUE(sandbox::load_cluster(store_, objects).has_value());
}

ClaimedCluster::Wanted ClaimedCluster::draw_pod() {
  Wanted pod;
  const uint32_t kind = draw(10);
  if (kind < 6) {
    for (uint32_t i = kind == 0 ? 2 : 1; i > 0; --i) pod.claimed.push_back(1 + draw(kLargest));
  }
  if (kind == 9) {
    pod.own_milli = 500 + 250 * draw(8);
  } else {
    pod.pins = true;
    pod.own_milli = 1000 * (kind < 6 ? draw(4) : 1 + draw(6));
  }
  return pod;
}

void ClaimedCluster::arrive() {
  const std::string name = "p" + std::to_string(made_++);
  const Wanted pod = draw_pod();
  std::vector<std::string> objects;
  Json used = Json::array();
  Json named = Json::array();
  for (size_t i = 0; i < pod.claimed.size(); ++i) {
    const std::string entry = "c" + std::to_string(i);
    used.push_back({{"name", entry}});
    if (draw(2) == 0) {
      named.push_back(
          {{"name", entry}, {"resourceClaimTemplateName", template_of(pod.claimed[i])}});
      continue;
    }
    const std::string claim = name + "-" + entry;
    named.push_back({{"name", entry}, {"resourceClaimName", claim}});
    objects.push_back(Json{{"apiVersion", "resource.k8s.io/v1"},
                           {"kind", "ResourceClaim"},
                           {"metadata", {{"name", claim}, {"namespace", kNamespace}}},
                           {"spec", {{"devices", request_of(pod.claimed[i])}}}}
                          .dump());
  }
  const int64_t asked = pod.own_milli + (options_.gate ? 0 : pod.claimed_milli());
  const Json amounts{{"cpu", std::to_string(asked) + "m"}, {"memory", "1Gi"}};
  Json container{{"name", "c"}, {"image", "i"}, {"resources", {{"requests", amounts}}}};
  if (pod.pins) container["resources"]["limits"] = amounts;
  if (!used.empty()) container["resources"]["claims"] = used;
  Json object{{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", name}, {"namespace", kNamespace}}},
              {"spec", {{"containers", {container}}}}};
  if (!named.empty()) object["spec"]["resourceClaims"] = named;
  objects.push_back(object.dump());
  const auto loaded = sandbox::load_cluster(store_, objects);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ASSERT_TRUE(loaded->notes.empty()) << loaded->notes.front();
  wanted_.emplace(name, pod);
}

void ClaimedCluster::leave() {
  if (wanted_.empty()) return;
  const auto gone = std::next(wanted_.begin(), draw(static_cast<uint32_t>(wanted_.size())));
  const sandbox::ObjectKey key{kNamespace, gone->first};
  const auto pod = store_.get(sandbox::kPods, key);
  ASSERT_TRUE(pod.has_value());
  // What is on a node is ended by its kubelet.
  const auto done = options_.counts || (*pod)->field("spec.nodeName").empty()
                        ? store_.remove(sandbox::kPods, key)
                        : store_.mark_deleted(sandbox::kPods, key, {}, 30s);
  ASSERT_TRUE(done.has_value());
  wanted_.erase(gone);
}

void ClaimedCluster::leave_all() {
  while (!wanted_.empty()) leave();
}

void ClaimedCluster::pass(double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const double until = clock_->seconds() + seconds;
  while (true) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "something never comes to rest";
    if (!pace_->rests() || pace_->decide()) continue;
    if (clock_->seconds() >= until) return;
    pace_->advance_to(std::min(until, pace_->next_due()));
  }
}

// What failed last is tried again after ten seconds, and may then give its claims back first.
void ClaimedCluster::come_to_rest() {
  server_->clear_faults();
  pass(30);
  let_writes_fail();
}

std::vector<nlohmann::json> ClaimedCluster::all(const sandbox::ResourceName& kind) const {
  std::vector<Json> objects;
  const auto listed = store_.list(kind);
  EXPECT_TRUE(listed.has_value());
  for (const sandbox::ObjectPtr& each : listed->objects) objects.push_back(each->parse());
  return objects;
}

// ---- what the API server's objects come to

std::map<std::string, ClaimedCluster::Node> ClaimedCluster::nodes() const {
  std::map<std::string, Node> nodes;
  for (const Json& report : all(sandbox::kNodeResourceTopologies)) {
    Node& node = nodes[report["metadata"]["name"]];
    for (const Json& zone : report["zones"]) {
      for (const Json& resource : zone["resources"]) {
        if (resource["name"] == "cpu") node.zones.push_back(milli(resource["allocatable"]) / 1000);
      }
    }
    node.claimed.resize(node.zones.size());
    node.pinned.resize(node.zones.size());
  }
  for (const Json& slice : all(sandbox::kResourceSlices))
    nodes.at(slice["spec"]["nodeName"]).has_driver = true;
  for (const Json& node : all(sandbox::kNodes))
    nodes.at(node["metadata"]["name"]).cpus_milli = milli(node["status"]["allocatable"]["cpu"]);

  std::map<std::string, Json> claims;
  for (const Json& claim : all(sandbox::kResourceClaims)) {
    const std::string name = claim["metadata"]["name"];
    claims.emplace(name, claim);
    const Json results =
        claim.value(Json::json_pointer("/status/allocation/devices/results"), Json::array());
    for (const Json& result : results) {
      Node& node = nodes.at(result["pool"]);
      const auto zone = static_cast<size_t>(zone_of(result["device"]));
      node.claimed.at(zone) += milli(result["consumedCapacity"][kCapacity]) / 1000;
      node.claims[zone_of(result["device"])].insert(std::string(kNamespace) + "/" + name);
    }
  }
  for (const Json& pod : all(sandbox::kPods)) count_pod(pod, claims, nodes);
  return nodes;
}

// Its claims must be its own, of its size and on its node.
void ClaimedCluster::count_pod(const Json& pod, const std::map<std::string, Json>& claims,
                               std::map<std::string, Node>& nodes) const {
  const std::string name = pod["metadata"]["name"];
  const std::string at = pod["spec"].value("nodeName", "");
  const auto wanted = wanted_.find(name);
  if (at.empty() || wanted == wanted_.end()) return;
  EXPECT_NE(pod["status"].value("phase", ""), "Failed") << name << ": its kubelet refused it";
  Node& node = nodes.at(at);
  node.used_milli += milli(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]);
  std::vector<int64_t> claimed;
  for (const Json& entry : pod["spec"].value("resourceClaims", Json::array())) {
    std::string claim = entry.value("resourceClaimName", "");
    for (const Json& made : pod["status"].value("resourceClaimStatuses", Json::array())) {
      if (made["name"] == entry["name"]) claim = made["resourceClaimName"];
    }
    const Json& status = claims.at(claim)["status"];
    ASSERT_TRUE(status.contains("allocation")) << claim << " of " << name << " on " << at;
    ASSERT_EQ(status["reservedFor"].size(), 1U) << claim;
    EXPECT_EQ(status["reservedFor"][0]["uid"], pod["metadata"]["uid"]) << claim;
    int64_t& sum = claimed.emplace_back();
    for (const Json& result : status["allocation"]["devices"]["results"]) {
      EXPECT_EQ(result["pool"], at) << claim << " is elsewhere than " << name;
      sum += milli(result["consumedCapacity"][kCapacity]) / 1000;
    }
  }
  EXPECT_EQ(claimed, wanted->second.claimed) << name;
  int64_t said = 0;
  for (const Json& each :
       pod["status"].value("nodeAllocatableResourceClaimStatuses", Json::array())) {
    for (const Json& mapped : each["mapping"]) said += milli(mapped["quantity"]);
  }
  EXPECT_EQ(said, options_.gate ? wanted->second.claimed_milli() : 0) << name;
  node.used_milli += said;
}

ClaimedCluster::Totals ClaimedCluster::totals() const {
  Totals totals;
  for (const Json& pod : all(sandbox::kPods)) {
    ++totals.there;
    if (!pod["spec"].contains("nodeName")) continue;
    ++totals.bound;
    totals.with_claims += pod["spec"].contains("resourceClaims") ? 1 : 0;
  }
  for (const auto& [name, node] : nodes()) {
    totals.cpus += node.cpus_milli / 1000;
    totals.free_cpus += (node.cpus_milli - node.used_milli) / 1000;
  }
  return totals;
}

void ClaimedCluster::recount() {
  const std::map<std::string, Node> recounted = nodes();
  const std::map<std::string, Json> told = told_by(*session_);
  for (const auto& [name, node] : recounted) {
    SCOPED_TRACE(name);
    EXPECT_LE(node.used_milli, node.cpus_milli);
    for (size_t zone = 0; zone < node.zones.size(); ++zone)
      EXPECT_LE(node.claimed[zone], node.zones[zone]) << "zone " << zone;
    compare(told.at(name), node);
  }
}

// What the scheduler counts is that.
void ClaimedCluster::compare(const Json& said, const Node& node) const {
  EXPECT_EQ(said["resources"]["cpu"]["used"], node.used_milli);
  std::vector<int64_t> taken = node.claimed;
  std::vector<int64_t> without_room;  // in thousandths
  for (const Json& pod : said["pods"]) {
    int64_t own = 0;
    const Json zones = pod.value("zones", Json::object());
    for (const auto& [zone, amounts] : zones.items()) {
      const int64_t cpus = amounts.contains("cpu") ? milli(amounts["cpu"]) : 0;
      taken.at(static_cast<size_t>(zone_of(zone))) += cpus / 1000;
      own += cpus;
    }
    const std::string name = pod["pod"].get<std::string>().substr(2);
    const Wanted& wanted = wanted_.at(name);
    const bool counts = wanted.pins && (options_.counts || !node.has_driver);
    const int64_t should = counts ? wanted.own_milli : 0;
    EXPECT_LE(own, should) << name;
    if (own < should) without_room.push_back(should);
  }
  const bool may_be_elsewhere = options_.counts && node.has_driver;
  for (size_t zone = 0; zone < node.zones.size(); ++zone) {
    SCOPED_TRACE("zone " + std::to_string(zone));
    const Json& cpus = said["zones"]["node-" + std::to_string(zone)]["cpu"];
    EXPECT_EQ(cpus["allocatable"], node.zones[zone] * 1000);
    // A driver may have given away what nobody knows whether a kubelet pins.
    if (!may_be_elsewhere) {
      EXPECT_LE(taken[zone], node.zones[zone]);
    }
    EXPECT_EQ(cpus["used"], taken[zone] * 1000) << said;
    for (const int64_t each : without_room) {
      EXPECT_TRUE(may_be_elsewhere && (node.zones[zone] - taken[zone]) * 1000 < each) << said;
    }
  }
  std::map<int, std::set<std::string>> claims;
  const Json pools = said.value(Json::json_pointer("/claimDevices/dra.cpu"), Json::object());
  for (const Json& pool : pools) {
    for (const auto& [device, state] : pool.items()) {
      for (const Json& claim : state.value("claims", Json::array()))
        claims[zone_of(device)].insert(claim["claim"]);
    }
  }
  EXPECT_EQ(claims, node.claims);
}

// ---- who waits

bool ClaimedCluster::has_room(const Node& node, const Wanted& pod) const {
  if (node.used_milli + pod.own_milli + pod.claimed_milli() > node.cpus_milli) return false;
  if (!node.has_driver) {
    if (!pod.claimed.empty()) return false;
    if (!pod.pins) return true;
    for (size_t zone = 0; zone < node.zones.size(); ++zone) {
      if (node.zones[zone] - node.pinned[zone] >= pod.own_milli / 1000) return true;
    }
    return false;
  }
  // Each claim has a zone.
  std::vector<int64_t> left(node.zones.size());
  for (size_t zone = 0; zone < left.size(); ++zone)
    left[zone] = node.zones[zone] - node.claimed[zone];
  const std::function<bool(size_t)> place = [&](size_t claim) {
    if (claim == pod.claimed.size()) return true;
    for (int64_t& zone : left) {
      if (zone < pod.claimed[claim]) continue;
      zone -= pod.claimed[claim];
      const bool fits = place(claim + 1);
      zone += pod.claimed[claim];
      if (fits) return true;
    }
    return false;
  };
  return place(0);
}

void ClaimedCluster::expect_nobody_waits_in_vain() {
  std::map<std::string, Node> now = nodes();
  for (const auto& [name, zones] : kubelets_->zones()) {
    Node& node = now.at(name);
    for (size_t zone = 0; zone < zones.size(); ++zone) {
      const auto& cpus = zones[zone];
      node.pinned.at(zone) =
          (node::amount_of(cpus.allocatable, "cpu") - node::amount_of(cpus.available, "cpu")) /
          1000;
    }
  }
  for (const Json& pod : all(sandbox::kPods)) {
    if (pod["spec"].contains("nodeName")) continue;
    const Wanted& wanted = wanted_.at(pod["metadata"]["name"]);
    if (options_.counts && wanted.pins) continue;  // it may wait until more is known
    for (const auto& [name, node] : now) {
      if (!has_room(node, wanted)) continue;
      ADD_FAILURE() << pod["metadata"]["name"] << " fits onto " << name
                    << " and waits: " << pod["status"];
      break;
    }
  }
}

// ---- what schedulers know

std::map<std::string, nlohmann::json> ClaimedCluster::told_by(cli::Session& session) const {
  const auto answer = cli::ask_session(session)(cli::question("top", {{"pods", ""}}));
  EXPECT_TRUE(answer.has_value());
  Json said = Json::parse(answer.value_or("{}"));
  std::map<std::string, Json> nodes;
  for (Json& node : said["nodes"]) {
    const std::string name = node["node"];
    nodes.emplace(name, std::move(node));
  }
  return nodes;
}

void ClaimedCluster::expect_as_fresh() {
  const auto fresh = start_session();
  EXPECT_EQ(told_by(*session_), told_by(*fresh));
  fresh->stop();
}

}  // namespace plimsoll::dra::test
