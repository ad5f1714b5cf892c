#include "lab/lint/changes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "framework/api/decode/decode.hpp"

namespace plimsoll::lint {
namespace {

using Kind = Change::Kind;

std::string from_to(const Field& field, const Json& before, const Json& after) {
  return ": " + field.name + " from " + value_text(before, field) + " to " +
         value_text(after, field);
}

std::string node_of(const Json& pod) {
  return pod["spec"]["nodeName"].get<std::string>();
}

// Pointers to the values of an object that are not structured, but for who it is.
std::vector<std::string> leaves(const Json& object) {
  std::vector<std::string> all;
  const Json flat = object.flatten();
  for (const auto& [at, value] : flat.items()) {
    const bool who = at.starts_with("/metadata") || at == "/apiVersion" || at == "/kind";
    if (!who && !value.is_null()) all.push_back(at);  // null: an empty list or object
  }
  return all;
}

Json another(const Json& value, World& world) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return world.dice.below(6);
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0) return world.dice.of(world.words.lists["value"]);  // no number and no quantity
  return std::to_string(world.dice.below(9)) + text.substr(digits);
}

}  // namespace

Result<void> Changes::fill() {
  Dice& dice = world_.dice;
  const size_t given = world_.nodes.size();
  const size_t count = given != 0 ? std::min<size_t>(given, 8) : 3 + dice.below(4);
  std::vector<size_t> indices(std::max(given, count));
  std::iota(indices.begin(), indices.end(), size_t{0});
  next_node_ = indices.size();
  dice.shuffle(indices);
  indices.resize(count);
  for (const size_t index : indices) {
    const Json node = world_.node(index);
    if (!put_node(node) && (index >= given || !put_node(world_.nodes[index]))) {
      return fail(ErrorCode::kInvalid, "node " + name_of(node) + " cannot be read");
    }
  }
  for (const std::string& resource : cluster_.watched()) {
    const size_t before = objects_.size();
    for (const Object& object : options_.objects) {
      if (object.resource == resource) objects_.push_back({object, object, !dice.one_in(8)});
    }
    if (objects_.size() == before) draw_objects(resource);
  }
  for (const Watched& watched : objects_) {
    if (watched.present) tell(watched);
  }
  note_.about_to("object_event (synced)");
  cluster_.synced();
  for (Json pod : world_.placed) {
    if (dice.one_in(3) || !nodes_.contains(node_of(pod))) continue;
    const std::string name = name_of(pod);
    pod["metadata"]["uid"] = "uid-" + name;
    if (!put_pod(pod)) return fail(ErrorCode::kInvalid, "pod " + name + " cannot be read");
  }
  for (size_t left = dice.below(2 * count); left > 0; --left) static_cast<void>(add_pod(nullptr));
  return {};
}

Changes::Content Changes::content() const {
  Content content{nodes_, pods_, {}};
  for (const Watched& watched : objects_) {
    if (watched.present) content.objects.push_back(watched.object);
  }
  return content;
}

void Changes::fill_with(const Content& content) {
  for (const auto& [name, node] : content.nodes) static_cast<void>(put_node(node));
  for (const Object& object : content.objects) {
    objects_.push_back({object, object, true});
    tell(objects_.back());
  }
  note_.about_to("object_event (synced)");
  cluster_.synced();
  for (const auto& [uid, pod] : content.pods) static_cast<void>(put_pod(pod));
}

std::vector<Changes::Happens> Changes::all() {
  std::vector<Happens> all = {
      [this] { return add_node(); },
      [this] { return remove_node(); },
      [this] { return add_pod(nullptr); },
      [this] { return add_pod(&pod_field("spec.containers[0].ports")); },
      [this] { return add_pod(&pod_field("spec.volumes")); },
      [this] { return remove_some_pod(); },
  };
  for (int twice = 0; twice < 2; ++twice) {
    for (const Field& field : node_fields()) {
      all.emplace_back([this, &field] { return change_node(field); });
    }
    all.emplace_back([this] { return change_pod(); });
    all.emplace_back([this] { return nominate(); });
    all.emplace_back([this] { return change_object(); });
    all.emplace_back([this] { return remove_or_restore_object(); });
    all.emplace_back([this] { return pass_time(); });
  }
  world_.dice.shuffle(all);
  return all;
}

// ---- nodes

// Random rules are about labels that some node has, or mostly so: they match now and then.
void Changes::relabel() {
  auto& lists = world_.words.lists;
  lists["node"].clear();
  lists["label"].clear();
  for (const auto& [name, node] : nodes_) {
    lists["node"].push_back(name);
    const Json labels = node["metadata"].value("labels", Json());
    for (const auto& [key, value] : labels.items()) {
      if (!value.is_string()) continue;
      const std::string& text = value.get_ref<const std::string&>();
      // A pod that names no value of a label is not admitted.
      if (!text.starts_with('-')) lists["label"].push_back(key + "=" + text);
    }
  }
  for (size_t left = 1 + lists["label"].size() / 3; left > 0; --left) {
    lists["label"].push_back(world_.dice.of(lists["key"]) + "=" + world_.dice.of(lists["value"]));
  }
}

bool Changes::put_node(const Json& node) {
  auto decoded = decode_node(node.dump(), cluster_.symbols());
  if (!decoded) return false;
  const std::string name = name_of(node);
  note_.about_to("node_event", "node " + name);
  cluster_.put_node(std::move(*decoded));
  nodes_[name] = node;
  relabel();
  return true;
}

std::optional<Change> Changes::change_node(const Field& field) {
  const auto [name, before] = *any(nodes_);
  Json after = before;
  if (!world_.change(after, field) || !put_node(after)) return std::nullopt;
  return Change{.kind = Kind::kNodeField,
                .node = name,
                .text = "node " + name + from_to(field, before, after),
                .field = &field,
                .before = before,
                .after = after};
}

std::optional<Change> Changes::add_node() {
  const Json node = world_.node(next_node_++);
  if (!put_node(node)) return std::nullopt;
  return Change{Kind::kNode, name_of(node), "node " + name_of(node) + " was added"};
}

std::optional<Change> Changes::remove_node() {
  if (nodes_.size() < 3) return std::nullopt;
  const std::string name = any(nodes_)->first;
  note_.about_to("node_event", "node " + name);
  cluster_.remove_node(name);
  nodes_.erase(name);
  relabel();
  return Change{Kind::kNode, name, "node " + name + " was removed"};
}

// ---- pods

bool Changes::put_pod(const Json& pod) {
  auto decoded = decode_pod(pod.dump(), cluster_.symbols());
  if (!decoded) return false;
  note_.about_to("pod_event", "pod " + full_name(**decoded));
  cluster_.put_pod(*decoded);
  pods_[pod["metadata"]["uid"].get<std::string>()] = pod;
  return true;
}

std::optional<Change> Changes::add_pod(const Field* with) {
  const std::string node = any(nodes_)->first;
  const std::string name = "placed-" + std::to_string(next_pod_++);
  Json pod = world_.pod(name);
  if (with != nullptr) static_cast<void>(world_.change(pod, *with));
  pod["spec"]["nodeName"] = node;
  pod["status"]["phase"] = "Running";
  if (!put_pod(pod)) return std::nullopt;
  return Change{Kind::kPod, node, "pod " + name + " came to node " + node};
}

std::optional<Change> Changes::change_pod() {
  constexpr std::array kWhat = {"metadata.labels", "metadata.annotations",
                                "metadata.deletionTimestamp", "spec.containers[].resources",
                                "spec.priority"};
  if (pods_.empty()) return std::nullopt;
  const Json before = any(pods_)->second;
  Json after = before;
  const Field& field = pod_field(world_.dice.of(kWhat));
  if (!world_.change(after, field) || !put_pod(after)) return std::nullopt;
  const std::string node = node_of(before);
  return Change{Kind::kPod, node,
                "pod " + name_of(before) + " on node " + node + from_to(field, before, after)};
}

void Changes::remove_pod(const std::string& uid) {
  note_.about_to("pod_event", "pod " + name_of(pods_.at(uid)));
  cluster_.remove_pod(uid);
  pods_.erase(uid);
}

std::optional<Change> Changes::remove_some_pod() {
  if (pods_.empty()) return std::nullopt;
  const auto [uid, pod] = *any(pods_);
  const std::string name = name_of(pod);
  const std::string node = node_of(pod);
  remove_pod(uid);
  return Change{Kind::kPod, node, "pod " + name + " left node " + node};
}

std::optional<Change> Changes::nominate() {
  if (const PodRef pod = std::exchange(nominated_, nullptr)) {
    const std::string node(view(pod->nominated_node_name));
    cluster_.put_nominated(pod, "");
    return Change{Kind::kPod, node,
                  "pod " + full_name(*pod) + " is no longer nominated to node " + node};
  }
  const std::string node = any(nodes_)->first;
  Json pod = world_.pod("nominated-" + std::to_string(next_pod_++));
  pod["spec"].erase("nodeName");
  pod["status"]["nominatedNodeName"] = node;
  auto decoded = decode_pod(pod.dump(), cluster_.symbols());
  if (!decoded) return std::nullopt;
  nominated_ = std::move(*decoded);
  cluster_.put_nominated(nominated_, node);
  return Change{Kind::kPod, node,
                "pod " + full_name(*nominated_) + " was nominated to node " + node};
}

std::optional<Change> Changes::reserve_or_give_back(Answer& answer, const PodRef& pod) {
  if (reserved_) {
    const Reserved reserved = *std::exchange(reserved_, std::nullopt);
    const std::string node(view(reserved.assumed->node_name));
    const std::string name = "pod " + full_name(*reserved.assumed);
    note_.about_to("unreserve", name);
    cluster_.unreserve(*reserved.cycle, reserved.assumed);
    return Change{Kind::kPod, node, name + " gave its place on node " + node + " back"};
  }
  if (answer.feasible.empty() || pod->node_name.len != 0) return std::nullopt;
  const plimsoll_node_info& row = *world_.dice.of(answer.feasible);
  const std::string node(view(row.node->meta.name));
  const std::string name = "pod " + full_name(*pod);
  note_.about_to("reserve", name + " on node " + node);
  std::string error;
  PodRef assumed = cluster_.reserve(*answer.cycle, pod, row, error);
  note_.failed("reserve", error);
  if (!assumed) return Change{Kind::kPod, node, name + " was refused by reserve on node " + node};
  reserved_ = Reserved{answer.cycle, std::move(assumed)};
  return Change{Kind::kPod, node, name + " got a place on node " + node};
}

// ---- objects that plugins watch, and the time

void Changes::tell(const Watched& watched) {
  note_.about_to("object_event", watched.object.resource + " " + watched.object.name);
  watched.present ? cluster_.put_object(watched.object) : cluster_.remove_object(watched.object);
}

// Nobody gave an object of this kind: some are made up, one for each node, and a few others.
void Changes::draw_objects(const std::string& resource) {
  std::vector<std::string> names = {"a", "b", "default"};
  for (const auto& [node, json] : nodes_) names.push_back(node);
  for (const std::string& name : names) {
    const Object object{resource, "default", name, world_.object(name).dump()};
    objects_.push_back({object, object, !world_.dice.one_in(8)});
  }
}

std::optional<Change> Changes::change_object() {
  if (objects_.empty()) return std::nullopt;
  Watched& watched = objects_[world_.dice.below(objects_.size())];
  Json json = Json::parse(watched.object.json);
  const std::vector<std::string> where = leaves(json);
  if (where.empty() || !watched.present) return std::nullopt;
  const std::string& at = world_.dice.of(where);
  Json& value = json[Json::json_pointer(at)];
  const Json before = value;
  value = another(before, world_);
  if (value == before) return std::nullopt;
  const std::string from_to = at + " from " + before.dump() + " to " + value.dump();
  json["metadata"]["resourceVersion"] = std::to_string(next_version_++);
  watched.object.json = json.dump();
  tell(watched);
  const std::string& resource = watched.object.resource;
  return Change{Kind::kObject, {}, resource + " " + watched.object.name + ": " + from_to, resource};
}

std::optional<Change> Changes::remove_or_restore_object() {
  if (objects_.empty()) return std::nullopt;
  Watched& watched = objects_[world_.dice.below(objects_.size())];
  Object& object = watched.object;
  watched.present = !watched.present;
  // What came of random changes may be beyond use: it comes back as it was given.
  if (watched.present) object = watched.given;
  tell(watched);
  return Change{Kind::kObject,
                {},
                object.resource + " " + object.name + (watched.present ? " came" : " was deleted"),
                object.resource};
}

std::optional<Change> Changes::pass_time() {
  constexpr std::array<int64_t, 3> kMinutes = {10, 61, 7 * 24 * 60 + 61};
  const int64_t minutes = world_.dice.of(kMinutes);
  note_.about_to("a task on the loop");
  cluster_.pass_time(minutes * 60'000);
  return Change{Kind::kTime, {}, std::to_string(minutes) + " minutes passed"};
}

}  // namespace plimsoll::lint
