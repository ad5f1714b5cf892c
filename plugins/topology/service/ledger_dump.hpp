#pragma once
// The ledger as `plimsoll debug dump` shows it: what each node's zones have left, and which pods
// have promises there.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <plimsoll/host.hpp>
#include <span>
#include <string>
#include <vector>

#include "plugins/topology/ask/questions.hpp"
#include "plugins/topology/kubelet/policy.hpp"

namespace plimsoll::topology {

// A copy of it, so that another thread makes text of it.
class KeptLedger {
 public:
  // On the loop. Of nodes that have reported or hold pods that pin something: all, or those in
  // these slots.
  KeptLedger(const Questions& ledger, const sdk::Host& host);
  KeptLedger(const Questions& ledger, const sdk::Host& host, std::span<const uint32_t> slots);
  // {"nodes": {NAME: ...}}; docs/operations.md, "The promises of zones", has the fields.
  [[nodiscard]] std::string text() const;

 private:
  struct Zones {
    int64_t reported_ms = 0;
    uint32_t promises = 0;
    uint32_t leaving = 0;
    Policy policy = Policy::kNone;
    Scope scope = Scope::kContainer;
    std::vector<uint32_t> ids;           // by column
    std::vector<std::string> resources;  // by row
    std::vector<uint64_t> listed;        // by row; bit c: the zone in column c has the resource
    std::vector<int64_t> amounts;        // by cell what is allocatable, then by cell what is free
  };
  struct Node {
    std::string name;
    bool malformed = false;
    const char* uncertain = "";  // why; empty: it is not
    std::optional<Zones> zones;  // if it has reported
    size_t pods_begin = 0;       // in pods_
    size_t pods_size = 0;
  };
  void keep(const Questions& ledger, const sdk::Node& node);
  [[nodiscard]] static Zones kept_zones(const sdk::Node& node, const plimsoll_numa_node& view);
  static void append(std::string& out, const Zones& zones);
  void append(std::string& out, const Node& node) const;

  std::vector<Node> nodes_;
  std::string pods_;  // as text: that is little
};

}  // namespace plimsoll::topology
