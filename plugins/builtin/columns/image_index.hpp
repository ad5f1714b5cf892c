#pragma once
// Which images are on which nodes, and what they are worth to a pod (ImageLocality). Kept from node
// events; the memory of what a node names goes with the node.
//
// Loop only, but for sum(), which may run on several threads at once between changes.

#include <plimsoll/plugin.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/string_map.hpp"

namespace plimsoll::builtin {

// The name as nodes report it: with the tag "latest" if it has neither tag nor digest.
[[nodiscard]] std::string normalized_image_name(std::string_view name);

class ImageIndex {
 public:
  struct Image;
  // What changed for nodes other than the one whose images were put.
  struct Change {
    bool node_count = false;
    std::vector<Image*> images;  // on another number of nodes now; valid until the next put()
  };

  ImageIndex();
  ~ImageIndex();

  // What is on the node of this slot now. `there`: there is such a node.
  Change put(uint32_t slot, bool there, sdk::List<plimsoll_image> images);

  // visit(slot) for each node that has the image, or any.
  template <typename Visit>
  void for_each_with(const Image& image, const Visit& visit) const;
  template <typename Visit>
  void for_each_with_any(const Visit& visit) const;

  // Null: no node has an image of this name.
  [[nodiscard]] const Image* find(std::string_view normalized_name) const;
  // Of each node, the sum over `images` of size times the share of nodes that have the image.
  void sum(std::span<const Image* const> images, sdk::Nodes nodes, std::span<int64_t> sums) const;

 private:
  [[nodiscard]] int64_t worth(const Image& image, int64_t bytes) const;
  void sum_by_slot(std::span<const Image* const> images, sdk::Nodes nodes,
                   std::span<int64_t> sums) const;

  StringMap<std::unique_ptr<Image>> images_;
  struct OnNode {
    bool there = false;
    std::vector<Image*> images;  // sorted
  };
  std::vector<OnNode> nodes_;  // by slot
  size_t node_count_ = 0;
};

struct ImageIndex::Image {
  struct At {
    uint32_t slot;
    int64_t bytes;
  };
  std::string name;
  std::vector<At> nodes;  // sorted by slot
  uint64_t told = 0;      // for the plugin
};

template <typename Visit>
void ImageIndex::for_each_with(const Image& image, const Visit& visit) const {
  for (const Image::At& at : image.nodes) visit(at.slot);
}

template <typename Visit>
void ImageIndex::for_each_with_any(const Visit& visit) const {
  for (uint32_t slot = 0; slot < nodes_.size(); ++slot) {
    if (!nodes_[slot].images.empty()) visit(slot);
  }
}

}  // namespace plimsoll::builtin
