#pragma once
// A cluster for measurements: nodes of 8 zones whose kubelets have admitted pods up to some degree,
// and their reports, which the plugins get.

#include <deque>
#include <memory>
#include <optional>
#include <plimsoll/fake_host.hpp>
#include <random>
#include <string>
#include <vector>

#include "framework/api/decode/decode.hpp"
#include "framework/api/symbols.hpp"
#include "plugins/noderesourcetopologymatch/noderesourcetopologymatch.hpp"
#include "plugins/topology/report/facts.hpp"

namespace plimsoll::bench {

inline constexpr uint32_t kZones = 8;
inline constexpr uint32_t kResources = 4;  // cpu, memory, hugepages-2Mi, a device

struct ClusterSpec {
  size_t nodes = 5'000;
  bool facts = false;  // reports carry node facts
  bool alone = false;  // no two nodes are of one machine type
  bool pods = false;   // the pods that fill the nodes are known, and reports say which they count
  // Absent: all policies in turn.
  std::optional<topology::Policy> policy;
  std::optional<topology::Scope> scope;
};

// Pods that all differ, and names as integers.
class Pods {
 public:
  Pods();
  // One container that requests all four resources.
  [[nodiscard]] const std::vector<PodRef>& plain() const { return plain_; }
  // An init container, a sidecar and two app containers that request all four resources.
  [[nodiscard]] const std::vector<PodRef>& four_containers() const { return four_; }
  // CPUs and memory only.
  [[nodiscard]] const std::vector<PodRef>& without_devices() const { return two_resources_; }
  // Pods that request nothing that a kubelet takes from zones.
  [[nodiscard]] const std::vector<PodRef>& ordinary() const { return ordinary_; }

  // A pod like `like`, or one of those that fill nodes.
  [[nodiscard]] PodRef named(const std::string& name, size_t like, const std::string& node,
                             uint64_t version);
  [[nodiscard]] const std::vector<topology::kubelet::PodDemand>& filling() const {
    return filling_;
  }
  [[nodiscard]] SymbolTable& symbols() { return symbols_; }

 private:
  [[nodiscard]] PodRef decode(const std::string& name, const std::string& containers,
                              const std::string& node = {}, uint64_t version = 1);

  SymbolTable symbols_;
  std::vector<std::string> containers_;  // of those that fill nodes
  std::vector<topology::kubelet::PodDemand> filling_;
  std::vector<PodRef> plain_;
  std::vector<PodRef> four_;
  std::vector<PodRef> two_resources_;
  std::vector<PodRef> ordinary_;
};

class Cluster {
 public:
  Cluster(Pods& pods, const ClusterSpec& spec);

  // Passes everything to the plugin, as at start.
  void tell(topology::NodeResourceTopologyMatch& plugin);
  // Another report of the node, with somewhat more or less free.
  [[nodiscard]] const std::string& report(size_t node, bool more) const {
    return nodes_[node].reports[more ? 1 : 0];
  }
  [[nodiscard]] const std::string& name(size_t node) const { return nodes_[node].name; }
  [[nodiscard]] sdk::Node node(size_t node) const { return sdk::Node(rows_[node]); }
  [[nodiscard]] const plimsoll_nodes& all() const { return all_; }
  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] size_t pod_count() const;
  [[nodiscard]] size_t facts_bytes() const { return facts_bytes_; }  // of a node, the most

  sdk::FakeHost& host() { return host_; }
  sdk::FakeCycle& cycle() { return cycle_; }

 private:
  struct Node {
    std::string name;
    std::string reports[2];
    std::vector<PodRef> pods;
  };
  void add(size_t number);
  [[nodiscard]] std::string report_json(const topology::kubelet::NodeModel& model,
                                        const topology::kubelet::NodeState& state, const Node& node,
                                        bool more);

  Pods& pods_;
  ClusterSpec spec_;
  std::mt19937 random_{20260101};
  topology::kubelet::Scratch scratch_;
  std::vector<Node> nodes_;
  std::deque<sdk::FakeNode> infos_;
  std::vector<const plimsoll_node_info*> rows_;
  plimsoll_nodes all_{};
  size_t facts_bytes_ = 0;
  sdk::FakeHost host_;
  sdk::FakeCycle cycle_;
};

[[noreturn]] void give_up(const std::string& why);

}  // namespace plimsoll::bench
