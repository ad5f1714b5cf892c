#pragma once
// What the topology rules read of a pod, as words that can be compared, hashed and signed.

#include <plimsoll/objects.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <plimsoll/views.hpp>

namespace plimsoll::topology {

// Container names change no verdict; explanations and annotations use them.
enum class Names : bool { kNo, kYes };

// Calls `put(uint64_t)` with all that the rules read of the pod: QoS class, requests and limits of
// every container by kind, overhead, pod-level resources. Pods that differ give different words.
template <Names kNames, typename Put>
void put_pod_words(const plimsoll_pod& pod, Put&& put) {
  // A symbol stands for its text; a text without one follows with its length.
  const auto text = [&](const plimsoll_str& str, uint32_t beside = 0) {
    put(uint64_t{str.symbol} << 32 | beside);
    if (str.symbol != PLIMSOLL_SYMBOL_NONE) return;
    put(str.len);
    for (uint32_t at = 0; at < str.len; at += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, str.data + at, std::min<size_t>(sizeof word, str.len - at));
      put(word);
    }
  };
  const auto resources = [&](const plimsoll_list& list) {
    put(list.count);
    for (const plimsoll_resource& resource : sdk::List<plimsoll_resource>(list)) {
      text(resource.name, resource.index);
      put(resource.flags);
      put(static_cast<uint64_t>(resource.value));
    }
  };
  put(pod.qos);
  for (const plimsoll_list& containers : {pod.init_containers, pod.containers}) {
    put(containers.count);
    for (const plimsoll_container& container : sdk::List<plimsoll_container>(containers)) {
      put(container.kind);
      if constexpr (kNames == Names::kYes) text(container.name);
      resources(container.requests);
      resources(container.limits);
    }
  }
  for (const plimsoll_list& list : {pod.overhead, pod.pod_requests, pod.pod_limits}) {
    resources(list);
  }
}

}  // namespace plimsoll::topology
