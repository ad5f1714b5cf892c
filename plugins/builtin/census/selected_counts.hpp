#pragma once
// Tables of counts that pods ask for: the pods of a selection, by the domains of a topology key,
// over the nodes that count. Equal questions share a table. A table is dropped when nobody has
// asked for it for a while, or when tables take too much memory.

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plugins/builtin/census/label_crowds.hpp"
#include "plugins/builtin/census/match_index.hpp"

namespace plimsoll::builtin {

// The pods of one selection.
class SelectedPods : public Tally, public Indexed {
 public:
  explicit SelectedPods(const SelectionSpec& selected) : selection(selected) {}
  [[nodiscard]] const SelectionSpec& spec() const { return selection.spec(); }

  const Selection selection;
  std::string key;
};

struct SelectedCounts {
  SelectedCounts(std::shared_ptr<SelectedPods> of, CountedNodesRef nodes)
      : pods(std::move(of)), counts(std::move(nodes)) {}
  std::shared_ptr<SelectedPods> pods;
  DomainCounts counts;
  uint64_t id = 0;  // of no other table, not even of one that is gone
};
// Still valid, but no longer up to date, when the table has been dropped: for one decision.
using SelectedCountsRef = std::shared_ptr<const SelectedCounts>;
using SelectedPodsRef = std::shared_ptr<SelectedPods>;

class SelectedTables {
 public:
  // A table that nobody asks for is kept for so long.
  static constexpr int64_t kLongestMs = 10 * 60 * 1000;

  SelectedTables(LabelCrowds& crowds, const Namespaces& namespaces)
      : crowds_(crowds), namespaces_(namespaces) {}

  // The pods of the selection; to be counted at once.
  [[nodiscard]] SelectedPodsRef select(const SelectionSpec& selection);
  // `key`: equal bytes, equal questions. Null: there is no such table yet.
  [[nodiscard]] SelectedCountsRef find(std::string_view key, int64_t now_ms);
  SelectedCountsRef add(std::string key, SelectedPodsRef pods, CountedNodesRef nodes,
                        int64_t now_ms);
  // Drops what nobody asked for lately.
  void sweep(int64_t now_ms);

  [[nodiscard]] bool empty() const { return tables_.empty(); }
  [[nodiscard]] size_t size() const { return tables_.size(); }
  [[nodiscard]] size_t bytes() const { return bytes_; }

  // A crowd was made: the tables that count it.
  void admit(LabelCrowd& crowd);
  // The crowd is counted by nobody from here on.
  static void expel(LabelCrowd& crowd);
  // Labels of this namespace changed.
  void namespace_changed(std::string_view ns);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<SelectedCounts> table;
    int64_t asked_ms;
    size_t bytes;
  };
  using Entries = std::list<Entry>;  // the most recently asked first

  void measure(Entry& entry);
  void drop_last();

  LabelCrowds& crowds_;
  const Namespaces& namespaces_;
  Entries tables_;
  std::unordered_map<std::string_view, Entries::iterator> by_key_;
  std::unordered_map<std::string, SelectedPodsRef> pods_;  // by the bytes of the selection
  std::string bytes_of_selection_;                         // room for one, kept
  MatchIndex<SelectedPods> index_;
  size_t bytes_ = 0;
  uint64_t last_id_ = 0;
};

}  // namespace plimsoll::builtin
