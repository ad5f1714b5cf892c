#pragma once
// Workloads as data: which objects to create, in which order, and what to measure.
// bench/workloads/workloads.yaml has the workloads of kube-scheduler's scheduler_perf in this
// format.
//
//   templates:                        # objects to make; "$number" in one is the object's number
//     pod-default: {kind: Pod, spec: {...}}
//   workloads:
//   - name: SchedulingBasic
//     threshold: 270                  # pods/s that the published test must exceed
//     podsPerSecond: 270              # of a virtual clock; absent: the machine's clock
//     params: {nodes: 5000, measured: 10000}
//     small: {nodes: 5, measured: 10} # the same few times smaller, for a test
//     ops:
//     - createNodes: {count: $nodes, template: node-default, labels: {zone: a}}
//     - createPods: {count: $measured, template: pod-default, measure: true}
//
// Ops run one after the other. createPods waits until all of its pods are bound, unless `wait:
// false`. deletePods and churn run by the clock, in parallel with the next ops, until the measured
// pods are bound. createObjects makes TEMPLATE-0 and so on; createPods puts its pods into the first
// `namespaces` of `namespace`, in turn, or all into the namespace of that name. createNodes and
// createPods with `with: [claim, volume]` make an object of each of these templates before each of
// their own: its CSINode, or its claim and the volume that is bound to it.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::bench {

struct ObjectTemplate {
  std::string kind;    // Node, Pod, or one that object_kind() has
  std::string name;    // with "$number", or of the only object; empty: the template's and a number
  std::string labels;  // a JSON object, like the members after it
  std::string annotations;
  std::string spec;
  std::string status;
};

// A kind that the scheduler reads as text.
struct ObjectKind {
  std::string_view name;
  std::string_view resource;  // as RawObject names it
  bool in_namespace = false;
};
// Null: there is no such kind here.
[[nodiscard]] const ObjectKind* object_kind(std::string_view name);

using Params = std::map<std::string, int64_t, std::less<>>;

struct Op {
  enum class Kind { kCreateNodes, kCreateObjects, kCreatePods, kDeletePods, kChurn, kSettle };
  Kind kind = Kind::kSettle;
  std::string count;                   // a number or $parameter; how many
  std::vector<std::string> templates;  // names; one, but for churn
  std::string labels = "{}";           // createNodes: JSON, on top of the template's
  std::vector<std::string> with;       // createNodes, createPods: templates of what goes with each
  std::string ns = "default";          // createPods, createObjects
  std::string ns_count;                // createPods: a number or $parameter; empty: just one
  std::string as;                      // createPods: a name for deletePods
  bool measure = false;
  bool wait = true;
  std::string of;          // deletePods: the pods of that createPods
  int64_t per_second = 0;  // deletePods
  int64_t every_ms = 0;    // churn: each time one object of each template is created
  bool recreate = false;   // churn: alternately create and delete the objects
};

struct Workload {
  std::string name;
  std::string note;             // what differs from the published workload; empty: nothing
  double threshold = 0;         // 0: none is published
  int64_t pods_per_second = 0;  // 0: by the machine's clock
  Params params;
  Params small;
  std::vector<Op> ops;

  // A number, or the parameter's value.
  [[nodiscard]] Result<size_t> count_of(const Op& op, const Params& with) const {
    return number(op.count, with);
  }
  [[nodiscard]] Result<size_t> number(const std::string& text, const Params& with) const;
};

struct WorkloadFile {
  std::map<std::string, ObjectTemplate, std::less<>> templates;
  std::vector<Workload> workloads;
};

// The error lists all problems, each with its position. `file` is a name for messages.
[[nodiscard]] Result<WorkloadFile> parse_workloads(std::string_view text, const std::string& file);

}  // namespace plimsoll::bench
