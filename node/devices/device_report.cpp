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
      if (text_in(condition, {"type"}) != "Healthy" || text_in(condition, {"status"}) != "False")
        continue;
      if (std::string then = text_in(condition, {"lastTransitionTime"}); !then.empty())
        since = std::move(then);
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
        before_(found.devices.size(), nullptr),
        minors_(found.devices.size(), -1) {}

  DeviceReport report() {
    find_again();
    find_minors();
    std::vector<json> entries = gone();
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const FoundDevice& device = found_.devices[i];
      int& minor = minors_[i];
      // Only its own driver says the number of one that has a number there.
      if (minor < 0 && (device.id.empty() || device.minor >= 0)) {
        report_.problems.push_back(device.type + " " + device.address +
                                   " is left out: nothing tells its minor. " +
                                   device.fault.message);
        continue;
      }
      while (minor < 0) {
        int& lowest = lowest_[device.type];
        if (taken_.emplace(device.type, lowest).second) minor = lowest;
        ++lowest;
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
  // What a driver says goes before what was published: a driver that started late numbers its
  // devices, too.
  void find_minors() {
    for (const bool own : {true, false}) {
      for (std::size_t i = 0; i < before_.size(); ++i) {
        const FoundDevice& device = found_.devices[i];
        if ((device.minor >= 0) != own || (!own && before_[i] == nullptr)) continue;
        const int minor = own ? device.minor : before_[i]->minor;
        if (minor >= 0 && taken_.emplace(device.type, minor).second) minors_[i] = minor;
      }
    }
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

  // Of GPUs of two vendors, those of the first.
  void set_labels() {
    for (const FoundDevice& device : found_.devices) {
      if (device.type != "gpu") continue;
      const auto vendor = device.labels.find(kGpuLabels[0]);
      const auto first = report_.labels.find(kGpuLabels[0]);
      if (vendor != device.labels.end() && first != report_.labels.end() &&
          vendor->second != first->second) {
        continue;
      }
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
  std::vector<int> minors_;               // -1: none is known yet
  std::map<std::string, int> lowest_;     // by type: all below are taken
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

std::string checkpoint_text(const std::vector<DeviceState::Entry>& held, const NamedDevices& named,
                            const FoundDevices& found, const json& devices) {
  std::map<std::string, std::pair<std::string, int>> known;  // type and minor, by id
  for (const json& device : devices)
    known[text_in(device, {"id"})] = {text_in(device, {"type"}), int_in(device, "minor")};
  // NVIDIA's device plugin may name cards by their number in the library.
  std::map<std::string, std::string> by_index;
  for (const FoundDevice& device : found.devices) {
    if (device.index >= 0) by_index[std::to_string(device.index)] = device.id;
  }
  json entries = json::array();
  for (const DeviceState::Entry& entry : held) {
    const auto says = named.find(entry.pod_uid);
    bool is_news = says == named.end();
    json ids = json::array();
    for (std::string id : entry.ids) {
      const auto numbered = by_index.find(id);
      if (numbered != by_index.end() && entry.resource.starts_with("nvidia.com/")) {
        id = numbered->second;
      }
      // Replicas of one card that is shared in time: "GPU-98583a5c::3".
      const auto device = known.find(id.substr(0, id.find("::")));
      if (device == known.end()) continue;
      is_news = is_news || !says->second->minors.contains(device->second);
      ids.push_back(std::move(id));
    }
    if (!is_news || ids.empty() || ids.size() != entry.ids.size()) continue;
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
    const bool healthy = value_at(device, {"health"}) == true;
    for (const auto& [name, amount] : *resources) {
      if (healthy) {
        add_amounts(amounts, {{name, amount}});
      } else {
        amounts.try_emplace(name, 0);
      }
    }
  }
  // A pod may ask for both as one.
  if (const auto core = amounts.find("koordinator.sh/gpu-core"); core != amounts.end()) {
    amounts["koordinator.sh/gpu"] = core->second;
  }
  return amounts;
}

}  // namespace plimsoll::node
