#include "framework/cycle/nominator.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll {

void Nominator::add(PodRef pod, const Nominating& nominating) {
  remove(view(pod->meta.uid));
  const std::string_view node =
      nominating.override_mode ? std::string_view(nominating.node) : view(pod->nominated_node_name);
  if (node.empty()) return;
  const auto at = node_of_.emplace(view(pod->meta.uid), node).first;
  by_node_[at->second].push_back(std::move(pod));
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

void Nominator::remove(std::string_view uid) {
  const auto found = node_of_.find(uid);
  if (found == node_of_.end()) return;
  const std::string node = std::move(found->second);
  node_of_.erase(found);
  const auto list = by_node_.find(node);
  std::erase_if(list->second, [uid](const PodRef& pod) { return view(pod->meta.uid) == uid; });
  if (list->second.empty()) by_node_.erase(list);
  changed_(node);
}

const std::vector<PodRef>& Nominator::pods_of(std::string_view node_name) const {
  static const std::vector<PodRef> kNone;
  if (by_node_.empty()) return kNone;
  const auto found = by_node_.find(std::string(node_name));
  return found == by_node_.end() ? kNone : found->second;
}

std::string_view Nominator::node_of(std::string_view uid) const {
  const auto found = node_of_.find(uid);
  return found == node_of_.end() ? std::string_view() : std::string_view(found->second);
}

}  // namespace plimsoll
