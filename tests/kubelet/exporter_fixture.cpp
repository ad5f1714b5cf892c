#include "tests/kubelet/exporter_fixture.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "node/machine/machine.hpp"
#include "tests/kube/yaml_json.hpp"

namespace plimsoll::test {
namespace {

using nlohmann::json;

constexpr const char* kSystem = "/api/v1/namespaces/kube-system/";
constexpr const char* kAccount = "plimsoll-node";
constexpr const char* kHwloc = "pack:2 [numa(memory=17179869184)] l3:1 core:4 pu:2";

json resources_of(const ContainerSpec& spec) {
  json amounts = {{"cpu", std::to_string(spec.cpus)},
                  {"memory", std::to_string(spec.memory_gib) + "Gi"}};
  if (spec.gpus > 0) amounts[kGpu] = std::to_string(spec.gpus);
  return {{"requests", amounts}, {"limits", amounts}};
}

std::set<int> cpus_in(const std::string& list) {
  std::set<int> cpus;
  std::size_t at = 0;
  while (at < list.size()) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string part = list.substr(at, end - at);
    const std::size_t dash = part.find('-');
    const int first = std::stoi(part);
    const int last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
    at = end + 1;
  }
  return cpus;
}

// Columns are ids here.
std::size_t zone_of_cpu(const node::Machine& machine, int id) {
  const auto found = std::find_if(machine.hardware.cpus.begin(), machine.hardware.cpus.end(),
                                  [&](const node::MachineCpu& cpu) { return cpu.id == id; });
  return found == machine.hardware.cpus.end() ? 0 : found->zone;
}

template <typename Numbers>
std::string joined(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

}  // namespace

RealKubeletSettings small_node(const std::string& name, const std::string& policy,
                               const std::string& scope) {
  json devices = json::array();
  for (int i = 0; i < 4; ++i) {
    devices.push_back({{"resource", kGpu}, {"id", "gpu-" + std::to_string(i)}, {"zones", {i / 2}}});
  }
  const json reserved = {{"numaNode", 0}, {"limits", {{"memory", "1Gi"}}}};
  return {.name = name,
          .machine = machine_from({{"hwlocSynthetic", kHwloc},
                                   {"devices", devices},
                                   {"kubelet",
                                    {{"topologyManagerPolicy", policy},
                                     {"topologyManagerScope", scope},
                                     {"cpuManagerPolicy", "static"},
                                     {"memoryManagerPolicy", "Static"},
                                     {"reservedSystemCPUs", "0,1"},
                                     {"reservedMemory", json::array({reserved})}}}})};
}

void ExporterTest::SetUp() {
  KubeletTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_TRUE(cluster().install_crds());
  client_ = std::make_unique<KubeClient>(cluster().admin());
  ASSERT_NO_FATAL_FAILURE(install("node.yaml"));
}

void ExporterTest::install(const std::string& file) {
  const auto documents = read_yaml(PLIMSOLL_SOURCE_DIR "/deploy/" + file);
  ASSERT_TRUE(documents) << documents.error().message;
  for (const json& document : *documents) {
    const std::string collection = collection_of(document);
    KubeReply reply;
    ASSERT_TRUE(eventually([&] {  // the namespace comes a moment after the server
      reply = client().post(collection, document);
      return reply.ok() || reply.status == 409;
    })) << document["kind"]
        << reply.body;
  }
}

void ExporterTest::TearDown() {
  if (HasFailure()) {
    for (const auto& [node, exporter] : exporters_) {
      std::fprintf(stderr, "--- the log of the exporter of %s:\n%s", node.c_str(),
                   exporter.output().c_str());
    }
  }
  exporters_.clear();
  for (std::size_t i = 0; client_ && i < kubelets(); ++i) {
    client().del(std::string(kSystem) + "pods/exporter-" + kubelet(i).name() +
                 "?gracePeriodSeconds=0");
  }
  KubeletTest::TearDown();
}

void ExporterTest::start_nodes(std::vector<RealKubeletSettings> settings) {
  ASSERT_NO_FATAL_FAILURE(start_kubelets(std::move(settings)));
  for (std::size_t i = 0; i < kubelets(); ++i) {
    ASSERT_NO_FATAL_FAILURE(start_exporter(kubelet(i).name()));
  }
  expect_true_reports();
}

void ExporterTest::get_token(const std::string& node, KubeAccess& access) {
  json pod = bound_pod("exporter-" + node, node, {container_object("exporter", {})});
  pod["spec"]["serviceAccountName"] = kAccount;
  const KubeReply made = client().post(std::string(kSystem) + "pods", pod);
  ASSERT_TRUE(made.ok() || made.status == 409) << made.body;
  const json bound = {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", "exporter-" + node}};
  const KubeReply reply =
      client().post(std::string(kSystem) + "serviceaccounts/" + kAccount + "/token",
                    {{"apiVersion", "authentication.k8s.io/v1"},
                     {"kind", "TokenRequest"},
                     {"spec", {{"expirationSeconds", 3600}, {"boundObjectRef", bound}}}});
  ASSERT_TRUE(reply.ok()) << reply.body;
  access.server = cluster().server();
  access.ca_file = cluster().admin().ca_file;
  access.token = reply.json()["status"]["token"];
}

void ExporterTest::start_exporter(const std::string& node) {
  KubeAccess access;
  ASSERT_NO_FATAL_FAILURE(get_token(node, access));
  // Its pod is in the reports, too: one that the kubelet took up later would change them once more.
  ASSERT_TRUE(eventually([&] {
    const auto containers = kubelet_of(node).containers();
    return containers && std::ranges::any_of(*containers, [&](const ContainerRecord& each) {
             return each.pod == "kube-system/exporter-" + node;
           });
  })) << "the kubelet of "
      << node << " does not run its exporter's pod";
  const std::filesystem::path kubeconfig = folder_ / node;
  const auto written = cluster().write_kubeconfig(kubeconfig, access);
  ASSERT_TRUE(written) << written.error().message;
  const char* bin = std::getenv("PLIMSOLL_BIN_DIR");
  ASSERT_NE(bin, nullptr) << "PLIMSOLL_BIN_DIR is not set: run this test with ctest";
  const RealKubelet& real = kubelet_of(node);
  exporters_.erase(node);
  std::vector<std::string> line = {std::string(bin) + "/plimsoll-node",
                                   "--node-name",
                                   node,
                                   "--kubelet-root",
                                   real.paths().root.string(),
                                   "--device-plugin-dir",
                                   real.paths().device_plugins.string(),
                                   "--kubelet-config",
                                   real.address(),
                                   "--kubelet-insecure-tls",
                                   "--kubeconfig",
                                   kubeconfig.string(),
                                   "--port",
                                   "0"};
  line.insert(line.end(), exporter_flags_.begin(), exporter_flags_.end());
  auto started = ChildProcess::start(
      {.argv = line, .env = {{"HWLOC_SYNTHETIC", kHwloc}, {"HWLOC_THISSYSTEM", "0"}}});
  ASSERT_TRUE(started) << started.error().message;
  exporters_.emplace(node, std::move(*started));
}

std::string ExporterTest::exporter_log(const std::string& node) const {
  const auto found = exporters_.find(node);
  return found == exporters_.end() ? "" : found->second.output();
}

RealKubelet& ExporterTest::kubelet_of(const std::string& node) {
  std::size_t i = 0;
  while (i + 1 < kubelets() && kubelet(i).name() != node) ++i;
  return kubelet(i);
}

json ExporterTest::pod_of(const std::string& name, const std::string& node,
                          const std::vector<ContainerSpec>& containers) {
  std::vector<json> apps;
  std::vector<json> inits;
  for (const ContainerSpec& each : containers) {
    std::vector<json>& list = each.init ? inits : apps;
    list.push_back({{"name", (each.init ? "init-" : "main-") + std::to_string(list.size())},
                    {"image", "registry.example/main:1"},
                    {"resources", resources_of(each)}});
  }
  json pod = bound_pod(name, node, std::move(apps), std::move(inits));
  if (node.empty()) {
    pod["spec"].erase("nodeName");
    pod["spec"]["schedulerName"] = "topo-aware-scheduler";
  }
  return pod;
}

void ExporterTest::create_pod(const json& pod) {
  const KubeReply reply = client().post(pods_path(), pod);
  ASSERT_EQ(reply.status, 201) << reply.body;
}

void ExporterTest::delete_pod(const std::string& name, int grace_seconds) {
  const KubeReply reply = client().del(pods_path(name), {{"gracePeriodSeconds", grace_seconds}});
  ASSERT_TRUE(reply.ok()) << reply.body;
}

std::map<std::string, json> ExporterTest::pods() {
  std::map<std::string, json> all;
  const auto listed = client().list(pods_path());
  EXPECT_TRUE(listed);
  if (!listed) return all;
  for (const json& each : *listed) all[each["metadata"]["name"]] = each;
  return all;
}

void ExporterTest::settle() {
  std::string open;
  EXPECT_TRUE(eventually([&] {
    open.clear();
    for (const auto& [name, each] : pods()) {
      const std::string phase = each["status"].value("phase", "");
      const bool going = each["metadata"].contains("deletionTimestamp");
      if (going || (phase != "Running" && phase != "Failed")) {
        open.append(" ").append(name).append(" ").append(phase);
      }
    }
    return open.empty();
  })) << "not settled:"
      << open;
}

std::string ExporterTest::truly_free(const RealKubelet& kubelet) {
  std::map<std::string, bool> there;  // whether it has CPUs of its own
  for (const auto& [name, each] : pods()) {
    if (each["spec"].value("nodeName", "") != kubelet.name()) continue;
    if (each["status"].value("phase", "") == "Failed") continue;
    there[ns() + "/" + name] = each["status"].value("qosClass", "") == "Guaranteed";
  }
  const auto containers = kubelet.containers();
  if (!containers) return containers.error().message;
  const node::Machine& machine = kubelet.machine();
  std::set<int> taken(machine.kubelet.reserved_cpus.begin(), machine.kubelet.reserved_cpus.end());
  std::set<std::string> gpus;
  for (const ContainerRecord& each : *containers) {
    const auto found = there.find(each.pod);
    if (found == there.end()) continue;
    if (found->second) taken.merge(cpus_in(each.cpus));
    for (const std::string& id : each.devices(kGpu)) gpus.insert(id);
  }
  std::vector<int> free_cpus(machine.hardware.zones.size());
  std::vector<int> free_gpus(machine.hardware.zones.size());
  for (const node::MachineCpu& cpu : machine.hardware.cpus) {
    if (!taken.contains(cpu.id)) ++free_cpus[cpu.zone];
  }
  for (const node::MachineDevice& device : machine.devices) {
    const bool is_free = device.healthy && !gpus.contains(device.id);
    if (is_free) ++free_gpus[static_cast<std::size_t>(device.zones.at(0))];
  }
  return "cpu: " + joined(free_cpus) + ", gpu: " + joined(free_gpus);
}

json ExporterTest::report_of(const std::string& node) {
  return client().get(std::string(kNrts) + "/" + node).json();
}

std::string ExporterTest::reported_free(const std::string& node) {
  const json report = report_of(node);
  if (!report.is_object() || !report.contains("zones")) return "no report";
  std::vector<int> cpus;
  std::vector<int> gpus;
  for (const json& zone : report["zones"]) {
    for (const json& resource : zone["resources"]) {
      const std::string available = resource["available"];
      if (resource["name"] == "cpu") cpus.push_back(std::stoi(available));
      if (resource["name"] == kGpu) gpus.push_back(std::stoi(available));
    }
  }
  return "cpu: " + joined(cpus) + ", gpu: " + joined(gpus);
}

void ExporterTest::expect_true_reports() {
  for (std::size_t i = 0; i < kubelets(); ++i) {
    std::string truth;
    std::string report;
    EXPECT_TRUE(eventually([&] {
      truth = truly_free(kubelet(i));
      report = reported_free(kubelet(i).name());
      return truth == report;
    })) << kubelet(i).name()
        << " has " << truth << ", reported is " << report;
  }
}

std::string ExporterTest::zones_of(const RealKubelet& kubelet, const std::string& pod) {
  const auto containers = kubelet.containers();
  if (!containers) return containers.error().message;
  std::map<std::string, std::set<std::size_t>> zones;
  for (const ContainerRecord& each : *containers) {
    if (each.pod != ns() + "/" + pod) continue;
    for (const int cpu : cpus_in(each.cpus)) {
      zones[each.name].insert(zone_of_cpu(kubelet.machine(), cpu));
    }
  }
  std::string text;
  for (const auto& [container, ids] : zones) {
    text += (text.empty() ? "" : " ") + container + ":" + joined(ids);
  }
  return text;
}

}  // namespace plimsoll::test
