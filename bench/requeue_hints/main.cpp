// Measures what reports of nodes cost the scheduler loop while pods wait for zones. For every
// report the queue calls the hint of NodeResourceTopologyMatch for every rejected pod.
//
//   requeue_hints [--nodes 5000] [--pods 1000] [--reports 5000]
//
// All nodes are nearly full, and no pod fits anywhere. Reports either change nothing ("same") or
// show one CPU more or less ("other"), which helps no pod. Pods are either all of one kind or all
// different. The program prints the time in the queue and the hints for each report, without
// decoding it, and the share of the loop's time that 500 reports per second take.

#include <plimsoll/fake_host.hpp>

#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "framework/queue/scheduling_queue.hpp"
#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"

namespace {

using namespace plimsoll;
using Plugin = topology::NodeResourceTopologyMatch;

// CPU time of this thread, because the machine may be busy with other work.
double now_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// Calls the plugin as ProfilesPolicy does, with one plugin.
class Policy : public QueuePolicy {
 public:
  explicit Policy(Plugin& plugin) : plugin_(plugin), interests_(plugin.events()) {}
  ProfileIndex profile(const plimsoll_pod&) override { return 0; }
  std::optional<PluginIndex> gate(const plimsoll_pod&) override { return std::nullopt; }
  SortKey sort_key(const plimsoll_pod&, int64_t) override { return {}; }
  std::vector<PluginKey> interested(const ClusterEvent& event) override {
    for (const plimsoll_event_interest& interest : interests_) {
      if (matches(interest, event)) return {plugin_key(0, 0)};
    }
    return {};
  }
  QueueHint hint(const plimsoll_pod& pod, PluginKey, const ClusterEvent& event) override {
    plimsoll_event seen{};
    seen.size = sizeof seen;
    seen.actions = event.actions;
    seen.resource = sdk::str(event.resource);
    if (event.new_object) seen.name = sdk::str(event.new_object->name);
    if (plugin_.hint(sdk::Pod(&pod), seen) == sdk::Hint::kSkip) return QueueHint::kSkip;
    ++woken;
    return QueueHint::kQueue;
  }
  size_t woken = 0;

 private:
  Plugin& plugin_;
  std::vector<plimsoll_event_interest> interests_;
};

std::string zones(int first, int second) {
  const auto zone = [](int id, int cpus) {
    return R"({"name":"node-)" + std::to_string(id) + R"(","type":"Node","resources":[)" +
           R"({"name":"cpu","capacity":"16","allocatable":"16","available":")" +
           std::to_string(cpus) + R"("}]})";
  };
  return "[" + zone(0, first) + "," + zone(1, second) + "]";
}

RawRef report(const std::string& node, int version, int first, int second) {
  auto object = std::make_shared<RawObject>();
  object->resource = topology::kNrtResource;
  object->name = node;
  object->json =
      R"({"metadata":{"name":")" + node + R"(","resourceVersion":")" + std::to_string(version) +
      R"("},"attributes":[{"name":"topologyManagerPolicy","value":"single-numa-node"}],)" +
      R"("zones":)" + zones(first, second) + "}";
  return object;
}

struct Sizes {
  int nodes = 5000;
  int pods = 1000;
  int reports = 5000;
};

// The nodes by name, as in the scheduler.
std::unordered_map<std::string_view, const plimsoll_node_info*> g_nodes;

void run(const Sizes& sizes, bool one_kind, bool same) {
  sdk::FakeHost host;
  host.now = 1'767'225'600'000;
  plimsoll_host table = *host.table();
  table.node_by_name = [](plimsoll_host_ctx*, plimsoll_str name) {
    const auto found = g_nodes.find(sdk::view(name));
    return found == g_nodes.end() ? nullptr : found->second;
  };
  Plugin plugin(sdk::Host(&table, "NodeResourceTopologyMatch"), "");
  std::vector<std::unique_ptr<sdk::FakeNode>> nodes;
  std::vector<const plimsoll_node_info*> rows;
  g_nodes.clear();
  int version = 0;
  const auto tell = [&](const RawRef& object) {
    plugin.object_event(sdk::ObjectEvent{sdk::ObjectEvent::kUpsert, object->resource, object->name,
                                         "", object->json});
  };
  for (int i = 0; i < sizes.nodes; ++i) {
    auto node = std::make_unique<sdk::FakeNode>("n" + std::to_string(i), static_cast<uint32_t>(i));
    rows.push_back(&node->get());
    plugin.node_event(sdk::NodeEvent::kAdded, sdk::Node(rows.back()), 0);
    g_nodes.emplace(sdk::view(rows.back()->node->meta.name), rows.back());
    tell(report("n" + std::to_string(i), ++version, 4, 3));
    nodes.push_back(std::move(node));
  }

  SymbolTable symbols;
  Policy policy(plugin);
  SchedulingQueue queue(policy, {});
  const plimsoll_nodes all{sizeof all, static_cast<uint32_t>(rows.size()), rows.data(), nullptr,
                           nullptr};
  double filter_us = 0;
  for (int i = 0; i < sizes.pods; ++i) {
    const std::string name = "p" + std::to_string(i);
    const std::string requests =
        R"({"cpu":"8","memory":")" + std::to_string(one_kind ? 1 : i + 1) + R"(Mi"})";
    queue.add(*decode_pod(R"({"metadata":{"name":")" + name + R"(","namespace":"a","uid":"u-)" +
                              name + R"("},"spec":{"containers":[{"name":"c","resources":{)" +
                              R"("requests":)" + requests + R"(,"limits":)" + requests + "}}]}}",
                          symbols),
              host.now);
    const QueuedPod* popped = queue.pop();
    sdk::FakeCycle cycle;
    std::vector<uint8_t> codes(rows.size(), 0);
    std::vector<uint32_t> reasons(rows.size(), 0);
    const double begin = now_us();
    static_cast<void>(plugin.filter(*cycle.get(), sdk::Pod(popped->pod.get()), sdk::Nodes(&all),
                                    sdk::Verdicts(codes.data(), reasons.data(), codes.size())));
    filter_us += now_us() - begin;
    queue.reject(view(popped->pod->meta.uid), {0}, {}, host.now);
  }

  double in_hints = 0;
  double in_ledger = 0;
  for (int i = 0; i < sizes.reports; ++i) {
    const RawRef object = report("n" + std::to_string(i % sizes.nodes), ++version,
                                 same                       ? 4
                                 : i / sizes.nodes % 2 == 0 ? 5
                                                            : 4,
                                 3);
    const double begin = now_us();
    tell(object);
    const double told = now_us();
    queue.move_all(object_event(object, object), host.now);
    const double end = now_us();
    in_ledger += told - begin;
    in_hints += end - told;
  }
  const double each = in_hints / sizes.reports;
  std::printf("%-9s %-6s %10.1f %10.1f %9.1f %% %8zu %10.1f\n", one_kind ? "one" : "different",
              same ? "same" : "other", in_ledger / sizes.reports, each, each * 500 / 1e4,
              policy.woken, filter_us / sizes.pods);
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const int value = std::stoi(argv[i + 1]);
    (name == "--nodes" ? sizes.nodes : name == "--pods" ? sizes.pods : sizes.reports) = value;
  }
  std::printf("%d nodes, %d pods that wait, %d reports\n", sizes.nodes, sizes.pods, sizes.reports);
  std::printf("%-9s %-6s %10s %10s %11s %8s %10s\n", "kinds", "report", "ledger us", "hints us",
              "at 500/s", "woken", "filter us");
  for (const bool one_kind : {true, false}) {
    for (const bool same : {true, false}) run(sizes, one_kind, same);
  }
  return 0;
}
