#pragma once
// Finds what a plugin reads and does not declare, and what it takes and does not give back
// (lives.hpp).
//
// Like pods share what the filters and scores said (docs/equivalence.md), as long as a plugin's
// declarations are true: the fields of the pod that it signs, the aspects of the node that its
// verdict rests on, and that its scores are normalised by the extremes. The lint makes small random
// clusters and pods, takes verdicts and scores, changes one thing after another and asks again:
// where an answer changed that the scheduler would have kept, a declaration is missing.
//
// What changes goes the way that it goes in the scheduler: into a ClusterState, whose log says
// which aspects changed of which node, and to the plugin's event functions, which say touch_node.
// An answer about a node may change exactly if the log has an aspect that is declared.
//
// A lint is as good as what it tries: it finds lies, it proves no truth. What is found depends on
// nothing but the seed, the plugin and the options. The calling thread plays the scheduler loop.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll {
class Modules;
}

namespace plimsoll::lint {

// An object to make clusters of. Of the nodes each cluster has some, and of the pods some are
// placed and some are asked about, all in many variations; objects of other kinds go to the plugins
// that watch them.
struct Object {
  std::string resource;  // "nodes", "pods", or "<plural>.<version>.<group>"
  std::string ns;
  std::string name;
  std::string json;
};

struct Options {
  std::vector<Object> objects;
  // Keys and values of labels and annotations, taints, resources that mean something to the plugin;
  // see words.hpp for those that its file has.
  std::vector<std::string> words;
  std::map<std::string, std::string> args;  // plugin -> JSON text; absent: "{}"
  std::vector<std::string> companions;      // plugins to make beside, for their services
  size_t rounds = 20;                       // clusters
  uint64_t seed = 1;
  // Where the call that runs is written before it begins, as NUL-terminated text: of a plugin that
  // takes the process down, this is what is left. Empty: nowhere.
  std::span<char> call_note = {};
  // Counts these calls, for whoever looks whether one of them ends. Null: nobody does.
  std::atomic<uint64_t>* calls = nullptr;
};

// Something that is declared wrongly.
struct Finding {
  std::string what;     // one sentence; each comes once
  std::string example;  // how it was seen
  std::string advice;   // what to do
  size_t times = 1;     // how often it was seen
};

// Of Filter, or of Score.
struct PartReport {
  bool present = false;
  uint32_t declared = 0;  // PLIMSOLL_ASPECT_*; 0: nothing, never kept
  uint32_t rests_on = 0;  // aspects whose change alone changed an answer
  size_t answers = 0;
  size_t refused = 0;   // Filter: of the answers
  bool varied = false;  // not all answers were the same
  size_t compared = 0;
};

struct Report {
  std::string plugin;
  PartReport filter;
  PartReport score;
  bool signs = false;
  bool normalizes = false;
  bool by_extremes = false;
  std::vector<std::string> matters;  // pod fields whose change changed an answer
  std::vector<Finding> findings;     // the most frequent first
  // Parts that said the same whatever was tried, a sentence each: nothing is known about them.
  std::vector<std::string> untried;
  std::vector<std::string> hints;  // not wrong, but worth a look
};

// The names of aspects as the documentation has them, joined by ", "; "nothing" for 0.
[[nodiscard]] std::string aspect_names(uint32_t aspects);

// Examines one plugin of `modules`, which must also have PrioritySort and DefaultBinder. Fails if
// it does not exist or cannot be made or started; an exception of a plugin is an answer like any
// other.
[[nodiscard]] Result<Report> lint_plugin(const Modules& modules, const std::string& plugin,
                                         const Options& options);

}  // namespace plimsoll::lint
