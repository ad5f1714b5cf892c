#pragma once
// Keeps a node's Device object true, and what its Node says of these resources. The exporter calls
// it after each of its passes; it looks at the machine now and then, and at once when a driver
// tells of a fault.
//
// One thread at a time.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "framework/metrics/registry.hpp"
#include "informer/http/http_client.hpp"
#include "node/devices/device_report.hpp"
#include "node/exporter/cdi_files.hpp"
#include "node/exporter/node_watch.hpp"
#include "node/exporter/object_writer.hpp"
#include "node/hook/device_hook.hpp"

namespace plimsoll::node {

struct DeviceReporterOptions {
  FinderOptions finder;
  std::optional<HookOptions> hook;  // not set: containers are not given devices here
  bool remove = false;              // takes back what was published, and publishes nothing
  // Differs after each start of the machine, which ends faults of devices.
  std::string boot;
  std::chrono::milliseconds period{10'000};  // between two looks at the machine
  std::chrono::milliseconds settle{60'000};  // see ObjectWriter
};

class DeviceReporter {
 public:
  // `changed` is called when a driver tells of a fault; any thread. `registry` may be null.
  DeviceReporter(DeviceReporterOptions options, const std::string& node,
                 informer::HttpClient& client, metrics::Registry* registry,
                 std::function<void()> changed);

  struct Outcome {
    std::string trouble;  // why the object may not be true; empty: it is
    std::chrono::milliseconds again;
  };
  // `held`: the entries of the kubelet's checkpoint that count; not set: not known now.
  [[nodiscard]] Outcome pass(const ClusterView& cluster, const Hardware* hardware,
                             const std::optional<std::vector<DeviceState::Entry>>& held,
                             const std::stop_token& stop);
  // A pod of this node; null: it is gone. Any thread.
  void know(const std::string& uid, const AllocatedPod* pod) {
    if (hook_) hook_->know(uid, pod);
  }
  // Why containers are not given devices, for people; empty: they are, or need not be.
  [[nodiscard]] std::string hook_trouble() const { return hook_ ? hook_->trouble() : ""; }

 private:
  using Clock = std::chrono::steady_clock;

  void look(const Hardware* hardware, const std::stop_token& stop);
  void look_at_policy(const std::stop_token& stop);
  void tell_hook(const nlohmann::json& devices);
  // An Event at the pod of each container that was made without the hook.
  void tell_missed(const std::stop_token& stop);
  void restore_faults(const nlohmann::json& published);
  void count(const nlohmann::json& devices);
  void tell(const std::vector<std::string>& problems);
  [[nodiscard]] Outcome take_back(const ClusterView& cluster, const nlohmann::json& published,
                                  const std::stop_token& stop);
  // Empty: the Node has these amounts, and of `before` no others. Otherwise why not.
  [[nodiscard]] std::string patch_node(const Amounts& wanted, const Amounts& before,
                                       const ClusterView& cluster, const std::stop_token& stop);

  [[nodiscard]] Outcome write(const ClusterView& cluster, const nlohmann::json& published,
                              const DeviceReport& report, const std::stop_token& stop);

  const DeviceReporterOptions options_;
  const std::string node_;
  informer::HttpClient& client_;
  ObjectWriter writer_;
  metrics::Family<metrics::Gauge> devices_;
  std::set<std::string> types_;  // that were counted
  FoundDevices found_;
  Clock::time_point next_look_{};
  bool restored_ = false;
  bool was_there_ = false;             // the published object
  std::set<std::string> told_;         // problems that are in the log
  std::set<std::string> told_missed_;  // ids of containers
  Amounts last_amounts_;               // written into the Node
  Clock::time_point last_patch_;
  std::chrono::milliseconds patch_pause_{0};  // before they are written again
  std::atomic<bool> faulty_ = false;
  // Since when nobody but the scheduler can say in an annotation which devices a pod has, in
  // milliseconds; not set: anybody can.
  std::optional<std::int64_t> guarded_since_;
  CdiFiles cdi_;
  std::unique_ptr<DeviceHook> hook_;
  DeviceFinder finder_;  // last: it may call
};

}  // namespace plimsoll::node
