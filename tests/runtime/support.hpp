#pragma once
// A scheduler that remembers what was asked of it, and plugins whose every function is a lambda of
// the test.

#include <plimsoll/fake_objects.hpp>
#include <plimsoll/plugin.hpp>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/runtime/framework.hpp"

namespace plimsoll::testing {

class RecordingBackend final : public HostBackend {
 public:
  const plimsoll_node_info* node_by_name(std::string_view node_name) override;
  const plimsoll_node_info* node_by_slot(uint32_t slot) override;
  uint32_t slot_count() override { return static_cast<uint32_t>(nodes.size()); }
  void touch_node(uint32_t slot, uint32_t aspects) override { touched.emplace_back(slot, aspects); }
  Result<void> watch(const WantedKind& kind) override;
  void requeue_rejected(std::string_view plugin) override { requeued.emplace_back(plugin); }
  void emit_event(std::string_view scheduler_name, const plimsoll_pod& pod, bool warning,
                  std::string_view reason, std::string_view action, std::string_view note) override;
  void allow_waiting(std::string_view plugin, std::string_view pod_uid) override;
  void reject_waiting(std::string_view plugin, std::string_view pod_uid,
                      std::string_view message) override;
  void post_binding(BindingPost post, std::function<void(Result<void>)> done) override;
  int64_t now_ms() override { return 1234; }
  const plimsoll_pod* pod_by_uid(std::string_view uid) override;
  std::vector<WaitingPod> waiting_pods() override { return waiting_on_permit; }
  std::unique_ptr<plimsoll_what_if> what_if(const plimsoll_cycle& cycle, const plimsoll_pod& pod,
                                            uint32_t slot) override {
    return on_what_if ? on_what_if(cycle, pod, slot) : nullptr;
  }
  void nominate(const plimsoll_pod& pod, std::string_view node_name) override {
    nominations.emplace_back(std::string(view(pod.meta.name)) + " -> " + std::string(node_name));
  }
  std::vector<const plimsoll_pod*> nominated_pods(std::string_view) override { return nominated; }
  bool cancel_binding(std::string_view pod_uid, std::string_view message) override {
    waiting.push_back("cancel " + std::string(pod_uid) + ": " + std::string(message));
    return pod_uid == "uid-binding";
  }
  void activate(std::string_view pod_uid) override { activated.emplace_back(pod_uid); }
  void run_on_loop(int64_t delay_ms, std::function<void()> task) override {
    tasks.emplace_back(delay_ms, std::move(task));
  }
  void api_request(PluginRequest request, ApiAnswer done) override {
    requests.push_back(std::move(request));
    done(200, "{}");
  }

  std::vector<sdk::FakeNode*> nodes;
  std::vector<std::pair<uint32_t, uint32_t>> touched;
  std::vector<std::string> watched, requeued, events, waiting;
  std::vector<BindingPost> posts;
  std::vector<const plimsoll_pod*> pods;  // found by UID
  std::vector<WaitingPod> waiting_on_permit;
  std::vector<std::string> activated;
  std::vector<std::string> nominations;        // "pod -> node"
  std::vector<const plimsoll_pod*> nominated;  // to every node
  std::function<std::unique_ptr<plimsoll_what_if>(const plimsoll_cycle&, const plimsoll_pod&,
                                                  uint32_t)>
      on_what_if;                                                  // empty: there is no such node
  std::vector<std::pair<int64_t, std::function<void()>>> tasks;    // delay and what to run
  std::vector<PluginRequest> requests;                             // answered with 200
  std::function<void(std::function<void(Result<void>)>)> on_post;  // empty: succeeds at once
};

// What the plugins "A" to "H" do; a function that is not set succeeds.
struct Script {
  using Cycle = plimsoll_cycle;
  std::function<void(const sdk::Host&, std::string_view args)> create;
  std::function<sdk::Status(const sdk::Host&, sdk::Pod)> pre_enqueue;
  std::function<sdk::Status(const sdk::Host&, Cycle&, sdk::NodeNames&)> pre_filter;
  std::function<sdk::Status(const sdk::Host&, Cycle&, std::string_view added)> add_pod, remove_pod;
  std::function<sdk::Status(const sdk::Host&, const Cycle&, sdk::Node)> filter_node;
  std::function<sdk::Status(const sdk::Host&, std::span<const uint8_t>, sdk::Nomination&)>
      post_filter;
  std::function<sdk::Status(const sdk::Host&)> pre_score;
  std::function<int64_t(const sdk::Host&, sdk::Node)> score_node;
  std::function<sdk::Status(const sdk::Host&, std::span<int64_t>)> normalize;
  std::function<sdk::Status(const sdk::Host&, Cycle&)> reserve;
  std::function<void(const sdk::Host&, std::string_view)> unreserve;
  std::function<sdk::Status(const sdk::Host&, int64_t&)> permit;
  std::function<sdk::Status(const sdk::Host&, bool&)> pre_flight;
  std::function<sdk::Status(const sdk::Host&, Cycle&, sdk::Token)> pre_bind;
  std::function<sdk::Status(const sdk::Host&, Cycle&, sdk::Pod, std::string_view, sdk::Token)> bind;
  std::function<sdk::Status(const sdk::Host&, sdk::Pod, sdk::Sink&)> sign;
  std::function<void(const sdk::Host&)> start;
};

// The scripts by plugin name, and the calls that were made, as "A.filter n1".
std::map<std::string, Script, std::less<>>& scripts();
std::vector<std::string>& calls();

// The scripted plugins "A" to "H" (all points), "Sort" (QueueSort only), "Binder" (Bind only),
// "Idle" (nothing).
[[nodiscard]] std::vector<StaticModule> scripted_modules();

// A profile with QueueSort "Sort" and Bind "Binder", and the given plugins at every other point
// that is named.
[[nodiscard]] ProfileSpec minimal_profile();

class World {
 public:
  World();
  // The framework of a profile; the test fails if it cannot be made.
  Framework& make(const ProfileSpec& spec);
  // The errors of a profile that cannot be made.
  std::vector<std::string> errors_of(const ProfileSpec& spec);
  [[nodiscard]] std::string message(const Status& status) const {
    return status.message(env.reasons);
  }

  SymbolTable symbols;
  RecordingBackend backend;
  Environment env{symbols, backend};
  Modules modules;
  std::vector<std::unique_ptr<Framework>> frameworks;
};

}  // namespace plimsoll::testing
