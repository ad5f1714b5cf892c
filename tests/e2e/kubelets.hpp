#pragma once
// The node side of a cluster without kubelets, with the simulator's kubelets: they admit pods by
// the kubelet's own algorithm, each node's in the order of their bindings, whoever bound them, and
// say in which zones the pods really are. Topology exporters report that with all facts.
//
// Not a recount: what is promised twice is what a kubelet refuses, or puts elsewhere.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/facts.hpp"

namespace plimsoll::test {

struct Refusal {
  std::string pod;  // namespace/name
  std::string node;
  std::string reason;  // TopologyAffinityError, OutOfcpu, ...
};

struct Admissions {
  std::size_t admitted = 0;
  std::vector<Refusal> refused;  // these are Failed now, as their kubelets say
  // namespace/name of pods that are in other zones than their annotation names.
  std::vector<std::string> elsewhere;
};

// For one thread. Failures are those of the API server.
class Kubelets {
 public:
  explicit Kubelets(KubeClient client);
  ~Kubelets();

  // Looks at nodes that are new or gone, releases pods that are gone, and admits those that were
  // bound since the last call: in the order in which the API server carried it out, as far as
  // remove() made the deletions. Other deletions come first.
  [[nodiscard]] Result<Admissions> admit();
  // Deletes a pod at once, and remembers when that was.
  [[nodiscard]] Result<void> remove(const nlohmann::json& pod);
  // Writes the NodeResourceTopology of every node whose pods have changed.
  [[nodiscard]] Result<void> report();
  // Of every node, as exporters do from time to time: each report differs from the one before.
  [[nodiscard]] Result<void> report_all();
  // Binds a pod as a scheduler does that knows a better way: to some node whose kubelet takes it,
  // and without a word about zones. False: there is none.
  [[nodiscard]] Result<bool> bind_somewhere(const nlohmann::json& pod);
  // Puts into the annotations of pods that say nothing, or something wrong, where they really are.
  void correct(ClusterObjects& objects) const;

 private:
  struct Node;
  [[nodiscard]] Result<void> look_at_nodes();
  void release(const std::string& uid);
  [[nodiscard]] Result<void> admit_one(nlohmann::json& pod, Admissions& result);

  KubeClient client_;
  std::uint64_t reports_ = 0;
  std::map<std::string, std::unique_ptr<Node>> nodes_;
  std::map<std::string, std::string> node_of_;       // by pod UID
  std::map<std::string, std::uint64_t> removed_at_;  // resource version, by pod UID
  std::map<std::string, nlohmann::json> really_;     // by pod UID, in the annotation's form
};

}  // namespace plimsoll::test
