#pragma once
// Replaces the API server, in memory: stores pods and nodes, accepts the scheduler's writes, and
// reports every change as a watch would. Every write that an API server would accept succeeds at
// once. It records what the scheduler must never do: bind a pod twice, to a node without room for
// it, or to a node that the pod does not allow.
//
// It runs on its own thread, so that the cost of an API server and an informer is not charged to
// the scheduler loop.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "framework/api/objects.hpp"
#include "framework/api/symbols.hpp"
#include "framework/port/api_writer.hpp"
#include "framework/port/inbox.hpp"

namespace plimsoll::bench {

// A pod to create. The caller chooses `group`, for counts.
struct NewPod {
  PodRef pod;
  std::string json;
  size_t group = 0;
};

class MemoryApi final : public ApiWriter {
 public:
  struct Counts {
    size_t bound = 0;
    size_t deleted = 0;  // pods
    size_t patched = 0;
    size_t events = 0;
    std::vector<size_t> bound_by_group;  // still bound, or deleted since
    std::chrono::steady_clock::time_point last_bound;
    bool operator==(const Counts&) const = default;
  };

  explicit MemoryApi(SymbolTable& symbols);
  ~MemoryApi() override;  // stop()
  MemoryApi(const MemoryApi&) = delete;
  MemoryApi& operator=(const MemoryApi&) = delete;

  // Starts the thread, which reports changes to `inbox`. `inbox` must outlive stop(). Call once.
  void start(Inbox& inbox);
  void stop();  // finishes all submitted work first; idempotent

  // Runs `work` on the API's thread, after all work that was submitted before. Any thread.
  void submit(std::function<void()> work);
  // Called on the API's thread after each binding. Before start().
  void on_bound(std::function<void()> callback) { bound_ = std::move(callback); }

  // ---- on the API's thread (submit)
  void create_node(NodeRef node);
  void delete_node(const std::string& name);
  void create_pod(NewPod pod);
  void create_object(const RawRef& object);  // of another kind; ResourceClaims can be patched
  // Without a grace period. False if there is no such pod.
  bool delete_pod(const std::string& ns, const std::string& name);
  // "namespace/name" of the pods of a group, in the order of creation, including deleted pods.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& pods_of(size_t group);

  // ---- any thread
  [[nodiscard]] Counts counts() const;
  // What the scheduler must never do but did: a sentence for each, at most twenty.
  [[nodiscard]] std::vector<std::string> wrongs() const;
  // The last FailedScheduling event's text.
  [[nodiscard]] std::string last_refusal() const;

  // ---- ApiWriter
  void bind(BindRequest request, Done done) override;
  void record_event(EventRecord event) override;
  void patch_condition(ConditionPatch patch, Done done) override;
  void request(ApiRequest request, Answered done) override;

 private:
  struct Pod {
    PodRef pod;
    std::string json;  // as created, and as patched since; without spec.nodeName
    std::string node;  // empty: not bound
    size_t group = 0;
  };
  struct Node {
    NodeRef node;
    std::vector<int64_t> used;  // by resource index
    int64_t pods = 0;
  };

  void run();
  Result<void> bind_now(const BindRequest& request);
  Result<void> patch_now(Pod& entry, const std::string& status_patch);
  void answer_request(const ApiRequest& request, const Answered& done);
  void answer_claim_request(const ApiRequest& request, const Answered& done);
  void check_place(const Pod& entry, const Node& node);
  void account(const Pod& entry, int64_t sign);
  void wrong(std::string what);
  template <typename Change>
  void count(const Change& change);

  SymbolTable& symbols_;
  Inbox* inbox_ = nullptr;
  std::function<void()> bound_;

  // The API's thread only.
  std::unordered_map<std::string, Pod> pods_;  // by "namespace/name"
  std::unordered_map<std::string, Node> nodes_;
  std::unordered_map<std::string, std::string> claims_;  // by "namespace/name": JSON
  std::map<size_t, std::vector<std::pair<std::string, std::string>>> groups_;
  uint64_t version_ = 1;

  mutable std::mutex state_mutex_;
  // state_mutex_ guards counts_, wrongs_ and last_refusal_.
  Counts counts_;
  std::vector<std::string> wrongs_;
  std::string last_refusal_;

  std::mutex mutex_;
  std::condition_variable wake_;
  // mutex_ guards work_, idle_ and stopping_.
  std::vector<std::function<void()>> work_;
  bool idle_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::bench
