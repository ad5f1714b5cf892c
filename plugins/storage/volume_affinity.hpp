#pragma once
// Which nodes a PersistentVolume can be used from: spec.nodeAffinity.required, prepared for
// matching. Kubernetes: CheckNodeAffinity in k8s.io/component-helpers/storage/volume.
//
// The terms are matched against the node's labels only: the object that Kubernetes matches has no
// name, so matchFields are not evaluated, and a term of matchFields alone matches every node. A
// term that cannot be parsed matches no node. Immutable; any thread.

#include <plimsoll/views.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/result.hpp"

namespace plimsoll::volumes {

class VolumeAffinity {
 public:
  // `terms`: plimsoll_node_selector_term, ORed. They are copied.
  [[nodiscard]] static std::shared_ptr<const VolumeAffinity> of(const plimsoll_list& terms);
  // `json` is a v1.NodeSelector.
  [[nodiscard]] static Result<std::shared_ptr<const VolumeAffinity>> read(std::string_view json);

  VolumeAffinity(const VolumeAffinity&) = delete;
  VolumeAffinity& operator=(const VolumeAffinity&) = delete;

  [[nodiscard]] bool matches(const plimsoll_node& node) const;
  [[nodiscard]] bool matches(sdk::Node node) const { return matches(node.object()); }

  // As a v1.NodeSelector: equal texts, equal affinities. The operator of a requirement that is not
  // valid is "".
  [[nodiscard]] const std::string& json() const { return json_; }
  [[nodiscard]] bool matches_every_node() const { return every_node_; }
  // ORed; each has expressions and nothing else.
  [[nodiscard]] sdk::List<plimsoll_node_selector_term> terms() const {
    return sdk::list_of<plimsoll_node_selector_term>(
        std::span<const plimsoll_node_selector_term>(terms_));
  }
  // The key and the value, if all it asks is one value of one label, as volumes that lie on one
  // node do. Null: it asks for something else.
  [[nodiscard]] const plimsoll_requirement* only_value() const { return only_value_; }
  // A place to remember where a node with that value was seen last; a hint, any value is right.
  [[nodiscard]] std::atomic<uint32_t>& last_seen() const { return last_seen_; }

 private:
  explicit VolumeAffinity(std::string json) : json_(std::move(json)) {}
  void prepare();

  std::string json_;
  std::shared_ptr<const plimsoll_node_affinity> decoded_;  // what the terms point into
  std::vector<plimsoll_node_selector_term> terms_;
  bool every_node_ = false;
  const plimsoll_requirement* only_value_ = nullptr;
  mutable std::atomic<uint32_t> last_seen_{UINT32_MAX};
};

// Null: every node.
using AffinityRef = std::shared_ptr<const VolumeAffinity>;

}  // namespace plimsoll::volumes
