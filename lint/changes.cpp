#include "lint/changes.hpp"

#include <algorithm>
#include <utility>

#include "framework/api/decode.hpp"

namespace plimsoll::lint {
namespace {

enum Other : size_t {
  kAddNode,
  kRemoveNode,
  kAddPod,
  kAddPodWithPorts,
  kAddPodWithVolumes,
  kChangePod,
  kChangePodAgain,
  kRemovePod,
  kNominate,
  kNominateAgain,
  kChangeObject,
  kChangeObjectAgain,
  kRemoveObject,
  kRestoreObject,
  kPassTime,
  kPassTimeAgain,
  kOthers
};

}  // namespace

Changes::Changes(TrialCluster& cluster, Dice& dice, Vocabulary& words, const Options& options,
                 CallNote& note)
    : cluster_(cluster), dice_(dice), words_(words), options_(options), note_(note) {}

Result<void> Changes::fill() {
  const size_t given = words_.nodes.size();
  const size_t count = given != 0 ? std::min<size_t>(given, 8) : 3 + dice_.below(4);
  std::vector<size_t> indices(given != 0 ? given : count);
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = i;
  dice_.shuffle(indices);
  indices.resize(count);
  next_node_ = std::max(given, count);
  words_.node_names.clear();
  for (const size_t index : indices) {
    const Json node = random_node(dice_, words_, index);
    if (!put_node(node) && (index >= given || !put_node(words_.nodes[index]))) {
      return fail(ErrorCode::kInvalid, "node " + name_of(node) + " cannot be read");
    }
    words_.node_names.push_back(name_of(node));
  }
  for (const Object& object : options_.objects) {
    if (!cluster_.watched().contains(object.resource)) continue;
    objects_.push_back({object, !dice_.one_in(8)});
    if (!objects_.back().present) continue;
    note_.about_to("object_event", object.resource + " " + object.name);
    cluster_.put_object(object);
  }
  note_.about_to("object_event (synced)");
  cluster_.synced();
  for (Json pod : words_.placed) {
    if (dice_.one_in(3)) continue;
    const std::string name = name_of(pod);
    if (!nodes_.contains(pod["spec"]["nodeName"].get<std::string>())) continue;
    pod["metadata"]["uid"] = "uid-" + name;
    if (!put_pod(pod)) return fail(ErrorCode::kInvalid, "pod " + name + " cannot be read");
  }
  for (size_t left = dice_.below(2 * count); left > 0; --left) static_cast<void>(add_pod(nullptr));
  return {};
}

std::vector<size_t> Changes::all() {
  std::vector<size_t> order(kOthers + 2 * node_fields().size());  // each field twice
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  dice_.shuffle(order);
  return order;
}

std::optional<Change> Changes::apply(size_t which) {
  if (which >= kOthers) return change_node(node_fields()[(which - kOthers) % node_fields().size()]);
  switch (static_cast<Other>(which)) {
    case kAddNode:
      return add_node();
    case kRemoveNode:
      return remove_node();
    case kAddPod:
      return add_pod(nullptr);
    case kAddPodWithPorts:
      return add_pod(&pod_field("spec.containers[0].ports"));
    case kAddPodWithVolumes:
      return add_pod(&pod_field("spec.volumes"));
    case kChangePod:
    case kChangePodAgain:
      return change_pod();
    case kRemovePod:
      return remove_pod();
    case kNominate:
    case kNominateAgain:
      return nominate();
    case kChangeObject:
    case kChangeObjectAgain:
      return change_object();
    case kRemoveObject:
    case kRestoreObject:
      return remove_or_restore_object();
    case kPassTime:
    case kPassTimeAgain:
      return pass_time();
    case kOthers:
      break;
  }
  return std::nullopt;
}

// ---- nodes

std::string Changes::any_node() {
  if (nodes_.empty()) return {};
  auto at = nodes_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(dice_.below(nodes_.size())));
  return at->first;
}

bool Changes::put_node(const Json& node) {
  auto decoded = decode_node(node.dump(), cluster_.symbols());
  if (!decoded) return false;
  const std::string name = name_of(node);
  note_.about_to("node_event", "node " + name);
  cluster_.put_node(std::move(*decoded));
  nodes_[name] = node;
  words_.node_labels.clear();
  for (const auto& [known, object] : nodes_) {
    const Json labels = object.value("metadata", Json::object()).value("labels", Json::object());
    for (const auto& [key, value] : labels.items()) {
      if (value.is_string()) words_.node_labels.emplace_back(key, value.get<std::string>());
    }
  }
  return true;
}

std::optional<Change> Changes::change_node(const Field& field) {
  const std::string name = any_node();
  if (name.empty()) return std::nullopt;
  const Json before = nodes_[name];
  Json after = before;
  field.set(after, dice_, words_);
  if (after == before || !put_node(after)) return std::nullopt;
  return Change{.kind = Change::Kind::kNodeField,
                .node = name,
                .text = "node " + name + ": " + std::string(field.name) + " from " +
                        value_text(before, field.pointer) + " to " +
                        value_text(after, field.pointer),
                .field = &field,
                .before = before,
                .after = after};
}

std::optional<Change> Changes::add_node() {
  const Json node = random_node(dice_, words_, next_node_++);
  if (!put_node(node)) return std::nullopt;
  words_.node_names.push_back(name_of(node));
  return Change{.kind = Change::Kind::kNodeAdded,
                .node = name_of(node),
                .text = "node " + name_of(node) + " was added"};
}

std::optional<Change> Changes::remove_node() {
  if (nodes_.size() < 3) return std::nullopt;
  const std::string name = any_node();
  note_.about_to("node_event", "node " + name);
  cluster_.remove_node(name);
  nodes_.erase(name);
  std::erase(words_.node_names, name);
  return Change{
      .kind = Change::Kind::kNodeRemoved, .node = name, .text = "node " + name + " was removed"};
}

}  // namespace plimsoll::lint
