#pragma once
// Real kubelets with the real plimsoll-node beside each.

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/kubelet/kubelet_test.hpp"

namespace plimsoll::test {

inline constexpr const char* kGpu = "example.com/gpu";

// Two zones of four cores with two threads each, 16 GiB and two GPUs; the first core and 1 GiB of
// zone 0 are reserved. CPU and memory manager are static.
[[nodiscard]] RealKubeletSettings small_node(const std::string& name, const std::string& policy,
                                             const std::string& scope);

// A container of a Guaranteed pod, so that its CPUs are its own.
struct ContainerSpec {
  int cpus = 1;
  int memory_gib = 1;
  int gpus = 0;
  bool init = false;  // ends by itself
};

class ExporterTest : public KubeletTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Starts the kubelets and the exporters, and waits until each has published a true report.
  void start_nodes(std::vector<RealKubeletSettings> settings);
  // What the exporter of a node has on a cluster: the token of its service account
  // (deploy/node.yaml), bound to a pod on that node. A failure is fatal.
  void get_token(const std::string& node, KubeAccess& access);
  // Starts the exporter of a node with that; kills one that runs.
  void start_exporter(const std::string& node);
  [[nodiscard]] std::string exporter_log(const std::string& node) const;
  [[nodiscard]] RealKubelet& kubelet_of(const std::string& node);
  [[nodiscard]] KubeClient& client() { return *client_; }
  // As kubectl apply -f deploy/FILE. No controller makes pods of a DaemonSet here.
  void install(const std::string& file);
  std::vector<std::string> exporter_flags_;  // further ones

  // `node` empty: for the scheduler.
  [[nodiscard]] static nlohmann::json pod_of(const std::string& name, const std::string& node,
                                             const std::vector<ContainerSpec>& containers);
  void create_pod(const nlohmann::json& pod);
  void delete_pod(const std::string& name, int grace_seconds);
  // The pods of this test's namespace, by name.
  [[nodiscard]] std::map<std::string, nlohmann::json> pods();
  // Waits until every pod that is there runs or was refused, and none is being deleted.
  void settle();

  // By zone, what is free by what the containers were started with: "cpu: 5 6, gpu: 1 2"; and by
  // the report.
  [[nodiscard]] std::string truly_free(const RealKubelet& kubelet);
  [[nodiscard]] std::string reported_free(const std::string& node);
  [[nodiscard]] nlohmann::json report_of(const std::string& node);
  // The reports of all nodes come to the truth.
  void expect_true_reports();
  // The zones of the CPUs of each container that has its own: "main-0:1 main-1:0".
  [[nodiscard]] std::string zones_of(const RealKubelet& kubelet, const std::string& pod);

 private:
  std::unique_ptr<KubeClient> client_;
  TempDir folder_{"plimsoll-exporters"};
  std::map<std::string, ChildProcess> exporters_;  // by node
};

}  // namespace plimsoll::test
