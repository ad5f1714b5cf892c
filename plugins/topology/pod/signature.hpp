#pragma once
// What the topology plugins' Filter and Score read of a pod (pod_words.hpp), as bytes. Pods with
// equal bytes get equal verdicts and scores.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <plimsoll/arguments.hpp>

#include "plugins/topology/pod/pod_words.hpp"

namespace plimsoll::topology {

inline void sign_requests(const plimsoll_pod& pod, sdk::Sink& sink) {
  std::array<uint64_t, 64> words;  // some at a time: each call of the sink crosses to the scheduler
  size_t count = 0;
  put_pod_words<Names::kNo>(pod, [&](uint64_t word) {
    words[count++] = word;
    if (count < words.size()) return;
    sink.put(words.data(), sizeof words);
    count = 0;
  });
  sink.put(words.data(), count * sizeof(uint64_t));
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
    for (; length != 0; bytes += sizeof(uint64_t), length -= sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes, sizeof word);
      sum.a = std::rotl(sum.a ^ word, 29) * 0x9E3779B97F4A7C15ULL;
      sum.b = (std::rotl(sum.b, 17) + word) * 0xC2B2AE3D27D4EB4FULL;
      sum.b ^= sum.b >> 31;
    }
  };
  sdk::Sink sink(mix, &hash);
  sign_requests(pod, sink);
  return hash;
}

}  // namespace plimsoll::topology
