#pragma once
// Which of the things in /sys are devices to report, as data: a new kind of device is a new rule,
// not new code.
//
//   {"types": [{"type": "dpu",
//               "match": {"vendor": "0x15b3", "class": "0x0200*|0x0800*"},
//               "healthy": {"net/*/carrier": "1"},
//               "id": "serial",
//               "labels": {"example.com/revision": "@revision"},
//               "resources": {"example.com/dpu": "100", "example.com/memory": "@memory_bytes"}}]}
//
// Paths are relative to the device's folder, with the wildcards of a shell. Pure; any thread.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::node {

struct TypeRule {
  std::string type;                              // spec.devices[].type
  std::string devices = "bus/pci/devices/*";     // where such devices are, below /sys
  std::map<std::string, std::string> match;      // by path: patterns for its text, all must match
  std::map<std::string, std::string> healthy;    // the same; if one does not, it is unhealthy
  std::string id;                                // the file with its id; empty: its PCI address
  std::string cdi;                               // kind by which CDI files name it, with its id
  std::map<std::string, std::string> labels;     // a text, or "@path": that of a file
  std::map<std::string, std::string> resources;  // a quantity, or "@path"
};

// Fails with kInvalid: which field is not as it must be.
[[nodiscard]] Result<std::vector<TypeRule>> parse_type_rules(std::string_view json);

// What is known without a table: RDMA NICs, cards of AMD, Ascend, Cambricon and MetaX, FPGAs.
// (NVIDIA's GPUs are read by NVML.)
[[nodiscard]] const std::vector<TypeRule>& standard_type_rules();

}  // namespace plimsoll::node
