#include "tests/e2e/e2e_test.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/kube/yaml_json.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr std::size_t kLogLines = 60;

}  // namespace

AuditLog& E2eTest::audit() {
  static const TempDir folder("plimsoll-audit");
  static AuditLog log(folder.path());
  return log;
}

void E2eTest::SetUpTestSuite() {
  options().apiserver_flags = audit().flags();
}

void E2eTest::SetUp() {
  KubeTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  const auto program = plimsoll_program();
  ASSERT_TRUE(program) << program.error().message;
  client_.emplace(cluster().admin());
}

void E2eTest::TearDown() {
  stop_scheduler();
  KubeTest::TearDown();
}

void E2eTest::stop_scheduler() {
  if (!scheduler_) return;
  EXPECT_TRUE(scheduler_->running())
      << "the scheduler has ended by itself: " << to_string(*scheduler_->wait(0ms));
  const ExitStatus status = scheduler_->stop(30s);
  EXPECT_EQ(status, ExitStatus::exited(0)) << "after SIGTERM: " << to_string(status);
  if (HasFailure()) {
    std::fprintf(stderr, "--- the end of the scheduler's log:\n%s",
                 tail(scheduler_->output(), kLogLines).c_str());
  }
  earlier_logs_ += scheduler_->output();
  scheduler_.reset();
}

std::filesystem::path E2eTest::keep_evidence(const std::map<std::string, std::string>& texts) {
  std::string folder = (std::filesystem::temp_directory_path() / "plimsoll-failed-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return {};
  std::filesystem::path path(folder);
  std::error_code ignored;
  std::filesystem::copy_file(audit().file(), path / "audit.log", ignored);
  for (const char* log : {"kube-apiserver.log", "etcd.log"}) {
    std::filesystem::copy_file(cluster().dir() / log, path / log, ignored);
  }
  for (const auto& [name, text] : texts) (void)write_file(path / name, text);
  (void)cluster().start_apiserver();  // a test may have killed it
  const std::pair<const char*, std::string> kinds[] = {
      {"nodes", std::string(kNodes)},
      {"noderesourcetopologies", std::string(kNrts)},
      {"devices", std::string(kDevices)},
      {"pods", "/api/v1/pods"},
      {"events", "/apis/events.k8s.io/v1/namespaces/" + ns() + "/events"}};
  for (const auto& [kind, collection] : kinds) {
    const auto listed = client().list(collection);
    if (listed) (void)write_file(path / (std::string(kind) + ".json"), json(*listed).dump(1));
  }
  std::fprintf(stderr, "--- what was there is kept in %s\n", folder.c_str());
  return path;
}

void E2eTest::start() {
  start({.kubeconfig = cluster().kubeconfig_token()});
}

void E2eTest::start(const RunSpec& spec) {
  const Result<ChildOptions> command = run_command(spec);
  ASSERT_TRUE(command) << command.error().message;
  start_command(*command);
}

void E2eTest::start_command(const ChildOptions& command) {
  if (scheduler_) {
    scheduler_->kill();
    earlier_logs_ += scheduler_->output();
  }
  scheduler_.reset();
  Result<ChildProcess> started = ChildProcess::start(command);
  ASSERT_TRUE(started) << started.error().message;
  scheduler_.emplace(std::move(*started));
  ASSERT_TRUE(scheduler_->wait_for_output("the first lists are complete", 30s))
      << scheduler_->output();
}

Result<std::unique_ptr<ApiProxy>> E2eTest::start_proxy() {
  const json config =
      json::parse(read_file(cluster().kubeconfig_token()).value_or(""), nullptr, false);
  KubeAccess access = cluster().admin();
  access.token = config["users"][0]["user"]["token"];
  return ApiProxy::start(access);
}

RunSpec E2eTest::through(const ApiProxy& proxy, RunSpec spec, const TempDir& folder) {
  const auto written =
      cluster().write_kubeconfig(folder / "kubeconfig", {.server = proxy.server()});
  EXPECT_TRUE(written) << written.error().message;
  spec.kubeconfig = folder / "kubeconfig";
  return spec;
}

json E2eTest::create(std::string_view collection, const json& object) {
  const KubeReply reply = client().post(collection, object);
  EXPECT_EQ(reply.status, 201) << collection << ": " << reply.body;
  return reply.json();
}

void E2eTest::change(const std::string& path, const json& merge_patch) {
  const KubeReply reply = client().patch(path, merge_patch);
  EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
}

void E2eTest::remove(const std::string& path) {
  const KubeReply reply = client().del(path, {{"gracePeriodSeconds", 0}});
  EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
}

std::vector<std::string> E2eTest::create_shipped_roles(const std::string& user) {
  const auto documents = read_yaml("deploy/base/rbac.yaml");
  EXPECT_TRUE(documents) << documents.error().message;
  std::vector<std::string> created;
  for (json document : documents.value_or(std::vector<json>())) {
    const std::string kind = document["kind"];
    const bool binds = kind.ends_with("RoleBinding");
    if (!binds && !kind.ends_with("Role")) continue;
    if (binds) document["subjects"] = {{{"kind", "User"}, {"name", user}}};
    const std::string collection = collection_of(document);
    create(collection, document);
    created.push_back(collection + "/" + document["metadata"]["name"].get<std::string>());
  }
  return created;
}

std::string E2eTest::node_of(const std::string& pod) {
  const KubeReply reply = client().get(pods_path(pod));
  EXPECT_EQ(reply.status, 200) << reply.body;
  if (!reply.ok()) return {};
  return reply.json()["spec"].value("nodeName", "");
}

std::string E2eTest::wait_bound(const std::string& pod, std::chrono::milliseconds timeout) {
  std::string node;
  (void)eventually(timeout, [&] { return !(node = node_of(pod)).empty(); });
  return node;
}

std::string E2eTest::wait_refused(const std::string& pod, std::chrono::milliseconds timeout) {
  std::string message;
  (void)eventually(timeout, [&] {
    const json object = client().get(pods_path(pod)).json();
    for (const json& condition : object["status"].value("conditions", json::array())) {
      if (condition["type"] == "PodScheduled" && condition["status"] == "False") {
        message = condition.value("message", "");
      }
    }
    return !message.empty();
  });
  return message;
}

std::vector<json> E2eTest::events(const std::string& pod, const std::string& reason) {
  std::vector<json> found;
  const auto listed = client().list("/apis/events.k8s.io/v1/namespaces/" + ns() + "/events");
  EXPECT_TRUE(listed) << listed.error().message;
  if (!listed) return found;
  for (const json& event : *listed) {
    if (event["regarding"].value("name", "") == pod && event.value("reason", "") == reason) {
      found.push_back(event);
    }
  }
  return found;
}

std::string E2eTest::wait_event(const std::string& pod, const std::string& reason,
                                std::chrono::milliseconds timeout) {
  std::string note;
  (void)eventually(timeout, [&] {
    const std::vector<json> found = events(pod, reason);
    if (!found.empty()) note = found.front().value("note", "");
    return !found.empty();
  });
  return note;
}

}  // namespace plimsoll::test
