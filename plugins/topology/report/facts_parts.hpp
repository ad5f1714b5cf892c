#pragma once
// The steps of reading node facts, in order: the model from the counts, settings and machine text
// onto it, then the state from the counts, and the free text onto it. Internal to facts.

#include <string>
#include <string_view>
#include <vector>

#include "plugins/topology/kubelet/pod_demand.hpp"
#include "plugins/topology/report/facts.hpp"

namespace plimsoll::topology::kubelet {

// Sentences about what was ignored, all about one text.
class Problems {
 public:
  Problems(std::string where, std::vector<std::string>& texts)
      : where_(std::move(where)), texts_(texts) {}
  // "<where>, line 3: <what>; <instead>"; line 0: the text as a whole. After kMostProblems no more.
  void add(size_t line, std::string_view what, std::string_view instead);

 private:
  std::string where_;
  std::vector<std::string>& texts_;
};
inline constexpr size_t kMostProblems = 32;   // that are said of an object
inline constexpr size_t kMostDevices = 4096;  // of a resource
inline constexpr std::string_view kCountsDecide = "the zones' counts decide";

// A zone, and what it lists by name.
struct Column {
  const NrtZone* zone = nullptr;
  std::vector<const ZoneResource*> by_name;

  const NrtZone* operator->() const { return zone; }
};
// The zones in ascending order of id.
using Columns = std::vector<Column>;
[[nodiscard]] Columns columns_of(const NrtObject& nrt);
// The column of a zone id, or -1.
[[nodiscard]] int column_of(const NodeModel& model, int64_t zone_id);
[[nodiscard]] const ZoneResource* find(const Column& column, std::string_view resource);

// Whether the device manager may know the resource.
[[nodiscard]] bool is_device(std::string_view resource);

// Not prepared.
[[nodiscard]] NodeModel model_of_counts(const Columns& columns, const NrtObject& nrt,
                                        const InternResource& index);
// `model` is prepared, maybe with facts; where it lists devices, as many as `available` says are
// taken for free. Says nothing of CPU ids.
[[nodiscard]] NodeState state_of_counts(const Columns& columns, const NodeModel& model,
                                        const InternResource& index);

// CPU layouts in use, by their lines and the node's zone ids.
using Layouts = SharedByText<CpuLayout>;
// Settings come last of all that makes a model: reserved CPUs need the layout.
void read_machine(std::string_view text, const Columns& columns, const InternResource& index,
                  NodeModel& model, Layouts& layouts, std::vector<std::string>& problems);
void read_settings(const NrtObject& nrt, NodeModel& model, std::vector<std::string>& problems);

void read_free(const NrtObject& nrt, const Columns& columns, const NodeModel& model,
               const InternResource& index, NodeFacts& facts);
// Lines of what is free; with them what pods hold.
[[nodiscard]] std::string encode_pods(const NodeModel& model, std::span<const PodHolding> pods,
                                      const ResourceName& name_of);

// Of the zones' ids and what is available in them.
[[nodiscard]] std::string zones_digest(std::span<const NrtZone> zones);

}  // namespace plimsoll::topology::kubelet
