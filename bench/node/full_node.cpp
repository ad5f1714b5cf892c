#include "bench/node/full_node.hpp"

#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "bench/support/controller_pod.hpp"
#include "config/text/yaml_document.hpp"

namespace plimsoll::bench {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr const char* kName = "node-0";
constexpr const char* kAllocated = "scheduling.koordinator.sh/device-allocated";
constexpr std::size_t kLongest = 256 << 10;  // all annotations of a pod together, in bytes
constexpr std::size_t kDevices = 12;         // of FakeMachine::make_dgx()
constexpr int kOthers = 200;
// The policy is as old as kGuarded, and pods must be younger.
constexpr const char* kGuarded = "2026-01-01T00:00:00Z";
constexpr const char* kMade = "2026-01-01T01:00:00Z";

template <typename Value>
Value must(sandbox::ApiResult<Value> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

json card(int minor, const char* percent) {
  return {{"minor", minor},
          {"id", "GPU-" + std::to_string(minor)},
          {"resources",
           {{"koordinator.sh/gpu-core", percent},
            {"koordinator.sh/gpu-memory", "4Gi"},
            {"koordinator.sh/gpu-memory-ratio", percent}}}};
}

json nic(int minor) {
  const std::string address = "0000:" + std::to_string(minor + 1) + "5:00.";
  return {{"minor", minor},
          {"id", address + "0"},
          {"extension", {{"vfs", {{{"minor", 0}, {"busID", address + "1"}}}}}}};
}

json devices_of(int number) {
  const int minor = number % 8;
  switch (number / 8 % 3) {
    case 0:
      return {{"gpu", {card(minor, "25")}}};
    case 1:
      return {{"gpu", {card(minor, "50"), card((minor + 3) % 8, "50")}},
              {"rdma", {nic(minor % 4)}}};
    default: {
      json all;
      for (int i = 0; i < 8; ++i) all["gpu"].push_back(card(i, "100"));
      for (int i = 0; i < 4; ++i) all["rdma"].push_back(nic(i));
      return all;
    }
  }
}

}  // namespace

FullNode::FullNode(int pods) : server_(sandbox::ApiServer::start(store_).value()) {
  must(store_.create(sandbox::kNodes, {{"metadata", {{"name", kName}}},
                                       {"status",
                                        {{"capacity", {{node::test::kGpu, std::to_string(pods)}}},
                                         {"nodeInfo", {{"kubeletVersion", "v1.37.2"}}}}}}));
  machine_.make_dgx();
  machine_.make_dgx_nodes();
  add_other_devices();
  make_zones();
  make_guard();
  for (int i = 0; i < pods; ++i) {
    const json says = {{kAllocated, devices_of(i).dump()}};
    pods_.push_back(make_pod(i, says, says));
  }
  start_runtime();
}

void FullNode::start_runtime() {
  runtime_.start();
  if (!testing::Test::IsSkipped() && !testing::Test::HasFailure()) return;
  throw std::runtime_error("there is no container runtime: run tests/node/runtime/build");
}

// What a server has besides on its PCI bus: parts of its CPUs, bridges, disks.
void FullNode::add_other_devices() {
  for (int i = 0; i < kOthers; ++i) {
    const std::string slot = std::to_string(10 + i % 20);
    const std::string bus = std::to_string(60 + i / 20);
    machine_.add({"pci0000:" + bus, "0000:" + bus + ":" + slot + ".0"},
                 {{"vendor", "0x8086"}, {"class", "0x088000"}, {"driver", "->../skx_uncore"}});
  }
}

// The CPUs and zones that FakeKubelet has.
void FullNode::make_zones() const {
  const auto write = [&](const std::string& file, const std::string& text) {
    const auto path = machine_.sys() / "devices/system" / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  };
  write("node/online", "0-1");
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string zone = std::to_string(cpu / 4);
    const char* of_zone = cpu < 4 ? "0f" : "f0";
    const std::string topology = "cpu/cpu" + std::to_string(cpu) + "/topology/";
    write(topology + "core_cpus", std::string(1, "1248"[cpu % 4]) + (cpu < 4 ? "" : "0"));
    write(topology + "package_cpus", of_zone);
    write("node/node" + zone + "/cpumap", of_zone);
    write("node/node" + zone + "/meminfo", "Node " + zone + " MemTotal: 33554432 kB");
  }
}

void FullNode::make_guard() {
  std::ifstream file("deploy/node-hook.yaml");
  const config::ParsedText parsed =
      config::parse_documents(std::string(std::istreambuf_iterator<char>(file), {}));
  for (const config::Value& document : parsed.documents) {
    json object = json::parse(config::to_json(document));
    const std::string kind = object["kind"];
    if (!kind.starts_with("ValidatingAdmissionPolicy")) continue;
    const sandbox::ResourceName resource{"admissionregistration.k8s.io",
                                         sandbox::guess_plural(kind)};
    store_.serve_kind({resource, kind, {"v1"}, false, false});
    object["metadata"]["creationTimestamp"] = kGuarded;
    must(store_.create(resource, std::move(object), true));
  }
}

json FullNode::make_pod(int number, const json& shown, const json& of_runtime) {
  json pod = controller_pod(number);
  const std::string name = pod["metadata"]["name"];
  pod["metadata"]["creationTimestamp"] = kMade;
  pod["metadata"]["annotations"].update(shown);
  pod["spec"]["nodeName"] = kName;
  pod.update(controller_pod_status());
  const std::string uid = must(store_.create(sandbox::kPods, std::move(pod), true))->uid;
  const std::string device = "device-" + std::to_string(number);
  kubelet_.add_gpu(device);
  kubelet_.admit(name, uid, {}, device);
  return {{"uid", uid}, {"annotations", of_runtime}, {"padding", 4096}};
}

void FullNode::add_strangers() {
  std::string many = R"({"gpu":[{"minor":0})";
  while (many.size() < kLongest - 20) many += R"(,{"minor":0})";
  const std::string deep(kLongest / 2 - 20, '[');
  const json honest = {{kAllocated, devices_of(0).dump()}};
  json beside = honest;
  beside["example.com/text"] = std::string(kLongest - 1'000, 'x');
  int number = static_cast<int>(pods_.size());
  for (const std::string& forged :
       {many + "]}", R"({"gpu":[{"minor":)" + deep + std::string(deep.size(), ']') + "}]}"}) {
    strangers_.push_back(make_pod(number++, json::object(), {{kAllocated, forged}}));
    strangers_.back()["forged"] = true;
  }
  strangers_.push_back(make_pod(number, beside, beside));
  json last = strangers_.back();
  do {
    last["name"] = "first-" + std::to_string(names_++);
  } while (create(json::array({last})).at(0)["error"] != "");
  (void)answers();
}

test::ChildOptions FullNode::command(const std::string& program, std::uint16_t port) const {
  const auto config = folder_ / "kubeconfig";
  std::ofstream(config)
      << json({{"apiVersion", "v1"},
               {"kind", "Config"},
               {"clusters", {{{"name", "c"}, {"cluster", {{"server", server_->url()}}}}}},
               {"users", {{{"name", "u"}, {"user", json::object()}}}},
               {"contexts", {{{"name", "c"}, {"context", {{"cluster", "c"}, {"user", "u"}}}}}},
               {"current-context", "c"}})
             .dump();
  const node::KubeletPaths paths = kubelet_.paths();
  return {.argv = {program,
                   "--node-name",
                   kName,
                   "--kubeconfig",
                   config.string(),
                   "--kubelet-root",
                   paths.root.string(),
                   "--device-plugin-dir",
                   paths.device_plugins.string(),
                   "--host-root",
                   machine_.sys().parent_path().string(),
                   "--devices",
                   "report",
                   "--nvml",
                   machine_.options().nvml,
                   "--hook",
                   "--nri-socket",
                   runtime_.socket().string(),
                   "--port",
                   std::to_string(port)},
          .env = {{"PLIMSOLL_FAKE_NVML_IS_QUIET", "1"}}};
}

void FullNode::wait_until_reported() {
  runtime_.wait_for(1);
  for (const auto until = std::chrono::steady_clock::now() + 60s;;
       std::this_thread::sleep_for(100ms)) {
    const auto devices = store_.get(sandbox::kDevices, {"", kName});
    const auto zones = store_.get(sandbox::kNodeResourceTopologies, {"", kName});
    if (zones && devices && (*devices)->parse()["spec"]["devices"].size() == kDevices) return;
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("nothing is reported");
  }
}

json FullNode::create(const json& asked) {
  json answers = runtime_.create(asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (answers.at(i)["error"] == "") has_containers_.insert(asked[i]["uid"]);
  }
  return answers;
}

void FullNode::make_containers(int count) {
  json asked = json::array();
  for (int i = 0; i < count; ++i) asked.push_back(pods_[made_++ % pods_.size()]);
  if (!strangers_.empty()) asked[0] = strangers_[rounds_++ % strangers_.size()];
  for (json& container : asked) container["name"] = "c" + std::to_string(names_++);
  const json answers = create(asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const bool given = answers.at(i)["error"] == "" && !answers[i]["devices"].empty();
    if (given == asked[i].contains("forged")) throw std::runtime_error(answers[i].dump());
  }
}

std::string FullNode::answers() {
  std::string said = runtime_.calls()["CreateContainer"];
  for (const std::string& uid : has_containers_) runtime_.remove(uid);
  has_containers_.clear();
  runtime_.kill();
  start_runtime();
  runtime_.wait_for(1);
  return said;
}

}  // namespace plimsoll::bench
