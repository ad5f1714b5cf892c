#pragma once
// What the topology plugins' Filter and Score read of a pod: QoS class, requests and limits of
// every container by kind, overhead, pod-level resources. Pods with equal bytes get equal verdicts
// and scores.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <plimsoll/arguments.hpp>

namespace plimsoll::topology {

inline void sign_resources(const plimsoll_list& list, sdk::Sink& sink) {
  sink.put_value(list.count);
  for (const plimsoll_resource& resource : sdk::List<plimsoll_resource>(list)) {
    sink.put_field(sdk::view(resource.name));
    sink.put_value(resource.value);
  }
}

inline void sign_requests(const plimsoll_pod& pod, sdk::Sink& sink) {
  sink.put_value(pod.qos);
  for (const plimsoll_list& containers : {pod.init_containers, pod.containers}) {
    sink.put_value(containers.count);
    for (const plimsoll_container& container : sdk::List<plimsoll_container>(containers)) {
      sink.put_value(container.kind);
      sign_resources(container.requests, sink);
      sign_resources(container.limits, sink);  // devices are asked for by limits
    }
  }
  sign_resources(pod.overhead, sink);
  sign_resources(pod.pod_requests, sink);
  sign_resources(pod.pod_limits, sink);
}

// A hash of those bytes, wide enough to stand for them.
struct RequestsHash {
  uint64_t a = 0;
  uint64_t b = 0;
  friend bool operator==(const RequestsHash&, const RequestsHash&) = default;
};

inline RequestsHash hash_requests(const plimsoll_pod& pod) {
  RequestsHash hash;
  const auto mix = [](void* sink, const void* data, size_t length) {
    auto& sum = *static_cast<RequestsHash*>(sink);
    const auto* bytes = static_cast<const std::byte*>(data);
    do {  // a text of no length counts as one of zeros: its length came before it
      uint64_t word = 0;
      const size_t part = std::min(length, sizeof word);
      if (part != 0) std::memcpy(&word, bytes, part);
      sum.a = std::rotl(sum.a ^ word, 29) * 0x9E3779B97F4A7C15ULL;
      sum.b = (std::rotl(sum.b, 17) + word) * 0xC2B2AE3D27D4EB4FULL;
      sum.b ^= sum.b >> 31;
      bytes += part;
      length -= part;
    } while (length != 0);
  };
  sdk::Sink sink(mix, &hash);
  sign_requests(pod, sink);
  return hash;
}

}  // namespace plimsoll::topology
