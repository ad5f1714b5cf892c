#pragma once
// Gives containers the devices that a scheduler has chosen for their pods: a plugin of the
// container runtime (NRI). Answers from memory, and connects again for ever.
//
// A container of a pod that was given nothing is left as it is. One that cannot be given what its
// pod was promised is not made: the kubelet tries again.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "framework/metrics/registry.hpp"
#include "node/hook/nri_messages.hpp"
#include "node/hook/pod_devices.hpp"

namespace plimsoll::node {

struct HookOptions {
  std::filesystem::path socket = "/var/run/nri/nri.sock";
  HostFiles files;
  // Runtimes that give devices by the names of CDI files, and since which version. Others leave
  // such names out and say nothing.
  std::map<std::string, std::pair<int, int>> by_name_since = {{"containerd", {2, 1}}};
  // How long a container waits for a pod that is not known yet. The runtime gives up after 2 s, and
  // then leaves the plugin out.
  std::chrono::milliseconds patience{500};
  std::chrono::milliseconds reconnect{500};
};

// A container that was made without the hook, though its pod has devices.
struct MissedContainer {
  std::string id;  // the runtime's
  std::string name;
  nri::Pod pod;
};

class DeviceHook {
 public:
  static constexpr const char* kName = "plimsoll";  // the plugin's, for the runtime

  // `registry` may be null.
  DeviceHook(HookOptions options, metrics::Registry* registry);
  ~DeviceHook();  // closes the connection
  DeviceHook(const DeviceHook&) = delete;
  DeviceHook& operator=(const DeviceHook&) = delete;

  // A pod of this node, as the API server shows it; null: it is gone. Any thread.
  void know(const std::string& uid, const AllocatedPod* pod);
  // What a pod has, as the node's devices are now. Called when a container is made, on the hook's
  // thread. Any thread.
  // `by_name`: the runtime gives devices by name.
  using Judge = std::function<PodDevices(const AllocatedPod&, bool by_name)>;
  void judge_by(Judge judge);

  // Why containers are not given devices now, for people; empty: they are. Any thread.
  [[nodiscard]] std::string trouble() const;

  // As the runtime told at the last connect. Any thread.
  [[nodiscard]] std::vector<MissedContainer> missed() const;

 private:
  void run(const std::stop_token& stop);
  // Until the connection ends. Says why it did.
  [[nodiscard]] std::string serve(int fd, const std::stop_token& stop);
  // The answer to a call of the runtime; a failure becomes the call's.
  [[nodiscard]] Result<std::string> answer(const nri::Request& request,
                                           const std::stop_token& stop);
  [[nodiscard]] Result<std::string> give(const nri::NewContainer& made,
                                         const std::stop_token& stop);
  // May wait for the pod.
  [[nodiscard]] PodDevices devices_of(const nri::Pod& pod, const std::stop_token& stop);
  [[nodiscard]] std::string synchronize(nri::Inventory piece);
  void set_trouble(std::string trouble);

  const HookOptions options_;
  metrics::Family<metrics::Counter> containers_;
  metrics::Gauge missed_count_;
  nri::Inventory inventory_;  // its pieces up to now
  bool by_name_ = false;      // the runtime that is connected

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, AllocatedPod> pods_;  // by UID
  Judge judge_;                               // empty: the node's devices are not known yet
  std::string trouble_ = "starting";
  std::vector<MissedContainer> missed_;

  std::jthread thread_;  // last
};

}  // namespace plimsoll::node
