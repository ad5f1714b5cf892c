// The kubelet's settings as attributes of the object.

#include <algorithm>
#include <array>
#include <charconv>

#include "plugins/topology/report/facts_parts.hpp"
#include "plugins/topology/report/facts_text.hpp"

namespace plimsoll::topology::kubelet {
namespace {

constexpr std::string_view kPolicy = "topologyManagerPolicy";
constexpr std::string_view kScope = "topologyManagerScope";
constexpr std::string_view kMaxNumaNodes = "topologyManagerMaxNUMANodes";
constexpr std::string_view kPreferClosest = "topologyManagerOptionPreferClosestNumaNodes";
constexpr std::string_view kCpuPolicy = "cpuManagerPolicy";
constexpr std::string_view kCpuOptions = "cpuManagerPolicyOptions";
constexpr std::string_view kMemoryPolicy = "memoryManagerPolicy";
constexpr std::string_view kFeatureGates = "kubeletFeatureGates";
constexpr std::string_view kReservedCpus = "reservedCPUs";
constexpr std::string_view kVersion = "kubeletVersion";
constexpr std::string_view kPodLevelGate = "PodLevelResourceManagers";

// The first three are read with the object itself.
constexpr std::array kSettings{kPolicy,       kScope,      kMaxNumaNodes, kPreferClosest,
                               kCpuPolicy,    kCpuOptions, kMemoryPolicy, kFeatureGates,
                               kReservedCpus, kVersion};

struct Option {
  std::string_view name;
  bool CpuOptions::*member;
};
constexpr std::array kOptions{
    Option{"full-pcpus-only", &CpuOptions::full_pcpus_only},
    Option{"distribute-cpus-across-numa", &CpuOptions::distribute_cpus_across_numa},
    Option{"align-by-socket", &CpuOptions::align_by_socket},
    Option{"distribute-cpus-across-cores", &CpuOptions::distribute_cpus_across_cores},
    Option{"prefer-align-cpus-by-uncorecache", &CpuOptions::prefer_align_cpus_by_uncorecache},
    Option{"strict-cpu-reservation", &CpuOptions::strict_cpu_reservation},
};

// In the form of the kubelet's flags.
bool read_flag(std::string_view text, bool& value) {
  if (text != "true" && text != "false") return false;
  value = text == "true";
  return true;
}

class Reading {
 public:
  Reading(NodeModel& model, std::vector<std::string>& problems)
      : model_(model), problems_(problems) {}

  void read(const NrtAttribute& attribute) {
    Managers& managers = model_.managers;
    const std::string_view value = attribute.value;
    if (attribute.name == kPreferClosest) {
      if (!read_flag(value, managers.prefer_closest)) wrong(attribute, "neither true nor false");
    } else if (attribute.name == kCpuPolicy) {
      const auto& totals = model_.cpu_totals;
      // By the counts it may be on with zones of less than one CPU each.
      const bool there = managers.cpu == ManagerPolicy::kStatic ||
                         std::any_of(totals.begin(), totals.end(), is_some);
      read_policy(attribute, "static", "none", there, "CPUs", managers.cpu);
    } else if (attribute.name == kMemoryPolicy) {
      const bool there =
          std::any_of(model_.memory.begin(), model_.memory.end(), [](const MemoryType& type) {
            return type.resource == kMemoryResource &&
                   std::any_of(type.allocatable.begin(), type.allocatable.end(), is_some);
          });
      read_policy(attribute, "Static", "None", there, "memory", managers.memory);
    } else if (attribute.name == kCpuOptions) {
      read_pairs(attribute, [&](std::string_view name) -> bool* {
        for (const Option& option : kOptions) {
          if (option.name == name) return &(managers.cpu_options.*option.member);
        }
        return nullptr;
      });
    } else if (attribute.name == kFeatureGates) {
      read_pairs(attribute, [&](std::string_view name) {
        return name == kPodLevelGate ? &managers.pod_level_resource_managers : nullptr;
      });
    } else if (attribute.name == kReservedCpus) {
      read_reserved(attribute);
    } else if (attribute.name == kVersion) {
      managers.kubelet_minor = kubelet_minor(value);
      if (managers.kubelet_minor == 0) wrong(attribute, "no version such as v1.37.2");
    }
  }

 private:
  void wrong(const NrtAttribute& attribute, std::string_view what,
             std::string_view instead = "it is as if it were not there") {
    if (problems_.size() >= kMostProblems) return;
    problems_.push_back("attribute " + attribute.name + ": " + quoted(attribute.value) + " is " +
                        std::string(what) + "; " + std::string(instead));
  }

  static bool is_some(int64_t amount) { return amount > 0; }

  // `there`: some zone lists the manager's resources. If none does, the free amounts are unknown,
  // and an active manager would refuse every pod.
  void read_policy(const NrtAttribute& attribute, std::string_view pins, std::string_view off,
                   bool there, std::string_view what, ManagerPolicy& policy) {
    if (attribute.value == pins && !there) {
      policy = ManagerPolicy::kNone;
      wrong(attribute, "of no use: no zone lists " + std::string(what), "the manager has no say");
    } else if (attribute.value == pins) {
      policy = ManagerPolicy::kStatic;
    } else if (attribute.value == off) {
      policy = ManagerPolicy::kNone;
    } else {
      wrong(attribute, "neither " + std::string(off) + " nor " + std::string(pins),
            "whether the zones have something to hand out decides");
    }
  }

  // "name=true,name=false"; names that are not known here belong to newer kubelets.
  template <typename Member>
  void read_pairs(const NrtAttribute& attribute, const Member& member) {
    std::string_view rest = attribute.value;
    while (!rest.empty()) {
      std::string_view value = cut(rest, ',');
      const std::string_view name = cut(value, '=');
      bool flag = false;
      if (!read_flag(value, flag)) {
        wrong(attribute, "not a list of name=true or name=false, at " + quoted(name),
              "that entry is ignored");
      } else if (bool* known = member(name)) {
        *known = flag;
      }
    }
  }

  void read_reserved(const NrtAttribute& attribute) {
    const auto cpus = CpuSet::parse(attribute.value);
    if (!cpus) {
      wrong(attribute, "not a list of CPUs: " + cpus.error());
    } else if (model_.layout && !(*cpus - model_.layout->all()).empty()) {
      wrong(attribute,
            "not within the CPU layout, which lacks " + (*cpus - model_.layout->all()).text());
    } else {
      model_.reserved = *cpus;
    }
  }

  NodeModel& model_;
  std::vector<std::string>& problems_;
};

}  // namespace

uint16_t kubelet_minor(std::string_view version) {
  constexpr std::string_view kMajor = "v1.";
  if (!version.starts_with(kMajor)) return 0;
  version.remove_prefix(kMajor.size());
  uint16_t minor = 0;
  const auto read = std::from_chars(version.data(), version.data() + version.size(), minor);
  return read.ec == std::errc() ? minor : uint16_t{0};
}

bool is_setting(std::string_view attribute) {
  for (const std::string_view name : kSettings) {
    if (name == attribute) return true;
  }
  return false;
}

std::vector<NrtAttribute> encode_settings(const NodeModel& model) {
  const Managers& managers = model.managers;
  std::vector<NrtAttribute> out;
  const auto add = [&](std::string_view name, std::string_view value) {
    out.push_back({std::string(name), std::string(value)});
  };
  add(kPolicy, to_string(managers.policy));
  add(kScope, to_string(managers.scope));
  if (managers.max_numa_nodes != Managers{}.max_numa_nodes) {
    add(kMaxNumaNodes, std::to_string(managers.max_numa_nodes));
  }
  if (managers.prefer_closest) add(kPreferClosest, "true");
  if (managers.cpu != ManagerPolicy::kUnknown) {
    add(kCpuPolicy, managers.cpu == ManagerPolicy::kStatic ? "static" : "none");
  }
  std::string options;
  for (const Option& option : kOptions) {
    if (!(managers.cpu_options.*option.member)) continue;
    options += (options.empty() ? "" : ",") + std::string(option.name) + "=true";
  }
  if (!options.empty()) add(kCpuOptions, options);
  if (managers.memory != ManagerPolicy::kUnknown) {
    add(kMemoryPolicy, managers.memory == ManagerPolicy::kStatic ? "Static" : "None");
  }
  if (managers.pod_level_resource_managers) {
    add(kFeatureGates, std::string(kPodLevelGate) + "=true");
  }
  if (model.reserved) add(kReservedCpus, model.reserved->text());
  if (managers.kubelet_minor != 0) add(kVersion, "v1." + std::to_string(managers.kubelet_minor));
  return out;
}

void read_settings(const NrtObject& nrt, NodeModel& model, std::vector<std::string>& problems) {
  Reading reading(model, problems);
  for (const NrtAttribute& attribute : nrt.attributes) reading.read(attribute);
}

}  // namespace plimsoll::topology::kubelet
