#pragma once
// One plugin in one trial cluster after another: asks, changes something, asks again, and notes
// what should not have changed. What is kept between clusters is in Notes.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/lint/changes.hpp"

namespace plimsoll::lint {

// What was found so far.
struct Notes {
  enum class When {
    kUnlessSigned,  // not of a plugin that signs other pods: of a pod not signed nothing is kept
    kIfSteady,      // not if the same question has two answers: nothing else can be said then
    kAlways
  };
  struct Found {
    Finding finding;
    When when;
    Part part;
  };
  void find(Part part, When when, const std::string& what, const std::string& example,
            const std::string& advice);
  // A function of the plugin gave an error. What is beyond the first texts is left out.
  void fails(Part part, const std::string& call, const std::string& error,
             const std::string& example, const std::string& advice);
  // Counts what was said; an error is a finding. Returns the answer.
  const Answer& taken(const Answer& answer, const PodRef& pod);
  // By frequency.
  [[nodiscard]] std::vector<Finding> findings() const;
  [[nodiscard]] PartReport& of(Part part) {
    return part == Part::kFilter ? report.filter : report.score;
  }

  Report report;
  std::map<std::string, Found> found;   // by Finding::what
  size_t failures = 0;                  // of these
  std::set<std::string> signed_fields;  // whose change changed the signature
  std::set<std::string> watched;
  std::string error[2] = {};  // the last one that left this Part without an answer
  std::map<Part, int64_t> first_said;
  bool normalizes_by_more = false;  // than the extremes
  size_t normalized = 0;            // trials of that
  bool needs_cluster[2] = {};       // by Part: it rests on more than the node
  bool unsteady[2] = {};
};

class Examiner {
 public:
  // All of them outlive it.
  Examiner(TrialCluster& cluster, Plugin& plugin, World& world, const Options& options,
           CallNote& note, Notes& notes)
      : cluster_(cluster),
        plugin_(plugin),
        world_(world),
        note_(note),
        notes_(notes),
        changes_(cluster, world, options, note) {}

  // Fails if an object given cannot be read.
  [[nodiscard]] Result<void> run();

 private:
  struct Probe {
    Json json;
    PodRef pod;
    Answer answer;
    uint64_t asked_at = 0;           // the log's end before it was asked
    std::vector<int64_t> raws = {};  // every raw score that it got
  };

  void make_probes();
  [[nodiscard]] Answer ask(const PodRef& pod, uint32_t without = kNoSlot);

  // ---- the same question again
  void check_steady(const Probe& probe);
  void check_rows(const Probe& probe, Part part);
  void check_feasible_set(const Probe& probe);
  // ---- the pod
  void check_pod_field(const Probe& probe, const Field& field);
  // ---- the node
  void check_change(const Change& change);
  void blame(Part part, const Change& change, const Probe& probe, const Said& was, const Said& is,
             uint32_t slot, uint32_t changed, bool signable);
  [[nodiscard]] std::optional<std::string> smallest_node_change(const Probe& probe,
                                                                const Change& change, uint32_t slot,
                                                                Part part);
  // ---- normalising
  void check_scores(Probe& probe);
  bool normalize(const Probe& probe, const Rows& rows, std::vector<int64_t>& scores);

  // "pod a/b, node n: Success, and asked again Unschedulable"
  [[nodiscard]] std::string seen(const Probe& probe, uint32_t slot, Part part, const Said& was,
                                 const std::string& between, const Said& is) const;
  [[nodiscard]] std::string node_name(uint32_t slot) const;
  // Nothing is kept of a plugin that declares nothing or cluster scope.
  [[nodiscard]] bool keeps(Part part) const;

  TrialCluster& cluster_;
  Plugin& plugin_;
  World& world_;
  CallNote& note_;
  Notes& notes_;
  Changes changes_;
  std::vector<Probe> probes_;
};

}  // namespace plimsoll::lint
