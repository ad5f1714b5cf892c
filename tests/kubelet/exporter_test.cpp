// What plimsoll-node reports of real kubelets is what their containers really have.

#include <random>

#include "tests/kubelet/exporter_fixture.hpp"
#include "tests/support/seed.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

class RealExporterTest : public ExporterTest {
 protected:
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  std::vector<ContainerSpec> random_containers() {
    std::vector<ContainerSpec> containers;
    if (pick(0, 2) == 0) {
      containers.push_back({.cpus = pick(1, 4), .gpus = pick(0, 1), .init = true});
    }
    for (int i = pick(1, 2); i > 0; --i) {
      containers.push_back({.cpus = pick(1, 3), .memory_gib = pick(1, 3), .gpus = pick(0, 1)});
    }
    return containers;
  }

  std::string version(const std::string& node) {
    return report_of(node)["metadata"]["resourceVersion"];
  }

  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }

  std::mt19937 random_{test_seed()};
};

TEST_F(RealExporterTest, ReportsAreTrueWhilePodsComeAndGo) {
  ASSERT_NO_FATAL_FAILURE(start_nodes({small_node("zones", "single-numa-node", "container"),
                                       small_node("pods", "restricted", "pod")}));
  int made = 0;
  int refused = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = pick(1, 3); i > 0; --i) {
      const std::string name = "p" + std::to_string(made++);
      const std::string node = pick(0, 1) == 0 ? "zones" : "pods";
      json object = pod_of(name, node, random_containers());
      if (pick(0, 4) == 0) object["spec"]["containers"][0].erase("resources");  // shares CPUs
      create_pod(object);
    }
    settle();
    for (const auto& [name, each] : pods()) {
      const bool failed = each["status"]["phase"] == "Failed";
      refused += failed ? 1 : 0;
      if (failed || pick(0, 2) == 0) delete_pod(name, pick(0, 1));
    }
    settle();
    expect_true_reports();
    if (HasFailure()) return;
  }
  EXPECT_GT(refused, 0) << "the nodes never were full";
  for (const auto& [name, each] : pods()) delete_pod(name, 0);
  settle();
  expect_true_reports();
}

TEST_F(RealExporterTest, AKilledKubeletChangesNoReportButForBeingAway) {
  ASSERT_NO_FATAL_FAILURE(start_nodes({small_node("killed", "single-numa-node", "container")}));
  create_pod(pod_of("one", "killed", {{.cpus = 2, .gpus = 1}}));
  create_pod(pod_of("two", "killed", {{.cpus = 3}, {.cpus = 1}}));
  settle();
  expect_true_reports();
  const std::string zones = zones_of(kubelet_of("killed"), "one");
  const auto report = [this] {
    const json object = report_of("killed");
    return json{object["zones"], object["attributes"], object["metadata"]["annotations"]};
  };
  const json before = report();
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(kubelet_of("killed").kill());
    EXPECT_TRUE(eventually([&] {
      return exporter_log("killed").find("cannot be read") != std::string::npos;
    })) << exporter_log("killed");
    ASSERT_TRUE(kubelet_of("killed").start_again());
    const auto returned = [&] {
      return count(exporter_log("killed"), "the report is true") ==
             static_cast<std::size_t>(round) + 2;
    };
    EXPECT_TRUE(eventually(returned)) << exporter_log("killed");
  }
  EXPECT_EQ(report(), before) << "nothing has changed";
  EXPECT_EQ(zones_of(kubelet_of("killed"), "one"), zones);
  create_pod(pod_of("three", "killed", {{.cpus = 2, .gpus = 1, .init = true}, {.cpus = 1}}));
  settle();
  expect_true_reports();
}

TEST_F(RealExporterTest, AnExporterWritesTheReportOfItsOwnNodeOnly) {
  KubeAccess access;
  for (const char* node : {"own", "other"}) {
    ASSERT_EQ(client().post(kNodes, node_object(node, {})).status, 201);
  }
  ASSERT_NO_FATAL_FAILURE(get_token("own", access));
  KubeClient exporter(access);
  const auto report = [&](const std::string& node) { return nrt_object({.node = node}); };
  // Rights and policies take effect a moment after they are made.
  ASSERT_TRUE(eventually([&] { return exporter.post(kNrts, report("own")).ok(); }));
  const auto refused = [](const KubeReply& reply) {
    return reply.body.find("the report of the node that it runs on") != std::string::npos;
  };
  ASSERT_TRUE(eventually([&] {
    if (refused(exporter.post(kNrts, report("other")))) return true;
    client().del(std::string(kNrts) + "/other");
    return false;
  }));
  ASSERT_TRUE(client().post(kNrts, report("other")).ok()) << "another program may";
  const std::string path = std::string(kNrts) + "/other";
  EXPECT_TRUE(refused(exporter.put(path, client().get(path).json())));
  EXPECT_EQ(exporter.del(path).status, 403);
  EXPECT_EQ(exporter.get("/api/v1/secrets").status, 403);
}

TEST_F(RealExporterTest, HealthOfDevicesAndANewExporter) {
  ASSERT_NO_FATAL_FAILURE(start_nodes({small_node("health", "best-effort", "container")}));
  const auto reported = [&](const std::string& gpus) {
    return eventually([&] { return reported_free("health").ends_with(gpus); });
  };
  ASSERT_TRUE(kubelet_of("health").set_health(kGpu, "gpu-1", false));
  EXPECT_TRUE(reported("gpu: 1 2"));
  const std::string before = version("health");
  ASSERT_NO_FATAL_FAILURE(start_exporter("health"));
  EXPECT_TRUE(eventually(
      [&] { return exporter_log("health").find("the report is true") != std::string::npos; }));
  EXPECT_EQ(version("health"), before) << "the new exporter knows the device that is not healthy";
  ASSERT_TRUE(kubelet_of("health").set_health(kGpu, "gpu-1", true));
  EXPECT_TRUE(reported("gpu: 2 2"));
}

}  // namespace
}  // namespace plimsoll::test
