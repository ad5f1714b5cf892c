#pragma once
// The ceiling that a scheduler is measured by: a loop that makes the same writes with the same
// client and settings, and decides nothing. Every pod gets the next node in turn.

#include <string>
#include <utility>
#include <vector>

#include "bench/bindings/fleet.hpp"
#include "informer/http/http_client.hpp"
#include "informer/write/write_queue.hpp"

namespace plimsoll::bench {

struct LoopOptions {
  bool events = true;  // the Scheduled event besides, as soon as the binding is answered
  std::vector<std::pair<std::string, std::string>> annotations = {};  // of each binding
  // As `plimsoll run` has them; a comparison of clients changes them here.
  informer::HttpClientOptions binds_client = {};
  informer::HttpClientOptions others_client = {};
  informer::WriteOptions writes = as_run();

  static informer::WriteOptions as_run() {
    informer::WriteOptions options;
    options.protobuf = true;
    return options;
  }
};

// Writes failed after all retries.
struct LoopResult {
  long bind_failures = 0;
  long event_failures = 0;  // and those that were dropped
  double seconds = 0;       // until the last binding's answer
  double all_seconds = 0;   // until the last event's answer too
};

// Binds all pods to the nodes in turn and returns when the last write has been answered.
[[nodiscard]] Result<LoopResult> write_bindings(test::KubeCluster& cluster,
                                                const std::vector<PodName>& pods, int nodes,
                                                const LoopOptions& options = {});

}  // namespace plimsoll::bench
