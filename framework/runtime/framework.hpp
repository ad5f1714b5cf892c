#pragma once
// One profile: its plugins, and the extension points run in order with the status semantics of the
// Kubernetes scheduling framework (pkg/scheduler/framework/runtime/framework.go).
//
// It has a function for each extension point, as kube-scheduler's frameworkImpl has, and so more
// than any other class: whoever runs a profile finds all of it here.
//
// Threads: the scheduler loop, except where a function says otherwise. A plugin that misbehaves (an
// exception, a code that is not legal there, an unknown reason, a score out of range) turns into an
// Error status that names it.

#include <plimsoll/plugin_abi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/base/result.hpp"
#include "framework/runtime/node_rows.hpp"
#include "framework/runtime/outcomes.hpp"
#include "framework/runtime/plugin/cycle_context.hpp"
#include "framework/runtime/plugin/environment.hpp"
#include "framework/runtime/plugin/modules.hpp"
#include "framework/runtime/plugin/profile_spec.hpp"
#include "framework/runtime/plugin/status.hpp"

namespace plimsoll {

class PluginInstance;
class PreparedPlugins;
namespace metrics {
class ProfileMetrics;
enum class Point : uint8_t;
}  // namespace metrics

class Framework {
 public:
  // Makes the profile's plugins and checks them against it. All errors at once, in
  // kube-scheduler's words. `env` and `modules` outlive the Framework. `prepared`: of the same
  // `env`, plugins that need not be made again.
  static tl::expected<std::unique_ptr<Framework>, std::vector<Error>> create(
      const ProfileSpec& spec, const Modules& modules, Environment& env,
      PreparedPlugins* prepared = nullptr);
  ~Framework();

  [[nodiscard]] const std::string& scheduler_name() const { return scheduler_name_; }

  // Null if nothing is measured. Extension points as a whole are measured by the caller.
  [[nodiscard]] metrics::ProfileMetrics* metrics() const { return metrics_.get(); }

  // Where the reasons of its verdicts are.
  [[nodiscard]] ReasonTable& reasons() const { return env_.reasons; }

  // ---- plugins; any thread
  [[nodiscard]] size_t plugin_count() const { return plugins_.size(); }
  [[nodiscard]] std::string_view plugin_name(PluginIndex plugin) const;
  // Stands for HTTP extenders wherever rejectors are named; its name is "Extender".
  [[nodiscard]] PluginIndex extender_index() const {
    return static_cast<PluginIndex>(plugins_.size());
  }
  // In the order they run; of kScore with weight.
  struct Slot {
    PluginIndex plugin;
    int64_t weight;
  };
  [[nodiscard]] std::span<const Slot> at(ExtensionPoint point) const {
    return points_[static_cast<size_t>(point)];
  }
  // PLIMSOLL_ASPECT_*; 0: unknown.
  [[nodiscard]] uint32_t filter_aspects(PluginIndex plugin) const;
  [[nodiscard]] uint32_t score_aspects(PluginIndex plugin) const;
  // It is told of pods that get a node (Reserve, COUNTS_ASSUMED_PODS), but not of those that a
  // what-if adds.
  [[nodiscard]] bool is_blind_to_what_ifs(PluginIndex plugin) const;

  // Whether what the plugin says of the pod rests on objects of this kind. One that does not say so
  // itself rests, for every pod, on all kinds that it watches.
  [[nodiscard]] bool rests_on(PluginIndex plugin, const plimsoll_pod& pod,
                              std::string_view resource) const;

  // Calls every plugin's start(). Once, after all profiles were created.
  Result<void> start();

  // ---- queue
  Status run_pre_enqueue(const plimsoll_pod& pod);
  [[nodiscard]] bool wakes_whom_it_gates(PluginIndex plugin) const;
  // False, with an error in the log, if the plugin failed: the key is then all zero.
  bool sort_key(const plimsoll_pod& pod, int64_t queued_ms, std::array<uint8_t, 24>& key);
  // Plugins of PreEnqueue, PreFilter, Filter, Reserve, Permit.
  [[nodiscard]] std::span<const EventInterests> events() const { return events_; }
  // PLIMSOLL_HINT_QUEUE or _SKIP. The event is one that the plugin is registered for.
  [[nodiscard]] int32_t hint(PluginIndex plugin, const plimsoll_pod& pod,
                             const plimsoll_event& event);

  // ---- equivalence. Appends the signature of the plugins that take part in PreFilter, Filter,
  // PreScore and Score; returns those that do not sign this pod, whose verdicts are not reused.
  PluginMask run_sign(const plimsoll_pod& pod, std::string& signature);

  // ---- scheduling cycle. Each function asks this first, and ends with it.
  // Success, or Error: the scheduler stops.
  Status go_on() const { return env_.gives_up() ? error_status("the scheduler stops") : Status(); }
  [[nodiscard]] std::shared_ptr<CycleContext> new_cycle() const;
  PreFilterOutcome run_pre_filter(CycleContext& cycle, const plimsoll_pod& pod);
  // All Filter plugins over the rows; each sees only rows that are still candidates. Error: the
  // attempt is to be given up (`running "X" filter plugin: ...`). May run on several threads for
  // different rows. Also for one node with simulated pods.
  Status run_filters(const CycleContext& cycle, const plimsoll_pod& pod, NodeRows rows,
                     FilterColumns out) const;
  // One Filter plugin over rows, all candidates; codes and reasons are overwritten.
  Status run_filter(PluginIndex plugin, const CycleContext& cycle, const plimsoll_pod& pod,
                    NodeRows rows, std::span<uint8_t> codes, std::span<uint32_t> reasons) const;
  // The verdict on one node as a Status: Success, the rejection with its plugin, or Error.
  Status run_filters_on(const CycleContext& cycle, const plimsoll_pod& pod,
                        const plimsoll_node_info& node) const;
  // What-ifs on a clone; plugins that PreFilter skipped are left out. Error:
  // `running AddPod on PreFilter plugin "X": ...`.
  Status run_add_pod(CycleContext& cycle, const plimsoll_pod& pod, const plimsoll_pod& added,
                     const plimsoll_node_info& node);
  Status run_remove_pod(CycleContext& cycle, const plimsoll_pod& pod, const plimsoll_pod& removed,
                        const plimsoll_node_info& node);
  PostFilterOutcome run_post_filters(CycleContext& cycle, const plimsoll_pod& pod, NodeRows rows,
                                     std::span<const uint8_t> codes);
  Status run_pre_score(CycleContext& cycle, const plimsoll_pod& pod, NodeRows feasible);
  // Score, NormalizeScore, range check, weights. With `parts` the shares of the plugins are kept.
  Status run_score(const CycleContext& cycle, const plimsoll_pod& pod, NodeRows feasible,
                   ScoreTable& out, bool parts = false) const;
  // One plugin's raw scores, and its normalize and range check in place; for scores kept in
  // columns. May run on several threads for different rows (run_raw_score only).
  Status run_raw_score(PluginIndex plugin, const CycleContext& cycle, const plimsoll_pod& pod,
                       NodeRows rows, std::span<int64_t> scores) const;
  Status run_normalize(PluginIndex plugin, const CycleContext& cycle, const plimsoll_pod& pod,
                       NodeRows rows, std::span<int64_t> scores) const;
  [[nodiscard]] bool has_normalize(PluginIndex plugin) const;
  // Its normalize looks at nothing but the score itself and the lowest and highest of all.
  [[nodiscard]] bool normalizes_by_extremes(PluginIndex plugin) const;
  // On failure the caller runs run_unreserve, which calls all Reserve plugins, last first.
  Status run_reserve(CycleContext& cycle, const plimsoll_pod& pod, const plimsoll_node_info& node);
  void run_unreserve(CycleContext& cycle, const plimsoll_pod& pod, std::string_view node_name);
  PermitOutcome run_permit(CycleContext& cycle, const plimsoll_pod& pod,
                           const plimsoll_node_info& node);
  // On the loop, before the binding leaves it: which PreBind plugins have work to do. Success: at
  // least one; Skip: none; Error.
  Status run_pre_bind_pre_flight(CycleContext& cycle, const plimsoll_pod& pod,
                                 std::string_view node_name);

  // ---- binding cycle. Any thread; `post` runs a function on a binder thread. `done` is called
  // exactly once, on whatever thread the last step ended. The Framework outlives every such run.
  using Post = std::function<void(std::function<void()>)>;
  using Done = std::function<void(Status)>;
  // PreBind plugins; neighbours that allow it run in parallel. After a failure no further one is
  // begun, and those under way are waited for; the same once the gate is cancelled, which ends in
  // an Error with the gate's text.
  void run_pre_binds(BindTarget target, Post post, Done done);
  // Bind plugins in order until one does not Skip; if all do, the status is Skip.
  void run_binds(BindTarget target, Post post, Done done);
  void run_post_bind(const BindTarget& target);

  // ---- events, told to every plugin that wants them
  void node_event(uint32_t type, const plimsoll_node_info& node, uint32_t aspects);
  void pod_event(uint32_t type, const plimsoll_pod& pod, std::string_view node_name);
  // The same about a pod that is assumed or forgotten, for plugins that count such pods.
  void assumed_pod_event(uint32_t type, const plimsoll_pod& pod);
  // To the plugins of this profile that watch the resource.
  void object_event(uint32_t type, std::string_view resource, std::string_view name,
                    std::string_view ns, std::string_view json);

  // What the plugin tells people about its verdict on this node; empty if nothing.
  [[nodiscard]] std::string explain(PluginIndex plugin, const CycleContext& cycle,
                                    const plimsoll_pod& pod, const plimsoll_node_info& node) const;

 private:
  Framework(std::string scheduler_name, Environment& env);

  struct Builder;
  struct BindRun;
  using Slots = std::vector<Slot>;

  // A call that tells plugins of a pod that a what-if adds or removes.
  struct Change {
    int32_t (*plimsoll_plugin::*slot)(void* self, plimsoll_cycle*, const plimsoll_pod* pod,
                                      const plimsoll_pod* changed, const plimsoll_node_info* node);
    metrics::Point point;
    const char* name;
  };

  void make_metrics();
  Status run_change(CycleContext& cycle, const plimsoll_pod& pod, const plimsoll_pod& changed,
                    const plimsoll_node_info& node, const Change& change);

  [[nodiscard]] PluginInstance& plugin(const Slot& slot) const { return *plugins_[slot.plugin]; }
  [[nodiscard]] Status named(Status status, PluginIndex plugin) const;
  [[nodiscard]] Status failure(PluginIndex plugin, int32_t code, std::string_view what) const;
  [[nodiscard]] Status rejection(PluginIndex plugin, int32_t code, uint32_t reason,
                                 std::string_view what) const;
  // The same; without a reason, the text that the plugin set, which may name anything, is its
  // reason.
  [[nodiscard]] Status worded_rejection(PluginIndex plugin, int32_t code, uint32_t reason,
                                        std::string_view what) const;
  [[nodiscard]] Status normalize(PluginIndex plugin, const CycleContext& cycle,
                                 const plimsoll_pod& pod, NodeRows rows,
                                 std::span<int64_t> scores) const;
  [[nodiscard]] Status check_range(PluginIndex plugin, NodeRows rows,
                                   std::span<const int64_t> scores) const;
  [[nodiscard]] static Status passed(const BindTarget& target);
  void next_pre_bind(std::shared_ptr<BindRun> run);
  void pre_bind_ended(const std::shared_ptr<BindRun>& run, PluginIndex plugin, int32_t code,
                      std::string text);
  void next_bind(std::shared_ptr<BindRun> run);
  [[nodiscard]] Status bind_status(PluginIndex plugin, int32_t code, std::string text,
                                   std::string_view point) const;

  std::string scheduler_name_;
  Environment& env_;
  std::vector<std::unique_ptr<PluginInstance>> plugins_;
  std::array<Slots, kExtensionPoints> points_;
  PluginMask deciding_;  // plugins of PreFilter, Filter, PreScore, Score
  std::vector<EventInterests> events_;
  std::unique_ptr<metrics::ProfileMetrics> metrics_;
};

}  // namespace plimsoll
