#include "plugins/topology/report/fingerprint.hpp"

#define XXH_INLINE_ALL  // a plugin links nothing more
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <charconv>

namespace plimsoll::topology {
namespace {

constexpr std::string_view kPrefix = "pfp0v001";

static_assert(std::endian::native == std::endian::little,
              "the hashes are concatenated in little-endian form");

}  // namespace

uint64_t xxh64(std::string_view bytes, uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

uint64_t pod_hash(std::string_view ns, std::string_view name) {
  return xxh64(name, xxh64(ns, 0));
}

uint64_t fingerprint_sum(std::vector<uint64_t>& hashes) {
  std::sort(hashes.begin(), hashes.end());
  return xxh64({reinterpret_cast<const char*>(hashes.data()), hashes.size() * sizeof(uint64_t)}, 0);
}

std::string fingerprint_text(uint64_t sum) {
  std::string text(kPrefix);
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[sum >> shift & 15];
  return text;
}

std::string pod_fingerprint(const std::vector<std::pair<std::string, std::string>>& pods) {
  std::vector<uint64_t> hashes;
  hashes.reserve(pods.size());
  for (const auto& [ns, name] : pods) hashes.push_back(pod_hash(ns, name));
  return fingerprint_text(fingerprint_sum(hashes));
}

bool parse_fingerprint(std::string_view text, uint64_t& sum) {
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + 16) return false;
  text.remove_prefix(kPrefix.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sum, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace plimsoll::topology
