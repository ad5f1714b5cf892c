#pragma once
// The least that a decoder of Kubernetes' protobuf encoding would have to do with a pod: find every
// field that scheduling reads. Nothing is kept, so its time is a lower bound of a real decoder's.

#include <cstdint>
#include <string_view>

namespace plimsoll::bench {

struct WalkedPods {
  uint64_t pods = 0;
  uint64_t fields = 0;  // that scheduling reads
  bool valid = false;
};

// `body`: a PodList as the API server sends it ("k8s\0" and a runtime.Unknown around it).
[[nodiscard]] WalkedPods walk_pod_list(std::string_view body);

}  // namespace plimsoll::bench
