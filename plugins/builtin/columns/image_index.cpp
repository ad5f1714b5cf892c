#include "plugins/builtin/columns/image_index.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll::builtin {
namespace {

using namespace sdk;

constexpr size_t kLookUpBelow = 16;  // so many times more nodes than rows: each row is looked up
// No image is larger. Sums over all images of a pod stay far below what an integer holds.
constexpr int64_t kLargest = int64_t{1} << 48;

// The node's images by name; of two with one name the first counts.
std::vector<std::pair<std::string_view, int64_t>> names_of(List<plimsoll_image> images) {
  std::vector<std::pair<std::string_view, int64_t>> names;
  for (const plimsoll_image& image : images) {
    const int64_t bytes = std::clamp<int64_t>(image.bytes, 0, kLargest);
    for (const plimsoll_str& name : Strings(image.names)) names.emplace_back(view(name), bytes);
  }
  const auto by_name = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(names.begin(), names.end(), by_name);
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  names.erase(std::unique(names.begin(), names.end(), same), names.end());
  return names;
}

auto place_of(auto& nodes, uint32_t slot) {
  return std::lower_bound(nodes.begin(), nodes.end(), slot,
                          [](const auto& at, uint32_t wanted) { return at.slot < wanted; });
}

}  // namespace

std::string normalized_image_name(std::string_view name) {
  const size_t colon = name.rfind(':');
  const size_t slash = name.rfind('/');
  const bool tagged = colon != name.npos && (slash == name.npos || colon > slash);
  return std::string(name) + (tagged ? "" : ":latest");
}

ImageIndex::ImageIndex() = default;
ImageIndex::~ImageIndex() = default;

ImageIndex::Change ImageIndex::put(uint32_t slot, bool there, List<plimsoll_image> images) {
  if (slot >= nodes_.size()) nodes_.resize(slot + size_t{1});
  OnNode& node = nodes_[slot];
  Change change;
  change.node_count = node.there != there;
  if (change.node_count) node_count_ += there ? 1 : SIZE_MAX;
  node.there = there;
  std::vector<Image*> now;
  for (const auto& [name, bytes] : names_of(images)) {
    auto found = images_.find(name);
    if (found == images_.end()) {
      found = images_.emplace(name, std::make_unique<Image>()).first;
      found->second->name = name;
    }
    Image& image = *found->second;
    now.push_back(&image);
    const auto at = place_of(image.nodes, slot);
    if (at != image.nodes.end() && at->slot == slot) {
      at->bytes = bytes;
    } else {
      image.nodes.insert(at, {slot, bytes});
      change.images.push_back(&image);
    }
  }
  std::sort(now.begin(), now.end());
  for (Image* image : std::exchange(node.images, now)) {
    if (std::binary_search(now.begin(), now.end(), image)) continue;
    image->nodes.erase(place_of(image->nodes, slot));
    if (image->nodes.empty()) {
      images_.erase(images_.find(image->name));
    } else {
      change.images.push_back(image);
    }
  }
  return change;
}

const ImageIndex::Image* ImageIndex::find(std::string_view normalized_name) const {
  const auto found = images_.find(normalized_name);
  return found == images_.end() ? nullptr : found->second.get();
}

// Kubernetes: scaledImageScore. An image that few nodes have is worth little, so that not all pods
// that use it go to these.
int64_t ImageIndex::worth(const Image& image, int64_t bytes) const {
  const double spread = static_cast<double>(image.nodes.size()) /
                        static_cast<double>(std::max<size_t>(node_count_, 1));
  return static_cast<int64_t>(static_cast<double>(bytes) * spread);
}

void ImageIndex::sum(std::span<const Image* const> images, Nodes nodes,
                     std::span<int64_t> sums) const {
  if (nodes.columns() != nullptr && nodes.size() >= nodes_.size() / kLookUpBelow) {
    return sum_by_slot(images, nodes, sums);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    sums[i] = 0;
    const uint32_t slot = nodes[i].slot();
    for (const Image* image : images) {
      const auto at = place_of(image->nodes, slot);
      if (at != image->nodes.end() && at->slot == slot) sums[i] += worth(*image, at->bytes);
    }
  }
}

// All nodes at once: no search for any of them.
void ImageIndex::sum_by_slot(std::span<const Image* const> images, Nodes nodes,
                             std::span<int64_t> sums) const {
  thread_local std::vector<int64_t> by_slot;  // kept, so that a call allocates nothing
  by_slot.assign(nodes_.size(), 0);
  for (const Image* image : images) {
    for (const Image::At& at : image->nodes) by_slot[at.slot] += worth(*image, at.bytes);
  }
  const auto slots = nodes.slots();
  for (size_t i = 0; i < slots.size(); ++i) {
    sums[i] = slots[i] < by_slot.size() ? by_slot[slots[i]] : 0;
  }
}

}  // namespace plimsoll::builtin
