#pragma once
// What a check found in one case. No finding: the case passed.

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::conformance {

using Json = nlohmann::json;

// Of a yes or no: a pod was admitted that the kubelet refuses, or the other way round.
enum class Judgement { kRight, kFalseAdmit, kFalseReject };

// How often each was the judgement.
struct Judged {
  size_t right = 0;
  size_t false_admits = 0;
  size_t false_rejects = 0;
  Judged& operator+=(const Judged& other);
};

// "W2 ..." comes before "W10 ...".
struct RuleOrder {
  bool operator()(const std::string& a, const std::string& b) const;
};

// Decisions in which this project differs from the reference on purpose, by rule.
struct Differences {
  size_t decisions = 0;  // all that were compared
  size_t different = 0;  // under one rule or more
  // Every rule there is: one may never have counted.
  std::map<std::string, size_t, RuleOrder> by_rule;
};

class Findings {
 public:
  // Records a difference unless both are equal; a null expectation equals "nothing", an empty list,
  // an empty text and false.
  void expect(std::string_view what, const Json& expected, const Json& actual);
  void add(std::string text) { texts_.push_back(std::move(text)); }
  // Something about the case that a reader must know, printed whether it passed or not.
  void note(std::string text) { notes_.push_back(std::move(text)); }
  // The case rests on something that does not exist here. It then counts as skipped, unless what
  // was compared of it differs.
  void skip(std::string cause) { skipped_because_ = std::move(cause); }
  // Counted over all cases and printed at the end: how much was compared, what was left out.
  void tally(const std::string& what, size_t count = 1) { tallies_[what] += count; }

  // For lines that hold many cases of which some are known to go wrong (Kind::tolerated): one case,
  // in its row of the table.
  void judge(const std::string& row, Judgement judgement);

  // For kinds whose reference is wrong under known rules: a decision was compared, and is right.
  // `rules`: those by which it differs from the reference; none: it is the reference's.
  void decide(const std::set<std::string>& rules);
  void add_differences(const Differences& more);
  // The table has a row for this rule, whether or not a decision came under it.
  void know_rule(const std::string& rule) { differences_.by_rule[rule]; }

  [[nodiscard]] bool empty() const { return texts_.empty(); }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const std::string& skipped_because() const { return skipped_because_; }
  [[nodiscard]] const std::map<std::string, size_t>& tallies() const { return tallies_; }
  [[nodiscard]] const std::map<std::string, Judged>& judged() const { return judged_; }
  [[nodiscard]] const Differences& differences() const { return differences_; }

 private:
  std::vector<std::string> texts_;
  std::vector<std::string> notes_;
  std::string skipped_because_;
  std::map<std::string, size_t> tallies_;
  std::map<std::string, Judged> judged_;
  Differences differences_;
};

// The member, or null.
[[nodiscard]] const Json& member(const Json& object, std::string_view key);

}  // namespace plimsoll::conformance
