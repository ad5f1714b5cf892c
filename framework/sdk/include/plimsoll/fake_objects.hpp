// Plimsoll plugin SDK, for unit tests: builders of pods and nodes.
//
//   FakePod pod("team-a/web-0");
//   pod.label("app", "web").request("cpu", 500);
//   FakeNode node("node-1", /*slot=*/0);
//   node.label("zone", "a").allocatable("cpu", 4000).add(pod);
//
// A builder owns what its struct points to. The result of get() is valid until the next change.
#pragma once

#include <plimsoll/views.hpp>

#include <array>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sdk {

// Assigns positions in resource vectors as a host does: the four fixed ones, then in order of first
// use. All tests of a program share them.
inline uint32_t fake_resource_index(std::string_view name) {
  static std::map<std::string, uint32_t, std::less<>> known = {
      {"cpu", PLIMSOLL_RESOURCE_CPU},
      {"memory", PLIMSOLL_RESOURCE_MEMORY},
      {"ephemeral-storage", PLIMSOLL_RESOURCE_EPHEMERAL_STORAGE},
      {"pods", PLIMSOLL_RESOURCE_PODS}};
  auto found = known.find(name);
  if (found != known.end()) return found->second;
  const auto next = static_cast<uint32_t>(known.size());
  known.emplace(name, next);
  return next;
}

namespace detail {

// Owns the texts and lists that structs point to.
class Storage {
 public:
  plimsoll_str text(std::string_view value) { return str(texts_.emplace_back(value)); }
  plimsoll_list labels(const std::map<std::string, std::string>& pairs) {
    std::vector<plimsoll_label>& list = labels_.emplace_back();
    for (const auto& [key, value] : pairs) list.push_back({text(key), text(value)});
    return list_of<plimsoll_label>(list);
  }
  plimsoll_list resources(const std::map<std::string, int64_t>& amounts) {
    std::vector<plimsoll_resource>& list = resources_.emplace_back();
    for (const auto& [name, value] : amounts) {
      list.push_back({text(name), value, fake_resource_index(name), 0});
    }
    return list_of<plimsoll_resource>(list);
  }
  void clear() {
    texts_.clear();
    labels_.clear();
    resources_.clear();
  }

 private:
  std::deque<std::string> texts_;
  std::deque<std::vector<plimsoll_label>> labels_;
  std::deque<std::vector<plimsoll_resource>> resources_;
};

}  // namespace detail

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
    container_ = {};
    container_.size = sizeof container_;
    container_.kind = PLIMSOLL_CONTAINER_APP;
    container_.name = storage_.text("main");
    container_.requests = pod_.requests;
    pod_.containers = {&container_, 1, sizeof container_};
    return pod_;
  }
  // NOLINTNEXTLINE: a FakePod converts to a Pod
  operator Pod() { return Pod(&get()); }

 private:
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
  detail::Storage storage_;
  plimsoll_container container_{};
  plimsoll_pod pod_{};
};

class FakeNode {
 public:
  explicit FakeNode(std::string_view name, uint32_t slot = 0) : name_(name), slot_(slot) {}
  FakeNode(const FakeNode&) = delete;
  FakeNode& operator=(const FakeNode&) = delete;

  FakeNode& label(std::string_view key, std::string_view value) {
    labels_[std::string(key)] = value;
    return *this;
  }
  FakeNode& annotation(std::string_view key, std::string_view value) {
    annotations_[std::string(key)] = value;
    return *this;
  }
  FakeNode& allocatable(std::string_view resource, int64_t amount) {
    allocatable_[std::string(resource)] = amount;
    return *this;
  }
  FakeNode& taint(std::string_view key, std::string_view value, uint32_t effect) {
    taints_.push_back({std::string(key), std::string(value), effect});
    return *this;
  }
  // Puts the pod on the node. The pod must outlive the node.
  FakeNode& add(FakePod& pod) {
    pods_.push_back(&pod);
    return *this;
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint32_t slot() const { return slot_; }

  [[nodiscard]] const plimsoll_node_info& get() {
    storage_.clear();
    fill_object();
    vectors_ = {};
    for (const auto& [name, amount] : allocatable_) at(0, name) = amount;
    pod_views_.clear();
    for (FakePod* pod : pods_) {
      pod_views_.push_back(&pod->get());
      for (const auto& [name, amount] : pod->requests()) at(1, name) += amount;
    }
    vectors_[0].resize(std::max(vectors_[0].size(), vectors_[1].size()));
    vectors_[1].resize(vectors_[0].size());
    info_ = {};
    info_.size = sizeof info_;
    info_.slot = slot_;
    info_.generation = ++generation_;
    info_.node = &node_;
    info_.pods = pod_views_.data();
    info_.pod_count = static_cast<uint32_t>(pod_views_.size());
    info_.resource_count = static_cast<uint32_t>(vectors_[0].size());
    info_.allocatable = vectors_[0].data();
    info_.requested = vectors_[1].data();
    return info_;
  }
  // NOLINTNEXTLINE: a FakeNode converts to a Node
  operator Node() { return Node(&get()); }

 private:
  struct Taint {
    std::string key, value;
    uint32_t effect;
  };

  void fill_object() {
    node_ = {};
    node_.size = sizeof node_;
    node_.meta.size = sizeof node_.meta;
    node_.meta.name = storage_.text(name_);
    node_.meta.uid = storage_.text("uid-" + name_);
    node_.meta.labels = storage_.labels(labels_);
    node_.meta.annotations = storage_.labels(annotations_);
    node_.allocatable = storage_.resources(allocatable_);
    node_.capacity = node_.allocatable;
    taint_views_.clear();
    for (const Taint& taint : taints_) {
      taint_views_.push_back(
          {storage_.text(taint.key), storage_.text(taint.value), taint.effect, 0});
    }
    node_.taints = list_of<plimsoll_taint>(taint_views_);
  }
  int64_t& at(size_t which, std::string_view resource) {
    const uint32_t index = fake_resource_index(resource);
    if (vectors_[which].size() <= index) vectors_[which].resize(index + 1);
    return vectors_[which][index];
  }

  std::string name_;
  uint32_t slot_;
  uint64_t generation_ = 0;
  std::map<std::string, std::string> labels_, annotations_;
  std::map<std::string, int64_t> allocatable_;
  std::vector<Taint> taints_;
  std::vector<FakePod*> pods_;
  detail::Storage storage_;
  std::vector<plimsoll_taint> taint_views_;
  std::vector<const plimsoll_pod*> pod_views_;
  std::array<std::vector<int64_t>, 2> vectors_;
  plimsoll_node node_{};
  plimsoll_node_info info_{};
};

}  // namespace plimsoll::sdk
