#pragma once
// The objects of a small cluster as an API server keeps them, for the random-event test: what the
// scheduler writes is carried out only when the test says so and with the outcome that it draws,
// and what changes reaches the scheduler only when the test delivers it, kind by kind.
//
// The test's thread owns everything; what the scheduler's threads call is only put on a list.

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/port/api_writer.hpp"
#include "tests/cycle/random_kubelet.hpp"
#include "tests/cycle/random_objects.hpp"

namespace plimsoll::testing {

using Json = nlohmann::json;

enum class Kind {
  kNodes,
  kTopologies,
  kDevices,
  kBudgets,
  kClasses,
  kCsiNodes,
  kVolumes,
  kClaims,
  kPods
};
inline constexpr std::array kAllKinds = {Kind::kNodes,   Kind::kTopologies, Kind::kDevices,
                                         Kind::kBudgets, Kind::kClasses,    Kind::kCsiNodes,
                                         Kind::kVolumes, Kind::kClaims,     Kind::kPods};
[[nodiscard]] const char* name_of(Kind kind);

// One watch event.
struct Change {
  Kind kind;
  bool deleted = false;
  Json object;  // when deleted: as it was last
};

// What becomes of a write.
enum class Outcome {
  kDone,
  kRefused,  // a server error; nothing was done
  kConflict,
  kLost,  // carried out, but the scheduler hears of an error
};

class RandomCluster final : public ApiWriter {
 public:
  // ---- objects, by name; pods are all in one namespace
  [[nodiscard]] const std::map<std::string, Json>& all(Kind kind) const;
  [[nodiscard]] const Json* find(Kind kind, const std::string& name) const;
  void put(Kind kind, Json object);  // gets a new version, and a UID if it has none
  void remove(Kind kind, const std::string& name);
  // As DELETE of a pod does: one on a node is marked, and its kubelet ends it later.
  void remove_pod_gently(const std::string& name);
  // Another scheduler binds it.
  void bind_by_other(const std::string& name, const std::string& node);
  void finish(const std::string& name);  // its containers have ended
  void run(const std::string& name);     // its kubelet says that it runs
  void end_terminating();                // kubelets have stopped all that is marked
  void report(const std::string& node);  // its exporter writes, if it has zones
  bool report_if_changed(const std::string& node);

  // ---- the watch
  [[nodiscard]] size_t undelivered(Kind kind) const;
  [[nodiscard]] std::optional<Change> next(Kind kind);
  // The watch of a kind ends and the kind is listed again: of all that was not delivered only the
  // difference counts.
  void cut(Kind kind);

  // ---- what the scheduler has asked for and has no answer to
  struct Asked {
    std::string what;      // "bind ns/p1", for the journal; the same order in every run
    std::string pod;       // the UID, or the path
    bool binding = false;  // a pod's binding waits for the answer
    bool storage = false;  // a claim or a volume is written
  };
  [[nodiscard]] std::vector<Asked> asked();
  void answer(size_t index, Outcome outcome);  // by position in asked()

  // ---- ApiWriter
  void bind(BindRequest request, Done done) override;
  void record_event(EventRecord event) override;
  void patch_condition(ConditionPatch patch, Done done) override;
  void request(ApiRequest request, Answered done) override;

  // ---- findings
  // Things that must never be, in words: a pod bound again after a bind was confirmed, a device
  // given twice, a pod refused by a kubelet for no reason of the test's making.
  [[nodiscard]] const std::vector<std::string>& wrongs() const { return wrongs_; }
  [[nodiscard]] RandomKubelet& kubelet(const std::string& node);
  // Pods came or went, or the machine changed, behind the scheduler's back since all was delivered.
  void disturb(const std::string& node) { disturbed_.insert(node); }
  void all_is_told() { disturbed_.clear(); }
  // A pod there has the name of an earlier one: the ledger must count both for a minute.
  [[nodiscard]] bool has_namesake(const std::string& node) const;

  struct Totals {
    int binds = 0, failed_binds = 0, conflicts = 0, patches = 0, preempted = 0, refused_pods = 0,
        in_one_zone = 0, storage_writes = 0;
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  struct Call {
    Asked about;
    std::optional<BindRequest> bind;
    std::optional<ConditionPatch> patch;
    std::optional<ApiRequest> request;
    Done done;
    Answered answered;
  };
  void add(Call call);
  Result<void> carry_out(const BindRequest& request);
  [[nodiscard]] bool others_on_their_way(const BindRequest& request) const;
  Result<void> carry_out(const ConditionPatch& patch);
  int carry_out(const ApiRequest& request, std::string& body);
  int change_pod(const ApiRequest& request, std::string& body);
  int change_storage_object(Kind kind, const ApiRequest& request, std::string& body);
  void start_on(Json& pod, const std::string& node, bool ours);
  void note_gone(const Json& pod);
  void check_devices(const std::string& node);
  void check_zones(const Json& pod, const std::string& node);
  [[nodiscard]] Json topology_of(const std::string& node);

  std::map<Kind, std::map<std::string, Json>> objects_;
  std::map<Kind, std::deque<Change>> feeds_;
  std::map<Kind, std::map<std::string, Json>> told_;  // what the watch has delivered
  std::map<std::string, RandomKubelet> kubelets_;
  std::set<std::string> disturbed_;  // nodes
  std::set<std::string> confirmed_;  // UIDs whose bind was answered with success
  std::set<std::string> lost_;       // UIDs that were bound though the scheduler heard of an error
  std::map<std::string, std::string> nominated_;  // UID -> node, of pods that are not bound
  std::map<std::string, int> names_used_;
  std::vector<std::string> wrongs_;
  Totals totals_;
  int64_t version_ = 0;
  int64_t uids_ = 0;

  std::mutex mutex_;  // guards the next
  std::vector<Call> arriving_;
  std::vector<Call> calls_;  // the test's thread only
};

}  // namespace plimsoll::testing
