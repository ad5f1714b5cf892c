#pragma once
// One plugin in one trial cluster after another: asks, changes something, asks again, and notes
// what should not have changed. What is kept between clusters is in Notes.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lint/changes.hpp"

namespace plimsoll::lint {

enum class Part { kFilter, kScore };

// What was found so far.
class Notes {
 public:
  // `unless_signed`: says nothing about a plugin that signs other pods, since of a pod that it does
  // not sign nothing is kept.
  void find(Part part, const std::string& what, const std::string& example,
            const std::string& advice, bool unless_signed = false);
  // Not steady: the same question has two answers, so nothing else can be said of the part.
  void find_unsteady(Part part, const std::string& what, const std::string& example,
                     const std::string& advice);
  void find_always(const std::string& what, const std::string& example, const std::string& advice);

  // By frequency.
  [[nodiscard]] std::vector<Finding> findings(bool signs) const;

  Report report;
  std::set<std::string> signed_fields;  // whose change changed the signature
  std::set<std::string> watched;
  std::map<std::string, size_t> errors;
  bool normalizes_by_more = false;  // than the extremes
  size_t normalized = 0;            // trials of that
  bool needs_cluster[2] = {};       // by Part: it rests on more than the node

  [[nodiscard]] PartReport& of(Part part) {
    return part == Part::kFilter ? report.filter : report.score;
  }

 private:
  struct Found {
    Finding finding;
    bool unless_signed;
    int part;  // -1: none
  };
  void note(int part, const std::string& what, const std::string& example,
            const std::string& advice, bool unless_signed);

  std::map<std::string, Found> found_;
  bool unsteady_[2] = {};
};

class Examiner {
 public:
  // All of them outlive it.
  Examiner(TrialCluster& cluster, const Examined& examined, Dice& dice, Vocabulary& words,
           const Options& options, CallNote& note, Notes& notes);

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
  [[nodiscard]] Answer ask_about(const PodRef& pod, uint32_t without = kNoSlot);
  void count(const Answer& answer);

  // ---- the same question again
  void check_steady(Probe& probe);
  void check_rows(const Probe& probe);
  void check_feasible_set(const Probe& probe);
  // ---- the pod
  void check_pod_fields(Probe& probe);
  [[nodiscard]] std::string smallest_pod_change(const Probe& probe, const Field& field,
                                                const Json& after, Part part);
  // ---- the node
  void check_change(const Change& change);
  void blame(Part part, const Change& change, const Probe& probe, const NodeAnswer& before,
             const NodeAnswer& after, uint32_t slot, uint32_t changed, bool signable);
  [[nodiscard]] std::string smallest_node_change(const Probe& probe, const Change& change,
                                                 uint32_t slot, Part part);
  // ---- normalising
  void check_scores(Probe& probe);
  bool normalize(const Probe& probe, std::vector<const plimsoll_node_info*> rows,
                 std::vector<int64_t>& scores);

  [[nodiscard]] std::string node_name(uint32_t slot) const;
  [[nodiscard]] uint32_t declared(Part part) { return notes_.of(part).declared; }

  TrialCluster& cluster_;
  const Examined& examined_;
  Dice& dice_;
  Vocabulary& words_;
  CallNote& note_;
  Notes& notes_;
  Changes changes_;
  std::vector<Probe> probes_;
};

// "filter", "score".
[[nodiscard]] std::string_view part_name(Part part);

}  // namespace plimsoll::lint
