#include "sandbox/kubelet/pod_fingerprint.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace plimsoll::sandbox {

std::string pod_fingerprint(const std::vector<std::pair<std::string, std::string>>& pods) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(pods.size());
  for (const auto& [ns, name] : pods) {
    hashes.push_back(XXH64(name.data(), name.size(), XXH64(ns.data(), ns.size(), 0)));
  }
  std::sort(hashes.begin(), hashes.end());
  std::string bytes;
  bytes.reserve(hashes.size() * 8);
  for (const std::uint64_t hash : hashes) {
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(hash >> shift & 0xff);
  }
  char text[32];
  std::snprintf(text, sizeof text, "pfp0v001%016llx",
                static_cast<unsigned long long>(XXH64(bytes.data(), bytes.size(), 0)));
  return text;
}

}  // namespace plimsoll::sandbox
