#include "tests/kube/kube_test.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "tests/kube/failure_summary.hpp"
#include "tests/kube/kube_objects.hpp"

namespace plimsoll::test {
namespace {

bool in_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

// The program's one cluster. It is stopped by a GoogleTest environment: while the thread that
// started it still runs.
std::unique_ptr<KubeCluster>& shared_cluster() {
  static std::unique_ptr<KubeCluster> cluster;
  return cluster;
}

KubeClusterOptions& cluster_options() {
  static KubeClusterOptions options;
  return options;
}

class StopAtEnd : public ::testing::Environment {
 public:
  void TearDown() override { shared_cluster().reset(); }
};
[[maybe_unused]] const auto* const kStopAtEnd = ::testing::AddGlobalTestEnvironment(new StopAtEnd);

// GoogleTest owns it, and tells listeners of the end in reverse: this one speaks after the logs.
[[maybe_unused]] const bool kRepeatsFailures = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new FailureSummary(std::cout));
  return true;
}();

// Starts it once: a cluster that cannot start fails every test at once, with the same reason.
Result<void> start_shared_cluster() {
  static std::optional<Error> broken;
  if (shared_cluster()) return {};
  if (broken) return fail(*broken);
  Result<std::unique_ptr<KubeCluster>> started = KubeCluster::start(cluster_options());
  if (!started) {
    broken = started.error();
    return fail(*broken);
  }
  Result<void> installed = (*started)->install_crds();
  if (!installed) {
    broken = Error{installed.error().code, installed.error().message + "\n" + (*started)->logs()};
    return fail(*broken);
  }
  shared_cluster() = std::move(*started);
  return {};
}

}  // namespace

KubeClusterOptions& KubeTest::options() {
  return cluster_options();
}

KubeCluster& KubeTest::cluster() {
  return *shared_cluster();
}

std::string KubeTest::pods_path(const std::string& name) const {
  return "/api/v1/namespaces/" + ns() + "/pods" + (name.empty() ? "" : "/" + name);
}

void KubeTest::SetUp() {
  const Result<std::filesystem::path> programs = find_kube_programs();
  if (!programs && in_ci()) FAIL() << "CI=true forbids a skip: " << programs.error().message;
  if (!programs) GTEST_SKIP() << "SKIPPED: " << programs.error().message;
  const Result<void> started = start_shared_cluster();
  ASSERT_TRUE(started) << started.error().message;
  static std::atomic<int> count{0};
  namespace_ = "test-" + std::to_string(++count);
  const KubeReply made = KubeClient(cluster().admin())
                             .post("/api/v1/namespaces", {{"metadata", {{"name", namespace_}}}});
  ASSERT_EQ(made.status, 201) << made.body;
}

void KubeTest::TearDown() {
  if (!shared_cluster()) return;
  if (HasFailure()) std::fprintf(stderr, "%s", cluster().logs().c_str());
  const Result<void> ready = cluster().start_apiserver();  // a test may have killed it
  ASSERT_TRUE(ready) << ready.error().message;
  // There is no namespace controller: the pods are deleted one kind at a time, at once.
  KubeClient client(cluster().admin());
  const std::string now = "?gracePeriodSeconds=0";
  for (const std::string& collection :
       {pods_path(), std::string(kNodes), std::string(kNrts), std::string(kDevices)}) {
    // Thousands of pods take longer than one request may; what it deleted is gone.
    KubeReply reply;
    for (int tries = 0; tries < 20 && reply.status != 200; ++tries) {
      reply = client.del(collection + now);
    }
    EXPECT_EQ(reply.status, 200) << collection << ": " << reply.body;
    const auto left = client.list(collection);
    EXPECT_TRUE(left && left->empty()) << collection << " still holds objects, such as some with "
                                       << "finalizers: the next test would see them";
  }
}

}  // namespace plimsoll::test
