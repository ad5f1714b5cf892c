#include "plugins/builtin/census/census.hpp"

#include <utility>

namespace plimsoll::builtin {

using namespace sdk;

Census::Census(const Host& host)
    : host_(host), topology_(host), terms_([this](std::span<const std::string_view> names) {
        std::vector<CountedNodesRef> nodes;
        for (const TopologyKeyRef& key : topology_.keys(names)) {
          nodes.push_back(nodes_for(key, {}));
        }
        return nodes;
      }) {}

// ---- nodes

template <typename Visit>
void Census::for_each_counted(const Visit& visit) {
  for (auto at = counted_.begin(); at != counted_.end();) {
    const CountedNodesRef nodes = at->second.lock();
    if (nodes == nullptr) {
      at = counted_.erase(at);
      continue;
    }
    visit(*nodes);
    ++at;
  }
}

void Census::put_node(Node node) {
  topology_.put(node.slot(), node.object());
  for_each_counted([&](CountedNodes& nodes) { nodes.put(node.slot(), node.object()); });
}

void Census::remove_node(uint32_t slot) {
  for_each_counted([slot](CountedNodes& nodes) { nodes.remove(slot); });
  topology_.remove(slot);
}

// All tables see the pods of the node come (1) or go (-1).
void Census::show_all_of(Node node, int32_t times) const {
  if (records_.empty()) return;
  for (const plimsoll_pod* pod : node.pods()) {
    const auto found = records_.find(std::string(view(pod->meta.uid)));
    if (found == records_.end()) continue;
    const Record& record = found->second;
    if (record.labels != nullptr) record.labels->show(record.slot, times);
    if (record.owners != nullptr) record.owners->show(record.slot, times);
  }
}

void Census::node_event(NodeEvent type, Node node, uint32_t aspects) {
  switch (type) {
    case NodeEvent::kAdded:
      put_node(node);
      for (const plimsoll_pod* pod : node.pods()) place(*pod, node.slot());
      return;
    case NodeEvent::kChanged:
      if ((aspects & (PLIMSOLL_ASPECT_LABELS | PLIMSOLL_ASPECT_TAINTS)) == 0) return;
      show_all_of(node, -1);
      remove_node(node.slot());
      put_node(node);
      show_all_of(node, 1);
      return;
    case NodeEvent::kRemoved:
      for (const plimsoll_pod* pod : node.pods()) take_away(view(pod->meta.uid));
      remove_node(node.slot());
      return;
  }
}

CountedNodesRef Census::nodes_for(const TopologyKeyRef& key, const NodeRule& rule) {
  std::string bytes = key->name();
  bytes.push_back('\0');
  bytes.append(rule.signature());
  if (counted_.size() >= forget_at_) forget_unused();
  auto& kept = counted_[bytes];
  if (CountedNodesRef known = kept.lock()) return known;
  auto nodes = std::make_shared<CountedNodes>(key, rule);
  for (uint32_t slot = 0; slot < host_.slot_count(); ++slot) {
    if (const Node node = host_.node(slot)) nodes->put(slot, node.object());
  }
  kept = nodes;
  return nodes;
}

PodRuleRef Census::pod_rule(const plimsoll_pod& pod, bool affinity, bool taints) {
  std::string bytes = PodRule::bytes_of(pod, affinity, taints);
  if (bytes.empty()) return nullptr;
  if (pod_rules_.size() >= forget_rules_at_) {
    std::erase_if(pod_rules_, [](const auto& each) { return each.second.expired(); });
    forget_rules_at_ = 2 * pod_rules_.size() + 8;
  }
  auto& kept = pod_rules_[std::move(bytes)];
  PodRuleRef rule = kept.lock();
  if (rule == nullptr) {
    rule = std::make_shared<PodRule>(pod, affinity, taints, ++last_rule_);
    kept = rule;
  }
  return rule;
}

void Census::forget_unused() {
  std::erase_if(counted_, [](const auto& each) { return each.second.expired(); });
  topology_.drop_unused();
  forget_at_ = 2 * counted_.size() + 64;
  dropped_ = 0;
}

// ---- pods

void Census::pod_event(PodEvent type, Pod pod, std::string_view node_name) {
  sweep();
  if (!counting_ && records_.empty() && !has_terms(*pod)) return;
  // Pods of a node that is not there count when it comes.
  const Node node = type == PodEvent::kRemoved ? Node() : host_.node(node_name);
  if (node) {
    place(*pod, node.slot());
  } else {
    take_away(pod.uid());
  }
}

void Census::place(const plimsoll_pod& pod, uint32_t slot) {
  Record now;
  now.slot = slot;
  if (counting_) {
    bool is_new = false;
    now.labels = &crowds_.of(PodTraits::of(pod), is_new);
    if (is_new) tables_.admit(*now.labels);
  }
  if (has_terms(pod)) now.owners = terms_.owners_like(pod);
  std::string uid(view(pod.meta.uid));
  if (now.labels == nullptr && now.owners == nullptr) return take_away(uid);
  Record& kept = records_[std::move(uid)];
  if (kept == now) return;
  const Record before = std::exchange(kept, now);
  enter(now);
  leave(before);
}

void Census::take_away(std::string_view uid) {
  const auto found = records_.find(std::string(uid));
  if (found == records_.end()) return;
  const Record before = found->second;
  records_.erase(found);
  leave(before);
}

void Census::enter(const Record& record) const {
  if (record.labels != nullptr) record.labels->put(record.slot, 1);
  if (record.owners != nullptr) record.owners->put(record.slot, 1);
}

void Census::leave(const Record& record) {
  if (record.labels != nullptr) {
    record.labels->put(record.slot, -1);
    if (record.labels->empty()) {
      SelectedTables::expel(*record.labels);
      crowds_.drop(*record.labels);
    }
  }
  if (record.owners != nullptr) {
    record.owners->put(record.slot, -1);
    if (!record.owners->empty()) return;
    dropped_ += record.owners->tallies.size();
    terms_.drop(*record.owners);
    if (2 * dropped_ >= counted_.size()) forget_unused();
  }
}

// ---- questions

void Census::begin_counting() {
  counting_ = true;
  begun_ms_ = host_.now_ms();
  for (uint32_t slot = 0; slot < host_.slot_count(); ++slot) {
    const Node node = host_.node(slot);
    if (!node) continue;
    for (const plimsoll_pod* pod : node.pods()) place(*pod, slot);
  }
}

void Census::stop_counting() {
  counting_ = false;
  for (auto at = records_.begin(); at != records_.end();) {
    at->second.labels = nullptr;
    at = at->second.owners == nullptr ? records_.erase(at) : std::next(at);
  }
  crowds_.clear();
}

void Census::sweep() {
  if (!counting_) return;
  tables_.sweep(host_.now_ms());
  // Nobody may make it begin again and again.
  if (tables_.empty() && host_.now_ms() - begun_ms_ > SelectedTables::kLongestMs) stop_counting();
}

uint64_t Census::comparisons_for(const SelectionSpec& selection) {
  if (!counting_) begin_counting();
  return crowds_.comparisons_for(selection);
}

SelectedPodsRef Census::select(const SelectionSpec& selection) {
  sweep();
  if (!counting_) begin_counting();
  return tables_.select(selection);
}

SelectedCountsRef Census::counts(const SelectedPodsRef& pods, std::string_view key,
                                 const NodeRule& rule) {
  const auto of = reinterpret_cast<uintptr_t>(pods.get());
  std::string question(reinterpret_cast<const char*>(&of), sizeof of);
  question.append(key).push_back('\0');
  question.append(rule.signature());
  const int64_t now = host_.now_ms();
  SelectedCountsRef known = tables_.find(question, now);
  if (known == nullptr) {
    known = tables_.add(std::move(question), pods, nodes_for(topology_.key(key), rule), now);
  }
  return known;
}

bool Census::namespace_event(const ObjectEvent& event) {
  if (event.type == ObjectEvent::kSynced) return false;
  const plimsoll_object* object = host_.object(kNamespaces, "", event.name);
  bool changed = true;
  if (object == nullptr) {
    namespaces_.remove(event.name);
  } else {
    changed = namespaces_.put(event.name, *object);
    if (object->unreadable.len != 0) {
      host_.warn("namespace " + std::string(event.name) +
                 " counts as one without labels: " + std::string(view(object->unreadable)));
    }
  }
  if (changed) tables_.namespace_changed(event.name);
  return changed;
}

}  // namespace plimsoll::builtin
