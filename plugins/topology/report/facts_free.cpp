// The free text: what is free of what the machine text lists, and the memory manager's state.
//
//   v1.0 machine=0c9b2a11 zones=5f00d3c4
//   cpus 2-15,66-79
//   zone 0 assignments=2 cells=0,1 memory=34359738368 hugepages-1Gi=0
//   devices example.com/gpu 0,2-3
//   pods 0

#include <algorithm>
#include <optional>
#include <set>

#include "plugins/topology/base/amount.hpp"
#include "plugins/topology/report/facts_parts.hpp"
#include "plugins/topology/report/facts_text.hpp"

namespace plimsoll::topology::kubelet {
namespace {

constexpr uint32_t kMostZone = 63;
constexpr std::string_view kNothing = "-";

std::string or_nothing(std::string text) {
  return text.empty() ? std::string(kNothing) : text;
}

std::string node_name(uint32_t zone_id) {
  return "node-" + std::to_string(zone_id);
}

// ---- writing

void write_zone(const NodeModel& model, const NodeState& state, const ResourceName& name_of,
                uint32_t column, std::string& out) {
  out += "zone " + std::to_string(model.zone_ids[column]);
  if (state.knows_groups()) {
    std::vector<uint32_t> cells;
    for (uint32_t other = 0; other < model.zones(); ++other) {
      if ((state.group(model, column) >> other & 1) != 0) cells.push_back(model.zone_ids[other]);
    }
    out += " assignments=" + std::to_string(state.assignments(model, column)) +
           " cells=" + sequence_text(cells);
  }
  for (uint32_t row = 0; row < model.memory.size(); ++row) {
    if (model.memory[row].allocatable[column] == 0) continue;
    out += ' ' + std::string(name_of(model.memory[row].resource)) + '=' +
           std::to_string(state.memory(model, row)[column]);
  }
  out += '\n';
}

void write_devices(const NodeModel& model, const NodeState& state, const ResourceName& name_of,
                   uint32_t row, std::string& out) {
  const auto bits = state.device_ids(model, row);
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < model.devices[row].devices.size(); ++i) {
    if ((bits[i / 64] >> (i % 64) & 1) != 0) positions.push_back(i);
  }
  out += "devices " + std::string(name_of(model.devices[row].resource)) + ' ' +
         or_nothing(sequence_text(positions)) + '\n';
}

// ---- reading

class FreeReading {
 public:
  FreeReading(const NrtObject& nrt, const Columns& columns, const NodeModel& model,
              const InternResource& index, NodeFacts& facts)
      : nrt_(nrt),
        columns_(columns),
        model_(model),
        index_(index),
        facts_(facts),
        state_(facts.state),
        problems_("annotation " + std::string(kFreeAnnotation), facts.problems),
        groups_(model.zones()) {}

  void read() {
    std::string_view text = nrt_.free_facts;
    if (std::string problem = head_problem(cut(text, '\n')); !problem.empty()) {
      return problems_.add(line_, problem, kCountsDecide);
    }
    while (!text.empty()) {
      std::string_view rest = cut(text, '\n');
      ++line_;
      const std::string_view key = next_word(rest);
      if (key == "pods") read_pods(next_word(rest), text);
      if (key != "cpus" && key != "zone" && key != "devices") continue;
      std::string subject(key);
      if (key != "cpus") subject += ' ' + std::string(rest.substr(0, rest.find(' ')));
      if (!seen_.insert(subject).second) {
        problems_.add(line_, "a second line of " + quoted(subject), "it is ignored");
        continue;
      }
      if (key == "cpus") read_cpus(rest);
      if (key == "zone") read_zone(rest);
      if (key == "devices") read_devices(rest);
    }
    apply_groups();
    state_.set_memory_exact(!model_.memory_static || memory_is_exact());
  }

 private:
  // Facts for another machine text or for other counts are from another moment.
  std::string head_problem(std::string_view line) const {
    if (std::string problem = version_problem(next_word(line)); !problem.empty()) return problem;
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const std::string_view key = cut(word, '=');
      if (key == "machine" && word != digest_of(nrt_.machine_facts)) {
        return "it belongs to a machine text with digest " + quoted(word) + ", there is " +
               digest_of(nrt_.machine_facts);
      }
      if (key == "zones" && word != zones_digest(nrt_.zones)) {
        return "it belongs to zones with digest " + quoted(word) + ", there is " +
               zones_digest(nrt_.zones) + ": another writer changed what is available";
      }
    }
    return {};
  }

  void read_cpus(std::string_view rest) {
    const std::string_view list = next_word(rest);
    const auto fail = [&](std::string_view what) {
      problems_.add(line_, what, "the ids of free CPUs are unknown");
    };
    if (!model_.cpu_static) return;
    if (!model_.layout) return fail("free CPUs without a CPU layout");
    const auto free = list == kNothing ? CpuSet() : CpuSet::parse(list);
    if (!free) return fail(free.error());
    if (list.empty()) return fail("no list of CPUs; none is \"-\"");
    if (const CpuSet other = *free - model_.layout->all(); !other.empty()) {
      return fail("CPUs " + other.text() + " are not in the CPU layout");
    }
    if (model_.reserved && !(*free & *model_.reserved).empty()) {
      return fail("CPUs " + (*free & *model_.reserved).text() + " are reserved");
    }
    // Fewer than `available` is what finished init containers hold. More can only be where pods
    // have a pool of CPUs of their own, which exporters count once per container.
    if (!model_.managers.pod_level_resource_managers) {
      std::vector<int64_t> counts(model_.zones());
      free->for_each([&](uint32_t cpu) { ++counts[model_.layout->at(cpu).zone]; });
      for (uint32_t column = 0; column < counts.size(); ++column) {
        const int64_t available = available_in(column, "cpu") / 1000;
        if (counts[column] > available) {
          return fail(node_name(model_.zone_ids[column]) + " has " +
                      std::to_string(counts[column]) + " of them, but available is " +
                      std::to_string(available));
        }
      }
    }
    state_.set_cpu_ids(model_, *free);
  }

  void read_zone(std::string_view rest) {
    const std::string_view id = next_word(rest);
    const auto number = read_number(id, kMostZone);
    const int column = number ? column_of(model_, *number) : -1;
    if (column < 0)
      return problems_.add(line_, "there is no zone node-" + std::string(id.substr(0, 8)),
                           "it is ignored");
    if (!model_.memory_static) return;
    const auto at = static_cast<uint32_t>(column);
    std::optional<int64_t> assignments;
    std::optional<ZoneMask> cells;
    for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
      const std::string_view key = cut(word, '=');
      if (key == "assignments") {
        assignments = read_number(word, kMaxAmount);
        if (!assignments) groups_fail(quoted(word) + " is not a number of assignments");
      } else if (key == "cells") {
        cells = read_cells(word, at);
      } else if (is_memory(key)) {
        read_memory(at, key, word);
      }
    }
    if (assignments && cells) check_group(at, *assignments, *cells);
  }

  std::optional<ZoneMask> read_cells(std::string_view list, uint32_t column) {
    const auto ids = read_sequence(list, kMostZone, kMostZone + 1);
    ZoneMask cells = 0;
    if (!ids) {
      groups_fail(ids.error());
      return std::nullopt;
    }
    for (const uint32_t id : *ids) {
      const int other = column_of(model_, id);
      if (other < 0) {
        groups_fail("cells: there is no zone " + node_name(id));
        return std::nullopt;
      }
      cells |= ZoneMask{1} << other;
    }
    if ((cells >> column & 1) == 0) {
      groups_fail("cells: " + node_name(model_.zone_ids[column]) + " itself is missing");
      return std::nullopt;
    }
    return cells;
  }

  void read_memory(uint32_t column, std::string_view name, std::string_view amount) {
    const ZoneResource* listed = find(columns_[column], name);
    const int64_t most = listed == nullptr ? 0 : std::max<int64_t>(listed->allocatable, 0);
    const auto bytes = read_number(amount, kMaxAmount);
    if (!bytes || *bytes > most) {
      return problems_.add(line_,
                           std::string(name.substr(0, 40)) + ": " + quoted(amount) +
                               " is not from 0 to " + std::to_string(most) +
                               ", the allocatable of " + node_name(model_.zone_ids[column]),
                           "what the zone has available decides");
    }
    const uint32_t row = listed == nullptr ? kNoResourceRow : model_.memory_row(index_(name));
    if (row == kNoResourceRow) return;
    state_.memory(model_, row)[column] = *bytes;
    exact_.insert({row, column});
  }

  // Whether the text gave what is free of all memory that zones have allocatable.
  bool memory_is_exact() const {
    for (uint32_t row = 0; row < model_.memory.size(); ++row) {
      for (uint32_t column = 0; column < model_.zones(); ++column) {
        if (model_.memory[row].allocatable[column] > 0 && !exact_.contains({row, column})) {
          return false;
        }
      }
    }
    return true;
  }

  // The group of a zone without blocks is itself. It may have less free than allocatable: where
  // blocks of one zone and of several overlap, as policy best-effort lets them, the kubelet gives a
  // block's bytes back to its lowest zone first, whichever they came from (RemoveContainer of the
  // static memory policy).
  void check_group(uint32_t column, int64_t assignments, ZoneMask cells) {
    if (assignments == 0 && cells != ZoneMask{1} << column) {
      return groups_fail("no assignments, but a group");
    }
    groups_[column] = Group{assignments, cells};
  }

  void groups_fail(std::string_view what) {
    if (!groups_failed_) {
      problems_.add(line_, what, "the memory manager's groups are guessed from the counts");
    }
    groups_failed_ = true;
  }

  // All or none: a group is a fact about several zones.
  void apply_groups() {
    const auto known = static_cast<size_t>(std::count_if(
        groups_.begin(), groups_.end(), [](const auto& group) { return group.has_value(); }));
    if (known == 0 || groups_failed_) return;
    if (known < groups_.size()) {
      line_ = 0;
      return groups_fail("assignments and cells are given for some zones only");
    }
    for (uint32_t column = 0; column < groups_.size(); ++column) {
      state_.set_group(model_, column, groups_[column]->assignments, groups_[column]->cells);
    }
  }

  // `text`: what follows; the lines of pods are taken from it.
  void read_pods(std::string_view number, std::string_view& text) {
    const size_t first = line_ + 1;
    const auto fail = [&](std::string_view what, size_t line) {
      problems_.add(line, what, "which pods the report counts is guessed");
      facts_.pods.reset();
    };
    const auto count = read_number(number, kMaxAmount);
    if (!count) return fail(quoted(number) + " is not a number of pods", line_);
    if (!seen_.insert("pods").second) return fail("a second line of pods", line_);
    const std::string_view all = text;
    for (int64_t i = 0; i < *count; ++i) {
      if (text.empty()) return fail("there are fewer pods than " + std::string(number), line_);
      (void)cut(text, '\n');
    }
    std::vector<std::string> memory_names(model_.memory.size());
    for (const Column& zone : columns_) {
      for (const ZoneResource* resource : zone.by_name) {
        if (!is_memory(resource->name)) continue;
        const uint32_t row = model_.memory_row(index_(resource->name));
        if (row == kNoResourceRow) continue;
        memory_names[row] = resource->name == "memory" ? "m" : resource->name;
      }
    }
    PodHoldings pods;
    const std::string problem = pods.read(all.substr(0, all.size() - text.size()), model_, state_,
                                          device_rows_, std::move(memory_names));
    line_ += static_cast<size_t>(*count);
    if (!problem.empty()) return fail(problem, first + pods.size());
    facts_.pods = std::move(pods);
  }

  void read_devices(std::string_view rest) {
    device_rows_.push_back(kNoResourceRow);
    const std::string_view name = next_word(rest);
    const std::string_view list = next_word(rest);
    const auto fail = [&](std::string_view what) {
      problems_.add(line_, what,
                    "which devices of " + quoted(name) + " are free is guessed from the counts");
    };
    // Unknown names must not be interned: at most as many names as exist are looked up.
    const bool may_be_known = is_device(name) && ++device_lines_ <= kMaxResources;
    const uint32_t row = may_be_known ? model_.device_row(index_(name)) : kNoResourceRow;
    if (row == kNoResourceRow || !model_.devices[row].listed()) {
      return fail("the machine text does not list devices of " + quoted(name));
    }
    const auto& devices = model_.devices[row].devices;
    if (list.empty()) return fail("no list of devices; none is \"-\"");
    const auto positions =
        list == kNothing
            ? std::vector<uint32_t>{}
            : read_sequence(list, static_cast<uint32_t>(devices.size() - 1), kMostDevices);
    if (!positions) return fail(positions.error());
    std::vector<uint64_t> bits((devices.size() + 63) / 64);
    std::vector<int64_t> counts(model_.zones());
    for (const uint32_t position : *positions) {
      const uint64_t bit = uint64_t{1} << (position % 64);
      if ((bits[position / 64] & bit) != 0) {
        return fail("device " + std::to_string(position) + " is listed twice");
      }
      bits[position / 64] |= bit;
      if (!devices[position].healthy) {
        return fail("device " + std::to_string(position) + " is not healthy");
      }
      for (uint32_t column = 0; column < counts.size(); ++column) {
        counts[column] += static_cast<int64_t>(devices[position].zones >> column & 1);
      }
    }
    for (uint32_t column = 0; column < counts.size(); ++column) {
      const int64_t available = available_in(column, name);
      if (counts[column] > available) {
        return fail(node_name(model_.zone_ids[column]) + " has " + std::to_string(counts[column]) +
                    " of them, but available is " + std::to_string(available));
      }
    }
    state_.set_device_ids(model_, row, bits);
    device_rows_.back() = row;
  }

  int64_t available_in(uint32_t column, std::string_view resource) const {
    const ZoneResource* listed = find(columns_[column], resource);
    return listed == nullptr ? 0 : std::max<int64_t>(listed->available, 0);
  }

  struct Group {
    int64_t assignments = 0;
    ZoneMask cells = 0;
  };

  const NrtObject& nrt_;
  const Columns& columns_;
  const NodeModel& model_;
  const InternResource& index_;
  NodeFacts& facts_;
  NodeState& state_;
  Problems problems_;
  size_t line_ = 1;
  std::set<std::string> seen_;
  size_t device_lines_ = 0;
  std::vector<uint32_t> device_rows_;  // by line of devices; kNoResourceRow: it could not be read
  std::vector<std::optional<Group>> groups_;
  bool groups_failed_ = false;
  std::set<std::pair<uint32_t, uint32_t>> exact_;  // row and column of free memory
};

}  // namespace

std::string zones_digest(std::span<const NrtZone> zones) {
  std::vector<const NrtZone*> sorted;
  for (const NrtZone& zone : zones) sorted.push_back(&zone);
  std::sort(sorted.begin(), sorted.end(),
            [](const NrtZone* a, const NrtZone* b) { return a->id < b->id; });
  std::string text;
  for (const NrtZone* zone : sorted) {
    std::vector<const ZoneResource*> resources;
    for (const ZoneResource& resource : zone->resources) resources.push_back(&resource);
    std::sort(resources.begin(), resources.end(),
              [](const ZoneResource* a, const ZoneResource* b) { return a->name < b->name; });
    for (const ZoneResource* resource : resources) {
      text += std::to_string(zone->id) + ' ' + resource->name + ' ' +
              std::to_string(resource->available) + '\n';
    }
  }
  return digest_of(text);
}

std::string encode_free(const NodeModel& model, const NodeState& state, const ResourceName& name_of,
                        std::string_view machine, std::span<const NrtZone> zones,
                        const std::vector<PodHolding>* pods) {
  std::string out;
  if (model.cpu_static && state.knows_cpus()) {
    out += "cpus " + or_nothing(state.cpu_ids(model).text()) + '\n';
  }
  if (model.memory_static) {
    for (uint32_t column = 0; column < model.zones(); ++column) {
      write_zone(model, state, name_of, column, out);
    }
  }
  for (uint32_t row = 0; row < model.devices.size(); ++row) {
    if (model.devices[row].listed()) write_devices(model, state, name_of, row, out);
  }
  if (out.empty()) return out;
  if (pods != nullptr) out += encode_pods(model, *pods, name_of);
  std::string head(kFormVersion);
  if (!machine.empty()) head += " machine=" + digest_of(machine);
  return head + " zones=" + zones_digest(zones) + '\n' + out;
}

void read_free(const NrtObject& nrt, const Columns& columns, const NodeModel& model,
               const InternResource& index, NodeFacts& facts) {
  if (!nrt.free_facts.empty()) FreeReading(nrt, columns, model, index, facts).read();
}

}  // namespace plimsoll::topology::kubelet
