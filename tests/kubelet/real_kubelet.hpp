#pragma once
// One real kubelet on a machine that a test describes, beside a test's API server (main.go of this
// folder says how).
//
//   auto kubelet = RealKubelet::start(cluster, {.name = "n1", .machine = machine});
//   ASSERT_TRUE(kubelet) << kubelet.error().message;
//   ASSERT_TRUE((*kubelet)->wait_ready());
//   node::PodResources((*kubelet)->paths().socket()).list();
//   (*kubelet)->kill();           // kill -9; the containers live on
//   (*kubelet)->start_again();

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"
#include "node/kubelet/kubelet_reader.hpp"
#include "node/machine/machine.hpp"
#include "tests/kube/kube_fixture.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {

// The program that tests/kubelet/build has made. It never builds it; kNotFound with what to do if
// it is not there.
[[nodiscard]] Result<std::filesystem::path> find_real_kubelet();

// Whether this machine lets the program make its namespaces; if not, kUnavailable with the reason.
[[nodiscard]] Result<void> check_namespaces(const std::filesystem::path& program);

struct RealKubeletSettings {
  std::string name = {};  // of the node
  // Its hardware, the settings of its managers, and its devices, one device plugin per resource.
  node::Machine machine = {};
  // Whether the device plugins prefer the devices that stand first in the machine. Otherwise the
  // kubelet chooses among equal ones at random.
  bool devices_in_order = true;
  // Further fields of its KubeletConfiguration; they win.
  nlohmann::json configuration = nlohmann::json::object();
  std::filesystem::path nri = {};  // the control socket of a RealRuntime; empty: there is no NRI
};

// What the container runtime was told of a container.
struct ContainerRecord {
  std::string pod;  // "namespace/name"
  std::string uid;
  std::string name;
  std::string state;  // "created", "running", "exited"
  std::string cpus;   // cpuset.cpus
  std::string mems;   // cpuset.mems
  std::map<std::string, std::string> environment;
  nlohmann::json given;  // by plugins of NRI, as RealRuntime::create() says it

  // The ids of the devices of a resource that the container got.
  [[nodiscard]] std::vector<std::string> devices(const std::string& resource) const;
};

// Owner: the test. Start and stop it from the thread that started the cluster; all else may be used
// by any one thread at a time.
class RealKubelet {
 public:
  // kNotFound if the program is not there. The kubelet is not ready yet.
  [[nodiscard]] static Result<std::unique_ptr<RealKubelet>> start(const KubeCluster& cluster,
                                                                  RealKubeletSettings settings);
  ~RealKubelet();  // as stop()
  RealKubelet(const RealKubelet&) = delete;
  RealKubelet& operator=(const RealKubelet&) = delete;

  [[nodiscard]] const std::string& name() const { return settings_.name; }
  [[nodiscard]] const node::Machine& machine() const { return settings_.machine; }
  // Its folder, which a node has at /var/lib/kubelet.
  [[nodiscard]] node::KubeletPaths paths() const {
    return {dir_ / "kubelet", dir_ / "kubelet" / "device-plugins"};
  }

  // Waits until its Node is Ready with all healthy devices, and its pod-resources API names them.
  // kUnavailable with the end of its log if that does not come, or if it has ended.
  [[nodiscard]] Result<void> wait_ready(std::chrono::seconds timeout = std::chrono::seconds(60));

  // SIGKILL to the kubelet alone: containers and device plugins live on.
  [[nodiscard]] Result<void> kill();
  // kConflict if it runs.
  [[nodiscard]] Result<void> start_again();
  [[nodiscard]] Result<void> set_health(const std::string& resource, const std::string& id,
                                        bool healthy);
  // Makes a container of pod "namespace/name" end.
  [[nodiscard]] Result<void> end_container(const std::string& pod, const std::string& container,
                                           int exit_code = 0);
  // In the order of their creation; those that the kubelet has removed are not listed.
  [[nodiscard]] Result<std::vector<ContainerRecord>> containers() const;
  // "https://127.0.0.1:<port>", where it serves /configz.
  [[nodiscard]] std::string address() const { return "https://127.0.0.1:" + std::to_string(port_); }
  // Its effective configuration, as its /configz states it.
  [[nodiscard]] Result<std::string> configuration() const;
  // All that is read of it at one moment: state files, List and GetAllocatableResources.
  [[nodiscard]] Result<node::KubeletView> view() const;

  // Ends everything; the folder goes with the object.
  void stop();
  [[nodiscard]] std::string log(std::size_t lines = 30) const;

 private:
  RealKubelet(const KubeCluster& cluster, RealKubeletSettings settings);
  [[nodiscard]] std::string not_ready();

  KubeAccess access_;
  RealKubeletSettings settings_;
  TempDir dir_{"plimsoll-kubelet"};
  std::uint16_t port_ = 0;
  std::optional<ChildProcess> process_;
};

// A pod that its kubelet has refused.
struct Refusal {
  std::string pod;  // "namespace/name"
  std::string reason;
  std::string message;
};
// Of the pods in a collection ("/api/v1/pods"), those that a kubelet has refused to admit.
[[nodiscard]] Result<std::vector<Refusal>> refusals(KubeClient& client,
                                                    const std::string& collection);

}  // namespace plimsoll::test
