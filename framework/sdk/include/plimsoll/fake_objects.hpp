// Plimsoll plugin SDK, for unit tests: builders of pods and nodes.
//
//   FakePod pod("team-a/web-0");
//   pod.label("app", "web").request("cpu", 500);
//   FakeNode node("node-1", /*slot=*/0);
//   node.label("zone", "a").allocatable("cpu", 4000).add(pod);
//
// A builder owns what its struct points to. The result of get() is valid until the next change.
#pragma once

#include <plimsoll/fake/pod.hpp>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::sdk {

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
  FakeNode& remove(const FakePod& pod) {
    std::erase(pods_, &pod);
    return *this;
  }
  [[nodiscard]] const std::vector<FakePod*>& pods() const { return pods_; }
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
