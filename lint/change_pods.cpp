// What may happen to the pods of a trial cluster.

#include <array>
#include <utility>

#include "framework/api/decode.hpp"
#include "lint/changes.hpp"

namespace plimsoll::lint {

bool Changes::put_pod(const Json& pod) {
  auto decoded = decode_pod(pod.dump(), cluster_.symbols());
  if (!decoded) return false;
  note_.about_to("pod_event", "pod " + full_name(**decoded));
  cluster_.put_pod(*decoded);
  pods_[pod["metadata"]["uid"].get<std::string>()] = pod;
  return true;
}

std::optional<Change> Changes::add_pod(const Field* with) {
  const std::string node = any_node();
  if (node.empty()) return std::nullopt;
  const std::string name = "placed-" + std::to_string(next_pod_++);
  Json pod = random_pod(dice_, words_, name);
  if (with != nullptr) with->set(pod, dice_, words_);
  pod["spec"]["nodeName"] = node;
  pod["status"]["phase"] = "Running";
  if (!put_pod(pod)) return std::nullopt;
  return Change{
      .kind = Change::Kind::kPod, .node = node, .text = "pod " + name + " came to node " + node};
}

std::optional<Change> Changes::change_pod() {
  constexpr std::array kWhat = {"metadata.labels", "metadata.annotations",
                                "metadata.deletionTimestamp", "spec.containers[].resources",
                                "spec.priority"};
  if (pods_.empty()) return std::nullopt;
  auto at = pods_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(dice_.below(pods_.size())));
  const std::string node = at->second["spec"]["nodeName"].get<std::string>();
  const Json before = at->second;
  Json after = before;
  const Field& field = pod_field(dice_.of(kWhat));
  field.set(after, dice_, words_);
  if (after == before || !put_pod(after)) return std::nullopt;
  return Change{.kind = Change::Kind::kPod,
                .node = node,
                .text = "pod " + name_of(before) + " on node " + node + ": " +
                        std::string(field.name) + " from " + value_text(before, field.pointer) +
                        " to " + value_text(after, field.pointer)};
}

std::optional<Change> Changes::remove_pod() {
  if (pods_.empty()) return std::nullopt;
  auto at = pods_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(dice_.below(pods_.size())));
  const std::string node = at->second["spec"]["nodeName"].get<std::string>();
  Change change{.kind = Change::Kind::kPod,
                .node = node,
                .text = "pod " + name_of(at->second) + " left node " + node};
  note_.about_to("pod_event", "pod " + name_of(at->second));
  cluster_.remove_pod(at->first);
  pods_.erase(at);
  return change;
}

std::optional<Change> Changes::nominate() {
  if (nominated_) {
    const std::string name = full_name(*nominated_);
    const std::string node(view(nominated_->nominated_node_name));
    cluster_.nominate(std::exchange(nominated_, nullptr), "");
    return Change{.kind = Change::Kind::kNominated,
                  .node = node,
                  .text = "pod " + name + " is no longer nominated to node " + node};
  }
  const std::string node = any_node();
  if (node.empty()) return std::nullopt;
  Json pod = random_pod(dice_, words_, "nominated-" + std::to_string(next_pod_++));
  pod["spec"].erase("nodeName");
  pod["status"]["nominatedNodeName"] = node;
  auto decoded = decode_pod(pod.dump(), cluster_.symbols());
  if (!decoded) return std::nullopt;
  nominated_ = std::move(*decoded);
  cluster_.nominate(nominated_, node);
  return Change{.kind = Change::Kind::kNominated,
                .node = node,
                .text = "pod " + full_name(*nominated_) + " was nominated to node " + node};
}

std::optional<Change> Changes::reserve(Answer& answer, const PodRef& pod) {
  if (reserved_ || answer.feasible.empty() || pod->node_name.len != 0) return std::nullopt;
  const plimsoll_node_info& node = *dice_.of(answer.feasible);
  const std::string name(view(node.node->meta.name));
  note_.about_to("reserve", "pod " + full_name(*pod) + " on node " + name);
  PodRef assumed = cluster_.reserve(*answer.cycle, pod, node);
  Change change{.kind = Change::Kind::kReserved,
                .node = name,
                .text = "pod " + full_name(*pod) + " got a place on node " + name};
  if (!assumed) {
    change.text = "pod " + full_name(*pod) + " was refused by reserve on node " + name;
  } else {
    reserved_ = Reserved{answer.cycle, std::move(assumed)};
  }
  return change;
}

std::optional<Change> Changes::give_back() {
  if (!reserved_) return std::nullopt;
  const Reserved reserved = *std::exchange(reserved_, std::nullopt);
  const std::string node(view(reserved.assumed->node_name));
  note_.about_to("unreserve", "pod " + full_name(*reserved.assumed));
  cluster_.unreserve(*reserved.cycle, reserved.assumed);
  return Change{
      .kind = Change::Kind::kReserved,
      .node = node,
      .text = "pod " + full_name(*reserved.assumed) + " gave its place on node " + node + " back"};
}

}  // namespace plimsoll::lint
