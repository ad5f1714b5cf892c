#pragma once
// A small cluster for tests of groups: the scheduler loop with the builtin plugins and NodeDevice
// from its .so, nodes with GPUs, and an API server in memory. Time stands still unless it is moved.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "framework/api/symbols.hpp"
#include "framework/cycle/scheduler.hpp"
#include "framework/metrics/registry.hpp"
#include "framework/port/api_writer.hpp"

namespace plimsoll::devices::test {

class GroupCluster final : private ApiWriter {
 public:
  struct PodSpec {
    std::string name = {};
    std::string group = {};  // empty: none
    int gpus = 1;
    std::string cpu = "1";
    int priority = 0;
    std::string zone = {};                           // of nodes that it may run on; empty: all
    std::map<std::string, std::string> labels = {};  // further ones
    std::map<std::string, std::string> annotations = {};
  };

  GroupCluster();
  ~GroupCluster() override;

  // Eight GPUs at most: four in each NUMA zone, two at each PCIe id.
  void add_node(const std::string& name, int gpus, const std::string& cpu = "64",
                const std::string& zone = "");
  void add_pod(const PodSpec& spec);
  void delete_pod(const std::string& name);
  void add_pod_group(const std::string& name, int min_member);
  void delete_pod_group(const std::string& name);
  void unserve_pod_groups() { served_ = false; }
  // Bindings fail from now on, with an answer that is final; or not any more.
  void fail_bindings(bool fail) { fails_bindings_ = fail; }
  // How many were asked for, whatever came of them.
  [[nodiscard]] int bindings_tried() const { return bindings_tried_; }

  // Pods that are deleted through the API stay, terminating.
  void hang_deletions() { deletions_hang_ = true; }

  // Runs a task in a turn of the loop, and waits for it. What it tells is heard in one later turn.
  void on_loop(const std::function<void()>& task);
  // Waits until the loop has handled everything and nothing is being bound. False: not within 60 s.
  [[nodiscard]] bool settle();
  // Lets time pass, in steps of a second, and settles after each.
  [[nodiscard]] bool pass(int seconds);
  // What a restart leaves: a new scheduler that is told what the API server has.
  void restart();

  // "node", or "" for a pod without one.
  [[nodiscard]] std::string node_of(const std::string& pod) const;
  [[nodiscard]] bool exists(const std::string& pod) const;
  [[nodiscard]] int bound(const std::string& group) const;
  // The GPUs of its device-allocated annotation.
  [[nodiscard]] std::set<int> minors(const std::string& pod) const;
  // The message of its condition PodScheduled, and every event's note.
  [[nodiscard]] std::string message(const std::string& pod) const;
  [[nodiscard]] bool has_event(const std::string& pod, const std::string& part) const;
  [[nodiscard]] size_t waiting() const { return scheduler_->stats().waiting_on_permit; }
  [[nodiscard]] size_t events() const;
  // How often a plan was made for a whole group: all nodes looked at for all of its members.
  [[nodiscard]] int plans() const;
  [[nodiscard]] std::vector<std::string> deletions() const;  // that the scheduler asked for
  // What is given twice, or is not there: empty if nothing is.
  [[nodiscard]] std::string given_twice() const;
  [[nodiscard]] std::string describe() const;
  // Why its group is not tried; empty: it may be.
  [[nodiscard]] std::string held_back(const std::string& pod);

 private:
  using Json = nlohmann::json;
  void start();
  void stop();
  void tell(const std::string& resource, const Json& object, bool deleted = false);
  void save(Json pod);
  void erase(const std::string& name);

  void bind(BindRequest request, Done done) override;
  void record_event(EventRecord event) override;
  void patch_condition(ConditionPatch patch, Done done) override;
  void request(ApiRequest request, Answered done) override;

  std::atomic<int64_t> now_ms_{1'800'000'000'000};
  std::atomic<bool> served_{true};
  std::atomic<bool> fails_bindings_{false};
  std::atomic<bool> deletions_hang_{false};
  std::atomic<int> bindings_tried_{0};
  SymbolTable symbols_;
  mutable std::mutex mutex_;  // guards what follows, up to the scheduler
  std::map<std::string, Json> nodes_, devices_, pods_, groups_;
  std::vector<std::pair<std::string, std::string>> events_;  // pod, note
  std::vector<std::string> deletions_;
  std::set<std::string> wanted_;
  int version_ = 0;
  metrics::Registry metrics_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread loop_;
};

}  // namespace plimsoll::devices::test
