#pragma once
// A cluster of a case about VolumeBinding, with an API server that answers its writes, and time.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/volume_scene.hpp"

namespace plimsoll::conformance {

class BindingScene {
 public:
  explicit BindingScene(const Json& test_case);

  [[nodiscard]] VolumeScene& scene() { return scene_; }

  // An informer's event, {type, kind, object}, at once.
  void show(const Json& event);
  // The same at that time.
  void show_at(int64_t ms, Json event);

  // A write to the API server.
  struct Write {
    std::string resource;
    std::string ns;
    std::string name;
    std::string resource_version;  // sent
    Json object;                   // as it would be stored
    bool changes = false;
    std::string error;
  };
  // Of writes with an "error", by resource and name, that is the answer. All others are stored;
  // each that changes something gets a new version, from 1001 on.
  void refuse(const Json& writes) { refused_ = writes; }
  [[nodiscard]] std::vector<Write>& writes() { return writes_; }
  // Called when a write was answered well.
  std::function<void(const Write&)> written;

  // PreBind of the attempt of the scene, which is reserved on the node. Runs until nothing is left
  // to do now; run_until() goes on. `status` is set at the end.
  struct Run {
    Status status;
    bool ended = false;
    int64_t ended_at_ms = 0;
  };
  std::shared_ptr<Run> pre_bind(PodRef pod, const std::string& node,
                                std::shared_ptr<CycleContext> cycle);
  // Until the run has ended and the time has come, or the time of the second is up.
  void run_until(const Run& run, int64_t at_least_ms, int64_t at_most_ms);
  [[nodiscard]] int64_t now_ms() const { return now_ms_; }

 private:
  void request(const PluginRequest& request, const HostBackend::ApiAnswer& done);
  void run_due();

  VolumeScene scene_;
  std::map<std::string, Json> stored_;  // by path
  Json refused_;
  std::vector<Write> writes_;
  int next_version_ = 1000;
  int64_t now_ms_ = 0;
  std::multimap<int64_t, std::function<void()>> tasks_;  // of the loop
  std::multimap<int64_t, Json> events_;                  // before tasks of the same time
  bool pod_is_gone_ = false;
  PodRef bound_pod_;
};

}  // namespace plimsoll::conformance
