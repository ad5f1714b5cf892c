// ImageLocality: prefers nodes that already have the images of the pod, by their sizes.
#include <atomic>

#include "plugins/builtin/columns/image_index.hpp"
#include "plugins/builtin/plugins.hpp"

namespace plimsoll::builtin {
namespace {

using namespace sdk;

constexpr int64_t kMiB = 1024 * 1024;
constexpr int64_t kLeast = 23 * kMiB;  // less is not worth a point
constexpr int64_t kMostOfImage = 1000 * kMiB;

// visit(name) for each image that the pod uses; image volumes count too.
template <typename Visit>
void for_each_image(Pod pod, const Visit& visit) {
  for (const plimsoll_container& container : pod.init_containers()) visit(view(container.image));
  for (const plimsoll_container& container : pod.containers()) visit(view(container.image));
  for (const plimsoll_volume& volume : List<plimsoll_volume>(pod->volumes)) {
    if (view(volume.kind) == "image") visit(view(volume.target));
  }
}

// Since Kubernetes 1.37 image volumes are among them.
int64_t image_count(Pod pod) {
  int64_t count = 0;
  for_each_image(pod, [&](std::string_view) { ++count; });
  return count;
}

// A node's score depends on its images, on how many nodes have them, and on how many nodes there
// are. When the latter two change, the plugin touches all nodes that this concerns, but no node
// twice before a score was asked for: until then nobody can have kept a score of it. So a cluster
// whose nodes arrive one after the other costs no more than its size.
class ImageLocality {
 public:
  static constexpr const char* kName = "ImageLocality";
  static constexpr uint32_t score_aspects = PLIMSOLL_ASPECT_IMAGES;

  explicit ImageLocality(const Host& host) : host_(host) {}

  void node_event(NodeEvent type, Node node, uint32_t aspects) {
    if (type == NodeEvent::kChanged && (aspects & PLIMSOLL_ASPECT_IMAGES) == 0) return;
    const bool there = type != NodeEvent::kRemoved;
    const ImageIndex::Change change =
        index_.put(node.slot(), there, there ? node.object().images : plimsoll_list{});
    if (asked_.exchange(false, std::memory_order_relaxed)) ++round_;
    const auto touch = [this](uint32_t slot) { host_.touch_node(slot, PLIMSOLL_ASPECT_IMAGES); };
    if (all_told_ == round_) return;
    if (change.node_count) {
      all_told_ = round_;
      return index_.for_each_with_any(touch);
    }
    for (ImageIndex::Image* image : change.images) {
      if (std::exchange(image->told, round_) != round_) index_.for_each_with(*image, touch);
    }
  }

  Status score(const plimsoll_cycle&, Pod pod, Nodes nodes, std::span<int64_t> scores) const {
    asked_.store(true, std::memory_order_relaxed);
    std::vector<const ImageIndex::Image*> images;
    for_each_image(pod, [&](std::string_view name) {
      const ImageIndex::Image* image = index_.find(normalized_image_name(name));
      if (image != nullptr) images.push_back(image);
    });
    index_.sum(images, nodes, scores);
    const int64_t most = kMostOfImage * image_count(pod);
    for (int64_t& score : scores) {
      const int64_t sum = score < kLeast ? kLeast : std::min(score, most);
      score = 100 * (sum - kLeast) / (most - kLeast);
    }
    return Status::success();
  }

  Status sign(Pod pod, Sink& sink) {
    sink.put_value(image_count(pod));
    for_each_image(pod, [&](std::string_view name) { sink.put_field(name); });
    return Status::success();
  }

 private:
  Host host_;
  ImageIndex index_;
  mutable std::atomic<bool> asked_{false};  // for a score, since the last change
  uint64_t round_ = 1;                      // grows when a change comes after that
  uint64_t all_told_ = 0;                   // in this round all nodes with images were touched
};

}  // namespace

StaticModule image_locality() {
  return linked_in<ImageLocality>();
}

}  // namespace plimsoll::builtin
