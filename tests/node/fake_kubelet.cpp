#include "tests/node/fake_kubelet.hpp"

#include <nlohmann/json.hpp>

#include "node/machine/hwloc_reader.hpp"
#include "plugins/topology/kubelet/cpu_set.hpp"
#include "tests/node/pod_resources_bytes.hpp"

namespace plimsoll::node::test {
namespace {

using nlohmann::json;

// As a kubelet does it: readers never see half a file.
void replace(const std::filesystem::path& path, const json& content) {
  const std::filesystem::path temporary = path.parent_path() / ".new";
  if (auto done = plimsoll::test::write_file(temporary, content.dump()); !done) {
    throw std::runtime_error(done.error().message);
  }
  std::filesystem::rename(temporary, path);
}

std::string list_text(const std::set<std::uint32_t>& cpus) {
  std::string text;
  for (const std::uint32_t cpu : cpus) text += (text.empty() ? "" : ",") + std::to_string(cpu);
  return text;
}

}  // namespace

FakeKubelet::FakeKubelet() {
  for (const char* name : {"pod-resources", "device-plugins"}) {
    std::filesystem::create_directory(folder_ / name);
  }
  const auto written = plimsoll::test::write_file(folder_ / "config.yaml",
                                                  "kind: KubeletConfiguration\n"
                                                  "topologyManagerPolicy: single-numa-node\n"
                                                  "cpuManagerPolicy: none\n");
  if (!written) throw std::runtime_error(written.error().message);
  allocatable_.cpus = {1, 2, 3, 5, 6, 7};
  start();
}

KubeletPaths FakeKubelet::paths() const {
  return {folder_.path(), folder_ / "device-plugins"};
}

Hardware FakeKubelet::hardware() {
  return hardware_from_synthetic("numa:2(memory=34359738368) core:4 pu:1").value();
}

void FakeKubelet::start() {
  {
    const std::lock_guard lock(mutex_);
    write_files();
  }
  std::filesystem::remove(paths().socket());
  server_.emplace(paths().socket(),
                  [this](const std::string& method, const std::string&) { return answer(method); });
}

void FakeKubelet::kill() {
  server_.reset();
  const std::lock_guard lock(mutex_);
  listed_.clear();
  allocatable_.devices.clear();
}

void FakeKubelet::admit(const std::string& name, const std::string& uid,
                        const std::set<std::uint32_t>& cpus, const std::string& gpu) {
  const std::lock_guard lock(mutex_);
  PodUse pod{"default", name, {{"main", {cpus.begin(), cpus.end()}, {}}}};
  if (!cpus.empty()) cpus_[uid]["main"] = cpus;
  if (!gpu.empty()) {
    pod.containers[0].devices[kGpu] = {gpu};
    entries_.push_back({uid, "main", kGpu, {gpu}});
  }
  pods_.push_back(pod);
  listed_.push_back(pod);
  write_files();
}

void FakeKubelet::end(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (auto* pods : {&pods_, &listed_}) {
    std::erase_if(*pods, [&](const PodUse& pod) { return pod.name == name; });
  }
}

void FakeKubelet::drop_connections() {
  server_->drop_connections();
}

void FakeKubelet::write_again() {
  const std::lock_guard lock(mutex_);
  write_files();
}

void FakeKubelet::clean() {
  const std::lock_guard lock(mutex_);
  cpus_.clear();
  write_files();
}

void FakeKubelet::list_all() {
  const std::lock_guard lock(mutex_);
  listed_ = pods_;
}

void FakeKubelet::add_gpu(const std::string& id) {
  const std::lock_guard lock(mutex_);
  allocatable_.devices[kGpu][id] = {0};
  gpus_.insert(id);
  write_files();
}

void FakeKubelet::lose_gpu(const std::string& id) {
  const std::lock_guard lock(mutex_);
  allocatable_.devices[kGpu].erase(id);
  gpus_.erase(id);
  write_files();
}

GrpcAnswer FakeKubelet::answer(const std::string& method) {
  const std::lock_guard lock(mutex_);
  if (method == "/v1.PodResourcesLister/List") return {.message = list_bytes(listed_)};
  return {.message = allocatable_bytes(allocatable_)};
}

void FakeKubelet::write_files() {
  std::set<std::uint32_t> shared{0, 1, 2, 3, 4, 5, 6, 7};
  json held = json::object();
  for (const auto& [uid, containers] : cpus_) {
    for (const auto& [container, cpus] : containers) {
      held[uid][container] = list_text(cpus);
      for (const std::uint32_t cpu : cpus) shared.erase(cpu);
    }
  }
  replace(paths().cpu_state(),
          {{"policyName", "static"}, {"defaultCpuSet", list_text(shared)}, {"entries", held}});
  json entries = json::array();
  for (const DeviceState::Entry& entry : entries_) {
    entries.push_back({{"PodUID", entry.pod_uid},
                       {"ContainerName", entry.container},
                       {"ResourceName", entry.resource},
                       {"DeviceIDs", {{"0", entry.ids}}}});
  }
  json registered = json::object();
  if (!gpus_.empty()) registered[kGpu] = gpus_;
  replace(paths().device_state(),
          {{"Data", {{"PodDeviceEntries", entries}, {"RegisteredDevices", registered}}}});
}

}  // namespace plimsoll::node::test
