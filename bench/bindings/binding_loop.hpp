#pragma once
// The upper bound for a scheduler: a loop that makes the same writes with the same client and
// settings, but decides nothing. It assigns the nodes to the pods in turn.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/bindings/fleet.hpp"
#include "framework/port/api_writer.hpp"
#include "informer/http/http_client.hpp"
#include "informer/write/write_queue.hpp"

namespace plimsoll::bench {

struct LoopOptions {
  bool events = true;  // also write the Scheduled event, as soon as the binding is answered
  std::vector<std::pair<std::string, std::string>> annotations = {};  // of each binding
  // Requests that come before the binding of a pod to a node, one after the other.
  std::function<std::vector<ApiRequest>(std::size_t index, const PodName& pod,
                                        const std::string& node)>
      before = nullptr;
  // The settings of `plimsoll run`, unless a comparison of clients changes them.
  informer::HttpClientOptions binds_client = {};
  informer::HttpClientOptions others_client = {};
  informer::WriteOptions writes = as_run();

  static informer::WriteOptions as_run() {
    informer::WriteOptions options;
    options.protobuf = true;
    return options;
  }
};

// The counts are of writes that failed after all retries.
struct LoopResult {
  long bind_failures = 0;
  long event_failures = 0;  // including dropped events
  double seconds = 0;       // until the answer to the last binding
  double all_seconds = 0;   // until the answer to the last event, too
};

// Binds all pods to the nodes in turn and returns when the last write has been answered.
[[nodiscard]] Result<LoopResult> write_bindings(test::KubeCluster& cluster,
                                                const std::vector<PodName>& pods, int nodes,
                                                const LoopOptions& options = {});

}  // namespace plimsoll::bench
