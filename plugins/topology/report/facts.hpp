#pragma once
// Node facts: what a kubelet's managers know beyond the counts per zone, as the
// NodeResourceTopology object carries it. docs/topology.md, "Node facts", describes the format.
//
//  - settings: attributes, one per setting: cpuManagerPolicy, reservedCPUs, ...
//  - machine: annotation topology.plimsoll.io/machine: CPU layout and devices; fixed
//  - free: annotation topology.plimsoll.io/free: what is free; changes with every report
//
// Every fact is optional. If one is missing or not credible, the counts decide. Pure functions,
// nothing blocks; any thread, but a FactsReader belongs to one thread.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/kubelet/admit.hpp"
#include "plugins/topology/kubelet/node.hpp"
#include "plugins/topology/report/nrt_object.hpp"
#include "plugins/topology/report/shared_by_text.hpp"

namespace plimsoll::topology::kubelet {

// The index of a resource in NodeModel, and back; "cpu" is kCpuResource, "memory" kMemoryResource.
using InternResource = std::function<uint32_t(std::string_view name)>;
using ResourceName = std::function<std::string_view(uint32_t index)>;

// ---- for exporters

// topologyManager*, cpuManager*, memoryManagerPolicy, kubeletFeatureGates, reservedCPUs and
// kubeletVersion, for the object's `attributes`. What is unknown is left out.
[[nodiscard]] std::vector<NrtAttribute> encode_settings(const NodeModel& model);
// Whether an attribute of this name is one of those; an exporter removes those that it does not
// write.
[[nodiscard]] bool is_setting(std::string_view attribute);
// 37 of "v1.37.2", as Node.status.nodeInfo.kubeletVersion has it; 0: it is no such text.
[[nodiscard]] uint16_t kubelet_minor(std::string_view version);

// The text of kMachineAnnotation; empty if neither layout nor devices are known. Device ids are
// written while the text stays within 6 KiB, else only how many there are.
[[nodiscard]] std::string encode_machine(const NodeModel& model, const ResourceName& name_of);

// What one pod holds of its node, what plain init containers left it included.
struct PodHolding {
  std::string uid;
  Allocation held;
};

// The text of kFreeAnnotation; empty if nothing beyond the counts is known. It names the machine
// text and the zones that it belongs to, so that a reader notices if another writer changed them:
// `machine` is the result of encode_machine, `zones` are the object's zones (`available` counts).
// `pods`: all pods that hold something of what is not free; null: that is not known.
[[nodiscard]] std::string encode_free(const NodeModel& model, const NodeState& state,
                                      const ResourceName& name_of, std::string_view machine,
                                      std::span<const NrtZone> zones,
                                      const std::vector<PodHolding>* pods = nullptr);

// ---- for readers

// Which pods a report counts, and what each of them holds. Kept as text: what a pod holds is asked
// for when it leaves.
class PodHoldings {
 public:
  // `text`: the lines of pods; `state`: what is free, which none of them may hold; `device_rows`:
  // the model's row of each line of devices in order; `memory_names`: the word for each of the
  // model's types of memory. Returns what is wrong, and then this object is of no use; empty:
  // nothing.
  [[nodiscard]] std::string read(std::string_view text, const NodeModel& model,
                                 const NodeState& state, std::vector<uint32_t> device_rows,
                                 std::vector<std::string> memory_names);

  [[nodiscard]] size_t size() const { return lines_.size(); }
  [[nodiscard]] std::string_view uid(size_t i) const {
    return std::string_view(text_).substr(lines_[i].begin, lines_[i].uid);
  }
  // `model`: the one that the text was read with.
  [[nodiscard]] Allocation held(const NodeModel& model, size_t i) const;
  // Whether some of it is memory that comes free when the pod's init containers have ended.
  [[nodiscard]] bool holds_for_init(size_t i) const { return lines_[i].init; }

 private:
  struct Line {
    uint32_t begin, uid, end;  // in text_; `uid` is a length
    bool init;
  };
  std::string text_;
  std::vector<Line> lines_;
  std::vector<uint32_t> device_rows_;
  std::vector<std::string> memory_names_;
};

struct NodeFacts {
  std::shared_ptr<const NodeModel> model;  // prepared; never null
  NodeState state;
  std::optional<PodHoldings> pods;  // if the report says it, and all of it can be read
  // What was ignored, one sentence each: where, what, and what decides instead. The same object
  // gives the same texts, so a caller that logs every report should drop repetitions.
  std::vector<std::string> problems;
};

// Builds the node from the counts alone: policy, scope, and the zones' capacity, allocatable and
// available.
//  - cpu: capacity decides how many zones a request needs at least, available what fits. The CPU
//    manager pins if some zone has allocatable CPUs.
//  - memory and hugepages: allocatable and available. The memory manager pins if some zone has
//    allocatable memory. A zone with less available than allocatable is treated as a group of its
//    own, so no block over several zones may use it.
//  - other extended resources: devices, counted per zone.
// NodeResourcesFit checks whether the node as a whole has enough. If all zones together have less
// than a pod needs, the counts are incomplete: memory is charged more than once, or devices have no
// zone. That alone refuses nothing; a policy that enforces alignment still refuses devices that no
// zone has. A resource that no zone lists is not aligned.
[[nodiscard]] NodeFacts from_counts(const NrtObject& nrt, const InternResource& index);

// From the counts and the facts. Nodes with the same settings, machine text and totals share one
// model, which lives as long as some node uses it; nodes with the same CPUs share their layout.
class FactsReader {
 public:
  explicit FactsReader(InternResource index) : index_(std::move(index)) {}

  [[nodiscard]] NodeFacts read(const NrtObject& nrt);

  // Models in use.
  [[nodiscard]] size_t models() const { return known_.size(); }

 private:
  struct Known {
    NodeModel model;
    std::vector<std::string> problems;
  };

  InternResource index_;
  SharedByText<Known> known_;        // by everything that the model is made of
  SharedByText<CpuLayout> layouts_;  // by their lines
};

}  // namespace plimsoll::topology::kubelet
