#pragma once
// The scheduler's side of the host functions; the runtime passes the calls of plugins on to it
// (host_table.cpp). The scheduler implements all of it (cycle/host.hpp), others what they need: a
// function that is not implemented finds nothing, does nothing, or says that there is no API
// server. `plugin` is the name of the calling plugin, `scheduler_name` its profile.

#include <plimsoll/plugin_abi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/result.hpp"
#include "framework/runtime/plugin/what_if.hpp"

namespace plimsoll {

// A kind that plugins watch.
struct WantedKind {
  std::string group;
  std::string version;
  std::string plural;
  // "<plural>.<version>.<group>", as in messages and events; of the core group only the plural.
  [[nodiscard]] std::string resource() const {
    return group.empty() ? plural : plural + "." + version + "." + group;
  }
  // Whether plugins may watch it.
  [[nodiscard]] Result<void> check() const {
    if (!group.empty()) return {};
    if (plural == "pods" || plural == "nodes") {
      return fail(ErrorCode::kInvalid,
                  "watch " + plural + ": plugins hear of them through pod_event and node_event");
    }
    if (version == "v1") return {};
    return fail(
        ErrorCode::kInvalid,
        "watch " + plural + ": the version of the core group is v1, not " + "\"" + version + "\"");
  }
};

// The Binding that a Bind plugin wants posted.
struct BindingPost {
  std::string ns;
  std::string name;
  std::string uid;
  std::string node;
  std::vector<std::pair<std::string, std::string>> annotations;
  std::string resource_version = {};  // the last known one of the pod
};

// A pod that waits on Permit, like plimsoll_waiting_pod.
struct WaitingPod {
  const plimsoll_pod* pod = nullptr;
  std::string node;
  std::vector<std::string> pending_plugins;
};

// A request of a plugin to the API server, like plimsoll_api_request.
struct PluginRequest {
  std::string method;
  std::string path;
  std::string content_type;
  std::string body;
};

class HostBackend {
 public:
  virtual ~HostBackend() = default;

  // ---- loop only. Pointers are valid until the loop changes the node.
  [[nodiscard]] virtual const plimsoll_node_info* node_by_name(std::string_view) { return nullptr; }
  [[nodiscard]] virtual const plimsoll_node_info* node_by_slot(uint32_t) { return nullptr; }
  [[nodiscard]] virtual uint32_t slot_count() { return 0; }
  virtual void touch_node(uint32_t /*slot*/, uint32_t /*aspects*/) {}
  // A second call for a kind does nothing. Every plugin that watches the kind gets its objects.
  virtual Result<void> watch(const WantedKind&) { return {}; }
  virtual void requeue_rejected(std::string_view /*plugin*/) {}
  virtual void emit_event(std::string_view /*scheduler_name*/, const plimsoll_pod&,
                          bool /*warning*/, std::string_view /*reason*/,
                          std::string_view /*action*/, std::string_view /*note*/) {}
  [[nodiscard]] virtual const plimsoll_pod* pod_by_uid(std::string_view) { return nullptr; }
  [[nodiscard]] virtual std::vector<WaitingPod> waiting_pods() { return {}; }
  // A copy of the node of this slot and a clone of the cycle, for the pod; null: no such node.
  [[nodiscard]] virtual std::unique_ptr<WhatIf> what_if(const plimsoll_cycle&, const plimsoll_pod&,
                                                        uint32_t /*slot*/) {
    return nullptr;
  }
  // In memory only. An empty node name removes the nomination. Pods that are not pending are
  // ignored.
  virtual void nominate(const plimsoll_pod&, std::string_view /*node_name*/) {}
  [[nodiscard]] virtual std::vector<const plimsoll_pod*> nominated_pods(
      std::string_view /*node_name*/) {
    return {};
  }
  // Cancels a binding that has not reached Bind: it ends with an Error that has this text. False if
  // it is too late or the pod is not being bound.
  virtual bool cancel_binding(std::string_view /*pod_uid*/, std::string_view /*message*/) {
    return false;
  }
  // The assumed pod occupies these amounts too (plimsoll_claim_amount). False: it is not assumed.
  virtual bool add_amounts(std::string_view /*pod_uid*/, plimsoll_list /*amounts*/) {
    return false;
  }
  // Whether it was cancelled, by that or by the deletion of the pod.
  [[nodiscard]] virtual bool binding_cancelled(std::string_view /*pod_uid*/) { return false; }

  // ---- any thread
  virtual void allow_waiting(std::string_view /*plugin*/, std::string_view /*pod_uid*/) {}
  virtual void reject_waiting(std::string_view /*plugin*/, std::string_view /*pod_uid*/,
                              std::string_view /*message*/) {}
  // Calls `done` exactly once, on any thread, perhaps before this returns.
  virtual void post_binding(BindingPost, std::function<void(Result<void>)> done) {
    done(fail(ErrorCode::kUnavailable, kNoApiServer));
  }
  [[nodiscard]] virtual int64_t now_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
  virtual void activate(std::string_view /*pod_uid*/) {}
  // Runs the task on the loop after at least `delay_ms`. If the scheduler stops earlier, the task
  // is destroyed and does not run.
  virtual void run_on_loop(int64_t /*delay_ms*/, std::function<void()> /*task*/) {}
  // Calls `done` exactly once, on any thread, with the HTTP status and the body, or with 0 and the
  // reason why there is no answer.
  using ApiAnswer = std::function<void(int status, std::string_view body)>;
  virtual void api_request(PluginRequest, ApiAnswer done) { done(0, kNoApiServer); }

 protected:
  static constexpr const char* kNoApiServer = "there is no API server here";
};

}  // namespace plimsoll
