#pragma once
// A cluster whose driver gives CPUs away through claims, one device for each NUMA zone, as
// dra-driver-cpu does: the real scheduler with its plugins, the embedded API server, and simulated
// kubelets, on a simulated clock. Pods come and go at random.
//
// What is recounted comes from objects at the API server alone: claims' allocations, pods, and the
// zones that NodeResourceTopologies have.

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "lab/sandbox/apiserver/api_server.hpp"
#include "lab/sandbox/controllers/controllers.hpp"
#include "lab/sandbox/kubelet/kubelet.hpp"
#include "lab/simulate/pace.hpp"

namespace plimsoll::dra::test {

class ClaimedCluster {
 public:
  struct Options {
    // DRANodeAllocatableResources: what a claim has comes on top of what its pod asks for. Off: the
    // pod asks for it by hand, too.
    bool gate = false;
    // Nobody knows what kubelets do: reports are of counts and show nothing in use, and the ledger
    // has its promises alone. Otherwise kubelets are simulated, and reports have all facts; where
    // there is a driver, these say that the CPU manager is off.
    bool counts = false;
    uint32_t nodes = 0;
    uint32_t seed = 0;
  };
  explicit ClaimedCluster(const Options& options);
  ~ClaimedCluster();
  ClaimedCluster(const ClaimedCluster&) = delete;
  ClaimedCluster& operator=(const ClaimedCluster&) = delete;

  void arrive();  // one pod, with or without claims
  void leave();   // one of the pods that are there
  void leave_all();
  // Decides on all pods that are to be tried, for so long of the simulated time.
  void pass(double seconds);
  // No write fails any more, until all that failed was tried again.
  void come_to_rest();

  // Fails the test where a CPU is given twice or somebody counts it otherwise.
  void recount();
  // Fails the test if a pod waits for which there is room.
  void expect_nobody_waits_in_vain();
  // Fails the test if the scheduler knows of any node something else than one that begins now.
  void expect_as_fresh();

  struct Totals {
    size_t there = 0, bound = 0, with_claims = 0;
    int64_t free_cpus = 0, cpus = 0;
  };
  [[nodiscard]] Totals totals() const;

 private:
  using Json = nlohmann::json;
  struct Wanted {
    int64_t own_milli = 0;
    bool pins = false;             // its own CPUs, where a kubelet does that
    std::vector<int64_t> claimed;  // CPUs, by claim
    [[nodiscard]] int64_t claimed_milli() const;
  };
  struct Node {
    bool has_driver = false;
    int64_t cpus_milli = 0, used_milli = 0;
    std::vector<int64_t> zones;                   // CPUs
    std::vector<int64_t> claimed, pinned;         // by zone, CPUs
    std::map<int, std::set<std::string>> claims;  // by zone
  };
  [[nodiscard]] uint32_t draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  void add_node(uint32_t number);
  void let_writes_fail();
  [[nodiscard]] Wanted draw_pod();
  [[nodiscard]] std::vector<Json> all(const sandbox::ResourceName& kind) const;
  [[nodiscard]] std::map<std::string, Node> nodes() const;
  void count_pod(const Json& pod, const std::map<std::string, Json>& claims,
                 std::map<std::string, Node>& nodes) const;
  void compare(const Json& said, const Node& node) const;
  [[nodiscard]] bool has_room(const Node& node, const Wanted& pod) const;
  [[nodiscard]] std::map<std::string, Json> told_by(cli::Session& session) const;
  [[nodiscard]] std::unique_ptr<cli::Session> start_session() const;

  const Options options_;
  std::mt19937 random_;
  sandbox::ObjectStore store_, nowhere_;
  std::shared_ptr<sandbox::SimulatedClock> clock_;
  std::unique_ptr<sandbox::TimestampScope> stamps_;
  std::atomic<int64_t> scheduler_ms_;
  Modules modules_;
  config::Validation configuration_;
  std::unique_ptr<sandbox::ApiServer> server_;
  std::unique_ptr<sandbox::SimulatedControllers> controllers_;
  std::unique_ptr<sandbox::SimulatedKubelets> kubelets_;
  std::unique_ptr<cli::Session> session_;
  std::unique_ptr<cli::Pace> pace_;
  std::map<std::string, Wanted> wanted_;  // pods that are there, by name
  uint32_t made_ = 0;
};

}  // namespace plimsoll::dra::test
