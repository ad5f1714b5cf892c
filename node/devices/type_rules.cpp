#include "node/devices/type_rules.hpp"

#include "node/kubelet/json_at.hpp"
#include "node/machine/amounts.hpp"

namespace plimsoll::node {
namespace {

// A NIC without an active port gives nobody RDMA. FPGAs: Intel's by the kernel's own framework,
// Xilinx' by XRT's driver. Ascend's by the driver of CANN, Cambricon's by theirs, MetaX' by
// GPUStack's vendor id and the node in /dev/dri that vLLM's plugin for MetaX needs; the labels are
// those of Koordinator's documents. None of these three is known to show memory or health in /sys.
constexpr std::string_view kStandard = R"({"types": [
  {"type": "rdma",
   "match": {"infiniband/*": "*"},
   "healthy": {"infiniband/*/ports/*/state": "4:*"},
   "resources": {"koordinator.sh/rdma": "100"}},
  {"type": "gpu",
   "match": {"vendor": "0x1002", "driver": "amdgpu", "mem_info_vram_total": "*"},
   "id": "unique_id",
   "labels": {"node.koordinator.sh/gpu-vendor": "amd",
              "node.koordinator.sh/gpu-model": "@product_name"},
   "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100",
                 "koordinator.sh/gpu-memory": "@mem_info_vram_total"}},
  {"type": "gpu", "match": {"vendor": "0x19e5", "driver": "devdrv_device_driver"},
   "labels": {"node.koordinator.sh/gpu-vendor": "huawei"},
   "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}},
  {"type": "gpu", "match": {"vendor": "0xcabc", "driver": "cambricon-pci-drv"},
   "labels": {"node.koordinator.sh/gpu-vendor": "cambricon"},
   "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}},
  {"type": "gpu", "match": {"vendor": "0x9999", "drm/renderD*": "*"},
   "labels": {"node.koordinator.sh/gpu-vendor": "metax"},
   "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}},
  {"type": "fpga", "match": {"fpga_region/*": "*"}, "resources": {"koordinator.sh/fpga": "100"}},
  {"type": "fpga", "match": {"vendor": "0x10ee", "driver": "xocl"},
   "resources": {"koordinator.sh/fpga": "100"}}
]})";

std::map<std::string, std::string> texts(const At& at) {
  std::map<std::string, std::string> texts;
  at.members([&](const std::string& key, const At& value) { texts[key] = value.text(); });
  return texts;
}

TypeRule rule_of(const At& at) {
  TypeRule rule;
  at.members([&](const std::string& key, const At& value) {
    if (key == "type") {
      rule.type = value.text();
    } else if (key == "devices") {
      rule.devices = value.text();
    } else if (key == "match") {
      rule.match = texts(value);
    } else if (key == "healthy") {
      rule.healthy = texts(value);
    } else if (key == "id") {
      rule.id = value.text();
    } else if (key == "cdi") {
      rule.cdi = value.text();
    } else if (key == "labels") {
      rule.labels = texts(value);
    } else if (key == "resources") {
      rule.resources = texts(value);
    } else {
      throw WrongField(value.path + ": there is no such field");
    }
  });
  if (rule.type.empty()) throw WrongField(at.path + ".type: missing");
  if (rule.match.empty()) throw WrongField(at.path + ".match: missing; it would be every device");
  if (rule.resources.empty()) throw WrongField(at.path + ".resources: missing");
  for (const auto& [name, value] : rule.resources) {
    if (!value.starts_with('@') && !parse_amount(name, value)) {
      throw WrongField(at.path + ".resources." + name + ": is neither a quantity nor \"@path\"");
    }
  }
  return rule;
}

}  // namespace

Result<std::vector<TypeRule>> parse_type_rules(std::string_view json) {
  return read_json<std::vector<TypeRule>>(json, [](const At& at, std::vector<TypeRule>& rules) {
    if (at["types"].absent()) throw WrongField("types: missing");
    at["types"].elements([&](const At& rule) { rules.push_back(rule_of(rule)); });
  });
}

const std::vector<TypeRule>& standard_type_rules() {
  static const std::vector<TypeRule> kRules = parse_type_rules(kStandard).value();
  return kRules;
}

}  // namespace plimsoll::node
