#include "tests/kube/kube_fixture.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "tests/kube/yaml_json.hpp"
#include "tests/support/free_port.hpp"

namespace plimsoll::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kReadyTimeout = 60s;
constexpr auto kServedTimeout = 30s;
constexpr int kStartAttempts =
    3;  // another process may take a port between choosing and binding it

constexpr const char* kAdminToken = "plimsoll-admin-token-0123456789abcdef";
constexpr const char* kLimitedToken = "plimsoll-limited-token-0123456789abcdef";
constexpr const char* kCrdCollection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const std::filesystem::path& source_dir() {
  static const std::filesystem::path dir = std::filesystem::absolute(PLIMSOLL_SOURCE_DIR);
  return dir;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const bool filled = i + j <= bytes.size();
      text.push_back(filled ? kDigits[group >> (18 - 6 * j) & 63U] : '=');
    }
  }
  return text;
}

}  // namespace

Result<std::filesystem::path> find_kube_programs() {
  const ChildOptions options{.argv = {(source_dir() / "tests/kube/build").string(), "--if-present"},
                             .stderr_file = "/dev/null"};
  Result<Finished> finished = run(options);
  if (!finished) return fail(finished.error().within("looking for kube-apiserver and etcd"));
  if (finished->status != ExitStatus::exited(0)) {
    return fail(ErrorCode::kNotFound,
                "no kube-apiserver and etcd: run tests/kube/build, or set KUBEBUILDER_ASSETS to a "
                "folder that holds both");
  }
  std::string folder = finished->out;
  while (!folder.empty() && folder.back() == '\n') folder.pop_back();
  return std::filesystem::path(folder);
}

KubeCluster::KubeCluster(std::filesystem::path programs, KubeClusterOptions options)
    : programs_(std::move(programs)), options_(std::move(options)) {}

KubeCluster::~KubeCluster() {
  stop();
}

Result<std::unique_ptr<KubeCluster>> KubeCluster::start(KubeClusterOptions options) {
  Result<std::filesystem::path> programs = find_kube_programs();
  if (!programs) return fail(programs.error());
  std::unique_ptr<KubeCluster> cluster(new KubeCluster(*programs, std::move(options)));
  Result<KubeCertificates> certificates = make_certificates(cluster->dir());
  if (!certificates) return fail(certificates.error());
  cluster->certificates_ = *certificates;
  Result<void> started;
  for (int attempt = 0; attempt < kStartAttempts; ++attempt) {
    started = cluster->start_once();
    if (started) return cluster;
    const std::string logs = cluster->logs();
    cluster->stop();
    started = fail(started.error().code, started.error().message + "\n" + logs);
    if (logs.find("address already in use") == std::string::npos) break;
  }
  return fail(started.error());
}

Result<void> KubeCluster::start_once() {
  const Result<std::uint16_t> etcd_port = free_port();
  const Result<std::uint16_t> port = free_port();
  if (!etcd_port) return fail(etcd_port.error());
  if (!port) return fail(port.error());
  etcd_port_ = *etcd_port;
  port_ = *port;
  server_ = "https://127.0.0.1:" + std::to_string(port_);
  return write_credentials().and_then([this] { return start_etcd(); }).and_then([this] {
    return start_apiserver();
  });
}

Result<void> KubeCluster::write_credentials() {
  const std::string tokens = std::string(kAdminToken) +
                             ",plimsoll-token-admin,1,\"system:masters\"\n" + kLimitedToken +
                             ",plimsoll-limited,2\n";
  KubeAccess token{.server = server_, .ca_file = certificates_.ca, .token = kAdminToken};
  return write_file(dir_ / "tokens.csv", tokens)
      .and_then([&] { return write_kubeconfig(kubeconfig(), admin()); })
      .and_then([&] { return write_kubeconfig(kubeconfig_token(), token); })
      .and_then([&] { return write_kubeconfig(kubeconfig_limited(), limited()); });
}

KubeAccess KubeCluster::admin() const {
  return {.server = server_,
          .ca_file = certificates_.ca,
          .cert_file = certificates_.admin_cert,
          .key_file = certificates_.admin_key};
}

KubeAccess KubeCluster::limited() const {
  return {.server = server_, .ca_file = certificates_.ca, .token = kLimitedToken};
}

Result<void> KubeCluster::write_kubeconfig(const std::filesystem::path& file,
                                           const KubeAccess& access) const {
  const auto inline_file = [](nlohmann::json& object, const char* key,
                              const std::string& source) -> Result<void> {
    if (source.empty()) return {};
    Result<std::string> content = read_file(source);
    if (!content) return fail(content.error());
    object[key] = base64(*content);
    return {};
  };
  nlohmann::json cluster = {{"server", access.server}};
  nlohmann::json user = nlohmann::json::object();
  if (!access.token.empty()) user["token"] = access.token;
  return inline_file(cluster, "certificate-authority-data", access.ca_file)
      .and_then([&] { return inline_file(user, "client-certificate-data", access.cert_file); })
      .and_then([&] { return inline_file(user, "client-key-data", access.key_file); })
      .and_then([&] {
        const nlohmann::json config = {
            {"apiVersion", "v1"},
            {"kind", "Config"},
            {"clusters", {{{"name", "test"}, {"cluster", cluster}}}},
            {"users", {{{"name", "test"}, {"user", user}}}},
            {"contexts",
             {{{"name", "test"}, {"context", {{"cluster", "test"}, {"user", "test"}}}}}},
            {"current-context", "test"},
        };
        return write_file(file, config.dump(2) + "\n");  // JSON is YAML
      });
}

Result<void> KubeCluster::start_etcd() {
  const std::string url = "http://127.0.0.1:" + std::to_string(etcd_port_);
  Result<ChildProcess> started = ChildProcess::start(
      {.argv = {(programs_ / "etcd").string(), "--name=test",
                "--data-dir=" + (dir_ / "etcd").string(), "--listen-client-urls=" + url,
                "--advertise-client-urls=" + url, "--listen-peer-urls=http://127.0.0.1:0",
                "--unsafe-no-fsync", "--log-level=warn"},
       .stdout_file = dir_ / "etcd.log"});
  if (!started) return fail(started.error());
  etcd_.emplace(std::move(*started));
  return {};
}

std::vector<std::string> KubeCluster::apiserver_command() const {
  const auto flag = [](const std::string& name, const std::filesystem::path& value) {
    return "--" + name + "=" + value.string();
  };
  std::vector<std::string> command = {
      (programs_ / "kube-apiserver").string(),
      "--etcd-servers=http://127.0.0.1:" + std::to_string(etcd_port_),
      "--bind-address=127.0.0.1",
      "--secure-port=" + std::to_string(port_),
      flag("cert-dir", dir()),
      flag("tls-cert-file", certificates_.server_cert),
      flag("tls-private-key-file", certificates_.server_key),
      flag("client-ca-file", certificates_.ca),
      flag("token-auth-file", dir_ / "tokens.csv"),
      "--service-account-issuer=https://kubernetes.default.svc",
      flag("service-account-key-file", certificates_.service_account_key),
      flag("service-account-signing-key-file", certificates_.service_account_key),
      "--authorization-mode=RBAC",
      "--allow-privileged",
      "--service-cluster-ip-range=10.0.0.0/24",
      // It is alone: see the header.
      "--endpoint-reconciler-type=none",
      // As fast as it can, for tests that write thousands of objects.
      "--enable-priority-and-fairness=false",
      "--max-requests-inflight=4000",
      "--max-mutating-requests-inflight=2000",
      "--profiling=false",
      "--shutdown-delay-duration=0s",
  };
  const std::string disable = "--disable-admission-plugins=";
  if (std::ranges::none_of(options_.apiserver_flags,
                           [&](const std::string& each) { return each.starts_with(disable); })) {
    // No controllers and no kubelets run beside it: see the header.
    command.push_back(disable +
                      "ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection");
  }
  command.insert(command.end(), options_.apiserver_flags.begin(), options_.apiserver_flags.end());
  return command;
}

Result<void> KubeCluster::start_apiserver() {
  if (!etcd_) return fail(ErrorCode::kInvalid, "starting kube-apiserver: the cluster is stopped");
  if (apiserver_ && apiserver_->running()) return {};
  Result<ChildProcess> started = ChildProcess::start(
      {.argv = apiserver_command(), .stdout_file = dir_ / "kube-apiserver.log"});
  if (!started) return fail(started.error());
  apiserver_.emplace(std::move(*started));
  return wait_ready();
}

Result<void> KubeCluster::wait_ready() {
  const auto deadline = Clock::now() + kReadyTimeout;
  KubeClient client(admin());
  KubeReply reply;
  while (Clock::now() < deadline) {
    for (auto* child : {&etcd_, &apiserver_}) {
      if ((*child)->running()) continue;
      return fail(ErrorCode::kUnavailable,
                  std::string(child == &etcd_ ? "etcd" : "kube-apiserver") +
                      " ended while starting: " + to_string(*(*child)->wait(0ms)));
    }
    reply = client.get("/readyz");
    if (reply.status == 200) return {};
    std::this_thread::sleep_for(50ms);
  }
  return fail(ErrorCode::kUnavailable, "kube-apiserver is not ready after 60 s: HTTP " +
                                           std::to_string(reply.status) + ": " + reply.body);
}

Result<void> KubeCluster::create_from_yaml(const std::filesystem::path& file,
                                           const std::string& collection) {
  const Result<std::vector<nlohmann::json>> documents = read_yaml(file);
  if (!documents) return fail(documents.error());
  KubeClient client(admin());
  for (const nlohmann::json& document : *documents) {
    const KubeReply reply = client.post(collection, document);
    if (!reply.ok() && reply.reason() != "AlreadyExists") {
      return fail(ErrorCode::kInternal, "creating what " + file.string() + " holds: HTTP " +
                                            std::to_string(reply.status) + ": " + reply.body);
    }
  }
  return {};
}

Result<void> KubeCluster::install_crds() {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir() / "deploy/crds", error)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  if (error || files.empty()) return fail(ErrorCode::kNotFound, "no *.yaml in deploy/crds");
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    const Result<void> created = create_from_yaml(file, kCrdCollection);
    if (!created) return created;
  }
  for (const std::filesystem::path& file : files) {
    const Result<std::vector<nlohmann::json>> documents = read_yaml(file);
    if (!documents) return fail(documents.error());
    for (const nlohmann::json& crd : *documents) {
      const nlohmann::json& spec = crd["spec"];
      for (const nlohmann::json& version : spec["versions"]) {
        const Result<void> served = wait_served(crd["metadata"]["name"].get<std::string>(),
                                                "/apis/" + spec["group"].get<std::string>() + "/" +
                                                    version["name"].get<std::string>() + "/" +
                                                    spec["names"]["plural"].get<std::string>());
        if (!served) return served;
      }
    }
  }
  return {};
}

Result<void> KubeCluster::wait_served(const std::string& crd, const std::string& collection) {
  const auto deadline = Clock::now() + kServedTimeout;
  KubeClient client(admin());
  while (client.get(collection + "?limit=1").status != 200) {
    if (Clock::now() >= deadline) {
      return fail(ErrorCode::kUnavailable,
                  crd + " is not served after 30 s; its state: " +
                      client.get(std::string(kCrdCollection) + "/" + crd).body);
    }
    std::this_thread::sleep_for(20ms);
  }
  return {};
}

Result<void> KubeCluster::restart_apiserver() {
  if (apiserver_) apiserver_->stop(10s);
  return start_apiserver();
}

void KubeCluster::kill_apiserver() {
  if (apiserver_) apiserver_->kill();
}

void KubeCluster::stop() {
  if (apiserver_) apiserver_->stop(5s);
  if (etcd_) etcd_->stop(5s);
  apiserver_.reset();
  etcd_.reset();
}

std::string KubeCluster::logs(std::size_t lines) const {
  std::string result;
  for (const char* name : {"etcd.log", "kube-apiserver.log"}) {
    const Result<std::string> content = read_file(dir_ / name);
    result += std::string("--- the end of ") + name + ":\n" +
              (content ? tail(*content, lines) : "(none)\n");
  }
  return result;
}

}  // namespace plimsoll::test
