#include "framework/placement/nominator.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

int32_t highest_priority(const std::vector<PodRef>& pods) {
  int32_t highest = INT32_MIN;
  for (const PodRef& pod : pods) highest = std::max(highest, pod->priority);
  return highest;
}

}  // namespace

void Nominator::add(PodRef pod, const Nominating& nominating) {
  remove(view(pod->meta.uid));
  const std::string_view node =
      nominating.override_mode ? std::string_view(nominating.node) : view(pod->nominated_node_name);
  if (node.empty()) return;
  const auto at = node_of_.emplace(view(pod->meta.uid), node).first;
  const auto [place, is_new] = place_of_.try_emplace(at->second, by_node_.size());
  if (is_new) by_node_.push_back({at->second, {}, INT32_MIN, nullptr, 0, 0});
  NominatedNode& nominated = by_node_[place->second];
  nominated.highest_priority = std::max(nominated.highest_priority, pod->priority);
  nominated.pods.push_back(std::move(pod));
  changed_(at->second);
}

void Nominator::update(const plimsoll_pod& before, PodRef after) {
  Nominating nominating = Nominating::keep();
  const std::string_view in_memory = node_of(view(before.meta.uid));
  if (equal(before.nominated_node_name, after->nominated_node_name) && !in_memory.empty()) {
    nominating = Nominating::to(std::string(in_memory));
  }
  remove(view(before.meta.uid));
  add(std::move(after), nominating);
}

// Mostly there are none at all: then no UID is hashed.
void Nominator::remove(std::string_view uid) {
  if (node_of_.empty()) return;
  const auto found = node_of_.find(uid);
  if (found == node_of_.end()) return;
  const std::string node = std::move(found->second);
  node_of_.erase(found);
  const auto place = place_of_.find(node);
  NominatedNode& nominated = by_node_[place->second];
  std::erase_if(nominated.pods, [uid](const PodRef& pod) { return view(pod->meta.uid) == uid; });
  nominated.highest_priority = highest_priority(nominated.pods);
  if (nominated.pods.empty()) {
    NominatedNode last = std::move(by_node_.back());
    by_node_.pop_back();
    const size_t freed = place->second;
    place_of_.erase(place);
    if (freed < by_node_.size()) {  // the last one takes the free place
      place_of_[last.name] = freed;
      by_node_[freed] = std::move(last);
    }
  }
  changed_(node);
}

const std::vector<PodRef>& Nominator::pods_of(std::string_view node_name) const {
  static const std::vector<PodRef> kNone;
  if (by_node_.empty()) return kNone;
  const auto found = place_of_.find(node_name);
  return found == place_of_.end() ? kNone : by_node_[found->second].pods;
}

std::string_view Nominator::node_of(std::string_view uid) const {
  if (node_of_.empty()) return {};
  const auto found = node_of_.find(uid);
  return found == node_of_.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace plimsoll
