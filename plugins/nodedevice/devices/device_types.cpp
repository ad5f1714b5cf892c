#include "plugins/nodedevice/devices/device_types.hpp"

#include <algorithm>

namespace plimsoll::devices {
namespace {

using Kind = Check::Kind;
using Count = Combination::Count;

// Positions in the names of the gpu type below.
enum GpuName : uint8_t {
  kNvidia,
  kAmd,
  kHygon,
  kGpu,
  kShared,
  kCore,
  kMemory,
  kRatio,
  kNpuCore,
  kNpuCpu,
  kNpuDvpp,
};

enum GpuDim : uint8_t { kCoreDim, kMemoryDim, kRatioDim, kNpuCoreDim, kNpuCpuDim, kNpuDvppDim };

template <typename... Names>
constexpr uint32_t bits(Names... names) {
  return ((1U << names) | ...);
}

// "*" stands for any text. A name is read once for each "*", whatever it is.
bool matches_pattern(std::string_view pattern, std::string_view name) {
  const size_t first = pattern.find('*');
  if (first == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, first))) return false;
  size_t at = first;
  for (size_t star = first; star != std::string_view::npos;) {
    const size_t next = pattern.find('*', star + 1);
    const std::string_view part = pattern.substr(
        star + 1, next == std::string_view::npos ? std::string_view::npos : next - star - 1);
    if (next == std::string_view::npos)
      return name.size() - at >= part.size() && name.ends_with(part);
    const size_t found = name.find(part, at);
    if (found == std::string_view::npos) return false;
    at = found + part.size();
    star = next;
  }
  return true;
}

// n whole devices of a vendor's device plugin: all of each.
Combination vendor(GpuName name) {
  return {bits(name), {{name, kCoreDim, 100}, {name, kRatioDim, 100}}, {}, Count::kValue, name};
}

std::vector<Combination> gpu_combinations() {
  const Mapping core{kCore, kCoreDim};
  const Mapping memory{kMemory, kMemoryDim};
  const Mapping ratio{kRatio, kRatioDim};
  const Mapping npu_core{kNpuCore, kNpuCoreDim};
  const Mapping npu_cpu{kNpuCpu, kNpuCpuDim};
  const Mapping npu_dvpp{kNpuDvpp, kNpuDvppDim};
  const Check core_percent{kCore, Kind::kPercent};
  const Check ratio_percent{kRatio, Kind::kPercent};
  const Check core_shares{kCore, Kind::kMultipleOf, 0, kShared};
  const Check ratio_shares{kRatio, Kind::kMultipleOf, 0, kShared};
  const Check one_share{kShared, Kind::kAtMost, 1};
  const Check dvpp_percent{kNpuDvpp, Kind::kAtMost, 100};
  return {
      vendor(kNvidia),
      vendor(kAmd),
      vendor(kHygon),
      {bits(kGpu), {{kGpu, kCoreDim}, {kGpu, kRatioDim}}, {}, Count::kHundreds, kGpu},
      {bits(kMemory), {memory}, {}, Count::kOne},
      {bits(kRatio), {ratio}, {ratio_percent}, Count::kHundreds, kRatio},
      {bits(kCore, kMemory), {core, memory}, {core_percent}, Count::kOne},
      {bits(kCore, kRatio), {core, ratio}, {core_percent, ratio_percent}, Count::kHundreds, kRatio},
      {bits(kNpuCore, kRatio), {npu_core, ratio}, {ratio_percent}, Count::kHundreds, kRatio},
      {bits(kShared, kMemory), {memory}, {}, Count::kValue, kShared},
      {bits(kShared, kRatio), {ratio}, {ratio_shares}, Count::kValue, kShared},
      {bits(kShared, kCore, kMemory), {core, memory}, {core_shares}, Count::kValue, kShared},
      {bits(kShared, kCore, kRatio),
       {core, ratio},
       {core_shares, ratio_shares},
       Count::kValue,
       kShared},
      {bits(kShared, kNpuCore, kNpuCpu, kMemory),
       {npu_core, npu_cpu, memory},
       {one_share},
       Count::kOne},
      {bits(kShared, kNpuCore, kNpuCpu, kNpuDvpp, kMemory),
       {npu_core, npu_cpu, npu_dvpp, memory},
       {one_share, dvpp_percent},
       Count::kOne},
  };
}

// What device plugins and other schedulers call the GPUs that they hand out.
SameHardware gpus_elsewhere() {
  return {{"nvidia.com/gpu.*",     "nvidia.com/mig-*",         "nvidia.com/vgpu*",
           "nvidia.com/GRID*",     "nvidia.com/NVIDIA*",       "nvidia.com/*GL_*",
           "amd.com/*_nps*",       "hygon.com/dcunum*",        "hygon.com/hcunum*",
           "huawei.com/Ascend*",   "huawei.com/npu",           "cambricon.com/mlu*",
           "cambricon.com/vmlu",   "metax-tech.com/*gpu",      "iluvatar.*/*gpu",
           "kunlunxin.com/*xpu",   "mthreads.com/*gpu",        "enflame.com/*gcu",
           "birentech.com/*gpu",   "vastaitech.com/va",        "gpu.intel.com/*",
           "volcano.sh/*gpu-num*", "alibabacloud.com/gpu-c*t", "aliyun.com/gpu-count"},
          {"nvidia.com/gpu*",
           "amd.com/gpu*",
           "hygon.com/dcu*",
           "hygon.com/hcu*",
           "huawei.com/Ascend*-memory",
           "huawei.com/Ascend*-core",
           "huawei.com/npu*",
           "cambricon.com/*",
           "cambricon.com/mlu*.smlu.v*",
           "metax-tech.com/*",
           "iluvatar.*/*",
           "kunlunxin.com/*",
           "mthreads.com/*",
           "enflame.com/*",
           "birentech.com/*",
           "volcano.sh/*gpu-*",
           "alibabacloud.com/gpu-*",
           "aliyun.com/gpu-*",
           "tencent.com/vcuda-*",
           "tke.cloud.tencent.com/qgpu-*"},
          true};
}

DeviceType gpu_type() {
  DeviceType type;
  type.name = "gpu";
  type.names = {{"nvidia.com/gpu", false, true}, {"amd.com/gpu", false, true},
                {"dcu.com/gpu", false, true},    {"koordinator.sh/gpu", true},
                {"koordinator.sh/gpu.shared"},   {"koordinator.sh/gpu-core"},
                {"koordinator.sh/gpu-memory"},   {"koordinator.sh/gpu-memory-ratio"},
                {"huawei.com/npu-core"},         {"huawei.com/npu-cpu"},
                {"huawei.com/npu-dvpp"}};
  type.dims = {
      "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio",
      "huawei.com/npu-core",     "huawei.com/npu-cpu",        "huawei.com/npu-dvpp"};
  type.combinations = gpu_combinations();
  type.shared_name = kShared;
  type.memory_dim = kMemoryDim;
  type.ratio_dim = kRatioDim;
  type.is_topology_aware = true;
  type.has_partitions = true;
  type.same_hardware = gpus_elsewhere();
  return type;
}

// A type with one resource that is counted in hundredths of a device.
DeviceType percent_type(std::string name, std::vector<std::string> elsewhere) {
  DeviceType type;
  type.same_hardware = {std::move(elsewhere), {}, true};
  const std::string resource = "koordinator.sh/" + name;
  type.name = std::move(name);
  type.names = {{resource, true}};
  type.dims = {resource};
  type.combinations = {{1, {{0, 0}}, {}, Count::kHundreds, 0}};
  return type;
}

}  // namespace

DeviceTypes::DeviceTypes(std::vector<DeviceType> types) : types_(std::move(types)) {
  for (size_t t = 0; t < std::min(types_.size(), per_device_names_.size()); ++t)
    for (const Combination& combination : types_[t].combinations)
      for (const Mapping& mapping : combination.mappings)
        if (mapping.per_device) per_device_names_[t] |= 1U << mapping.name;
}

const DeviceTypes& DeviceTypes::standard() {
  static const DeviceTypes kTable(
      {gpu_type(),
       percent_type("rdma",
                    {"rdma/*", "mellanox.com/*", "nvidia.com/hostdev*", "nvidia.com/*nic*"}),
       percent_type("fpga", {"fpga.intel.com/*", "xilinx.com/*", "amd.com/xilinx*"})});
  return kTable;
}

int DeviceTypes::find_type(std::string_view name) const {
  for (int i = 0; i < count(); ++i)
    if (type(i).name == name) return i;
  return -1;
}

int DeviceTypes::find_dim(int type_index, std::string_view resource) const {
  const std::string name = current_resource_name(resource);
  const auto& dims = type(type_index).dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == name) return static_cast<int>(i);
  return -1;
}

std::optional<std::pair<int, int>> DeviceTypes::find_request(std::string_view resource) const {
  if (resource.find('/') == std::string_view::npos) return std::nullopt;  // cpu, memory, ...
  const std::string name = current_resource_name(resource);
  for (int t = 0; t < count(); ++t) {
    const auto& names = type(t).names;
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i].name == name) return std::pair(t, static_cast<int>(i));
  }
  return std::nullopt;
}

DeviceTypes::Uses DeviceTypes::find_same_hardware(std::string_view resource) const {
  Uses uses;
  const bool is_claim = resource == kClaimsName;
  if (!is_claim && resource.find('/') == std::string_view::npos) return uses;
  // How much of the name the best pattern spells out; -1: none matches.
  const auto spelt_out = [resource](const std::vector<std::string>& patterns) {
    std::ptrdiff_t most = -1;
    for (const std::string& pattern : patterns) {
      const auto letters = std::ssize(pattern) - std::count(pattern.begin(), pattern.end(), '*');
      if (letters > most && matches_pattern(pattern, resource)) most = letters;
    }
    return most;
  };
  for (int t = 0; t < count(); ++t) {
    const SameHardware& same = type(t).same_hardware;
    const uint32_t bit = 1U << t;
    if (is_claim) {
      uses.claims |= same.claims && !claims_told_ ? bit : 0;
      continue;
    }
    const auto devices = spelt_out(same.devices);
    const auto amounts = spelt_out(same.amounts);
    if (devices >= 0 && devices >= amounts)
      uses.devices |= bit;
    else if (amounts >= 0)
      uses.amounts |= bit;
  }
  return uses;
}

uint32_t DeviceTypes::claims_are_told() {
  claims_told_ = false;
  const uint32_t types = find_same_hardware(kClaimsName).claims;
  claims_told_ = true;
  return types;
}

std::string current_resource_name(std::string_view name) {
  constexpr std::string_view kOldPrefix = "kubernetes.io/";
  if (name.substr(0, kOldPrefix.size()) != kOldPrefix) return std::string(name);
  const std::string_view rest = name.substr(kOldPrefix.size());
  for (std::string_view known :
       {"gpu", "gpu-core", "gpu-memory", "gpu-memory-ratio", "rdma", "fpga"})
    if (rest == known) return "koordinator.sh/" + std::string(rest);
  return std::string(name);
}

}  // namespace plimsoll::devices
