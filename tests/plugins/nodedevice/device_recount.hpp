#pragma once
// Who uses which device, counted by brute force from what the API server knows (Device objects, and
// pods with their annotations) with nothing of the plugin's own code. The accounts of a scheduler,
// as `plimsoll debug dump` shows them, must say the same.

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace plimsoll::devices::test {

struct CountedPod {
  std::string uid;
  std::string node;
  std::map<std::string, int64_t> requests;
  std::optional<std::string> allocated;  // the device-allocated annotation
};

// "16Gi", "100", "15k"; what tests and the plugin write.
inline int64_t counted_quantity(const nlohmann::json& value) {
  if (value.is_number()) return value.get<int64_t>();
  const std::string text = value.get<std::string>();
  size_t end = 0;
  const int64_t number = std::stoll(text, &end);
  const std::string suffix = text.substr(end);
  int64_t factor = 1;
  const std::string powers = "KMGTPE";
  if (!suffix.empty()) {
    const bool binary = suffix.size() == 2;
    const auto power = powers.find(suffix[0] == 'k' ? 'K' : suffix[0]);
    for (size_t i = 0; i <= power; ++i) factor *= binary ? 1024 : 1000;
  }
  return number * factor;
}

// How many devices a pod asks for, by type: the legal combinations that tests use.
inline std::map<std::string, int64_t> counted_ask(const CountedPod& pod) {
  const auto asked = [&](const char* name) {
    const auto it = pod.requests.find(name);
    return it == pod.requests.end() ? int64_t{0} : it->second;
  };
  const auto hundreds = [](int64_t value) { return value > 100 ? value / 100 : int64_t{1}; };
  std::map<std::string, int64_t> counts;
  if (const int64_t n = asked("koordinator.sh/gpu.shared"))
    counts["gpu"] = n;
  else if (const int64_t whole = asked("nvidia.com/gpu"))
    counts["gpu"] = whole;
  else if (const int64_t percent = asked("koordinator.sh/gpu"))
    counts["gpu"] = hundreds(percent);
  else if (const int64_t ratio = asked("koordinator.sh/gpu-memory-ratio"))
    counts["gpu"] = hundreds(ratio);
  else if (asked("koordinator.sh/gpu-memory") != 0)
    counts["gpu"] = 1;
  if (const int64_t rdma = asked("koordinator.sh/rdma")) counts["rdma"] = hundreds(rdma);
  return counts;
}

// What it asks for of each device of a type.
inline std::map<std::string, int64_t> counted_each(const CountedPod& pod, const std::string& type) {
  const auto asked = counted_ask(pod);
  const auto count = asked.find(type);
  std::map<std::string, int64_t> each;
  if (count == asked.end()) return each;
  for (const auto& [resource, amount] : pod.requests) {
    const bool is_rdma = resource == "koordinator.sh/rdma";
    if (is_rdma != (type == "rdma") || resource == "koordinator.sh/gpu.shared") continue;
    if (resource == "nvidia.com/gpu" || resource == "koordinator.sh/gpu") {
      const int64_t percent = resource == "nvidia.com/gpu" ? 100 : amount / count->second;
      each["koordinator.sh/gpu-core"] = each["koordinator.sh/gpu-memory-ratio"] = percent;
    } else {
      each[resource] = amount / count->second;
    }
  }
  return each;
}

class Recount {
 public:
  // Device objects by node; pods with a node.
  Recount(const std::map<std::string, nlohmann::json>& devices,
          const std::vector<CountedPod>& pods) {
    for (const CountedPod& pod : pods) {
      const auto asked = counted_ask(pod);
      if (asked.empty()) continue;
      if (pod.allocated) {
        by_annotation(pod, asked);
      } else {
        const auto device = devices.find(pod.node);
        by_checkpoint(pod, asked, device == devices.end() ? nullptr : &device->second);
      }
    }
    prune(use_);
  }

  // NODE -> TYPE -> {heldUnknown, minors: {MINOR: {used, heldAsAWhole,
  // virtualFunctions}}}; what is zero is left out.
  [[nodiscard]] const nlohmann::json& use() const { return use_; }

  [[nodiscard]] int64_t used(const std::string& node, const std::string& type, int minor,
                             const std::string& resource) const {
    const nlohmann::json* at = this->at(node, type, minor);
    const auto follows =
        follows_.find(node + "/" + type + "/" + std::to_string(minor) + "/" + resource);
    return (follows == follows_.end() ? 0 : follows->second) +
           (at == nullptr || !at->contains("used") ? 0 : (*at)["used"].value(resource, int64_t{0}));
  }
  [[nodiscard]] bool whole(const std::string& node, const std::string& type, int minor) const {
    const nlohmann::json* at = this->at(node, type, minor);
    return at != nullptr && at->contains("heldAsAWhole");
  }

 private:
  using Json = nlohmann::json;

  [[nodiscard]] const Json* at(const std::string& node, const std::string& type, int minor) const {
    const std::string path = "/" + node + "/" + type + "/minors/" + std::to_string(minor);
    const Json::json_pointer pointer(path);
    return use_.contains(pointer) ? &use_[pointer] : nullptr;
  }
  Json& type(const CountedPod& pod, const std::string& name) { return use_[pod.node][name]; }
  static void prune(Json& value) {
    for (auto it = value.begin(); it != value.end();) {
      if (it->is_object()) prune(*it);
      const bool nothing = it->is_null() || (it->is_object() && it->empty());
      it = nothing ? value.erase(it) : std::next(it);
    }
  }
  static void add(Json& counts, const std::string& key, int64_t by) {
    if (by == 0) return;
    if (counts.is_null()) counts = Json::object();
    counts[key] = counts.value(key, int64_t{0}) + by;
  }

  void by_annotation(const CountedPod& pod, const std::map<std::string, int64_t>& asked) {
    const Json annotation = Json::parse(*pod.allocated, nullptr, false);
    for (const auto& [name, count] : asked) {
      const Json list = annotation.is_object() ? annotation.value(name, Json()) : Json();
      std::map<int64_t, Json> named;
      for (const Json& entry : list.is_array() ? list : Json::array()) {
        const Json minor = entry.is_object() ? entry.value("minor", Json()) : Json();
        if (minor.is_number_integer() && minor.get<int64_t>() >= 0)
          named.emplace(minor.get<int64_t>(), entry);
      }
      if (static_cast<int64_t>(named.size()) > count) named.clear();
      for (const auto& [minor, entry] : named) take(pod, name, entry);
      add(type(pod, name), "heldUnknown", count - static_cast<int64_t>(named.size()));
    }
  }

  // As much as it asks for; what follows from that (bytes from percent) by its annotation.
  void take(const CountedPod& pod, const std::string& name, const Json& entry) {
    const std::string at = std::to_string(entry["minor"].get<int64_t>());
    Json& minor = type(pod, name)["minors"][at];
    const auto each = counted_each(pod, name);
    for (const auto& [resource, amount] : each) add(minor["used"], resource, amount);
    const Json resources = entry.value("resources", Json());
    if (resources.is_object())
      for (const auto& [resource, amount] : resources.items())
        if (each.count(resource) == 0)
          follows_[pod.node + "/" + name + "/" + at + "/" + resource] += counted_quantity(amount);
    if (!entry.contains("extension")) return;
    for (const Json& vf : entry["extension"].value("vfs", Json::array())) {
      minor["virtualFunctions"].push_back(vf["busID"]);
      std::sort(minor["virtualFunctions"].begin(), minor["virtualFunctions"].end());
    }
  }

  void by_checkpoint(const CountedPod& pod, const std::map<std::string, int64_t>& asked,
                     const Json* device) {
    std::map<std::string, std::set<std::string>> named;  // minors, by type
    const Json annotations = device == nullptr
                                 ? Json::object()
                                 : (*device)["metadata"].value("annotations", Json::object());
    for (const char* key :
         {"node.koordinator.sh/devices-checkpoints", "node.koordinator.sh/gpu-checkpoints"}) {
      const Json entries = Json::parse(annotations.value(key, std::string("[]")), nullptr, false);
      if (!entries.is_array()) continue;
      for (const Json& entry : entries) {
        if (entry.value("podUID", "") != pod.uid) continue;
        const Json& reported = (*device)["spec"]["devices"];
        if (!reported.is_array()) continue;  // it cannot be read
        for (const Json& each : reported)
          for (const Json& id : entry["deviceIDs"])
            if (each.value("id", "") == id)
              named[each["type"]].insert(std::to_string(each["minor"].get<int64_t>()));
      }
    }
    for (const auto& [name, minors] : named)
      for (const std::string& minor : minors)
        add(type(pod, name)["minors"][minor], "heldAsAWhole", 1);
    for (const auto& [name, count] : asked)
      add(type(pod, name), "heldUnknown",
          std::max<int64_t>(count - static_cast<int64_t>(named[name].size()), 0));
  }

  Json use_ = Json::object();
  std::map<std::string, int64_t> follows_;  // by NODE/TYPE/MINOR/RESOURCE
};

// The same of a scheduler's dump (its "nodes").
inline nlohmann::json dumped_use(const nlohmann::json& nodes) {
  using Json = nlohmann::json;
  Json use = Json::object();
  for (const auto& [name, node] : nodes.items()) {
    for (const auto& [type, state] : node["devices"].items()) {
      for (const char* key : {"heldUnknown", "unbounded"})
        if (state[key] != 0) use[name][type][key] = state[key];
      for (const auto& [minor, device] : state["minors"].items()) {
        Json in_use = Json::object();
        for (const auto& [resource, amount] : device["used"].items())
          if (amount != 0) in_use["used"][resource] = amount;
        for (const char* key : {"heldAsAWhole", "virtualFunctions"})
          if (device.contains(key)) in_use[key] = device[key];
        if (!in_use.empty()) use[name][type]["minors"][minor] = in_use;
      }
    }
  }
  return use;
}

}  // namespace plimsoll::devices::test
