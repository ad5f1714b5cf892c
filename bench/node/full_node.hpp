#pragma once
// A node in DGX form that is full of pods, as plimsoll-node sees it: an API server, a kubelet, a
// machine with NVIDIA's library, a container runtime. Each pod was given a device of the kubelet's,
// and by the scheduler GPUs, shares of them, or GPUs and NICs.

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lab/sandbox/apiserver/api_server.hpp"
#include "tests/node/fake_kubelet.hpp"
#include "tests/node/fake_machine.hpp"
#include "tests/node/real_runtime.hpp"

namespace plimsoll::bench {

class FullNode {
 public:
  // Throws std::runtime_error, also if the runtime's program was not built.
  explicit FullNode(int pods);

  // How the program is started here, and its environment.
  [[nodiscard]] test::ChildOptions command(const std::string& program, std::uint16_t port) const;
  // Devices are published, and the hook is connected.
  void wait_until_reported();
  // Makes a container of each of the next pods at once. Throws if one is not given its devices, or
  // a stranger's is given any.
  void make_containers(int count);
  // How fast the hook answered since the last call of this function, for people.
  [[nodiscard]] std::string answers();
  // From now on the first container of all that are made at once is of a pod whose annotations are
  // as long as may be: thousands of devices, lists within lists, or text beside what the scheduler
  // wrote.
  void add_strangers();

 private:
  void add_other_devices();
  void make_zones() const;
  void make_guard();
  // As the API server shows it, and as the runtime does.
  [[nodiscard]] nlohmann::json make_pod(int number, const nlohmann::json& shown,
                                        const nlohmann::json& of_runtime);
  void start_runtime();
  nlohmann::json create(const nlohmann::json& asked);

  sandbox::ObjectStore store_{{.seed = 1}};
  std::unique_ptr<sandbox::ApiServer> server_;
  node::test::FakeKubelet kubelet_;
  node::test::FakeMachine machine_;
  node::test::RealRuntime runtime_;
  test::TempDir folder_{"plimsoll-node-bench"};
  std::vector<nlohmann::json> pods_;  // what the runtime is told of each
  std::vector<nlohmann::json> strangers_;
  std::set<std::string> has_containers_;  // UIDs
  std::size_t made_ = 0;
  std::size_t rounds_ = 0;
  std::size_t names_ = 0;
};

}  // namespace plimsoll::bench
