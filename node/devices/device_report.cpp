#include "node/devices/device_report.hpp"

#include <algorithm>

#include "framework/base/json_path.hpp"
#include "plugins/nodedevice/devices/link_table.hpp"

namespace plimsoll::node {
namespace {

using nlohmann::json;

constexpr const char* kGpuLabels[] = {"node.koordinator.sh/gpu-vendor",
                                      "node.koordinator.sh/gpu-model",
                                      "node.koordinator.sh/gpu-driver-version"};

// An entry of the published object, which may be anybody's.
struct Published {
  std::string type, id, address;
  int minor = -1;
  const json* entry = nullptr;
  bool found = false;
};

int int_in(const json& object, const char* key) {
  const json& value = value_at(object, {key});
  return value.is_number_integer() ? value.get<int>() : -1;
}

std::vector<Published> read_published(const json& object) {
  std::vector<Published> all;
  for (const json& entry : value_at(object, {"spec", "devices"})) {
    if (!entry.is_object()) continue;
    all.push_back({text_in(entry, {"type"}), text_in(entry, {"id"}),
                   text_in(entry, {"topology", "busID"}), int_in(entry, "minor"), &entry});
  }
  return all;
}

json condition_of(const DeviceFault& fault, const json* before, const std::string& now) {
  std::string since = now;
  if (before != nullptr) {
    for (const json& condition : value_at(*before, {"conditions"})) {
      if (text_in(condition, {"status"}) != "False") continue;
      since = text_in(condition, {"lastTransitionTime"});
    }
  }
  return json::array({{{"type", "Healthy"},
                       {"status", "False"},
                       {"reason", fault.reason},
                       {"message", fault.message},
                       {"lastTransitionTime", since}}});
}

// Adds what `before` has and `object` lacks.
void fill_from(json& object, const json& before) {
  if (before.is_object()) {
    for (const auto& [key, value] : before.items()) object.emplace(key, value);
  }
}

json entry_of(const FoundDevice& device, int minor, const Published* before,
              const std::string& now) {
  json entry = {{"type", device.type},
                {"id", device.id},
                {"minor", minor},
                {"health", device.fault.reason.empty()},
                {"resources", device.resources},
                {"topology",
                 {{"socketID", device.socket},
                  {"nodeID", device.zone},
                  {"pcieID", device.pcie_id},
                  {"busID", device.address}}}};
  json labels = device.labels;
  if (device.module_id >= 0) entry["moduleID"] = device.module_id;
  if (!device.functions.empty()) {
    json functions = json::array();
    for (const std::string& address : device.functions) {
      functions.push_back({{"minor", functions.size()}, {"busID", address}});
    }
    entry["vfGroups"] = json::array({{{"vfs", std::move(functions)}}});
  }
  if (!device.fault.reason.empty()) {
    entry["conditions"] =
        condition_of(device.fault, before == nullptr ? nullptr : before->entry, now);
    if (before != nullptr) {
      if (device.id.empty()) entry["id"] = before->id;
      fill_from(entry["resources"], value_at(*before->entry, {"resources"}));
      fill_from(labels, value_at(*before->entry, {"labels"}));
    }
  }
  if (!labels.empty()) entry["labels"] = std::move(labels);
  return entry;
}

class Reporter {
 public:
  Reporter(const FoundDevices& found, const json& published, const DevicesInUse& in_use,
           const std::string& now)
      : found_(found),
        published_(read_published(published)),
        in_use_(in_use),
        now_(now),
        before_(found.devices.size(), nullptr) {}

  DeviceReport report() {
    find_again();
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const int minor = known_minor(i);
      if (minor >= 0) taken_.emplace(found_.devices[i].type, minor);
    }
    std::vector<json> entries = gone();
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const FoundDevice& device = found_.devices[i];
      int minor = known_minor(i);
      // Only its own driver says the number of one that has a number there.
      if (minor < 0 && device.id.empty()) {
        report_.problems.push_back(device.type + " " + device.address +
                                   " is left out: nothing tells its minor. " +
                                   device.fault.message);
        continue;
      }
      for (minor = std::max(minor, 0); known_minor(i) < 0; ++minor) {
        if (taken_.emplace(device.type, minor).second) break;
      }
      entries.push_back(entry_of(device, minor, before_[i], now_));
    }
    std::stable_sort(entries.begin(), entries.end(), [](const json& a, const json& b) {
      return std::pair(a["type"], a["minor"]) < std::pair(b["type"], b["minor"]);
    });
    report_.devices = std::move(entries);
    report_.problems.insert(report_.problems.end(), found_.problems.begin(), found_.problems.end());
    set_labels();
    if (found_.links) report_.annotations[devices::kLinksAnnotation] = *found_.links;
    return std::move(report_);
  }

 private:
  [[nodiscard]] int known_minor(std::size_t i) const {
    const int own = found_.devices[i].minor;
    return own >= 0 || before_[i] == nullptr ? own : before_[i]->minor;
  }

  // By its id, or where it is if nothing else is known of it.
  void find_again() {
    for (const bool by_id : {true, false}) {
      for (std::size_t i = 0; i < before_.size(); ++i) {
        const FoundDevice& device = found_.devices[i];
        if (before_[i] != nullptr || (!by_id && !device.id.empty() && device.minor >= 0)) continue;
        const std::string& wanted = by_id ? device.id : device.address;
        if (wanted.empty()) continue;
        for (Published& each : published_) {
          if (each.found || each.type != device.type) continue;
          if (wanted != (by_id ? each.id : each.address)) continue;
          each.found = true;
          before_[i] = &each;
          break;
        }
      }
    }
  }

  std::vector<json> gone() {
    std::vector<json> entries;
    for (const Published& each : published_) {
      const bool used = in_use_.minors.contains({each.type, each.minor}) ||
                        (!each.id.empty() && in_use_.ids.contains(each.id));
      if (each.found || !used || each.minor < 0) continue;
      if (!taken_.emplace(each.type, each.minor).second) continue;
      json& entry = entries.emplace_back(*each.entry);
      entry["health"] = false;
      entry["conditions"] = condition_of(
          {"Gone", "the device is gone; a pod that was given it is still there"}, each.entry, now_);
    }
    return entries;
  }

  void set_labels() {
    for (const FoundDevice& device : found_.devices) {
      if (device.type != "gpu") continue;
      for (const char* label : kGpuLabels) {
        if (const auto value = device.labels.find(label); value != device.labels.end()) {
          report_.labels.insert(*value);
        }
      }
    }
  }

  const FoundDevices& found_;
  std::vector<Published> published_;
  const DevicesInUse& in_use_;
  const std::string& now_;
  std::vector<const Published*> before_;  // of each that was found
  std::set<std::pair<std::string, int>> taken_;
  DeviceReport report_;
};

}  // namespace

bool DevicesInUse::add_annotation(const std::string& text) {
  const json allocated = json::parse(text, nullptr, false);
  if (!allocated.is_object()) return false;
  bool any = false;
  for (const auto& [type, entries] : allocated.items()) {
    for (const json& entry : entries) {
      const int minor = entry.is_object() ? int_in(entry, "minor") : -1;
      if (minor < 0) continue;
      minors.emplace(type, minor);
      any = true;
    }
  }
  return any;
}

DeviceReport report_devices(const FoundDevices& found, const json& published,
                            const DevicesInUse& in_use, const std::string& now) {
  return Reporter(found, published, in_use, now).report();
}

std::string checkpoint_text(const std::vector<DeviceState::Entry>& held,
                            const std::set<std::string>& named, const FoundDevices& found,
                            const json& devices) {
  std::set<std::string> known;
  for (const json& device : devices) known.insert(text_in(device, {"id"}));
  // NVIDIA's device plugin may name cards by their number in the library.
  std::map<std::string, std::string> by_index;
  for (const FoundDevice& device : found.devices) {
    if (device.index >= 0) by_index[std::to_string(device.index)] = device.id;
  }
  json entries = json::array();
  for (const DeviceState::Entry& entry : held) {
    if (named.contains(entry.pod_uid)) continue;
    json ids = json::array();
    for (std::string id : entry.ids) {
      const auto numbered = by_index.find(id);
      if (numbered != by_index.end() && entry.resource.starts_with("nvidia.com/")) {
        id = numbered->second;
      }
      // Replicas of one card that is shared in time: "GPU-98583a5c::3".
      if (known.contains(id.substr(0, id.find("::")))) ids.push_back(std::move(id));
    }
    if (ids.empty() || ids.size() != entry.ids.size()) continue;
    entries.push_back({{"podUID", entry.pod_uid},
                       {"containerName", entry.container},
                       {"resourceName", entry.resource},
                       {"deviceIDs", std::move(ids)}});
  }
  return entries.empty() ? "" : entries.dump();
}

Amounts node_resources(const json& devices) {
  Amounts amounts;
  for (const json& device : devices) {
    const auto resources = parse_amounts(value_at(device, {"resources"}));
    if (!resources) continue;
    for (const auto& [name, amount] : *resources) {
      amounts[name] += value_at(device, {"health"}) == true ? amount : 0;
    }
  }
  // A pod may ask for both as one.
  if (const auto core = amounts.find("koordinator.sh/gpu-core"); core != amounts.end()) {
    amounts["koordinator.sh/gpu"] = core->second;
  }
  return amounts;
}

}  // namespace plimsoll::node
