// The pods' part of the free text: how many there are, then a line for each that holds something.
//
//   pods 2
//   6f1c0a8e-3c1d-4f0e-9a53-0d6f2b7c1e11 c=1,17 m=0:4Gi d0=1
//   0b7d5f6a-8e2b-4c39-b0a4-7f1e9d3c5a20 c=2-3,18-19 m=0,1:96Gi i.m=0:512Mi

#include <algorithm>
#include <array>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/report/facts_parts.hpp"
#include "plugins/topology/report/facts_text.hpp"

namespace plimsoll::topology::kubelet {
namespace {

constexpr std::string_view kMemoryWord = "m";
constexpr std::string_view kInit = "i.";
constexpr uint32_t kMostZoneId = 63;

struct Unit {
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<Unit, 4> kUnits{{{"Ti", int64_t{1} << 40},
                                      {"Gi", int64_t{1} << 30},
                                      {"Mi", int64_t{1} << 20},
                                      {"Ki", int64_t{1} << 10}}};

std::string bytes_text(int64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes != 0 && bytes % unit.bytes == 0) {
      return std::to_string(bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return std::to_string(bytes);
}

std::optional<int64_t> read_bytes(std::string_view text) {
  int64_t factor = 1;
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    factor = unit.bytes;
    text.remove_suffix(unit.name.size());
  }
  const auto number = read_number(text, kMaxAmount / factor);
  return number ? std::optional(*number * factor) : std::nullopt;
}

// ---- writing

void write_blocks(const NodeModel& model, const Allocation& held, bool init, uint32_t row,
                  std::string_view name, std::string& out) {
  char separator = '=';
  for (const Allocation::Block& each : held.blocks) {
    if (each.init != init || each.block.row != row || each.block.bytes <= 0) continue;
    if (separator == '=') {
      out += ' ';
      if (init) out += kInit;
      out += name;
    }
    std::vector<uint32_t> zones;
    for (uint32_t column = 0; column < model.zones(); ++column) {
      if ((each.block.zones >> column & 1) != 0) zones.push_back(model.zone_ids[column]);
    }
    out += separator + sequence_text(zones) + ':' + bytes_text(each.block.bytes);
    separator = '+';
  }
}

void write_held(const NodeModel& model, const Allocation& held, const ResourceName& name_of,
                std::string& out) {
  if (model.cpu_static && held.known_cpu_ids && !held.cpu_ids.empty()) {
    out += " c=" + held.cpu_ids.text();
  }
  for (uint32_t row = 0; model.memory_static && row < model.memory.size(); ++row) {
    const uint32_t resource = model.memory[row].resource;
    const std::string_view name = resource == kMemoryResource ? kMemoryWord : name_of(resource);
    write_blocks(model, held, false, row, name, out);
    write_blocks(model, held, true, row, name, out);
  }
  uint32_t listed = 0;
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    if (!model.devices[row].listed()) continue;
    const uint32_t line = listed++;
    std::vector<uint32_t> positions;
    for (const DeviceGrant& grant : held.devices) {
      if (grant.row != row) continue;
      for (uint32_t i = 0; i < grant.ids.size() * 64; ++i) {
        if ((grant.ids[i / 64] >> (i % 64) & 1) != 0) positions.push_back(i);
      }
    }
    std::sort(positions.begin(), positions.end());
    if (!positions.empty()) out += " d" + std::to_string(line) + '=' + sequence_text(positions);
  }
}

// ---- reading

// One pod's words. A word that is not known is skipped, as a later form may have more.
class HeldReading {
 public:
  HeldReading(const NodeModel& model, std::span<const uint32_t> device_rows,
              std::span<const std::string> memory_names)
      : model_(model), device_rows_(device_rows), memory_names_(memory_names) {}

  // What is wrong; empty: nothing.
  std::string read(std::string_view words) {
    for (std::string_view word = next_word(words); !word.empty(); word = next_word(words)) {
      const std::string_view text = word;
      std::string_view key = cut(word, '=');
      const bool init = key.starts_with(kInit);
      if (init) key.remove_prefix(kInit.size());
      const bool right = key == "c"                ? read_cpus(word)
                         : is_device_word(key)     ? read_devices(key.substr(1), word)
                         : row_of_memory(key) >= 0 ? read_blocks(key, word, init)
                                                   : true;
      if (!right) return quoted(text) + " is not what a pod can hold here";
    }
    return {};
  }

  Allocation held;

 private:
  static bool is_device_word(std::string_view key) {
    return key.size() > 1 && key[0] == 'd' && key[1] >= '0' && key[1] <= '9';
  }

  int row_of_memory(std::string_view key) const {
    const auto at = std::find(memory_names_.begin(), memory_names_.end(), key);
    return at == memory_names_.end() ? -1 : static_cast<int>(at - memory_names_.begin());
  }

  bool read_cpus(std::string_view list) {
    if (!model_.cpu_static) return true;
    if (!model_.layout || held.known_cpu_ids) return false;
    const auto cpus = CpuSet::parse(list);
    if (!cpus || !(*cpus - model_.layout->all()).empty()) return false;
    held.cpu_ids = *cpus;
    held.known_cpu_ids = true;
    held.cpus.resize(model_.zones());
    cpus->for_each([&](uint32_t cpu) { ++held.cpus[model_.layout->at(cpu).zone]; });
    return true;
  }

  bool read_blocks(std::string_view key, std::string_view list, bool init) {
    if (!model_.memory_static) return true;
    const auto row = static_cast<uint32_t>(row_of_memory(key));
    while (!list.empty()) {
      std::string_view block = cut(list, '+');
      const auto zones = read_sequence(cut(block, ':'), kMostZoneId, kMostZoneId + 1);
      const auto bytes = read_bytes(block);
      if (!zones || zones->empty() || !bytes) return false;
      Allocation::Block made;
      made.init = init;
      made.block = {model_.memory[row].resource, row, 0, *bytes};
      for (const uint32_t zone : *zones) {
        const int column = column_of(model_, zone);
        if (column < 0) return false;
        made.block.zones |= ZoneMask{1} << column;
      }
      held.blocks.push_back(made);
    }
    return true;
  }

  bool read_devices(std::string_view line, std::string_view list) {
    const auto number = read_number(line, kMostDevices);
    if (!number || static_cast<size_t>(*number) >= device_rows_.size()) return false;
    const uint32_t row = device_rows_[static_cast<size_t>(*number)];
    if (row == kNoResourceRow) return true;  // its line of free devices could not be read
    const std::vector<Device>& devices = model_.devices[row].devices;
    const auto positions =
        read_sequence(list, static_cast<uint32_t>(devices.size() - 1), kMostDevices);
    if (!positions) return false;
    DeviceGrant grant;
    grant.resource = model_.devices[row].resource;
    grant.row = row;
    grant.count = static_cast<int64_t>(positions->size());
    grant.ids.resize((devices.size() + 63) / 64);
    grant.by_zone.resize(model_.zones());
    for (const uint32_t position : *positions) {
      grant.ids[position / 64] |= uint64_t{1} << (position % 64);
      grant.zones |= devices[position].zones;
      for (uint32_t column = 0; column < model_.zones(); ++column) {
        grant.by_zone[column] += static_cast<int64_t>(devices[position].zones >> column & 1);
      }
    }
    held.devices.push_back(std::move(grant));
    return true;
  }

  const NodeModel& model_;
  std::span<const uint32_t> device_rows_;
  std::span<const std::string> memory_names_;
};

}  // namespace

std::string encode_pods(const NodeModel& model, std::span<const PodHolding> pods,
                        const ResourceName& name_of) {
  std::string lines;
  size_t count = 0;
  for (const PodHolding& pod : pods) {
    std::string held;
    write_held(model, pod.held, name_of, held);
    if (held.empty()) continue;
    lines += pod.uid + held + '\n';
    ++count;
  }
  return "pods " + std::to_string(count) + '\n' + lines;
}

std::string PodHoldings::read(std::string_view text, const NodeModel& model, const NodeState& state,
                              std::vector<uint32_t> device_rows,
                              std::vector<std::string> memory_names) {
  text_ = text;
  device_rows_ = std::move(device_rows);
  memory_names_ = std::move(memory_names);
  CpuSet cpus = state.knows_cpus() ? state.cpu_ids(model) : CpuSet();  // free, or a pod's
  std::vector<std::vector<uint64_t>> devices;
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    const auto free = state.device_ids(model, row);
    devices.emplace_back(free.begin(), free.end());
  }
  std::string_view rest = text_;
  while (!rest.empty()) {
    const std::string_view line = cut(rest, '\n');
    std::string_view words = line;
    const std::string_view uid = next_word(words);
    if (uid.empty()) return "a line without a pod";
    const auto begin = static_cast<uint32_t>(uid.data() - text_.data());
    const auto end = static_cast<uint32_t>(line.data() + line.size() - text_.data());
    HeldReading reading(model, device_rows_, memory_names_);
    if (std::string problem = reading.read(words); !problem.empty()) {
      return "pod " + quoted(uid) + ": " + problem;
    }
    bool twice = !(cpus & reading.held.cpu_ids).empty();
    cpus |= reading.held.cpu_ids;
    for (const DeviceGrant& grant : reading.held.devices) {
      for (size_t i = 0; i < grant.ids.size(); ++i) {
        twice = twice || (devices[grant.row][i] & grant.ids[i]) != 0;
        devices[grant.row][i] |= grant.ids[i];
      }
    }
    if (twice) return "pod " + quoted(uid) + " holds what is free, or another pod's";
    const auto of_init = [](const Allocation::Block& block) { return block.init; };
    const auto& blocks = reading.held.blocks;
    lines_.push_back({begin, static_cast<uint32_t>(uid.size()), end,
                      std::any_of(blocks.begin(), blocks.end(), of_init)});
  }
  return {};
}

Allocation PodHoldings::held(const NodeModel& model, size_t i) const {
  HeldReading reading(model, device_rows_, memory_names_);
  const Line& line = lines_[i];
  const uint32_t begin = line.begin + line.uid;
  (void)reading.read(std::string_view(text_).substr(begin, line.end - begin));
  return std::move(reading.held);
}

}  // namespace plimsoll::topology::kubelet
