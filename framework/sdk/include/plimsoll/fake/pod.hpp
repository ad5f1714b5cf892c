// Plimsoll plugin SDK, for unit tests: a builder of pods; see <plimsoll/fake_objects.hpp>.
#pragma once

#include <plimsoll/fake/storage.hpp>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::sdk {

class FakePod {
 public:
  // `full_name`: "namespace/name". The UID is "uid-" followed by the name.
  explicit FakePod(std::string_view full_name) : full_name_(full_name) {}
  FakePod(const FakePod&) = delete;
  FakePod& operator=(const FakePod&) = delete;

  FakePod& label(std::string_view key, std::string_view value) {
    labels_[std::string(key)] = value;
    return *this;
  }
  FakePod& annotation(std::string_view key, std::string_view value) {
    annotations_[std::string(key)] = value;
    return *this;
  }
  // In base units: milli-units of "cpu", whole units of everything else. The pod has one container,
  // which requests everything.
  FakePod& request(std::string_view resource, int64_t amount) {
    requests_[std::string(resource)] = amount;
    return *this;
  }
  // Containers instead of that one, `kind` being PLIMSOLL_CONTAINER_...; what they come to for the
  // pod is still said with request().
  FakePod& container(std::string_view name, std::map<std::string, int64_t> requests,
                     uint32_t kind = PLIMSOLL_CONTAINER_APP) {
    containers_.push_back({std::string(name), std::move(requests), kind});
    return *this;
  }
  // A volume with this source: `kind` is the source's field name, `target` what identifies it.
  FakePod& volume(std::string_view kind, std::string_view target, bool read_only = false,
                  std::vector<std::string> details = {}) {
    volumes_.push_back({std::string(kind), std::string(target), std::move(details), read_only});
    return *this;
  }
  FakePod& priority(int32_t priority) {
    priority_ = priority;
    return *this;
  }
  FakePod& never_preempts() {
    preemption_policy_ = PLIMSOLL_PREEMPT_NEVER;
    return *this;
  }
  FakePod& started(int64_t start_ms) {
    start_ms_ = start_ms;
    return *this;
  }
  // Makes the pod terminating. `disruption_reason` is the reason of its condition DisruptionTarget,
  // if it has one.
  FakePod& terminating(std::string_view disruption_reason = {}) {
    deletion_ms_ = 1;
    disruption_reason_ = disruption_reason;
    return *this;
  }
  // Puts the pod into phase Failed with this status.reason.
  FakePod& failed(std::string_view reason) {
    status_reason_ = reason;
    return *this;
  }
  FakePod& nominated_to(std::string_view node_name) {
    nominated_node_name_ = node_name;
    return *this;
  }
  FakePod& on_node(std::string_view node_name) {
    node_name_ = node_name;
    return *this;
  }
  [[nodiscard]] const std::map<std::string, int64_t>& requests() const { return requests_; }

  [[nodiscard]] const plimsoll_pod& get() {
    storage_.clear();
    const std::string_view full = full_name_;
    const size_t slash = full.find('/');
    const std::string_view name = slash == full.npos ? full : full.substr(slash + 1);
    pod_ = {};
    pod_.size = sizeof pod_;
    pod_.priority = priority_;
    pod_.meta.size = sizeof pod_.meta;
    pod_.meta.name = storage_.text(name);
    pod_.meta.ns = storage_.text(slash == full.npos ? "default" : full.substr(0, slash));
    pod_.meta.uid = storage_.text("uid-" + std::string(name));
    pod_.meta.labels = storage_.labels(labels_);
    pod_.meta.annotations = storage_.labels(annotations_);
    pod_.meta.deletion_ms = deletion_ms_;
    pod_.node_name = storage_.text(node_name_);
    pod_.nominated_node_name = storage_.text(nominated_node_name_);
    pod_.scheduler_name = storage_.text("plimsoll");
    pod_.preemption_policy = preemption_policy_;
    pod_.start_ms = start_ms_;
    pod_.status_reason = storage_.text(status_reason_);
    if (!status_reason_.empty()) pod_.phase = PLIMSOLL_PHASE_FAILED;
    pod_.disruption_reason = storage_.text(disruption_reason_);
    pod_.requests = storage_.resources(requests_);
    pod_.used = pod_.requests;
    fill_volumes();
    fill_containers();
    return pod_;
  }
  // NOLINTNEXTLINE: a FakePod converts to a Pod
  operator Pod() { return Pod(&get()); }

 private:
  struct Volume {
    std::string kind, target;
    std::vector<std::string> details;
    bool read_only;
  };

  struct Container {
    std::string name;
    std::map<std::string, int64_t> requests;
    uint32_t kind;
  };

  void fill_containers() {
    app_views_.clear();
    init_views_.clear();
    const auto add = [this](std::string_view name, uint32_t kind, plimsoll_list requests) {
      plimsoll_container filled{};
      filled.size = sizeof filled;
      filled.kind = kind;
      filled.name = storage_.text(name);
      filled.requests = requests;
      (kind == PLIMSOLL_CONTAINER_APP ? app_views_ : init_views_).push_back(filled);
    };
    if (containers_.empty()) add("main", PLIMSOLL_CONTAINER_APP, pod_.requests);
    for (const Container& container : containers_)
      add(container.name, container.kind, storage_.resources(container.requests));
    pod_.containers = list_of<plimsoll_container>(app_views_);
    pod_.init_containers = list_of<plimsoll_container>(init_views_);
  }

  // The volumes are called "v0", "v1", ...
  void fill_volumes() {
    volume_views_.clear();
    details_.clear();
    for (const Volume& volume : volumes_) {
      std::vector<plimsoll_str>& details = details_.emplace_back();
      for (const std::string& detail : volume.details) details.push_back(storage_.text(detail));
      plimsoll_volume& filled = volume_views_.emplace_back();
      filled.size = sizeof filled;
      filled.name = storage_.text("v" + std::to_string(volume_views_.size() - 1));
      filled.kind = storage_.text(volume.kind);
      filled.target = storage_.text(volume.target);
      filled.read_only = volume.read_only ? 1 : 0;
      filled.details = list_of<plimsoll_str>(details);
    }
    pod_.volumes = list_of<plimsoll_volume>(volume_views_);
  }

  std::string full_name_;
  std::string node_name_;
  std::string nominated_node_name_;
  std::string disruption_reason_;
  std::string status_reason_;
  int64_t start_ms_ = 0;
  int64_t deletion_ms_ = 0;
  uint8_t preemption_policy_ = PLIMSOLL_PREEMPT_LOWER_PRIORITY;
  int32_t priority_ = 0;
  std::map<std::string, std::string> labels_, annotations_;
  std::map<std::string, int64_t> requests_;
  std::vector<Volume> volumes_;
  std::vector<plimsoll_volume> volume_views_;
  std::deque<std::vector<plimsoll_str>> details_;
  detail::Storage storage_;
  std::vector<Container> containers_;
  std::vector<plimsoll_container> app_views_, init_views_;
  plimsoll_pod pod_{};
};

}  // namespace plimsoll::sdk
