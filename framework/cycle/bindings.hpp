#pragma once
// Pods from Permit to the answer to their Binding: those that wait on Permit (permit_wait.cpp), and
// those of which PreBind, Bind or PostBind is under way (binding_cycle.cpp).
//
// On the loop, but for what runs on binder threads.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "framework/base/flat_map.hpp"
#include "framework/cycle/binder_pool.hpp"
#include "framework/cycle/loop_state.hpp"
#include "framework/runtime/plugin/host_backend.hpp"

namespace plimsoll {

class Bindings {
 public:
  // A pod of a group keeps its place if its binding fails, but not more often than this in a row.
  static constexpr uint32_t kMostFailuresInPlace = 5;

  explicit Bindings(LoopState& state);  // must outlive this
  ~Bindings();
  Bindings(const Bindings&) = delete;
  Bindings& operator=(const Bindings&) = delete;

  // A pod that is assumed and reserved, and that Permit did not reject.
  void begin(std::unique_ptr<Attempt> begun);
  [[nodiscard]] Attempt* find(std::string_view uid) const;          // null: not under way
  [[nodiscard]] size_t waiting() const { return waiting_.size(); }  // on Permit
  // Past Permit, and not bound yet.
  [[nodiscard]] size_t unbound() const { return attempts_.size() - waiting_.size(); }
  [[nodiscard]] bool any_under_way() const;  // that left the loop
  [[nodiscard]] std::vector<WaitingPod> waiting_pods() const;

  // What Permit plugins say later. `plugin` may be empty: the pod itself is gone.
  void allow(const std::string& uid, const std::string& plugin);
  void reject(const std::string& uid, const std::string& plugin, const std::string& message);
  // The pod gives its place back at once, even if its PreBind is still under way. False: there is
  // no such binding, or it has gone too far.
  [[nodiscard]] bool cancel(std::string_view pod_uid, std::string_view message);
  [[nodiscard]] bool is_cancelled(std::string_view pod_uid) const;
  // The scheduler stops.
  void drop_waiting();

  // Jobs for binder threads gather until they are handed over.
  [[nodiscard]] bool has_jobs() const { return !for_binders_.empty(); }
  void hand_over();
  // Ends the binder threads; what was submitted runs to its end. Idempotent.
  void stop_binders() { binders_.stop(); }
  // Forgets all; after stop_binders().
  void clear() { attempts_.clear(); }

 private:
  // Of a plugin, about a pod whose group is being tried and which does not wait yet.
  void defer_answer(const std::string& uid, std::function<void()> answer);
  void begin_wait(Attempt& attempt);
  void expire(const std::string& uid, const std::string& plugin);
  void end_wait(Attempt& attempt);

  void write_nomination(Attempt& attempt);
  void proceed(Attempt& attempt);
  void bind(Attempt& attempt);
  void run_binds(Attempt& attempt);  // any thread, as the next three
  void bind_ended(Attempt& attempt, Status status);
  void run_post_bind(Attempt& attempt);
  void post_end(Attempt& attempt, Status status);
  void binding_ended(Attempt& attempt, Status status);
  [[nodiscard]] Nominating nomination_after(const Attempt& attempt, const Status& status) const;
  void binding_failed(const std::string& uid, const Status& status,
                      std::optional<Diagnosis> diagnosis = {});

  LoopState& state_;
  FlatStringMap<std::unique_ptr<Attempt>> attempts_;  // by UID
  std::unordered_set<std::string> waiting_;           // of these, UIDs that wait on Permit
  std::vector<std::function<void()>> for_binders_;    // see hand_over()
  const Framework::Post on_binder_;                   // any thread
  BinderPool binders_;                                // stops before the rest goes
};

}  // namespace plimsoll
