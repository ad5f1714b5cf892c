// Plimsoll plugin SDK, a part of Host: waiting pods, binding, and what happens later.
#pragma once

#include <plimsoll/host_calls.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

class HostBinding : public HostCalls {
 public:
  using HostCalls::HostCalls;

  // The pods that wait on Permit. Loop only; valid until the plugin returns or a wait ends.
  struct WaitingPod {
    Pod pod;
    std::string node_name;
    std::vector<std::string> pending_plugins;  // plugins that have not allowed the pod yet
  };
  [[nodiscard]] std::vector<WaitingPod> waiting_pods() const {
    std::vector<WaitingPod> pods;
    for (const auto& row : List<plimsoll_waiting_pod>(call(&plimsoll_host::waiting_pods))) {
      WaitingPod& pod = pods.emplace_back();
      pod.pod = Pod(row.pod);
      pod.node_name = view(row.node_name);
      for (const plimsoll_str& name : Strings(row.pending_plugins)) {
        pod.pending_plugins.emplace_back(view(name));
      }
    }
    return pods;
  }
  void allow_waiting(std::string_view pod_uid) const {
    call(&plimsoll_host::allow_waiting, pod_uid);
  }
  void reject_waiting(std::string_view pod_uid, std::string_view message) const {
    call(&plimsoll_host::reject_waiting, pod_uid, message);
  }
  // Cancels a binding that has not reached Bind yet. False if it is too late or the pod is not
  // being bound. Loop only.
  bool cancel_binding(std::string_view pod_uid, std::string_view message) const {
    return call(&plimsoll_host::cancel_binding, pod_uid, message) != 0;
  }
  // Whether the pod's binding is cancelled: a pre_bind that waits should end, with any code. False
  // on a host older than 1.4. Loop only.
  [[nodiscard]] bool binding_cancelled(std::string_view pod_uid) const {
    return call(&plimsoll_host::binding_cancelled, pod_uid) != 0;
  }
  // In reserve: the pod occupies these amounts on its node as well (KEP-5517), instead of those
  // that its status names. False on a host older than 1.4, or if the pod is not assumed.
  bool add_amounts(std::string_view pod_uid,
                   const std::vector<plimsoll_claim_amount>& amounts) const {
    const plimsoll_list list{amounts.data(), static_cast<uint32_t>(amounts.size()),
                             sizeof(plimsoll_claim_amount)};
    return call(&plimsoll_host::add_amounts, pod_uid, list) != 0;
  }
  // Moves a waiting pod to the active queue and ignores its backoff.
  void activate(std::string_view pod_uid) const { call(&plimsoll_host::activate, pod_uid); }

  void complete(Token token, int32_t code, std::string_view message = {}) const {
    call(&plimsoll_host::complete, token.raw, code, message);
  }
  // Posts the Binding. Return its status from bind; with wait(), the host completes the token.
  Status post_binding(plimsoll_cycle& cycle, Pod pod, std::string_view node_name,
                      Token token) const {
    return {call(&plimsoll_host::post_binding, &cycle, pod, node_name, token.raw), 0};
  }

  // Runs `task` (any callable without arguments) on the loop after at least `delay_ms`. If the
  // scheduler stops earlier, `task` is destroyed and does not run. An exception is logged.
  template <typename Task>
  void run_on_loop(int64_t delay_ms, Task&& task) const {
    using Kept = Later<std::decay_t<Task>>;
    require(&plimsoll_host::run_on_loop, "run_on_loop");
    const auto run = [](void* user, uint32_t cancelled) {
      const std::unique_ptr<Kept> later(static_cast<Kept*>(user));
      if (cancelled != 0) return;
      detail::logged(HostCalls(later->table), "run_on_loop", [&] { later->call(); });
    };
    call(&plimsoll_host::run_on_loop, delay_ms, +run, kept<Kept>(std::forward<Task>(task)));
  }
  // Sends a request to the API server with the scheduler's credential. It is retried according to
  // the class of error. `answered(int status, std::string_view body)` is called once, on any
  // thread, and must not block. It gets the HTTP status and the body, or 0 and the reason why there
  // is no answer.
  struct ApiRequest {
    std::string method;
    std::string path;          // "/api/v1/namespaces/a/pods/b", percent-encoded
    std::string content_type;  // of the body; empty: application/json
    std::string body;
  };
  template <typename Answered>
  void api_request(const ApiRequest& request, Answered&& answered) const {
    using Kept = Later<std::decay_t<Answered>>;
    require(&plimsoll_host::api_request, "api_request");
    const plimsoll_api_request raw{
        sizeof raw,       0, str(request.method), str(request.path), str(request.content_type),
        str(request.body)};
    const auto answer = [](void* user, int32_t status, plimsoll_str body) {
      const std::unique_ptr<Kept> later(static_cast<Kept*>(user));
      detail::logged(HostCalls(later->table), "api_request",
                     [&] { later->call(static_cast<int>(status), view(body)); });
    };
    call(&plimsoll_host::api_request, &raw, +answer, kept<Kept>(std::forward<Answered>(answered)));
  }

 private:
  // A callable on its way through the host. The host calls back exactly once, which frees it.
  template <typename Call>
  struct Later {
    const plimsoll_host* table;
    Call call;
  };
  template <typename Kept, typename Call>
  void* kept(Call&& call) const {
    return new Kept{&table(), std::forward<Call>(call)};
  }
};

}  // namespace plimsoll::sdk
