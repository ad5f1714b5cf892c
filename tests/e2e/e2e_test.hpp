#pragma once
// The base of the end-to-end suites: a real API server with an audit log, and short words for what
// these tests do over and over. Every wait is bounded.

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/api_proxy.hpp"
#include "tests/e2e/audit_log.hpp"
#include "tests/e2e/scheduler_process.hpp"
#include "tests/kube/kube_objects.hpp"
#include "tests/kube/kube_test.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {

using namespace std::chrono_literals;

// Asks `condition` every 20 ms until it holds; false after the timeout.
template <typename Condition>
[[nodiscard]] bool eventually(std::chrono::milliseconds timeout, const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

class E2eTest : public KubeTest {
 protected:
  // The user as whom start() lets the scheduler run: not the test's own, so that the audit log
  // tells them apart.
  static constexpr const char* kSchedulerUser = "plimsoll-token-admin";

  static void SetUpTestSuite();
  void SetUp() override;
  void TearDown() override;  // as stop_scheduler()

  static AuditLog& audit();
  // Nodes, NodeResourceTopologies, Devices, pods and events as they are now, the audit log, the
  // servers' logs, and these texts by file name: in a new folder that stays, and whose path is
  // printed. For a test that fails once in a hundred times.
  std::filesystem::path keep_evidence(const std::map<std::string, std::string>& texts);
  [[nodiscard]] KubeClient& client() { return *client_; }

  // Starts a scheduler (kill -9 of an earlier one) and waits until it has read the cluster.
  void start();
  void start(const RunSpec& spec);
  void start_command(const ChildOptions& command);
  // It must not have ended by itself, and ends cleanly. Stop it before its roles, its lease or
  // other things that it needs are taken away: it ends without them.
  void stop_scheduler();
  [[nodiscard]] ChildProcess& scheduler() { return *scheduler_; }
  // One that acts as kSchedulerUser.
  [[nodiscard]] static Result<std::unique_ptr<ApiProxy>> start_proxy();
  // The same, but for a scheduler whose API server is the proxy; its kubeconfig goes into `folder`.
  [[nodiscard]] static RunSpec through(const ApiProxy& proxy, RunSpec spec, const TempDir& folder);
  // What it wrote so far.
  [[nodiscard]] std::string log() const { return scheduler_ ? scheduler_->output() : ""; }
  // And what those before it wrote.
  [[nodiscard]] std::string all_logs() const { return earlier_logs_ + log(); }

  // Creates an object and returns it as the server has it; a refusal fails the test.
  nlohmann::json create(std::string_view collection, const nlohmann::json& object);
  nlohmann::json create_pod(const PodSpec& spec) { return create(pods_path(), pod_object(spec)); }
  void change(const std::string& path, const nlohmann::json& merge_patch);
  void remove(const std::string& path);  // at once
  // Creates the roles of deploy/base/rbac.yaml and binds those of the scheduler to the user.
  // Returns the paths of all that it created.
  std::vector<std::string> create_shipped_roles(const std::string& user);

  // The pod's node; empty: not bound (yet).
  [[nodiscard]] std::string node_of(const std::string& pod);
  // Where it is bound within the timeout; empty: it was not.
  [[nodiscard]] std::string wait_bound(const std::string& pod,
                                       std::chrono::milliseconds timeout = 30s);
  // The message of the condition PodScheduled=False, waited for; empty: there is none.
  [[nodiscard]] std::string wait_refused(const std::string& pod,
                                         std::chrono::milliseconds timeout = 30s);
  // The pod's events of that reason.
  [[nodiscard]] std::vector<nlohmann::json> events(const std::string& pod,
                                                   const std::string& reason);
  // The note of the first event of that reason, waited for; empty: there is none.
  [[nodiscard]] std::string wait_event(const std::string& pod, const std::string& reason,
                                       std::chrono::milliseconds timeout = 30s);

 private:
  std::optional<KubeClient> client_;
  std::optional<ChildProcess> scheduler_;
  std::string earlier_logs_;
};

}  // namespace plimsoll::test
