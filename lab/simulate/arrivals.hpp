#pragma once
// When the objects of a simulation's files come and go: after the seconds in their annotations
// `sandbox.plimsoll.io/arrive-seconds` and `sandbox.plimsoll.io/leave-seconds`, counted from when
// the scheduler is ready. Without the first they come at once, without the second they stay.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lab/sandbox/store/object_store.hpp"

namespace plimsoll::cli {

inline constexpr const char* kArriveSecondsAnnotation = "sandbox.plimsoll.io/arrive-seconds";
inline constexpr const char* kLeaveSecondsAnnotation = "sandbox.plimsoll.io/leave-seconds";

class Arrivals {
 public:
  // Objects as JSON texts.
  struct Batch {
    std::vector<std::string> come;
    std::vector<std::string> go;
    [[nodiscard]] bool empty() const { return come.empty() && go.empty(); }
  };

  // Objects as JSON texts, in the order of their file. Of those with the same time pods come last,
  // since the watches of two kinds keep no order; otherwise they keep that of the file.
  // A time that is none is noted, and the object comes at once, or stays.
  Arrivals(const std::vector<std::string>& texts, std::vector<std::string>& notes);

  // The objects that come and go up to `seconds`, in order; each is returned once. Pods are not
  // returned together with what comes before them: first the scheduler is to know of that.
  [[nodiscard]] Batch take(double seconds);
  // When the next one comes or goes; null: all have.
  [[nodiscard]] std::optional<double> next() const;
  // Of those that have not come or gone yet: NAMESPACE/NAME, in order.
  [[nodiscard]] std::vector<std::string> coming() const;

 private:
  struct Arrival {
    double seconds = 0;
    std::string text;
    bool is_pod = false;
    bool goes = false;
  };
  std::deque<Arrival> coming_;
};

// Carries it out. What comes and is there already is changed: the text is merged into it as by a
// JSON merge patch, without these annotations. A pod on a node goes as one that is deleted, after
// its grace period. Returns what cannot be done. Fails as load_cluster() does.
[[nodiscard]] Result<std::vector<std::string>> carry_out(sandbox::ObjectStore& store,
                                                         const Arrivals::Batch& batch);

}  // namespace plimsoll::cli
