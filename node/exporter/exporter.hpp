#pragma once
// Keeps a node's NodeResourceTopology true, and its Device object if asked to: reads the kubelet
// when something happens there, and writes an object if it changes.
//
// What happens: a state file or the socket is replaced (inotify), or the API server tells of a pod
// of this node, its Node, or its report. A read now and then is only for what could be missed.
// When the kubelet ends, the report says so at once. Nothing else is published until it has come
// back and knows everything: the last report stays, and readers see by its fingerprint what it
// counts.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "framework/base/result.hpp"
#include "framework/metrics/registry.hpp"
#include "informer/http/http_client.hpp"
#include "node/exporter/device_reporter.hpp"
#include "node/kubelet/kubelet_reader.hpp"
#include "node/machine/machine.hpp"

namespace plimsoll::node {

struct ExporterOptions {
  std::string node;  // the Node object's name
  KubeletPaths kubelet;
  // What changes rarely, and is asked for again when the kubelet comes back. Both may block.
  std::function<Result<Hardware>()> hardware;
  std::function<Result<KubeletSettings>(const std::stop_token&)> settings;
  std::optional<DeviceReporterOptions> devices;  // not set: devices are not reported

  // After an event, further ones are awaited for so long: one admission writes several files.
  std::chrono::milliseconds gather{10};
  // Between two reads. A kubelet answers 100 calls a second for all its clients; a read takes two.
  std::chrono::milliseconds pause{50};
  std::chrono::milliseconds period{10'000};  // reads without an event
  // How long a kubelet that came back is awaited until it knows all pods and devices.
  std::chrono::milliseconds settle{60'000};
};

class Exporter {
 public:
  // `client` and `registry` (null: nothing is measured) must outlive it. Fails as FileEvents does.
  [[nodiscard]] static Result<std::unique_ptr<Exporter>> create(ExporterOptions options,
                                                                informer::HttpClient& client,
                                                                metrics::Registry* registry);
  ~Exporter();

  // Works until `stop` is requested.
  void run(const std::stop_token& stop);

  // Returns the object, as JSON, as soon as it could be published, without writing it. Fails with
  // kUnavailable and the reason if that is not so within `patience`.
  [[nodiscard]] Result<std::string> preview(std::chrono::milliseconds patience,
                                            const std::stop_token& stop);

  // ---- any thread
  // Why what is published may not be true, for people; empty: it is.
  [[nodiscard]] std::string trouble() const;
  // How long ago the last pass over everything ended: a loop that hangs is seen by it.
  [[nodiscard]] std::chrono::steady_clock::duration since_last_pass() const;

 private:
  struct Impl;
  explicit Exporter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::node
