#include "node/devices/device_finder.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "node/devices/link_text.hpp"

namespace plimsoll::node {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVendorLabel = "node.koordinator.sh/gpu-vendor";
constexpr const char* kModelLabel = "node.koordinator.sh/gpu-model";
constexpr const char* kDriverLabel = "node.koordinator.sh/gpu-driver-version";
constexpr const char* kProfileLabel = "plimsoll.io/mig-profile";
constexpr const char* kCardLabel = "plimsoll.io/mig-card";
const std::string kAsWell = "; now as well: ";  // between what stays and what passes

// A label's value: what may not be in one becomes "-".
std::string label_of(std::string text) {
  if (text.starts_with("NVIDIA ")) text.erase(0, 7);
  text.resize(std::min<std::size_t>(text.size(), 63));
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  const auto begin = text.find_first_not_of("-._");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of("-._") - begin + 1);
}

bool holds(const fs::path& device, const std::string& path, const std::string& patterns) {
  const auto found = sys_paths(device, path);
  return std::any_of(found.begin(), found.end(), [&](const fs::path& each) {
    const auto text = sys_text(each);
    return text && matches_any(patterns, *text);
  });
}

bool all_hold(const fs::path& device, const std::map<std::string, std::string>& conditions) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
    return holds(device, condition.first, condition.second);
  });
}

int number_of(const std::optional<std::string>& text) {
  int number = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return std::max(number, -1);
}

// What the files of a rule say. Nothing: one of them is missing.
std::optional<std::map<std::string, std::string>> values_of(
    const fs::path& device, const std::map<std::string, std::string>& given) {
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : given) {
    if (!value.starts_with('@')) {
      values[name] = value;
    } else if (auto text = sys_text(device / value.substr(1)); text && !text->empty()) {
      values[name] = std::move(*text);
    } else {
      return std::nullopt;
    }
  }
  return values;
}

}  // namespace

struct DeviceFinder::Search {
  Search(const fs::path& sys, const Hardware* hardware, std::unordered_set<std::string>& others)
      : sys(sys), hardware(hardware), others(others), tree(sys) {}

  // What a rule may speak of.
  const std::vector<fs::path>& candidates(const std::string& pattern) {
    const auto [at, first] = listed.try_emplace(pattern);
    if (first) {
      at->second = sys_paths(sys, pattern);
      std::erase_if(at->second,
                    [&](const fs::path& each) { return others.contains(each.native()); });
    }
    return at->second;
  }

  // Of which no rule spoke.
  void note_others() const {
    for (const auto& [pattern, folders] : listed) {
      for (const fs::path& folder : folders) {
        if (!spoken_of.contains(folder.native())) others.insert(folder.native());
      }
    }
  }

  // Where the device is, and which virtual functions it has.
  void place(FoundDevice& device, const fs::path& folder) const {
    device.zone = number_of(sys_text(folder / "numa_node"));
    device.pcie_id = tree.pcie_id(device.address);
    for (const fs::path& function : sys_paths(folder, "virtfn*")) {
      if (auto address = sys_text(function)) device.functions.push_back(std::move(*address));
    }
    std::sort(device.functions.begin(), device.functions.end());
    if (hardware == nullptr) return;
    for (const MachineCpu& cpu : hardware->cpus) {
      if (hardware->zones[cpu.zone].id == device.zone) device.socket = cpu.socket;
    }
  }

  void add(const TypeRule& rule, const fs::path& folder, bool standard) {
    // A virtual function is its device's.
    if (!all_hold(folder, rule.match) || fs::exists(folder / "physfn")) return;
    spoken_of.insert(folder.native());
    FoundDevice device;
    device.type = rule.type;
    std::error_code error;
    const fs::path path = fs::canonical(folder, error);
    const std::string name = path.filename();
    if (is_pci_address(name)) device.address = name;
    if (standard && of_users.contains(path)) return;
    if (!seen.emplace(rule.type, name).second) return;
    if (!standard) of_users.insert(path);
    if (!rule.id.empty()) device.id = sys_text(folder / rule.id).value_or("");
    if (device.id.empty()) device.id = plain_text(name);
    place(device, folder);
    if (!all_hold(folder, rule.healthy)) {
      device.fault = {"NotReady", "the conditions of a healthy " + rule.type + " do not hold"};
    }
    const auto resources = values_of(folder, rule.resources);
    if (resources && parse_amounts(*resources)) {
      device.resources = *resources;
    } else {
      device.fault = {"Unreadable", "a file that says what it has is missing, or says no quantity"};
    }
    for (const auto& [label, value] : rule.labels) {
      const auto text = values_of(folder, {{label, value}});
      const std::string allowed = text ? label_of(text->at(label)) : "";
      if (!allowed.empty()) device.labels[label] = allowed;
    }
    if (!rule.cdi.empty()) device.labels[kCdiLabel] = rule.cdi;
    found.devices.push_back(std::move(device));
  }

  const fs::path sys;
  const Hardware* hardware;
  std::unordered_set<std::string>& others;
  const PciTree tree;
  std::map<std::string, std::vector<fs::path>> listed;  // by pattern
  std::unordered_set<std::string> spoken_of;
  std::set<std::pair<std::string, std::string>> seen;
  std::set<fs::path> of_users;  // devices of which the table given says what they are
  FoundDevices found;
};

DeviceFinder::DeviceFinder(FinderOptions options, std::function<void()> changed)
    : options_(std::move(options)), changed_(std::move(changed)) {}

void DeviceFinder::remember_fault(const std::string& address, DeviceFault fault) {
  fault.message.resize(std::min(fault.message.size(), fault.message.find(kAsWell)));
  const std::lock_guard lock(mutex_);
  faults_[address] = std::move(fault);
}

void DeviceFinder::forget_faults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

FoundDevices DeviceFinder::find(const Hardware* hardware) {
  if (const auto now = std::chrono::steady_clock::now(); now >= others_until_) {
    others_.clear();
    others_until_ = now + options_.others;
  }
  Search search(options_.sys, hardware, others_);
  for (const auto* rules : {&options_.rules, &standard_type_rules()}) {
    for (const TypeRule& rule : *rules) {
      for (const fs::path& folder : search.candidates(rule.devices)) {
        search.add(rule, folder, rules != &options_.rules);
      }
    }
  }
  find_nvidia(search);
  search.note_others();
  auto& devices = search.found.devices;
  std::sort(devices.begin(), devices.end(), [](const FoundDevice& a, const FoundDevice& b) {
    return std::tie(a.type, a.address, a.minor, a.id) < std::tie(b.type, b.address, b.minor, b.id);
  });
  return std::move(search.found);
}

void DeviceFinder::find_nvidia(Search& search) {
  std::set<std::string> present;
  for (const fs::path& folder : search.candidates("bus/pci/devices/*")) {
    if (sys_text(folder / "vendor") == "0x10de" && holds(folder, "class", "0x0300*|0x0302*") &&
        !fs::exists(folder / "physfn")) {
      present.insert(folder.filename());
      search.spoken_of.insert(folder.native());
    }
  }
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(faults_, [&](const auto& fault) { return !present.contains(fault.first); });
  }
  const bool afresh = std::exchange(opened_for_, present) != present;
  if (present.empty()) return nvidia_.reset();
  if (!nvidia_) {
    nvidia_ = std::make_unique<NvidiaLibrary>(
        options_.nvml, options_.nvml_patience,
        [this](const std::string& address, std::uint64_t xid) {
          remember_fault(address, {"Xid" + std::to_string(xid),
                                   "the driver has told of a fault of the card; reset the card "
                                   "and delete this Device object, or start the machine again"});
          changed_();
        });
  }
  // The library counts the cards when it starts.
  NvidiaLibrary::Answer answer = nvidia_->ask(afresh);
  const std::vector<NvmlCard>& cards = answer.cards;
  const std::string& driver = answer.driver;
  const std::string why =
      answer.why.empty() ? "NVIDIA's library does not know the card" : std::move(answer.why);
  std::ranges::move(answer.problems, std::back_inserter(search.found.problems));
  for (const NvmlCard& card : cards) {
    present.erase(card.address);
    add_card(card, driver, search);
  }
  if (present.empty()) search.found.links = link_text(cards, search.tree);
  for (const std::string& address : present) {
    NvmlCard card;
    card.address = address;
    card.problem = why;
    add_card(card, "", search);
  }
}

void DeviceFinder::add_card(const NvmlCard& card, const std::string& driver, Search& search) {
  FoundDevice device;
  device.type = "gpu";
  device.id = card.uuid;
  device.address = card.address;
  device.minor = card.minor;
  device.index = card.index;
  device.module_id = card.module_id;
  search.place(device, options_.sys / "bus/pci/devices" / card.address);
  device.labels[kVendorLabel] = "nvidia";
  if (const std::string model = label_of(card.model); !model.empty()) {
    device.labels[kModelLabel] = model;
  }
  if (const std::string text = label_of(driver); !text.empty()) device.labels[kDriverLabel] = text;
  const std::string bytes = std::to_string(card.memory);
  device.resources = {{"koordinator.sh/gpu-core", "100"},
                      {"koordinator.sh/gpu-memory-ratio", "100"}};
  if (card.memory > 0) device.resources["koordinator.sh/gpu-memory"] = bytes;
  if (!card.problem.empty()) {
    device.fault = {"Unreadable", card.problem};
    search.found.problems.push_back("gpu " + card.address + ": " + card.problem);
  }
  // A fault stays, whatever else is wrong with the card.
  {
    const std::lock_guard lock(mutex_);
    if (const auto fault = faults_.find(card.address); fault != faults_.end()) {
      device.fault.reason = fault->second.reason;
      device.fault.message =
          fault->second.message + (card.problem.empty() ? "" : kAsWell + card.problem);
    }
  }
  for (const NvmlInstance& instance : card.instances) {
    FoundDevice part = device;
    part.type = "mig";
    part.id = instance.uuid;
    part.minor = card.minor * kMaxInstances + instance.index;
    part.index = part.module_id = -1;
    part.functions.clear();
    part.labels[kCardLabel] = card.uuid;
    part.resources = {{"plimsoll.io/mig", "100"},
                      {"plimsoll.io/mig-memory", std::to_string(instance.memory)}};
    std::string profile = instance.profile;  // "1g.10gb+me" is ".me" in names of resources
    std::replace(profile.begin(), profile.end(), '+', '.');
    if (profile = label_of(profile); !profile.empty()) {
      part.labels[kProfileLabel] = profile;
      part.resources["plimsoll.io/mig-" + profile] = "100";
    }
    if (card.minor >= 0) search.found.devices.push_back(std::move(part));
  }
  // Its instances are given, not the card.
  if (card.is_cut && device.fault.reason.empty()) {
    device.fault = {"MigMode", "the card is given in instances, of type mig"};
  }
  search.found.devices.push_back(std::move(device));
}

}  // namespace plimsoll::node
