#pragma once
// The base of GoogleTest suites that need real kubelets beside a real API server (tests/kube).
//
// Without the program or the API server the tests are skipped with a loud line, and fail with
// CI=true in the environment; where user and mount namespaces are not allowed they are skipped. A
// test that fails prints the end of its kubelets' logs.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/kube/kube_objects.hpp"
#include "tests/kube/kube_test.hpp"
#include "tests/kubelet/real_kubelet.hpp"

namespace plimsoll::test {

// A machine in the form of sandbox/machine/machine_description.hpp; a test fails if it is none with
// which a kubelet starts.
[[nodiscard]] node::Machine machine_from(const nlohmann::json& description);

// Whether the condition comes true within a minute; for any thread.
[[nodiscard]] bool eventually(const std::function<bool()>& condition,
                              std::chrono::seconds timeout = std::chrono::seconds(60));

class KubeletTest : public KubeTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Starts kubelets, all at once, and waits until all are ready; a failure is fatal. They belong to
  // the test.
  void start_kubelets(std::vector<RealKubeletSettings> settings);
  [[nodiscard]] RealKubelet& kubelet(std::size_t i = 0) { return *kubelets_[i]; }
  [[nodiscard]] std::size_t kubelets() const { return kubelets_.size(); }

 private:
  std::vector<std::unique_ptr<RealKubelet>> kubelets_;
};

// A container of a pod: requests are limits.
[[nodiscard]] nlohmann::json container_object(const std::string& name, const Resources& limits);
// A pod bound to a node, of app containers; its init containers are plain ones unless they say
// restartPolicy Always, and end by themselves.
[[nodiscard]] nlohmann::json bound_pod(const std::string& name, const std::string& node,
                                       std::vector<nlohmann::json> containers,
                                       std::vector<nlohmann::json> init = {});

}  // namespace plimsoll::test
