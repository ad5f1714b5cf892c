#pragma once
// NVIDIA's management library (NVML), loaded at run time: a node without it has no NVIDIA GPU that
// a container could use. Each failing call costs the card that it is about, and no other.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::node {

inline constexpr int kMaxInstances = 8;  // of a card

// A part of a card that has been cut (MIG).
struct NvmlInstance {
  std::string uuid;
  std::string profile;  // "1g.10gb"; empty: its name does not say
  int index = 0;        // on its card
  std::int64_t memory = 0;
};

struct NvmlCard {
  std::string address;  // "0000:3b:00.0"
  std::string uuid;
  std::string model;
  int minor = -1;      // of /dev/nvidia<minor>; not the order in which the library counts
  int index = -1;      // in that order
  int module_id = -1;  // its place on the board
  std::int64_t memory = 0;
  bool is_cut = false;  // in MIG mode it is given in instances only
  std::vector<NvmlInstance> instances;
  std::map<std::string, int> lanes;  // active NVLinks, by the other end's address
  unsigned link_version = 0;
  std::string problem;  // the call that failed, and how; empty: none
};

class Nvml {
 public:
  // `on_fault`: the driver tells of a fault of a card (Xid) that no application causes. Called on a
  // thread of the library's own.
  using OnFault = std::function<void(const std::string& address, std::uint64_t xid)>;

  // Fails with kNotFound (no such library) or kUnavailable (it does not start: no driver).
  [[nodiscard]] static Result<std::unique_ptr<Nvml>> open(const std::string& library,
                                                          OnFault on_fault);
  ~Nvml();  // `on_fault` is not called afterwards; may take a second
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // The cards whose address is known, as they are now. `problems`: the others.
  [[nodiscard]] std::vector<NvmlCard> cards(std::vector<std::string>& problems);
  [[nodiscard]] std::string driver_version() const;

 private:
  struct Impl;
  explicit Nvml(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::node
