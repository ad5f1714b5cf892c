#pragma once
// What the API server says of one node: its Node object, its pods, and what is published of it.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "informer/http/http_client.hpp"
#include "node/devices/device_report.hpp"
#include "node/exporter/object_writer.hpp"
#include "node/hook/pod_devices.hpp"
#include "node/kubelet/snapshot.hpp"
#include "node/machine/amounts.hpp"

namespace plimsoll::node {

using PodNames = std::set<std::pair<std::string, std::string>>;

// Everything known at one moment.
struct ClusterView {
  bool complete = false;        // all were listed but the Device object
  bool report_served = false;   // the API server knows NodeResourceTopology objects
  bool devices_served = false;  // and Device objects, if they were asked for
  bool devices_listed = false;
  std::string devices_trouble;  // what keeps them from being listed, for people
  std::string node_uid;         // empty: there is no such node
  Amounts capacity;             // Node.status.capacity
  Amounts allocatable;          // Node.status.allocatable
  std::string kubelet_version;  // Node.status.nodeInfo.kubeletVersion
  PodUids uids;
  // Pods by namespace and name. Starting: the kubelet has not said yet that it admitted the pod
  // (status.startTime). Running: it has, and the pod has not ended. Replaced: starting, and one of
  // the same name was there a moment ago.
  PodNames running, starting, replaced;
  // By the UIDs of pods whose annotation names some.
  NamedDevices allocated;
  PublishedObject report;   // the NodeResourceTopology
  PublishedObject devices;  // the Device object, if it was asked for
};

// Watches them. Any thread.
class NodeWatch {
 public:
  // `changed` is called on the client's I/O thread after every change, and `allocated` at once for
  // a pod of the node, or one that is gone (null); neither may block or call this object. The
  // client must outlive this object.
  using OnAllocated = std::function<void(const std::string& uid, const AllocatedPod*)>;
  NodeWatch(informer::HttpClient& client, const std::string& node, bool devices,
            std::function<void()> changed, OnAllocated allocated);
  ~NodeWatch();  // neither is called afterwards
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;

  [[nodiscard]] ClusterView view() const;
  // What keeps a kind other than devices from being listed, for people; empty: nothing.
  [[nodiscard]] std::string trouble() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::node
