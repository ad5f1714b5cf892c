#include "plugins/topology/fingerprint.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

namespace plimsoll::topology {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4F;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5;
constexpr std::string_view kPrefix = "pfp0v001";

static_assert(std::endian::native == std::endian::little, "lanes are read little-endian");

template <typename Int>
Int read(const char* at) {
  Int value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint64_t round_of(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

uint64_t merge(uint64_t hash, uint64_t lane) {
  return (hash ^ round_of(0, lane)) * kPrime1 + kPrime4;
}

}  // namespace

uint64_t xxh64(std::string_view bytes, uint64_t seed) {
  const char* at = bytes.data();
  const char* end = at + bytes.size();
  uint64_t hash = seed + kPrime5;
  if (bytes.size() >= 32) {
    uint64_t a = seed + kPrime1 + kPrime2, b = seed + kPrime2, c = seed, d = seed - kPrime1;
    for (; end - at >= 32; at += 32) {
      a = round_of(a, read<uint64_t>(at));
      b = round_of(b, read<uint64_t>(at + 8));
      c = round_of(c, read<uint64_t>(at + 16));
      d = round_of(d, read<uint64_t>(at + 24));
    }
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  }
  hash += bytes.size();
  for (; end - at >= 8; at += 8) {
    hash = std::rotl(hash ^ round_of(0, read<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (end - at >= 4) {
    hash = std::rotl(hash ^ read<uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at < end; ++at) {
    hash = std::rotl(hash ^ static_cast<uint8_t>(*at) * kPrime5, 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
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

bool parse_fingerprint(std::string_view text, uint64_t& sum) {
  if (!text.starts_with(kPrefix) || text.size() != kPrefix.size() + 16) return false;
  text.remove_prefix(kPrefix.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sum, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace plimsoll::topology
