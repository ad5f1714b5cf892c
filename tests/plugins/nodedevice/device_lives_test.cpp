// Random lives of a small cluster with devices, through the plugin as the scheduler calls it: pods
// are given devices, bound, refused, finished; devices fail, shrink, go and come back; Device
// objects are deleted, broken, mended; annotations are broken; kubelets report checkpoints; nodes
// go; the scheduler crashes and starts again from what the API server knows, in any order.
//
// After each step the accounts are those that a recount of the API objects gives, and nothing is
// given out that is unhealthy, gone, set aside or used.
//
// A few lives are part of every test run. For many, and to repeat one:
//   PLIMSOLL_DEVICE_LIVES=10000 ctest -R nodedevice_lives_test
//   PLIMSOLL_DEVICE_LIVES=1 PLIMSOLL_TEST_SEED=17 ctest -R nodedevice_lives_test

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <random>

#include "tests/plugins/nodedevice/device_recount.hpp"
#include "tests/plugins/nodedevice/plugin_instance.hpp"
#include "tests/support/environment.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using sdk::FakeCycle;
using sdk::FakeHost;
using sdk::FakeNode;
using sdk::FakePod;
using test::CountedPod;
using test::Instance;
using test::Json;
using test::kAllocated;
using test::Recount;

constexpr uint64_t kLives = 12;
constexpr int kSteps = 40;
constexpr size_t kNodes = 3;

// What the API server knows of a pod with a node.
struct Bound {
  CountedPod pod;
  std::string name;
  std::string right;     // the annotation that it was bound with
  bool told = false;     // the scheduler has seen it
  bool known = false;    // this scheduler knows what it was given, whatever its annotation says now
  bool foreign = false;  // placed by somebody else
};

class Life {
 public:
  explicit Life(uint64_t seed) : random_(seed) {
    for (size_t i = 0; i < kNodes; ++i) {
      names_.push_back("node-" + std::to_string(i));
      whole_[names_[i]] = i == 0 ? test::fixture_a(names_[i]) : plain(names_[i]);
      api_[names_[i]] = whole_[names_[i]];
      there_[names_[i]] = true;
    }
    start();
  }

  bool step() {
    switch (pick(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        schedule();
        break;
      case 5:
        catch_up();
        break;
      case 6:
      case 7:
        finish();
        break;
      case 8:
        stranger();
        break;
      case 9:
        break_annotation();
        break;
      case 10:
        mend_annotation();
        break;
      case 11:
      case 12:
        flip_health();
        break;
      case 13:
        resize();
        break;
      case 14:
        lose_device();
        break;
      case 15:
        restore_object();
        break;
      case 16:
        drop_or_break_object();
        break;
      case 17:
        checkpoint();
        break;
      case 18:
        node_goes_or_comes();
        break;
      default:
        if (pick(3) == 0) crash();
    }
    check();
    return !::testing::Test::HasFailure();
  }

  // Everything ends: nothing is left of it.
  void end() {
    catch_up();
    while (!bound_.empty()) remove(0);
    for (const std::string& name : names_) {
      if (api_.erase(name) != 0) plugin_->no_device(name);
      if (there_[name]) plugin_->node(*nodes_[name], PLIMSOLL_NODE_REMOVED);
    }
    EXPECT_EQ(test::dumped(*host_)["nodes"], Json::object());
  }

  [[nodiscard]] const std::vector<std::string>& journal() const { return journal_; }
  [[nodiscard]] int given() const { return given_; }
  [[nodiscard]] int crashes() const { return crashes_; }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  const std::string& any_node() { return names_[static_cast<size_t>(pick(kNodes))]; }
  void note(std::string text) { journal_.push_back(std::move(text)); }

  static Json plain(const std::string& name) {
    return test::device_object(name, {test::gpu(0, "16Gi"), test::gpu(1, "24Gi"),
                                      test::gpu(2, "15472384Ki"), test::gpu(3, "16Gi")});
  }

  // ---- pods

  std::map<std::string, int64_t> ask() {
    switch (pick(8)) {
      case 0:
        return {{"nvidia.com/gpu", 1 + pick(3)}};
      case 1:
        return {{"koordinator.sh/gpu", 10 + 10 * pick(9)}};
      case 2:
        return {{"koordinator.sh/gpu-memory",
                 1'000'000 + static_cast<int64_t>(random_() % 9'000'000'000)}};
      case 3:
        return {{"koordinator.sh/gpu-core", 1 + pick(100)},
                {"koordinator.sh/gpu-memory-ratio", 1 + pick(100)}};
      case 4:
        return {{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory", 9'999'999'999}};
      case 5:
        return {{"koordinator.sh/rdma", 1 + pick(100)}};
      case 6:
        return {{"koordinator.sh/gpu", 200}, {"koordinator.sh/rdma", 30}};
      default:
        return {{"koordinator.sh/gpu", 100}};
    }
  }

  std::unique_ptr<FakePod> fake(const Bound& bound) const {
    auto pod = std::make_unique<FakePod>("ns/" + bound.name);
    for (const auto& [resource, amount] : bound.pod.requests) pod->request(resource, amount);
    if (bound.pod.requests.count("koordinator.sh/rdma") != 0)
      pod->annotation("scheduling.koordinator.sh/device-allocate-hint",
                      R"({"rdma":{"vfSelector":{}}})");
    if (bound.pod.allocated) pod->annotation(kAllocated, *bound.pod.allocated);
    if (bound.told || !bound.pod.node.empty()) pod->on_node(bound.pod.node);
    return pod;
  }
  void tell(Bound& bound) {
    plugin_->pod(*fake(bound));
    bound.told = true;
    bound.known = bound.known || (!bound.right.empty() && bound.pod.allocated == bound.right);
  }

  [[nodiscard]] Recount recount() const {
    std::vector<CountedPod> pods;
    for (const Bound& bound : bound_) {
      pods.push_back(bound.pod);
      if (bound.known) pods.back().allocated = bound.right;
    }
    return {api_, pods};
  }

  void schedule() {
    const std::string& node = any_node();
    if (!there_[node]) return;
    Bound bound;
    bound.name = "pod-" + std::to_string(next_++);
    bound.pod = {"uid-" + bound.name, "", ask(), std::nullopt};
    const auto pod = fake(bound);
    const std::string before = test::dumped_text(*host_);
    const std::string said = plugin_->place(*pod, *nodes_[node]);
    if (said != "none" && !said.starts_with("{")) return;  // refused
    if (said != "none") verify(node, bound, Json::parse(said));
    if (pick(4) == 0) {
      note(bound.name + " is unreserved on " + node);
      plugin_->unreserve(*pod, node);
      EXPECT_EQ(test::dumped_text(*host_), before) << "reserve and unreserve are exact inverses";
      return;
    }
    ++given_;
    note(bound.name + " is bound to " + node + " with " + said);
    bound.pod.node = node;
    if (said != "none") bound.pod.allocated = bound.right = said;
    bound.known = said != "none";
    bound_.push_back(std::move(bound));
    if (pick(3) != 0) tell(bound_.back());
  }

  // Nothing is given that is not there, not healthy, not free.
  void verify(const std::string& node, const Bound& bound, const Json& given) {
    const Recount now = recount();
    const Json accounts = test::dumped(*host_)["nodes"][node]["devices"];
    const auto asked = test::counted_ask(bound.pod);
    for (const auto& [type, list] : given.items()) {
      EXPECT_EQ(static_cast<int64_t>(list.size()), asked.at(type)) << given;
      int64_t healthy = 0;
      for (const Json& device : api_.at(node)["spec"]["devices"])
        healthy += device["type"] == type && device["health"] == true ? 1 : 0;
      const Json use = now.use().value(Json::json_pointer("/" + node + "/" + type), Json());
      const int64_t unknown = use.is_object() ? use.value("heldUnknown", int64_t{0}) : 0;
      EXPECT_LE(unknown + static_cast<int64_t>(list.size()), healthy);
      for (const Json& share : list) {
        const int minor = share["minor"];
        SCOPED_TRACE(node + " " + type + " " + std::to_string(minor));
        EXPECT_FALSE(now.whole(node, type, minor));
        EXPECT_FALSE(accounts[type]["minors"][std::to_string(minor)].contains("setAside"));
        const Json* device = find(node, type, minor);
        ASSERT_NE(device, nullptr) << "it is not there";
        EXPECT_EQ((*device)["health"], true);
        for (const auto& [resource, amount] : share["resources"].items())
          EXPECT_LE(now.used(node, type, minor, resource) + test::counted_quantity(amount),
                    test::counted_quantity((*device)["resources"][resource]))
              << "more than 100 % of its " << resource;
        if (!share.contains("extension")) continue;
        const Json vfs = share["extension"]["vfs"];
        const Json in_use = use.is_object()
                                ? use.value(Json::json_pointer("/minors/" + std::to_string(minor) +
                                                               "/virtualFunctions"),
                                            Json::array())
                                : Json::array();
        for (const Json& vf : vfs)
          EXPECT_EQ(std::count(in_use.begin(), in_use.end(), vf["busID"]), 0);
      }
    }
  }

  void catch_up() {
    for (Bound& bound : bound_)
      if (!bound.told) tell(bound);
  }

  void remove(size_t i) {
    note(bound_[i].name + " is gone");
    plugin_->pod(*fake(bound_[i]), PLIMSOLL_POD_REMOVED);
    bound_.erase(bound_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void finish() {
    if (!bound_.empty()) remove(static_cast<size_t>(pick(static_cast<int>(bound_.size()))));
  }

  // A pod that somebody else placed: without an annotation, or with one that says too little.
  void stranger() {
    const char* annotations[] = {"", "", "{", "{}", R"({"gpu":[{"minor":0,"resources":3}]})"};
    Bound bound;
    bound.foreign = true;
    bound.name = "stranger-" + std::to_string(next_++);
    bound.pod = {"uid-" + bound.name, any_node(), {{"nvidia.com/gpu", 1 + pick(2)}}, std::nullopt};
    const char* annotation = annotations[pick(5)];
    if (*annotation != '\0') bound.pod.allocated = annotation;
    note(bound.name + " is on " + bound.pod.node + " with " + annotation);
    bound_.push_back(std::move(bound));
    tell(bound_.back());
  }

  Bound* any_annotated() {
    std::vector<Bound*> found;
    for (Bound& bound : bound_)
      if (!bound.right.empty()) found.push_back(&bound);
    return found.empty() ? nullptr
                         : found[static_cast<size_t>(pick(static_cast<int>(found.size())))];
  }
  // Of a pod that this scheduler knows it changes nothing; to another it has so many, nobody knows
  // which.
  void break_annotation() {
    Bound* bound = any_annotated();
    if (bound == nullptr) return;
    Json right = Json::parse(bound->right);
    switch (pick(5)) {
      case 0:
        bound->pod.allocated = bound->right.substr(0, bound->right.size() - 1);
        break;
      case 1:
        bound->pod.allocated = "[" + bound->right + "]";
        break;
      case 2:
        for (auto& [type, list] : right.items()) list = 7;
        bound->pod.allocated = right.dump();
        break;
      case 3:
        for (auto& [type, list] : right.items()) list[0]["minor"] = "one";
        bound->pod.allocated = right.dump();
        break;
      default:
        for (auto& [type, list] : right.items())
          for (Json& share : list) share["minor"] = "one";
        bound->pod.allocated = right.dump();
    }
    note(bound->name + " says " + *bound->pod.allocated);
    tell(*bound);
  }
  void mend_annotation() {
    Bound* bound = any_annotated();
    if (bound == nullptr) return;
    note(bound->name + " is mended");
    bound->pod.allocated = bound->right;
    tell(*bound);
  }

  // ---- Device objects

  const Json* find(const std::string& node, const std::string& type, int minor) const {
    for (const Json& device : api_.at(node)["spec"]["devices"])
      if (device["type"] == type && device["minor"] == minor) return &device;
    return nullptr;
  }
  void report(const std::string& node, const std::string& what) {
    note(node + ": " + what);
    plugin_->device(node, api_[node]);
  }
  static std::string name_of(const Json& device) {
    return device["type"].get<std::string>() + " " + device["minor"].dump();
  }
  Json* any_device(const std::string& node) {
    if (api_.count(node) == 0 || broken(node)) return nullptr;
    Json& devices = api_[node]["spec"]["devices"];
    if (devices.empty()) return nullptr;
    return &devices[static_cast<size_t>(pick(static_cast<int>(devices.size())))];
  }
  [[nodiscard]] bool broken(const std::string& node) const {
    return !api_.at(node)["spec"]["devices"].is_array();
  }
  void flip_health() {
    const std::string& node = any_node();
    Json* device = any_device(node);
    if (device == nullptr) return;
    (*device)["health"] = !(*device)["health"].get<bool>();
    report(node, name_of(*device) + " health " + (*device)["health"].dump());
  }
  void resize() {
    const std::string& node = any_node();
    Json* device = any_device(node);
    if (device == nullptr || (*device)["type"] != "gpu") return;
    (*device)["resources"]["koordinator.sh/gpu-memory"] = std::to_string(1 + pick(40)) + "Gi";
    report(node, name_of(*device) + " has " + (*device)["resources"].dump());
  }
  void lose_device() {
    const std::string& node = any_node();
    if (any_device(node) == nullptr) return;
    Json& devices = api_[node]["spec"]["devices"];
    const auto lost = static_cast<size_t>(pick(static_cast<int>(devices.size())));
    const std::string name = name_of(devices[lost]);
    devices.erase(lost);
    report(node, name + " is not reported");
  }
  void restore_object() {
    const std::string& node = any_node();
    api_[node] = whole_[node];
    report(node, "all is well");
  }
  void drop_or_break_object() {
    const std::string& node = any_node();
    if (api_.count(node) == 0) return;
    if (pick(2) == 0) {
      note(node + " loses its Device object");
      api_.erase(node);
      plugin_->no_device(node);
      return;
    }
    api_[node]["spec"]["devices"] = "none";
    report(node, "the Device object cannot be read");
  }
  // The kubelet says what it gave to a pod that has no annotation, or to one that nobody knows.
  void checkpoint() {
    const std::string& node = any_node();
    if (any_device(node) == nullptr) return;
    Json entries = Json::array();
    for (const Bound& bound : bound_)
      if (bound.pod.node == node && pick(2) == 0)
        entries.push_back({{"podUID", bound.pod.uid},
                           {"resourceName", "nvidia.com/gpu"},
                           {"deviceIDs", {"GPU-" + std::to_string(pick(5)), "GPU-x"}}});
    const char* key = pick(2) == 0 ? "node.koordinator.sh/devices-checkpoints"
                                   : "node.koordinator.sh/gpu-checkpoints";
    api_[node]["metadata"]["annotations"] = {{key, pick(6) == 0 ? "{" : entries.dump()}};
    report(node, api_[node]["metadata"].dump());
  }

  // ---- nodes and the scheduler itself

  // Its pods and its Device object may outlive a Node object; the slot is another one then.
  void node_goes_or_comes() {
    const std::string& name = any_node();
    note(name + (there_[name] ? " goes" : " comes"));
    if (there_[name]) {
      plugin_->node(*nodes_[name], PLIMSOLL_NODE_REMOVED);
    } else {
      add_node(name);
      plugin_->node(*nodes_[name]);
    }
    there_[name] = !there_[name];
  }
  void add_node(const std::string& name) {
    auto slot = static_cast<uint32_t>(pick(7));
    const auto taken = [&] {
      return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
        return node.first != name && node.second->slot() == slot;
      });
    };
    while (taken()) slot = (slot + 1) % 7;
    nodes_[name] = std::make_unique<FakeNode>(name, slot);
    host_->add(*nodes_[name]);
  }

  // Whether a node without a Device object had one, nobody knows after a start.
  static std::string without_memories(std::string text) {
    for (size_t at = 0; (at = text.find("\"gone\"", at)) != text.npos;) {
      text.replace(at, 6, "\"none\"");
    }
    return text;
  }

  void crash() {
    catch_up();
    // What only memory knows is gone; the rest is as it was.
    for (Bound& bound : bound_)
      if (bound.known && bound.pod.allocated != bound.right) {
        bound.pod.allocated = bound.right;
        tell(bound);
      }
    const std::string before = without_memories(test::dumped_text(*host_));
    note("crash");
    ++crashes_;
    retired_.push_back(std::move(host_));
    plugin_.reset();
    start();
    EXPECT_EQ(test::dumped_text(*host_), before) << "a restart forgets nothing else";
    catch_up();
    for (Bound& bound : bound_) tell(bound);
    EXPECT_EQ(test::dumped_text(*host_), before) << "telling it twice changes nothing";
  }

  // Told of everything there is, in any order.
  void start() {
    host_ = std::make_unique<FakeHost>();
    plugin_ = std::make_unique<Instance>(*host_);
    ASSERT_TRUE(plugin_->made()) << host_->error;
    std::vector<std::function<void()>> news;
    for (const std::string& name : names_) {
      add_node(name);
      if (there_[name]) news.push_back([this, name] { plugin_->node(*nodes_[name]); });
      if (api_.count(name) != 0)
        news.push_back([this, name] { plugin_->device(name, api_[name]); });
    }
    for (Bound& bound : bound_) news.push_back([this, &bound] { tell(bound); });
    std::shuffle(news.begin(), news.end(), random_);
    for (const auto& each : news) each();
  }

  void check() {
    const Json accounts = test::dumped(*host_)["nodes"];
    EXPECT_EQ(test::dumped_use(accounts), recount().use());
    for (const auto& [node, state] : accounts.items())
      for (const auto& [type, devices] : state["devices"].items()) check_free(devices, node, type);
  }

  // Free is what is left, and of what is set aside nothing is.
  static void check_free(const Json& devices, const std::string& node, const std::string& type) {
    int64_t healthy = 0;
    int64_t set_aside = 0;
    for (const auto& [minor, device] : devices["minors"].items()) {
      SCOPED_TRACE(node + " " + type + " " + minor);
      healthy += device["healthy"] == true ? 1 : 0;
      const bool aside = device.contains("setAside");
      set_aside += aside && device["healthy"] == true ? 1 : 0;
      const bool gone = device["healthy"] == false || aside || device.contains("heldAsAWhole");
      for (const auto& [resource, free] : device["free"].items()) {
        const int64_t left = device["total"].value(resource, int64_t{0}) -
                             device["used"].value(resource, int64_t{0}) -
                             device.value("follows", Json::object()).value(resource, int64_t{0});
        EXPECT_EQ(free, gone ? 0 : std::max<int64_t>(left, 0)) << resource;
      }
    }
    const int64_t expected = std::min(devices["heldUnknown"].get<int64_t>(), healthy);
    EXPECT_EQ(set_aside, expected) << node << " " << type;
  }

  std::mt19937_64 random_;
  std::vector<std::string> names_;
  std::map<std::string, Json> whole_;  // Device objects as they are when nothing is wrong
  std::map<std::string, Json> api_;    // as the API server has them
  std::map<std::string, bool> there_;  // whether there is a Node object
  std::vector<Bound> bound_;
  std::vector<std::unique_ptr<FakeHost>> retired_;
  std::map<std::string, std::unique_ptr<FakeNode>> nodes_;
  std::unique_ptr<FakeHost> host_;
  std::unique_ptr<Instance> plugin_;
  std::vector<std::string> journal_;
  int next_ = 0;
  int given_ = 0;
  int crashes_ = 0;
};

TEST(DeviceLives, TheAccountsAreThoseOfARecountAndNothingIsGivenTwice) {
  const uint64_t first = plimsoll::test::test_seed();
  const uint64_t lives = plimsoll::test::number_from_environment("PLIMSOLL_DEVICE_LIVES", kLives);
  int given = 0;
  int crashes = 0;
  for (uint64_t seed = first; seed < first + lives; ++seed) {
    Life life(seed);
    for (int i = 0; i < kSteps && life.step(); ++i) {
    }
    if (!HasFailure()) life.end();
    given += life.given();
    crashes += life.crashes();
    if (!HasFailure()) continue;
    std::cout << "PLIMSOLL_TEST_SEED=" << seed << "\n";
    for (const std::string& line : life.journal()) std::cout << "  " << line << "\n";
    return;
  }
  std::cout << given << " pods were given devices, " << crashes << " crashes\n";
  EXPECT_GT(given, static_cast<int>(lives)) << "too little happens";
}

}  // namespace
}  // namespace plimsoll::devices
