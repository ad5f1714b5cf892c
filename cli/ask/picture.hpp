#pragma once
// The nodes as the pages see them that look at a running scheduler: one picture for all pages. It
// asks the loop for what changed, so often and for so many nodes at a time that the loop's cost
// stays within a limit whatever changes and whoever looks.

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/cycle/inspect/snapshot.hpp"

namespace plimsoll::cli {

class Picture {
 public:
  // Of the loop's time, in the long run. The whole picture, which the first page needs, comes on
  // top.
  static constexpr double kLoopShare = 0.0008;
  static constexpr int64_t kSoonestMs = 1'000;     // from one question to the next
  static constexpr int64_t kMostSavedMs = 10'000;  // for so long unused time of the loop is kept
  static constexpr int64_t kForgottenMs = 60'000;  // without a page the picture grows old
  static constexpr size_t kMostFirst = 1'000;      // nodes that go before others
  static constexpr size_t kMostOfPage = 200;       // of these, one page's

  // `era`: before the marks of this process. Those of a process before, or of another replica, are
  // none.
  explicit Picture(std::string era) : era_(std::move(era)) {}

  // A page asks. What to ask the loop, whose answer is to be given to arrived(); nothing: not now.
  // `first`: the nodes that it shows, which go before others; 200 of them at most. `now_ms`, here
  // and below: of any clock that goes steadily.
  [[nodiscard]] std::optional<StateChoice> question(int64_t now_ms,
                                                    const std::vector<std::string>& first = {});
  // Cheap, for the loop.
  void arrived(StateSnapshot said, int64_t now_ms);
  // Something has arrived, so that an answer needs no loop.
  [[nodiscard]] bool known() const;
  // What changed since the answer with the "state" `since`, or everything, as docs/ui.md says
  // ("Changes"). Makes text of what arrived: not for the loop.
  [[nodiscard]] std::string answer(std::string_view since, int64_t now_ms);
  // Gives the memory back if no page has asked for kForgottenMs.
  void forget(int64_t now_ms);

 private:
  struct Arrived {
    StateSnapshot said;
    int64_t at_ms = 0;
  };
  struct Node {
    std::string text;
    uint64_t version = 0;  // of the picture that was the first to have it
  };
  void merge(const Arrived& arrived);
  [[nodiscard]] std::optional<uint64_t> version_of(std::string_view state) const;

  const std::string era_;

  mutable std::mutex asking_;  // never held for long: the loop takes it
  std::optional<StateMark> mark_;
  std::vector<Arrived> arrived_;
  std::set<std::string> first_;
  bool under_way_ = false;
  bool known_ = false;
  int64_t requested_ms_ = 0;
  int64_t asked_ms_ = 0;
  double allowed_us_ = 0;
  // Of late, what it took to tell of how many nodes.
  double told_us_ = 0;
  double told_nodes_ = 0;

  std::mutex drawing_;  // of what is below
  std::map<std::string, Node> nodes_;
  uint64_t version_ = 0;
  uint64_t begin_ = 0;  // the version before which nothing is known
  uint64_t names_ = 0;  // the version since which there are these nodes
  std::vector<std::string> all_;
  bool standby_ = false;
  int64_t drawn_ms_ = 0;
  std::unordered_map<uint32_t, int64_t> untold_;  // by slot: as it was then, the node is drawn
};

}  // namespace plimsoll::cli
