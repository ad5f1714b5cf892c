#include "bench/links/experiment.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <plimsoll/fake_host.hpp>
#include <set>
#include <stdexcept>

#include "bench/packing/dice.hpp"

namespace plimsoll::links_bench {
namespace {

constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
constexpr const char* kDevices = "devices.v1alpha1.scheduling.koordinator.sh";

using Create = int32_t (*)(const plimsoll_host*, plimsoll_str, plimsoll_plugin*);

// A plugin file stays loaded, as in the scheduler.
Create create_function(const std::string& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  void* symbol = dlsym(library, "plimsoll_plugin_create_v1");
  if (symbol == nullptr) throw std::runtime_error(dlerror());
  return reinterpret_cast<Create>(symbol);
}

// One node, and one instance of NodeDevice for it.
class Node {
 public:
  Node(const std::string& plugin_file, const nlohmann::json& device) {
    slots_.size = sizeof slots_;
    if (create_function(plugin_file)(host_.table(), sdk::str(""), &slots_) != PLIMSOLL_SUCCESS)
      throw std::runtime_error(host_.error);
    host_.add(node_);
    slots_.node_event(slots_.self, PLIMSOLL_NODE_ADDED, &node_.get(), 0);
    const std::string json = device.dump();
    slots_.object_event(slots_.self, PLIMSOLL_OBJECT_UPSERT, sdk::str(kDevices), sdk::str("node-1"),
                        sdk::str(""), sdk::str(json));
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node() { slots_.destroy(slots_.self); }

  // The minors that the pod gets; empty if it does not fit.
  std::vector<int> place(sdk::FakePod& pod) {
    sdk::FakeCycle cycle;
    uint32_t reason = 0;
    uint32_t narrowed = 0;
    plimsoll_list names{};
    const plimsoll_node_info* row = &node_.get();
    const plimsoll_nodes rows{sizeof rows, 1, &row, nullptr, nullptr};
    uint8_t code = PLIMSOLL_SUCCESS;
    if (slots_.pre_filter(slots_.self, cycle.get(), &pod.get(), &reason, &names, &narrowed) != 0 ||
        slots_.filter(slots_.self, cycle.get(), &pod.get(), &rows, &code, &reason) != 0)
      throw std::runtime_error("PreFilter or Filter failed: " + host_.error);
    if (code != PLIMSOLL_SUCCESS) return {};
    if (slots_.reserve(slots_.self, cycle.get(), &pod.get(), row, &reason) != 0)
      throw std::runtime_error("Reserve refused what Filter let pass: " + host_.reasons(reason));
    std::vector<int> minors;
    const auto given = nlohmann::json::parse(cycle.annotations.at(kAllocated));
    for (const nlohmann::json& card : given.at("gpu")) minors.push_back(card.at("minor"));
    return minors;
  }
  void leave(sdk::FakePod& pod) {
    sdk::FakeCycle cycle;
    slots_.unreserve(slots_.self, cycle.get(), &pod.get(), sdk::str("node-1"));
  }

 private:
  sdk::FakeHost host_;
  sdk::FakeNode node_{"node-1", 0};
  plimsoll_plugin slots_{};
};

// The lanes of the slowest link of the fastest ring. Tries every order.
int ring_lanes(const std::map<std::pair<int, int>, int>& lanes, std::vector<int> minors) {
  if (minors.size() < 2) return 0;
  const auto between = [&](int a, int b) {
    const auto found = lanes.find(std::minmax(a, b));
    return found == lanes.end() ? 0 : found->second;
  };
  std::sort(minors.begin(), minors.end());
  int best = 0;
  do {
    int slowest = between(minors.back(), minors.front());
    for (size_t i = 1; i < minors.size(); ++i)
      slowest = std::min(slowest, between(minors[i - 1], minors[i]));
    best = std::max(best, slowest);
  } while (std::next_permutation(minors.begin() + 1, minors.end()));
  return best;
}

struct Guest {
  std::unique_ptr<sdk::FakePod> pod;
  double leaves = 0;
  std::vector<int> minors;
};

int pick(packing::Dice& dice, const std::vector<double>& shares) {
  double all = 0;
  for (const double share : shares) all += share;
  double rest = all * dice.uniform();
  size_t at = 0;
  while (at + 1 < shares.size() && (rest -= shares[at]) >= 0) ++at;
  return static_cast<int>(at);
}

}  // namespace

Load usual_load(const Machine& machine) {
  Load load;
  load.shares = machine.cards > 4 ? std::vector{0.4, 0.3, 0.1, 0.2} : std::vector{0.5, 0.5};
  return load;
}

Outcomes run(const std::string& plugin_file, const Machine& machine, Told told, const Load& load) {
  std::map<std::pair<int, int>, int> lanes;
  for (const auto& [a, b, count] : machine.lanes) lanes[std::minmax(a, b)] = count;
  Outcomes outcomes;
  for (int seed = 1; seed <= load.seeds; ++seed) {
    packing::Dice dice(static_cast<uint64_t>(seed));
    Node node(plugin_file, device_object(machine, told));
    std::vector<Guest> guests;
    std::set<int> taken;
    for (int step = 0; step < load.steps; ++step) {
      std::erase_if(guests, [&](Guest& guest) {
        if (guest.leaves > step) return false;
        node.leave(*guest.pod);
        for (const int minor : guest.minors) taken.erase(minor);
        return true;
      });
      const int cards = 1 + pick(dice, load.shares);
      const double stay = load.mean_stay * dice.exponential();
      Guest guest{std::make_unique<sdk::FakePod>("bench/" + std::to_string(step)), step + stay, {}};
      guest.pod->request("nvidia.com/gpu", cards);
      guest.minors = node.place(*guest.pod);
      if (guest.minors.empty()) continue;
      for (const int minor : guest.minors)
        if (!taken.insert(minor).second) throw std::runtime_error("a card was given twice");
      const int ring = ring_lanes(lanes, guest.minors);
      Outcome& outcome = outcomes[static_cast<size_t>(cards)];
      ++outcome.pods;
      outcome.lanes += ring;
      outcome.unlinked += ring == 0 ? 1 : 0;
      guests.push_back(std::move(guest));
    }
  }
  return outcomes;
}

}  // namespace plimsoll::links_bench
