// The machine text: CPU layout and devices.
//
//   v1.0
//   cpus 0/0/0 0-15+64-79
//   cpus 0/0/1 16-31+80-95
//   devices example.com/gpu 0:gpu-0,gpu-1 1:gpu-2 1!:gpu-3

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "plugins/topology/report/facts_parts.hpp"
#include "plugins/topology/report/facts_text.hpp"

namespace plimsoll::topology::kubelet {
namespace {

constexpr size_t kMostDevicesInAll = 4 * kMostDevices;
constexpr size_t kMostText = 6 * 1024;
constexpr uint32_t kMostId = 1'000'000;  // of a socket or a cache

// ---- writing

// Zone, socket, cache, threads per core -> cores in ascending order, each with its threads.
using CoreGroups =
    std::map<std::tuple<uint16_t, uint16_t, uint16_t, size_t>, std::vector<std::vector<uint32_t>>>;

CoreGroups core_groups(const CpuLayout& layout) {
  std::map<uint16_t, std::vector<uint32_t>> threads;  // cores rank by their lowest thread
  layout.all().for_each([&](uint32_t cpu) { threads[layout.at(cpu).core].push_back(cpu); });
  CoreGroups groups;
  for (auto& [core, cpus] : threads) {
    const CpuLayout::Rank& at = layout.at(cpus.front());
    groups[{at.zone, at.socket, at.uncore, cpus.size()}].push_back(std::move(cpus));
  }
  return groups;
}

void write_layout(const NodeModel& model, std::string& out) {
  for (const auto& [key, cores] : core_groups(*model.layout)) {
    const auto& [zone, socket, uncore, threads] = key;
    out += "cpus " + std::to_string(model.zone_ids[zone]) + '/' + std::to_string(socket) + '/' +
           std::to_string(uncore) + ' ';
    std::vector<uint32_t> column(cores.size());
    for (size_t thread = 0; thread < threads; ++thread) {
      for (size_t core = 0; core < cores.size(); ++core) column[core] = cores[core][thread];
      out += (thread == 0 ? "" : "+") + sequence_text(column);
    }
    out += '\n';
  }
}

std::string zones_text(const NodeModel& model, ZoneMask zones) {
  if (zones == 0) return "-";
  std::vector<uint32_t> ids;
  for (uint32_t column = 0; column < model.zones(); ++column) {
    if ((zones >> column & 1) != 0) ids.push_back(model.zone_ids[column]);
  }
  return sequence_text(ids);
}

// Neighbours in the list that are in the same zones and equally well form a run: the order stays.
void write_devices(const NodeModel& model, const DeviceType& type, std::string_view name,
                   bool with_ids, std::string& out) {
  out += "devices " + std::string(name);
  for (size_t first = 0; first < type.devices.size();) {
    const Device& device = type.devices[first];
    size_t end = first;
    bool named = with_ids;
    std::string ids;
    for (; end < type.devices.size() && type.devices[end].zones == device.zones &&
           type.devices[end].healthy == device.healthy;
         ++end) {
      ids += (end == first ? "" : ",") + escaped(type.devices[end].id);
      named = named && !type.devices[end].id.empty();
    }
    out += ' ' + zones_text(model, device.zones) + (device.healthy ? "" : "!") + ':';
    out += named ? ids : '*' + std::to_string(end - first);
    first = end;
  }
  out += '\n';
}

std::string machine_text(const NodeModel& model, const ResourceName& name_of, bool with_ids) {
  std::string out = std::string(kFormVersion) + '\n';
  if (model.layout) write_layout(model, out);
  for (const DeviceType& type : model.devices) {
    if (type.listed() && type.devices.size() <= kMostDevices) {
      write_devices(model, type, name_of(type.resource), with_ids, out);
    }
  }
  return out;
}

// ---- reading

class MachineReading {
 public:
  MachineReading(const Columns& columns, const InternResource& index, NodeModel& model,
                 Layouts& layouts, std::vector<std::string>& problems)
      : columns_(columns),
        index_(index),
        model_(model),
        problems_("annotation " + std::string(kMachineAnnotation), problems),
        layouts_(layouts) {}

  void read(std::string_view text) {
    const std::string_view first = cut(text, '\n');
    if (std::string problem = version_problem(first); !problem.empty()) {
      return problems_.add(line_, problem, kCountsDecide);
    }
    while (!text.empty()) {
      std::string_view rest = cut(text, '\n');
      ++line_;
      const std::string_view key = next_word(rest);
      if (key == "cpus") cpu_lines_.push_back({line_, rest});
      if (key == "devices") read_devices(rest);
    }
    read_layout();
  }

 private:
  // A layout is used only if all of it is valid.
  void spoil_layout(std::string_view what) {
    if (!layout_spoilt_) problems_.add(line_, what, "the CPU layout is ignored");
    layout_spoilt_ = true;
  }

  // Machines of one kind have the same lines, but other device ids.
  void read_layout() {
    if (cpu_lines_.empty()) return;
    std::string key;
    for (const uint32_t id : model_.zone_ids) key += std::to_string(id) + ' ';
    for (const auto& [line, text] : cpu_lines_) key.append(text) += '\n';
    std::shared_ptr<const CpuLayout> layout = layouts_.find(key);
    if (!layout) {
      for (const auto& [line, text] : cpu_lines_) {
        line_ = line;
        read_cpus(text);
      }
      if (layout_spoilt_) return;
      layout = layouts_.add(std::move(key), CpuLayout(places_));
    }
    use_layout(std::move(layout));
  }

  void read_cpus(std::string_view rest) {
    if (layout_spoilt_) return;
    std::string_view place = next_word(rest);
    std::string_view threads = next_word(rest);
    const auto zone = read_number(cut(place, '/'), kMostId);
    const auto socket = read_number(cut(place, '/'), kMostId);
    const auto uncore = read_number(place, kMostId);
    if (!zone || !socket || !uncore || threads.empty()) {
      return spoil_layout("not of the form \"cpus zone/socket/cache threads+threads\"");
    }
    const int column = column_of(model_, *zone);
    if (column < 0) return spoil_layout("there is no zone node-" + std::to_string(*zone));
    std::vector<uint32_t> first_threads;
    while (!threads.empty()) {
      const auto cpus = read_sequence(cut(threads, '+'), kMaxCpus - 1, kMaxCpus);
      if (!cpus) return spoil_layout(cpus.error());
      if (first_threads.empty()) first_threads = *cpus;
      if (cpus->size() != first_threads.size()) {
        return spoil_layout("cores with different numbers of threads in one entry");
      }
      for (size_t core = 0; core < cpus->size(); ++core) {
        const uint32_t cpu = (*cpus)[core];
        if (seen_.contains(cpu))
          return spoil_layout("CPU " + std::to_string(cpu) + " is listed twice");
        seen_.add(cpu);
        places_.push_back({cpu, static_cast<uint32_t>(column), static_cast<uint32_t>(*socket),
                           first_threads[core], static_cast<uint32_t>(*uncore)});
      }
    }
  }

  void use_layout(std::shared_ptr<const CpuLayout> layout) {
    line_ = 0;
    for (uint32_t column = 0; column < columns_.size(); ++column) {
      // Exporters leave a zone's CPUs out if all of them are reserved.
      const ZoneResource* cpu = find(columns_[column], "cpu");
      if (cpu == nullptr || cpu->capacity / 1000 == layout->in_zone(column)) continue;
      return spoil_layout("zone node-" + std::to_string(columns_[column]->id) + " has " +
                          std::to_string(layout->in_zone(column)) +
                          " CPUs in it, but a capacity of " + std::to_string(cpu->capacity / 1000));
    }
    model_.layout = std::move(layout);
  }

  void read_devices(std::string_view rest) {
    const std::string_view name = next_word(rest);
    const std::string instead =
        "the devices of " + quoted(name) + " are taken from the zones' counts";
    if (!is_device(name))
      return problems_.add(line_, quoted(name) + " is no device resource", "it is ignored");
    if (!device_lines_.emplace(name).second) {
      return problems_.add(line_, "a second line for " + quoted(name), "it is ignored");
    }
    if (device_lines_.size() > kMaxResources || devices_read_ > kMostDevicesInAll) {
      return problems_.add(line_, "too many devices in all", instead);
    }
    std::vector<Device> devices;
    while (true) {
      const std::string_view run = next_word(rest);
      if (run.empty()) break;
      const size_t before = devices.size();
      std::string problem = read_run(run, devices);
      devices_read_ += devices.size() - before;
      if (!problem.empty()) return problems_.add(line_, problem, instead);
    }
    if (devices.empty()) return problems_.add(line_, "no devices", instead);
    if (std::string problem = miscount(name, devices); !problem.empty()) {
      return problems_.add(line_, problem, instead);
    }
    const uint32_t resource = index_(name);
    // The model is not prepared yet, so it has no rows.
    const auto listed =
        std::find_if(model_.devices.begin(), model_.devices.end(),
                     [&](const DeviceType& type) { return type.resource == resource; });
    if (listed == model_.devices.end()) {
      model_.devices.push_back({resource, std::move(devices), {}});
    } else {
      listed->devices = std::move(devices);
    }
  }

  // Exporters count the healthy devices near a zone as allocatable. If the list differs, it is from
  // another moment or another writer. Empty if they agree.
  std::string miscount(std::string_view name, const std::vector<Device>& devices) const {
    for (uint32_t column = 0; column < columns_.size(); ++column) {
      const auto healthy = std::count_if(devices.begin(), devices.end(), [&](const Device& device) {
        return device.healthy && (device.zones >> column & 1) != 0;
      });
      const ZoneResource* counted = find(columns_[column], name);
      const int64_t allocatable =
          counted == nullptr ? 0 : std::max<int64_t>(counted->allocatable, 0);
      if (healthy == allocatable) continue;
      return "zone node-" + std::to_string(columns_[column]->id) + " has " +
             std::to_string(healthy) + " healthy devices in it, but allocatable are " +
             std::to_string(allocatable);
    }
    return {};
  }

  // "0,1!:id,id" or "-:*3". What is wrong with it; empty if nothing is.
  std::string read_run(std::string_view run, std::vector<Device>& devices) {
    if (run.find(':') == std::string_view::npos) return quoted(run) + " is not \"zones:devices\"";
    std::string_view ids = run;
    std::string_view zones = cut(ids, ':');
    Device device;
    if (zones.ends_with('!')) {
      device.healthy = false;
      zones.remove_suffix(1);
    }
    if (zones != "-") {
      const auto list = read_sequence(zones, kMostZone, kMostZone + 1);
      if (!list) return list.error();
      if (list->empty()) return quoted(run) + " names no zone; without one it is \"-\"";
      for (const uint32_t zone : *list) {
        const int column = column_of(model_, zone);
        if (column < 0) return "there is no zone node-" + std::to_string(zone);
        device.zones |= ZoneMask{1} << column;
      }
    }
    if (ids.starts_with('*')) {
      const auto count = read_number(ids.substr(1), kMostDevices);
      if (!count || *count == 0) return quoted(run) + " has no number of devices";
      devices.insert(devices.end(), static_cast<size_t>(*count), device);
    } else {
      while (!ids.empty()) {
        const auto id = unescaped(cut(ids, ','));
        if (!id) return id.error();
        if (id->empty()) return quoted(run) + " has an empty id";
        device.id = *id;
        devices.push_back(device);
      }
    }
    if (devices.size() > kMostDevices)
      return "more than " + std::to_string(kMostDevices) + " devices";
    return {};
  }

  static constexpr uint32_t kMostZone = 63;

  const Columns& columns_;
  const InternResource& index_;
  NodeModel& model_;
  Problems problems_;
  Layouts& layouts_;
  size_t line_ = 1;
  std::vector<std::pair<size_t, std::string_view>> cpu_lines_;
  bool layout_spoilt_ = false;
  CpuSet seen_;
  std::vector<CpuPlace> places_;
  std::set<std::string, std::less<>> device_lines_;
  size_t devices_read_ = 0;  // of all lines, those that are ignored too
};

}  // namespace

std::string encode_machine(const NodeModel& model, const ResourceName& name_of) {
  const bool devices = std::any_of(model.devices.begin(), model.devices.end(),
                                   [](const DeviceType& type) { return type.listed(); });
  if (!model.layout && !devices) return {};
  std::string text = machine_text(model, name_of, true);
  return text.size() <= kMostText ? text : machine_text(model, name_of, false);
}

void read_machine(std::string_view text, const Columns& columns, const InternResource& index,
                  NodeModel& model, Layouts& layouts, std::vector<std::string>& problems) {
  if (!text.empty()) MachineReading(columns, index, model, layouts, problems).read(text);
}

}  // namespace plimsoll::topology::kubelet
