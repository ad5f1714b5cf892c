#include "lab/sandbox/machine/machine_description.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <plimsoll/join.hpp>
#include <plimsoll/nearest.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "node/machine/description_bounds.hpp"
#include "node/machine/hwloc_reader.hpp"
#include "plugins/topology/kubelet/cpu_set.hpp"

namespace plimsoll::sandbox {
namespace {

using nlohmann::json;

bool is_memory_type(const std::string& name) {
  return name == "memory" || name.starts_with("hugepages-");
}

// Reads a description and records every problem with its field.
class Reader {
 public:
  Reader(node::Machine& machine, std::vector<std::string>& problems)
      : machine_(machine), problems_(problems) {}

  void problem(const std::string& field, const std::string& text) {
    problems_.push_back(field + ": " + text);
  }

  void check_fields(const json& object, const std::string& where,
                    std::initializer_list<const char*> known) {
    for (const auto& [name, value] : object.items()) {
      const bool is_known = std::any_of(known.begin(), known.end(),
                                        [&, &key = name](const char* k) { return key == k; });
      if (is_known) continue;
      const std::string near = sdk::nearest(name, known);
      problem(where + name, "unknown field" + (near.empty() ? "; there are " + sdk::join(known)
                                                            : ", did you mean \"" + near + "\"?"));
    }
  }

  void text(const json& object, const char* name, std::string& into) {
    const auto found = object.find(name);
    if (found == object.end()) return;
    if (!found->is_string()) return problem(name, "must be a string");
    into = found->get<std::string>();
  }

  void options(const json& object, const char* name, std::map<std::string, std::string>& into) {
    const auto found = object.find(name);
    if (found == object.end()) return;
    if (!found->is_object()) return problem(name, "must be an object of strings");
    for (const auto& [key, value] : found->items()) {
      if (value.is_string())
        into[key] = value.get<std::string>();
      else if (value.is_boolean())
        into[key] = value.get<bool>() ? "true" : "false";
      else
        problem(std::string(name) + "." + key, "must be a string such as \"true\"");
    }
  }

  // The column of a zone id; -1 and a problem if the machine has no such zone.
  int column_of(const json& id, const std::string& field) {
    if (id.is_number_integer()) {
      const auto& zones = machine_.hardware.zones;
      const auto wanted = id.get<std::int64_t>();
      for (std::size_t i = 0; i < zones.size(); ++i) {
        if (zones[i].id == wanted) return static_cast<int>(i);
      }
    }
    problem(field, "must be the id of a NUMA node of the machine: " +
                       sdk::join(machine_.hardware.zones, ", ", &node::MachineZone::id));
    return -1;
  }

  // Calls `read` with every item of a list of objects and its field.
  template <typename Read>
  void each(const json& object, const char* name, Read read) {
    const auto found = object.find(name);
    if (found == object.end()) return;
    if (!found->is_array()) return problem(name, "must be a list");
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string field = std::string(name) + "[" + std::to_string(i) + "]";
      if ((*found)[i].is_object())
        read((*found)[i], field);
      else
        problem(field, "must be an object");
    }
  }

  void memory(const json& description) {
    each(description, "memory", [this](const json& item, const std::string& field) {
      check_fields(item, field + ".", {"numaNode", "amount"});
      const int column = column_of(item.value("numaNode", json()), field + ".numaNode");
      const auto amount = node::parse_amount("memory", item.value("amount", json()));
      if (!amount || *amount < 0) {
        return problem(field + ".amount", amount ? "is negative" : amount.error().message);
      }
      if (column >= 0) machine_.hardware.zones[static_cast<std::size_t>(column)].memory = *amount;
    });
    each(description, "hugepages", [this](const json& item, const std::string& field) {
      check_fields(item, field + ".", {"numaNode", "amounts"});
      const int column = column_of(item.value("numaNode", json()), field + ".numaNode");
      auto amounts = node::parse_amounts(item.value("amounts", json()));
      if (!amounts) return problem(field + ".amounts", amounts.error().message);
      for (const auto& [name, bytes] : *amounts) {
        if (!name.starts_with("hugepages-") || bytes < 0) {
          problem(field + ".amounts." + name, "must be hugepages-SIZE, and not negative");
        }
      }
      if (column >= 0) {
        machine_.hardware.zones[static_cast<std::size_t>(column)].hugepages = std::move(*amounts);
      }
    });
  }

  void devices(const json& description) {
    each(description, "devices", [this](const json& item, const std::string& field) {
      check_fields(item, field + ".", {"resource", "id", "zones", "healthy"});
      node::MachineDevice device;
      text(item, "resource", device.resource);
      text(item, "id", device.id);
      if (device.resource.find('/') == std::string::npos) {
        problem(field + ".resource", "must be a device plugin's resource, such as nvidia.com/gpu");
      }
      if (device.id.empty()) problem(field + ".id", "must not be empty");
      const json zones = item.value("zones", json::array());
      if (!zones.is_array()) problem(field + ".zones", "must be a list of NUMA node ids");
      for (const json& zone : zones) {
        const int column = column_of(zone, field + ".zones");
        if (column < 0) continue;
        device.zones.push_back(machine_.hardware.zones[static_cast<std::size_t>(column)].id);
      }
      const json healthy = item.value("healthy", json(true));
      if (!healthy.is_boolean()) problem(field + ".healthy", "must be true or false");
      device.healthy = healthy.is_boolean() && healthy.get<bool>();
      machine_.devices.push_back(std::move(device));
    });
    std::stable_sort(machine_.devices.begin(), machine_.devices.end(),
                     [](const node::MachineDevice& a, const node::MachineDevice& b) {
                       return a.resource < b.resource;
                     });
  }

  void kubelet(const json& settings) {
    check_fields(settings, "kubelet.",
                 {"topologyManagerPolicy", "topologyManagerScope", "topologyManagerPolicyOptions",
                  "cpuManagerPolicy", "cpuManagerPolicyOptions", "memoryManagerPolicy",
                  "reservedSystemCPUs", "reservedMemory", "maxPods", "featureGates"});
    node::KubeletSettings& to = machine_.kubelet;
    text(settings, "topologyManagerPolicy", to.topology_manager_policy);
    text(settings, "topologyManagerScope", to.topology_manager_scope);
    options(settings, "topologyManagerPolicyOptions", to.topology_manager_options);
    text(settings, "cpuManagerPolicy", to.cpu_manager_policy);
    options(settings, "cpuManagerPolicyOptions", to.cpu_manager_options);
    text(settings, "memoryManagerPolicy", to.memory_manager_policy);
    std::string reserved;
    text(settings, "reservedSystemCPUs", reserved);
    if (const auto cpus = topology::kubelet::CpuSet::parse(reserved)) {
      cpus->for_each([&](std::uint32_t cpu) { to.reserved_cpus.push_back(static_cast<int>(cpu)); });
    } else {
      problem("kubelet.reservedSystemCPUs", cpus.error());
    }
    each(settings, "reservedMemory", [&](const json& item, const std::string& field) {
      check_fields(item, "kubelet." + field + ".", {"numaNode", "limits"});
      const int column =
          column_of(item.value("numaNode", json()), "kubelet." + field + ".numaNode");
      const auto limits = node::parse_amounts(item.value("limits", json()));
      if (!limits) return problem("kubelet." + field + ".limits", limits.error().message);
      if (column < 0) return;
      const int id = machine_.hardware.zones[static_cast<std::size_t>(column)].id;
      for (const auto& [name, bytes] : *limits) {
        if (!is_memory_type(name) || bytes < 0) {
          problem("kubelet." + field + ".limits." + name,
                  "must be memory or hugepages-SIZE, and not negative");
        }
        to.reserved_memory[id][name] += bytes;
      }
    });
    if (const auto pods = settings.find("maxPods"); pods != settings.end()) {
      if (pods->is_number_integer() && pods->get<std::int64_t>() >= 0)
        to.max_pods = pods->get<std::int64_t>();
      else
        problem("kubelet.maxPods", "must be a number of pods");
    }
    const json gates = settings.value("featureGates", json::object());
    if (!gates.is_object()) return problem("kubelet.featureGates", "must be an object");
    for (const auto& [name, on] : gates.items()) {
      if (!on.is_boolean())
        problem("kubelet.featureGates." + name, "must be true or false");
      else if (name == "PodLevelResourceManagers")
        to.pod_level_resource_managers = on.get<bool>();
      // Other gates are ignored: they change nothing here.
    }
  }

 private:
  node::Machine& machine_;
  std::vector<std::string>& problems_;
};

// The text of a regular file in the folder, wherever links lead; of others nothing is read, and
// nobody waits for them.
Result<std::string> export_in(const std::filesystem::path& folder,
                              const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  const auto cannot_be_read = [] {
    return fail(ErrorCode::kNotFound,
                "cannot be read; a path begins at the folder of the cluster file");
  };
  std::error_code error;
  const fs::path base = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return cannot_be_read();
  const fs::path real = fs::canonical(path, error);
  if (error) return cannot_be_read();
  if (std::ranges::mismatch(base, real).in1 != base.end()) {
    return fail(ErrorCode::kInvalid, "is outside of the folder of the cluster file, " +
                                         base.string() + "; put the export there");
  }
  const int file = ::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (file < 0) return cannot_be_read();
  struct stat found {};
  std::string text;
  const bool regular = ::fstat(file, &found) == 0 && S_ISREG(found.st_mode);
  ssize_t size = regular ? 0 : -1;
  if (regular) {
    text.resize(std::min<std::size_t>(found.st_size, node::kLargestExport + 1));
    size = ::pread(file, text.data(), text.size(), 0);
  }
  ::close(file);
  if (!regular) return fail(ErrorCode::kInvalid, "is not a regular file");
  if (size < 0) return cannot_be_read();
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<node::Hardware> hardware_of(const json& description, const std::filesystem::path& folder) {
  const json xml = description.value("hwlocXml", json());
  const json synthetic = description.value("hwlocSynthetic", json());
  if (xml.is_string() == synthetic.is_string()) {
    return fail(ErrorCode::kInvalid,
                "name the hardware with either \"hwlocXml\": the file of an XML export made with "
                "lstopo, or \"hwlocSynthetic\": a description such as \"pack:2 numa:2 core:8 "
                "pu:2\"");
  }
  if (synthetic.is_string()) {
    auto hardware = node::hardware_from_synthetic(synthetic.get<std::string>());
    if (!hardware) return fail(hardware.error().within("hwlocSynthetic"));
    return hardware;
  }
  const std::filesystem::path path = folder / xml.get<std::string>();
  auto hardware = export_in(folder, path).and_then(node::hardware_from_xml);
  if (!hardware) return fail(hardware.error().within("hwlocXml: " + path.string()));
  return hardware;
}

}  // namespace

Result<node::Machine> read_machine(const std::string& text,
                                   const std::filesystem::path& folder) try {
  const json description = json::parse(text, nullptr, false);
  if (!description.is_object()) {
    return fail(ErrorCode::kInvalid, "must be a JSON object with hwlocXml or hwlocSynthetic");
  }
  node::Machine machine;
  std::vector<std::string> problems;
  Reader reader(machine, problems);
  reader.check_fields(description, "",
                      {"hwlocXml", "hwlocSynthetic", "memory", "hugepages", "devices", "kubelet"});
  auto hardware = hardware_of(description, folder);
  if (!hardware) {
    problems.push_back(hardware.error().message);
    return fail(ErrorCode::kInvalid, sdk::join(problems, "; "));
  }
  machine.hardware = std::move(*hardware);
  reader.memory(description);
  reader.devices(description);
  const json kubelet = description.value("kubelet", json::object());
  if (kubelet.is_object())
    reader.kubelet(kubelet);
  else
    reader.problem("kubelet", "must be an object, part of a KubeletConfiguration");
  if (problems.empty()) problems = problems_of(machine);
  if (problems.empty()) return machine;
  return fail(ErrorCode::kInvalid, sdk::join(problems, "; "));
} catch (const json::exception& error) {
  return fail(ErrorCode::kInvalid, error.what());
}

Result<std::shared_ptr<const node::Machine>> MachineLibrary::machine_of(const json& node) {
  const json metadata = node.value("metadata", json::object());
  const json annotations = metadata.value("annotations", json::object());
  if (!annotations.is_object()) return nullptr;
  const auto found = annotations.find(kMachineAnnotation);
  if (found == annotations.end()) return nullptr;
  const std::string where =
      "node " + metadata.value("name", "") + ": annotation " + kMachineAnnotation;
  if (!found->is_string()) return fail(ErrorCode::kInvalid, where + ": must be a string");
  const auto& text = found->get_ref<const std::string&>();
  auto known = known_.find(text);
  if (known == known_.end()) {
    Result<std::shared_ptr<const node::Machine>> entry;
    if (auto machine = read_machine(text, folder_))
      entry = std::make_shared<const node::Machine>(std::move(*machine));
    else
      entry = fail(machine.error());
    known = known_.emplace(text, std::move(entry)).first;
  }
  if (!known->second) return fail(known->second.error().within(where));
  return known->second;
}

}  // namespace plimsoll::sandbox
