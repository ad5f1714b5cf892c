#pragma once
// The base of the suites about what deploy/ holds: its objects are applied to a real API server
// with RBAC, and the scheduler is started as its kubelet would: with the arguments of the
// Deployment's container, the profile of the ConfigMap, and a token of the service account.

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/e2e/e2e_test.hpp"
#include "tests/e2e/provisioner.hpp"
#include "tests/support/web_client.hpp"

namespace plimsoll::test {

inline constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

// The objects of the files that deploy/base/kustomization.yaml lists, with ConfigMaps by their
// plain names.
[[nodiscard]] std::vector<nlohmann::json> base_objects();

// One right in RBAC's words: a verb on a resource of an API group, of one name or of any.
struct Right {
  std::string verb;
  std::string group;
  std::string resource;  // "pods", "pods/binding"
  std::string name = {};
  // As AuditLog has it: "list nodes", "watch replicasets.apps"; with the name behind it in
  // brackets.
  [[nodiscard]] std::string text() const;
};
inline void PrintTo(const Right& right, std::ostream* out) {
  *out << right.text();
}
// Every right that the rules of these Roles and ClusterRoles give.
[[nodiscard]] std::vector<Right> rights_of(const std::vector<nlohmann::json>& objects);

class DeployTest : public E2eTest {
 protected:
  static constexpr const char* kHome = "kube-system";
  static constexpr const char* kAccount = "system:serviceaccount:kube-system:plimsoll";

  void SetUp() override;
  void TearDown() override;  // removes what install() and the work below have made

  // Creates the objects, each after a dry run that lets no unknown field pass.
  void install(const std::vector<nlohmann::json>& objects);
  // The authorizer follows the roles a moment later.
  void wait_for_rights(const std::vector<nlohmann::json>& objects);

  // What the Deployment kube-system/plimsoll would run, in this process's place: on loopback, at a
  // free port, with the plugins of this build.
  [[nodiscard]] ChildOptions deployed_command(const std::string& server = {});
  // Waits for the first lists.
  void start_deployed();
  // A token of the service account, made by the API server.
  [[nodiscard]] KubeAccess account();
  // Where the one that was started serves.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Asks the scheduler for its metrics, as its own account: that may not read them.
  [[nodiscard]] WebAnswer scrape();

  // Objects that give the scheduler all kinds of work: bind, refuse, volumes, zones, devices, a
  // resource claim ("card" of the pod "claiming"), a pod group, and a pod of high priority on a
  // full node. Nothing is waited for.
  void give_work();
  // A pod that ends makes room: the scheduler tries again what it refused for lack of it.
  void stir();
  // Waits until all of that is done.
  void expect_work_done();

  // Whether the API server's authorizer lets the service account do it.
  [[nodiscard]] bool may(const Right& right);

 private:
  void add_volumes();
  void add_resource_claim();
  [[nodiscard]] nlohmann::json pod(const std::string& name, const std::string& node,
                                   const Resources& requests);

  std::vector<std::string> installed_;  // paths
  TempDir folder_;
  std::uint16_t port_ = 0;
  std::string lease_namespace_ = kHome;
  std::unique_ptr<Provisioner> provisioner_;
};

}  // namespace plimsoll::test
