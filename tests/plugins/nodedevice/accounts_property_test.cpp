// Random lives of a small cluster: pods are given devices, bound, finished; devices fail, come
// back, change size, disappear; the scheduler crashes and starts again from what the API server
// knows.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "plugins/nodedevice/accounts/accounts.hpp"
#include "plugins/nodedevice/accounts/allocation_annotation.hpp"
#include "tests/plugins/nodedevice/accounts_text.hpp"
#include "tests/plugins/nodedevice/device_fixtures.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::devices {
namespace {

using test::Ask;
using test::Json;

constexpr int kNodes = 3;

// What the API server knows of a pod with a node.
struct BoundPod {
  std::string uid;
  std::string node;
  std::string annotation;  // empty: none
  Ask ask;
};

class Life {
 public:
  explicit Life(uint32_t seed) : random_(seed) {
    for (int i = 0; i < kNodes; ++i) {
      names_.push_back("node-" + std::to_string(i));
      objects_.push_back(i == 0 ? test::fixture_a(names_.back()) : plain(names_.back()));
    }
    restart();
  }

  void step() {
    switch (pick(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        schedule(true);
        break;
      case 4:
        schedule(false);
        break;
      case 5:
      case 6:
        finish();
        break;
      case 7:
        stranger();
        break;
      case 8:
        flip_health();
        break;
      case 9:
        resize();
        break;
      case 10:
        remove_or_restore();
        break;
      default:
        crash();
        break;
    }
    check();
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

  static Json plain(const std::string& name) {
    return test::device_object(name, {test::gpu(0, "16Gi"), test::gpu(1, "24Gi"),
                                      test::gpu(2, "15472384Ki"), test::gpu(3, "16Gi")});
  }

  Ask ask() {
    const Ask asks[] = {
        {{"nvidia.com/gpu", 1 + pick(3)}},
        {{"koordinator.sh/gpu", 10 + 10 * pick(9)}},
        {{"koordinator.sh/gpu-memory", 1'000'000 + random_() % 9'000'000'000}},
        {{"koordinator.sh/gpu-core", 1 + pick(100)},
         {"koordinator.sh/gpu-memory-ratio", 1 + pick(100)}},
        {{"koordinator.sh/gpu.shared", 2}, {"koordinator.sh/gpu-memory", 9'999'999'999}},
        {{"koordinator.sh/rdma", 1 + pick(100)}},
        {{"nvidia.com/gpu", 2}, {"koordinator.sh/rdma", 30}}};
    return asks[pick(7)];
  }

  // Reserves devices on a random node, and binds the pod or gives them back.
  void schedule(bool binds) {
    const size_t n = static_cast<size_t>(pick(kNodes));
    const NodeState* node = accounts_->find(names_[n]);
    if (node == nullptr || node->unmanaged()) return;
    const Ask wanted = ask();
    Allocation given;
    const Allocator allocator(test::types(), &scorer_);
    if (!allocator.allocate(*node, {}, test::demand_of(wanted), given).fits()) return;
    verify_fits(*node, given);
    const std::string uid = "pod-" + std::to_string(next_++);
    const std::string annotation = write_allocation(test::types(), given, *node);
    const std::string before = test::accounts_text(*accounts_);
    accounts_->reserve(uid, names_[n], given);
    if (!binds) {
      accounts_->unreserve(uid);
      EXPECT_EQ(test::accounts_text(*accounts_), before)
          << "reserve and unreserve are exact inverses";
      return;
    }
    pods_.push_back({uid, names_[n], annotation, wanted});
    if (pick(3) != 0) show(pods_.back());  // else the watch is late: a crash may come first
  }

  static void verify_fits(const NodeState& node, const Allocation& given) {
    for (const DeviceShare& share : given) {
      const DeviceState* device = node.type(share.type).find(share.minor);
      ASSERT_NE(device, nullptr);
      ASSERT_TRUE(device->available);
      for (size_t dim = 0; dim < share.amounts.value.size(); ++dim)
        ASSERT_LE(device->used.value[dim] + share.amounts.value[dim], device->total.value[dim])
            << "more than 100 % of minor " << share.minor;
    }
  }

  void show(const BoundPod& pod) {
    const auto requests = test::quantities(pod.ask);
    AssignedPod assigned{pod.uid, pod.node, std::nullopt, requests};
    if (!pod.annotation.empty()) assigned.allocated = pod.annotation;
    accounts_->pod_assigned(assigned);
  }

  void finish() {
    if (pods_.empty()) return;
    const auto it = pods_.begin() + pick(static_cast<int>(pods_.size()));
    accounts_->pod_removed(it->uid);
    pods_.erase(it);
  }

  // A pod that somebody else placed: without an annotation, or with one that says too little.
  void stranger() {
    const char* annotations[] = {"", "", "{", "{}", R"({"gpu":[{"minor":0,"resources":3}]})"};
    pods_.push_back({"stranger-" + std::to_string(next_++),
                     names_[static_cast<size_t>(pick(kNodes))],
                     annotations[pick(5)],
                     {{"nvidia.com/gpu", 1}}});
    show(pods_.back());
  }

  Json* random_device(size_t n) {
    Json& devices = objects_[n]["spec"]["devices"];
    return devices.empty() ? nullptr
                           : &devices[static_cast<size_t>(pick(static_cast<int>(devices.size())))];
  }
  void tell(size_t n) {
    if (absent_[names_[n]]) return;
    accounts_->device_changed(names_[n], objects_[n].dump());
  }
  void flip_health() {
    const size_t n = static_cast<size_t>(pick(kNodes));
    if (Json* device = random_device(n)) (*device)["health"] = !(*device)["health"].get<bool>();
    tell(n);
  }
  void resize() {
    const size_t n = static_cast<size_t>(pick(kNodes));
    Json* device = random_device(n);
    if (device != nullptr && (*device)["type"] == "gpu")
      (*device)["resources"]["koordinator.sh/gpu-memory"] = std::to_string(1 + pick(40)) + "Gi";
    tell(n);
  }
  void remove_or_restore() {
    const size_t n = static_cast<size_t>(pick(kNodes));
    const int kind = pick(4);
    if (kind == 0) {
      absent_[names_[n]] = true;
      accounts_->device_deleted(names_[n]);
      return;
    }
    if (kind == 1) {
      Json& devices = objects_[n]["spec"]["devices"];
      if (!devices.empty())
        devices.erase(static_cast<size_t>(pick(static_cast<int>(devices.size()))));
    } else {
      objects_[n] = n == 0 ? test::fixture_a(names_[n]) : plain(names_[n]);
    }
    absent_[names_[n]] = false;
    tell(n);
  }

  // The accounts after a restart are the ones from before it.
  void crash() {
    for (const BoundPod& pod : pods_) show(pod);  // the watch catches up
    const std::string before = test::accounts_text(*accounts_);
    restart();
    ASSERT_EQ(test::accounts_text(*accounts_), before);
    for (const BoundPod& pod : pods_) show(pod);
    ASSERT_EQ(test::accounts_text(*accounts_), before) << "telling it twice changes nothing";
  }

  void restart() {
    accounts_ = std::make_unique<Accounts>(test::types(), nullptr);
    for (int i = 0; i < kNodes; ++i)
      accounts_->node_added(names_[static_cast<size_t>(i)], static_cast<uint32_t>(i));
    for (size_t n = 0; n < names_.size(); ++n) tell(n);
    std::vector<BoundPod> order = pods_;
    std::shuffle(order.begin(), order.end(), random_);
    for (const BoundPod& pod : order) show(pod);
  }

  // An independent sum over what the pods of these annotations ask for says the same as the
  // accounts.
  void check() {
    std::map<std::tuple<std::string, int, int>, Amounts> sums;
    for (const BoundPod& pod : pods_) {
      if (pod.annotation.empty()) continue;
      const PodDemand asked = test::demand_of(pod.ask);
      for (const DeviceShare& share : read_allocation(test::types(), pod.annotation).shares) {
        Amounts& sum = sums[{pod.node, share.type, share.minor}];
        const Amounts& each = asked.request.find(share.type)->per_device;
        for (size_t dim = 0; dim < sum.value.size(); ++dim) sum.value[dim] += each.value[dim];
      }
    }
    for (const std::string& name : names_) {
      const NodeState* node = accounts_->find(name);
      ASSERT_NE(node, nullptr);
      for (int t = 0; t < test::types().count(); ++t) {
        for (const DeviceState& device : node->type(t).devices) {
          const auto sum = sums.find({name, t, device.minor});
          const Amounts expected = sum == sums.end() ? Amounts{} : sum->second;
          ASSERT_EQ(device.used.value, expected.value) << name << " minor " << device.minor;
          for (size_t dim = 0; dim < expected.value.size(); ++dim) {
            ASSERT_GE(device.free.value[dim], 0);
            ASSERT_LE(device.free.value[dim],
                      std::max<int64_t>(0, device.total.value[dim] - expected.value[dim]));
          }
        }
      }
    }
  }

  std::mt19937 random_;
  std::vector<std::string> names_;
  std::vector<Json> objects_;
  std::map<std::string, bool> absent_;
  std::vector<BoundPod> pods_;
  int next_ = 0;
  Scorer scorer_{test::types(), Strategy::kMostAllocated, Scorer::default_weights()};
  std::unique_ptr<Accounts> accounts_;
};

TEST(AccountsProperty, NoMinorIsGivenTwiceAndARestartForgetsNothing) {
  const uint32_t first = plimsoll::test::test_seed();
  for (uint32_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Life life(seed);
    for (int i = 0; i < 120; ++i) {
      life.step();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace plimsoll::devices
