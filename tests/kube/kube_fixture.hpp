#pragma once
// A real kube-apiserver and etcd on loopback, for one test program: TLS, RBAC, its own folder,
// nothing left behind.
//
//   Result<std::unique_ptr<KubeCluster>> cluster = KubeCluster::start();
//   (*cluster)->install_crds();
//   run {"plimsoll", "run", "--kubeconfig", (*cluster)->kubeconfig()}
//
// No controller runs beside it: nobody adds or removes taints, makes service accounts, or takes
// pods to Running; nodes and pods are exactly what the test writes. The admission plugins that need
// such a controller are off, so a pod needs no service account and a new node is not tainted as not
// ready. Tests of label "kube" derive from KubeTest (kube_test.hpp).

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/result.hpp"
#include "tests/kube/kube_certificates.hpp"
#include "tests/kube/kube_client.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/temp_dir.hpp"

namespace plimsoll::test {

// The folder with kube-apiserver and etcd: KUBEBUILDER_ASSETS, or where tests/kube/build has put
// them. It never builds them; kNotFound with what to do if they are not there.
[[nodiscard]] Result<std::filesystem::path> find_kube_programs();

struct KubeClusterOptions {
  // Added after the fixture's own flags, so that they win: "--etcd-compaction-interval=2s", ...
  std::vector<std::string> apiserver_flags = {};
};

// Owner: the test. For the thread that started it only (its children die with that thread); what
// access(), admin() and kubeconfig() return may be used anywhere.
class KubeCluster {
 public:
  // Starts both programs and waits until /readyz says ok, 60 s at most. kNotFound if the programs
  // or openssl are not there; kUnavailable with the tail of both logs if a server does not come up.
  [[nodiscard]] static Result<std::unique_ptr<KubeCluster>> start(KubeClusterOptions options = {});
  ~KubeCluster();  // as stop()
  KubeCluster(const KubeCluster&) = delete;
  KubeCluster& operator=(const KubeCluster&) = delete;

  // "https://127.0.0.1:<port>"; the port stays the same when the API server is restarted.
  [[nodiscard]] const std::string& server() const { return server_; }
  // The test's own access: everything is allowed (client certificate, group system:masters).
  [[nodiscard]] KubeAccess admin() const;
  // User "plimsoll-limited", without any group or right but what the test binds to that name
  // (bearer token).
  [[nodiscard]] KubeAccess limited() const;

  // Kubeconfig files. Certificate and key inline; a token of user "plimsoll-token-admin" in
  // system:masters; the token of "plimsoll-limited".
  [[nodiscard]] std::filesystem::path kubeconfig() const { return dir_ / "kubeconfig"; }
  [[nodiscard]] std::filesystem::path kubeconfig_token() const { return dir_ / "kubeconfig-token"; }
  [[nodiscard]] std::filesystem::path kubeconfig_limited() const {
    return dir_ / "kubeconfig-limited";
  }
  // Writes one more: a context of the given access, with the files' contents inline. An empty
  // ca_file leaves out the CA.
  [[nodiscard]] Result<void> write_kubeconfig(const std::filesystem::path& file,
                                              const KubeAccess& access) const;

  // Creates the custom resources of deploy/crds and waits until they are served, 30 s at most. May
  // be called again.
  [[nodiscard]] Result<void> install_crds();
  // Creates the objects of one YAML file (several documents allowed), each at the collection path
  // that is given.
  [[nodiscard]] Result<void> create_from_yaml(const std::filesystem::path& file,
                                              const std::string& collection);

  // SIGTERM (SIGKILL after 10 s), then starts it again on the same port and data and waits until it
  // is ready.
  [[nodiscard]] Result<void> restart_apiserver();
  // SIGSTOP and SIGCONT for the etcd: what a disk that hangs does to it.
  void signal_etcd(int number) const {
    if (etcd_) etcd_->signal(number);
  }
  // SIGKILL: connections break as they do in a crash. start_apiserver() brings it back.
  void kill_apiserver();
  [[nodiscard]] Result<void> start_apiserver();
  // Stops both; the folder with data and logs goes with the object.
  void stop();

  // The last lines of both logs.
  [[nodiscard]] std::string logs(std::size_t lines = 30) const;
  [[nodiscard]] const std::filesystem::path& dir() const { return dir_.path(); }

 private:
  KubeCluster(std::filesystem::path programs, KubeClusterOptions options);
  Result<void> start_once();
  Result<void> start_etcd();
  Result<void> write_credentials();
  Result<void> wait_ready();
  Result<void> wait_served(const std::string& crd, const std::string& collection);
  std::vector<std::string> apiserver_command() const;

  std::filesystem::path programs_;
  KubeClusterOptions options_;
  TempDir dir_{"plimsoll-kube"};
  KubeCertificates certificates_;
  std::uint16_t etcd_port_ = 0;
  std::uint16_t port_ = 0;
  std::string server_;
  std::optional<ChildProcess> etcd_;
  std::optional<ChildProcess> apiserver_;
};

}  // namespace plimsoll::test
