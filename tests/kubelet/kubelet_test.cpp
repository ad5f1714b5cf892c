#include "tests/kubelet/kubelet_test.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "lab/sandbox/machine/machine_description.hpp"

namespace plimsoll::test {

using nlohmann::json;

node::Machine machine_from(const json& description) {
  Result<node::Machine> machine = sandbox::read_machine(description.dump(), {});
  if (machine) return std::move(*machine);
  ADD_FAILURE() << machine.error().message;
  return {};
}

bool eventually(const std::function<bool()>& condition, std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

void KubeletTest::SetUp() {
  const char* ci = std::getenv("CI");
  const Result<std::filesystem::path> program = find_real_kubelet();
  if (!program && ci != nullptr && std::string_view(ci) == "true") {
    FAIL() << "CI=true forbids a skip: " << program.error().message;
  }
  if (!program) GTEST_SKIP() << "SKIPPED: " << program.error().message;
  static const Result<void> allowed = check_namespaces(*program);
  if (!allowed) GTEST_SKIP() << "SKIPPED: no namespaces: " << allowed.error().message;
  KubeTest::SetUp();
}

void KubeletTest::TearDown() {
  if (HasFailure()) {
    for (const auto& kubelet : kubelets_) std::fprintf(stderr, "%s", kubelet->log().c_str());
  }
  kubelets_.clear();  // a kubelet would make its Node again
  KubeTest::TearDown();
}

void KubeletTest::start_kubelets(std::vector<RealKubeletSettings> settings) {
  for (RealKubeletSettings& one : settings) {
    auto started = RealKubelet::start(cluster(), std::move(one));
    ASSERT_TRUE(started) << started.error().message;
    kubelets_.push_back(std::move(*started));
  }
  for (const auto& one : kubelets_) {
    const Result<void> ready = one->wait_ready();
    ASSERT_TRUE(ready) << ready.error().message;
  }
}

json container_object(const std::string& name, const Resources& limits) {
  json list = json::object();
  for (const auto& [resource, quantity] : limits) list[resource] = quantity;
  return {{"name", name},
          {"image", "registry.example/" + name + ":1"},
          {"resources", {{"limits", list}, {"requests", list}}}};
}

json bound_pod(const std::string& name, const std::string& node, std::vector<json> containers,
               std::vector<json> init) {
  for (json& one : init) {
    if (!one.contains("restartPolicy")) one["command"] = {"exit", "0", "10"};
  }
  json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", name}}},
              {"spec",
               {{"nodeName", node},
                {"automountServiceAccountToken", false},
                {"enableServiceLinks", false},
                {"restartPolicy", "Never"},
                {"terminationGracePeriodSeconds", 1},
                {"containers", std::move(containers)}}}};
  if (!init.empty()) pod["spec"]["initContainers"] = std::move(init);
  return pod;
}

}  // namespace plimsoll::test
